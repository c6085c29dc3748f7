"""How nodes read what lies below their views: strides where there are any, and at which place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.dtypes import bool_
from gnomon.ir.node import Node
from gnomon.ops.index_primitives import is_index
from gnomon.ops.interpret import interpret
from gnomon.ops.primitives import expand, flip, reduce, reshape, unsqueeze
from gnomon.ops.view_primitives import pad, permute, slice_, window
from gnomon.schedule import access
from gnomon.schedule.access import readings, strided
from tests.schedule.kernels_of import leaf

pytestmark = pytest.mark.unit

VIEWED: dict[str, Callable[[Node], Node]] = {
    "itself": lambda x: x,
    "permuted": lambda x: permute(x, (2, 0, 1)),
    "sliced": lambda x: slice_(x, ((1, 3, 1), (0, 5, 2), (6, -1, -3))),
    "flipped": lambda x: flip(x, 1),
    "repeated": lambda x: expand(unsqueeze(x, 1), (3, 4, 5, 7)),
    "split": lambda x: reshape(permute(x, (0, 2, 1)), (3, 7, 5, 1)),
    "merged": lambda x: reshape(x, (15, 7)),
    "in windows": lambda x: window(x, 1, 3, 2),
    "several": lambda x: permute(slice_(reshape(x, (3, 35)), ((0, 3, 2), (5, 30, 5))), (1, 0)),
}


@pytest.mark.parametrize("name", VIEWED)
def test_strides_reach_the_elements_that_the_view_shows(name: str):
    x = leaf(3, 5, 7)
    view = VIEWED[name](x)
    numbers = np.arange(105, dtype=np.float32).reshape(3, 5, 7)

    found = strided(view)

    assert found is not None
    assert found.node is x
    (expected,) = interpret([view], {x: numbers})
    for index in np.ndindex(view.shape):
        place = found.offset + sum(s * i for s, i in zip(found.strides, index, strict=True))
        assert numbers.flat[place] == expected[index]


def test_what_no_strides_describe_is_said_so():
    x = leaf(3, 5, 7)

    assert strided(reshape(permute(x, (1, 0, 2)), (105,))) is None


def test_a_padded_value_is_stored_as_it_is():
    x = leaf(3, 5, 7)
    padded = pad(x, (0, 1, 0), (0, 0, 0))

    found = strided(permute(padded, (1, 0, 2)))

    assert found is not None
    assert found.node is padded


def seen(node: Node) -> list[tuple[bool, bool]]:
    """Per reading of a node: at the same element, at the same row."""
    return [(r.same, r.row) for r in readings(node, is_index)]


def test_an_elementwise_operand_is_read_at_the_same_element():
    x = leaf(5, 7)

    assert seen(x * x) == [(True, False)]


def test_a_row_value_is_read_once_per_row():
    x = leaf(5, 7)
    rows = x.arena.input((5,), x.dtype)

    assert (False, True) in seen(x * unsqueeze(rows, 1))


def test_another_place_is_neither():
    x = leaf(5, 5)

    assert seen(permute(x, (1, 0)) * 2.0) == [(False, False)]


def test_a_padded_read_is_neither():
    assert seen(pad(leaf(5), (0,), (2,)) * 2.0) == [(False, False)]


def test_a_fold_in_lanes_runs_over_its_input():
    assert seen(reduce("add", leaf(5, 7), (1,))) == [(True, False)]


def test_equal_layers_are_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    looked: list[Node] = []
    first = access.readings_of
    monkeypatch.setattr(
        access, "readings_of", lambda node, below: looked.append(node) or first(node, below)
    )

    def layer(x: Node) -> Node:
        return pad(permute(x, (1, 0)), (0, 1), (2, 0)) * 2.0

    x, y = leaf(4, 9), leaf(4, 9)
    found = [readings(layer(each), is_index) for each in (x, y, y)]

    assert len(looked) == 1
    assert [[r.node for r in each] for each in found] == [[x], [y], [y]]


def test_one_value_read_twice_is_told_from_two():
    x = leaf(5, 7)
    z, chosen = x.arena.input((5, 7), x.dtype), x.arena.input((5, 7), bool_)

    assert nodes_of(x.arena.node("map", (chosen, x, z), f="where")) == [chosen, x, z]
    assert nodes_of(x.arena.node("map", (chosen, x, x), f="where")) == [chosen, x]


def nodes_of(node: Node) -> list[Node]:
    """The nodes that a node reads."""
    return [r.node for r in readings(node, is_index)]


def test_a_view_that_is_stored_is_told_from_one_that_is_not():
    view = slice_(leaf(5, 7), ((0, 4, 1), (0, 7, 1)))

    assert nodes_of(view * 2.0) == list(view.inputs)
    assert [(r.node, r.same) for r in readings(view * 2.0, lambda _: False)] == [(view, True)]


def test_the_same_view_of_another_size_is_read_elsewhere():
    first, other = (slice_(leaf(n, 7), ((0, 4, 1), (0, 7, 1))) * 2.0 for n in (4, 5))

    assert seen(first) == [(True, False)]
    assert seen(other) == [(False, False)]
