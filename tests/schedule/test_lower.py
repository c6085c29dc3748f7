"""Lowering: a node at an index is the scalar that the interpreter finds there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.dtypes import float64, int64
from gnomon.ir.node import PRIMITIVES, Arena, Node
from gnomon.ir.symbolic import flatten, loop_range
from gnomon.ops.interpret import interpret
from gnomon.ops.lookup_primitives import gather
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
