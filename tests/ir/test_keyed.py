"""Values that something else stands for in keys."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.ir.memo import Keyed, typed
from gnomon.ir.node import Arena, Graph
from gnomon.ir.sizes import ShapeEnv
from gnomon.ir.sym_float import OF_FLOATS, FloatBits, real
from gnomon.ops.op_calls import Leaf, OpCall

pytestmark = pytest.mark.unit


def held(x: object) -> list[object]:
    """What a key holds, with all that is in tuples."""
    return [y for part in x for y in held(part)] if isinstance(x, tuple) else [x]


def test_keys_hold_no_number_of_a_program():
    env = ShapeEnv()
    n, x = env.symbol(13), real(env.symbol(FloatBits.of(0.5), OF_FLOATS))
    call = OpCall((Leaf(0), n, (n, 3)), (("eps", x),))

    assert not [y for y in held(typed((n, x, call, (n + 1, "a")))) if isinstance(y, Keyed)]
    assert not env.guards


def test_equal_parameters_are_one_node_and_others_another():
    arena, env = Arena(), ShapeEnv()
    n, m = env.symbol(13), env.symbol(13)
    x = arena.input((1, 4), float32)

    one, same, other = (arena.node("expand", (x,), shape=(k, 4)) for k in (n + 1, 1 + n, m + 1))

    assert one is same
    assert one is not other


def test_an_argument_is_no_number_that_looks_like_it():
    assert OpCall((Leaf(0),), ()) == OpCall((Leaf(0),), ())
    assert OpCall((Leaf(0),), ()) != OpCall(((0,),), ())


def test_graphs_of_symbols_have_keys_without_them():
    env, arena = ShapeEnv(), Arena()
    x = arena.input((env.symbol(13),), float32)

    assert len(Graph([x], [x]).key) == 32
    assert not env.guards
