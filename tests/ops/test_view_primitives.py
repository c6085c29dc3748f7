"""Views: numpy's values, gradients that undo them, sizes that are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.errors import ShapeError
from gnomon.ir.node import PRIMITIVES, Arena
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.view_primitives import pad, permute, slice_, window
from tests.graphs import check_gradient, value

pytestmark = pytest.mark.unit

VIEWS = {
    "permute": lambda x: permute(x, (2, 0, 1)),
    "reshape": lambda x: reshape(x, (6, 5)),
    "expand": lambda x: expand(reshape(x, (2, 1, 15)), (2, 4, 15)),
    "slice": lambda x: slice_(x, ((0, 2, 1), (1, 3, 1), (0, 5, 2))),
    "slice backwards": lambda x: slice_(x, ((1, -1, -1), (0, 3, 1), (4, -1, -2))),
    "empty slice": lambda x: slice_(x, ((0, 2, 1), (1, 1, 1), (0, 5, 1))),
    "pad": lambda x: pad(x, (1, 0, 2), (0, 3, 1), 7.0),
    "pad between": lambda x: pad(x, (0, 1, 0), (0, 0, 2), 0.0, (0, 2, 1)),
    "crop": lambda x: pad(x, (0, -1, 0), (0, 0, -2)),
    "window": lambda x: window(x, 2, 3),
    "window with steps": lambda x: window(x, 2, 2, stride=2, dilation=2),
    "window inside": lambda x: window(x, 1, 2),
}


@pytest.mark.parametrize("name", [n for n in VIEWS if n != "crop"])
def test_a_view_has_the_gradient_that_differences_show(name, rng):
    check_gradient(VIEWS[name], rng.standard_normal((2, 3, 5)))


def test_views_are_numpys(rng):
    x = rng.standard_normal((2, 3, 5))

    assert np.array_equal(value(VIEWS["permute"], x), x.transpose(2, 0, 1))
    assert np.array_equal(value(VIEWS["slice"], x), x[0:2, 1:3, 0:5:2])
    assert np.array_equal(value(VIEWS["slice backwards"], x), x[::-1, :, ::-2])
    assert np.array_equal(
        value(VIEWS["pad"], x), np.pad(x, ((1, 0), (0, 3), (2, 1)), constant_values=7)
    )
    assert np.array_equal(
        value(VIEWS["window"], x), np.lib.stride_tricks.sliding_window_view(x, 3, axis=2)
    )


def test_padding_between_leaves_gaps():
    assert value(lambda n: pad(n, (1,), (0,), 9.0, (2,)), np.array([1.0, 2.0])).tolist() == [
        *(9.0, 1.0, 9.0, 9.0, 2.0)
    ]


def test_windows_step_and_dilate():
    y = value(lambda n: window(n, 0, 2, stride=3, dilation=2), np.arange(8.0))

    assert y.tolist() == [[0, 2], [3, 5]]


def test_views_that_change_nothing_are_the_node_itself():
    x = Arena().input((2, 3), float32)

    assert permute(x, (0, 1)) is x
    assert slice_(x, ((0, 2, 1), (0, 3, 1))) is x
    assert pad(x, (0, 0), (0, 0)) is x


def test_sizes_that_do_not_fit_are_named():
    x = Arena().input((2, 3), float32)

    with pytest.raises(ShapeError, match=r"reshape: .*\(2, 3\) has 6 elements, \(4, 2\) has 8"):
        reshape(x, (4, 2))
    with pytest.raises(ShapeError, match=r"expand: .*\(2, 3\) to \(2, 6\)"):
        expand(x, (2, 6))
    with pytest.raises(ShapeError, match=r"window: 4 elements do not fit into axis 1 of \(2, 3\)"):
        window(x, 1, 4)


@pytest.mark.parametrize(
    ("before", "after", "followed"),
    [
        ((8, 512), (8, 4, 128), [(0, 0), (1, 1)]),
        ((6, 4), (24,), [(0, 0)]),
        ((2, 3, 5), (6, 5), [(0, 0), (2, 1)]),
        ((1, 4), (4, 1), [(1, 0)]),
        ((6, 4), (4, 6), [(0, 0)]),
    ],
)
def test_a_reshaped_group_keeps_the_letter_of_its_major_axis(before, after, followed):
    y = reshape(Arena().input(before, float32), after)

    signature = PRIMITIVES["reshape"].signature(y)

    pairs = [
        (k, signature.output.index(letter))
        for k, letter in enumerate(signature.inputs[0])
        if letter is not None
    ]
    assert pairs == followed
