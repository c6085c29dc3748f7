"""Stretches of axes and their transpose."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.ir.node import Graph
from gnomon.ops.windows import add_stretches, all_stretches, stretches, zero_padded
from tests.compiled import run
from tests.graphs import built, value

pytestmark = pytest.mark.unit

GEOMETRY = [((2, 3), (1, 2), (2, 1)), ((2, 2), (2, 2), (1, 1)), ((3, 1), (2, 2), (1, 1))]


@pytest.mark.parametrize(("sizes", "stride", "dilation"), GEOMETRY)
def test_a_stretch_holds_what_its_formula_says(sizes, stride, dilation, rng):
    x = rng.standard_normal((2, 6, 7))

    y = value(lambda x: all_stretches(x, 1, sizes, stride, dilation), x)

    for n, i, j, u, v in np.ndindex(y.shape):
        assert (
            y[n, i, j, u, v]
            == x[n, i * stride[0] + u * dilation[0], j * stride[1] + v * dilation[1]]
        )


@pytest.mark.parametrize(("sizes", "stride", "dilation"), GEOMETRY)
def test_laying_back_is_the_transpose(sizes, stride, dilation, rng):
    x = rng.standard_normal((2, 6, 7))
    y = value(lambda x: all_stretches(x, 1, sizes, stride, dilation), x)
    g = rng.standard_normal(y.shape)

    back = value(lambda g: add_stretches(g, 1, (6, 7), stride, dilation), g)

    assert np.sum(back * x) == pytest.approx(np.sum(g * y))


def test_stretches_without_overlap_are_no_windows():
    root, _ = built(lambda x: stretches(x, 1, 3, 3, 1), np.ones((2, 7)))

    assert root.op == "permute" or root.op == "reshape"
    assert root.shape == (2, 2, 3)


def test_a_frame_that_is_made_again_is_a_kernel_of_its_own(rng):
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    first, leaves = built(lambda x: zero_padded(x, ((1, 0), (2, 1))), x)
    again = zero_padded(leaves[0], ((1, 0), (2, 1)), apart=True)

    found = run(Graph(leaves, [first, again]), [x])

    assert first is not again
    for made in found:
        np.testing.assert_array_equal(made, np.pad(x, ((0, 0), (1, 0), (2, 1))))
