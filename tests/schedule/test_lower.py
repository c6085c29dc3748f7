"""Lowering: a node at an index is the scalar that the interpreter finds there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon.dtypes import bool_, float64, int64
from gnomon.ir.node import PRIMITIVES, Arena, Node
from gnomon.ir.operators import constant
from gnomon.ir.symbolic import flatten, loop_range
from gnomon.nn import functional as F
from gnomon.ops.interpret import interpret
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.primitives import expand
from gnomon.ops.view_primitives import pad, slice_
from gnomon.schedule.kernel import load
from gnomon.schedule.lower import Lowering
from tests import drawn as st
from tests.drawn import examples, given
from tests.schedule.kernels_of import leaf
from tests.strategies import VIEWS, leaf_shapes

pytestmark = pytest.mark.unit


def lowered(node: Node) -> tuple[Node, list[Node], list[Node]]:
    """The scalar of a node at free indices, these indices, and the inputs behind its loads."""
    arena, inputs = Arena(), []
    index = [loop_range(arena, max(n, 1), f"i{k}") for k, n in enumerate(node.shape)]

    def read(x: Node, at: tuple, guard: Node | None, fill: object) -> Node | None:
        if x.op != "input":
            return None
        inputs.append(x)
        return load(arena, len(inputs) - 1, x.dtype, flatten(arena, at, x.shape), guard, fill)

    return Lowering(arena, read, {}).at(node, tuple(index)), index, inputs


def scalar(x: Node, at: dict[Node, int], memory: list[np.ndarray]) -> object:
    """A scalar's value; every access must be inside its buffer."""
    if x in at:
        return at[x]
    operands = [scalar(y, at, memory) for y in x.inputs]
    if x.op == "affine":
        terms = zip(x.params["coefs"], operands, strict=True)
        return x.params["offset"] + sum(k * v for k, v in terms)
    if x.op == "load":
        if len(operands) == 2 and not operands[1]:
            return x.params["fill"]
        cells = memory[x.params["buffer"]].reshape(-1)
        assert 0 <= operands[0] < len(cells), "an access outside its buffer"
        return cells[operands[0]]
    if x.op == "checked":
        return operands[0]
    return np.asarray(PRIMITIVES[x.op].value(x, *map(np.asarray, operands)))[()]


def check(root: Node, feeds: dict[Node, np.ndarray]) -> None:
    """Lowered and interpreted agree at every element."""
    found, index, inputs = lowered(root)
    memory = [feeds[x] for x in inputs]
    (expected,) = interpret([root], feeds)
    for place in np.ndindex(root.shape):
        at = dict(zip(index, place, strict=True))
        assert scalar(found, at, memory) == expected[place]


@st.composite
def viewed(draw: Callable) -> tuple[Node, Node]:
    """A chain of views of an input, with a little arithmetic."""
    shape = draw(leaf_shapes().filter(lambda s: np.prod(s, dtype=int) <= 40))
    x = leaf(*shape, dtype=float64)
    node = x
    for view in draw(st.lists(st.sampled_from(VIEWS), min_size=1, max_size=4)):
        following = view(draw, [node])
        node = following if following.size <= 60 else node
    return x, node * 2.0


@examples(60)
@given(viewed())
def test_views_of_views_show_what_the_interpreter_shows(made: tuple[Node, Node]):
    x, root = made

    check(root, {x: np.arange(x.size, dtype=np.float64).reshape(x.shape) + 1})


def test_a_lookup_reads_where_its_positions_say():
    x = leaf(4, 3, dtype=float64)
    index = x.arena.input((2, 5), int64)
    rows = gather("vd,bt->btd", x, index)
    positions = np.array([[0, 3, 1, 1, 2], [2, 0, 0, 3, 3]])

    check(rows, {x: np.arange(12, dtype=np.float64).reshape(4, 3), index: positions})


def test_a_value_that_two_read_at_one_place_is_lowered_once():
    x = leaf(5, dtype=float64)
    twice = x * 2.0

    found, _, inputs = lowered(twice + twice)

    assert len(inputs) == 1
    assert found.inputs[0] is found.inputs[1]


def chosen(x: Node) -> Node:
    """x where a truth value holds that is known."""
    true = expand(constant(x.arena, True, bool_), x.shape)
    return x.arena.node("map", (true, x, x * 2.0), f="where")


KNOWN = {
    "a choice": chosen,
    "a part of what is padded": lambda x: slice_(pad(x, (0,), (2,)), ((0, 4, 1),)),
    "both": lambda x: chosen(slice_(pad(x, (1,), (2,), 7.0), ((1, 5, 1),))),
}


@pytest.mark.parametrize("made", KNOWN.values(), ids=KNOWN)
def test_a_constant_around_what_is_known_to_be_inside_is_that_constant(made: Callable):
    x = leaf(4, dtype=float64)

    check(pad(made(x), (2,), (1,), 0.5), {x: np.arange(4.0)})


def test_rows_that_were_written_over_are_padded_by_the_constant():
    # 16 rows of 33 begin a loop of their own, in which it is known which rows were written
    def pooled(x: gn.Tensor) -> gn.Tensor:
        y = x * 1
        y[:16] = y[17:] * 2
        return F.avg_pool1d(F.pad(y, (2, 3), value=0.5), 3, 2)

    rows = np.random.default_rng(0).standard_normal((33, 2, 15)).astype(np.float32)
    found = pooled(gn.tensor(rows.copy()))

    rows[:16] = rows[17:] * 2
    wide = np.pad(rows, ((0, 0), (0, 0), (2, 3)), constant_values=0.5)
    expected = np.stack([wide[..., 2 * k : 2 * k + 3].mean(-1) for k in range(9)], -1)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)
