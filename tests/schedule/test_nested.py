"""How products read windows that were laid flat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Node
from gnomon.ops.interpret import interpret
from gnomon.ops.primitives import contract, flip, reshape
from gnomon.ops.view_primitives import permute, window
from gnomon.schedule.nested import common, cut, factors, nested, regrouped, row_major
from tests.schedule.kernels_of import leaf

pytestmark = pytest.mark.unit

VIEWED: dict[str, Callable[[Node], Node]] = {
    "itself": lambda x: x,
    "windows laid flat": lambda x: reshape(permute(window(x, 2, 3), (1, 0, 3, 2)), (4, 9, 5)),
    "backwards": lambda x: reshape(flip(permute(window(x, 2, 3), (1, 0, 3, 2)), 2), (4, 9, 5)),
    "split and merged": lambda x: reshape(permute(x, (1, 0, 2)), (2, 6, 7)),
}


@pytest.mark.parametrize("name", VIEWED)
def test_nested_strides_reach_the_elements_that_the_view_shows(name: str):
    x = leaf(3, 4, 7)
    view = VIEWED[name](x)
    numbers = np.arange(84, dtype=np.float32).reshape(3, 4, 7)

    found = nested(view)

    assert found.node is x
    (expected,) = interpret([view], {x: numbers})
    for index in np.ndindex(view.shape):
        place = found.offset
        for i, nest in zip(index, found.axes, strict=True):
            for n, stride in reversed(nest):
                place, i = place + i % n * stride, i // n
        assert numbers.flat[place] == expected[index]


def test_what_no_nest_describes_is_stored():
    x = leaf(3, 4, 7)
    view = reshape(permute(reshape(permute(x, (2, 0, 1)), (21, 4)), (1, 0)), (84,))

    assert nested(view).node is view


def test_axes_that_cannot_be_cut_alike_are_stored():
    arena = Arena()
    x, y = arena.input((2, 3, 5), float32), arena.input((3, 2, 5), float32)
    turned = [reshape(permute(v, (1, 0, 2)), (6, 5)) for v in (x, y)]

    a, b = factors(contract("ki,kj->ij", *turned))

    assert [found.node for found in (a, b)] == turned


def test_nests_are_cut_as_finely_as_the_finest():
    assert common([((6, 5), (5, 1)), ((30, 1),)]) == [6, 5]
    assert common([((2, 3), (3, 1)), ((3, 2), (2, 1))]) is None
    assert common([((1, 0),)]) == []
    assert cut(((30, 1),), [6, 5]) == [5, 1]
    assert row_major((3, 5, 7)) == (35, 7, 1)


def test_axes_are_regrouped_where_their_products_fit():
    assert regrouped((4, 3), (12,)) == [[(4, 0, 1), (3, 1, 1)]]
    assert regrouped((6, 5), (5, 6)) is None
