"""How a cluster's domain is cut into rows and vectors."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import gnomon as gn
from gnomon.dtypes import float32
from gnomon.ir.symbolic import has_division
from gnomon.nn import functional as F
from gnomon.ops.joining import join
from gnomon.ops.primitives import expand, reduce, reshape
from gnomon.ops.scalars import exp
from gnomon.ops.view_primitives import permute
from tests.compiler.test_sized import passes, swept
from tests.schedule.kernels_of import kernels, leaf, softmax

pytestmark = pytest.mark.unit


def test_a_plain_map_is_one_flat_loop():
    x = leaf(3, 5, 7)

    (kernel,) = kernels(exp(x))

    assert kernel.flat
    assert kernel.inner.params["size"] == 105


def test_many_large_rows_of_a_join_are_written_part_by_part():
    def joined(count, *shape):
        arena = leaf(1).arena
        xs = [arena.input(shape, float32) for _ in range(count)]
        return join([x * 2.0 if k % 2 else x for k, x in enumerate(xs)], 1)

    few, many, small = joined(9, 4, 1, 128, 8), joined(65, 4, 1, 128, 8), joined(9, 4, 1, 3)

    assert [len(kernels(x)) for x in (few, many, small)] == [9, 1, 1]


def test_flat_kernels_of_any_size_are_equal():
    (small,), (large,) = kernels(exp(leaf(5))), kernels(exp(leaf(7000)))

    assert small.key() == large.key()


def test_a_sum_along_rows_keeps_its_rows():
    (kernel,) = kernels(softmax(leaf(3, 5, 7)))

    assert [r.params["size"] for r in kernel.rows] == [15]
    assert kernel.inner.params["size"] == 7


def test_a_bias_needs_no_division():
    x = leaf(3, 5, 7)
    bias = x.arena.input((7,), x.dtype)
    (kernel,) = kernels(exp(x + reshape(bias, (1, 1, 7))))

    assert not has_division(kernel.nodes())
    assert kernel.inner.params["size"] == 7


def test_a_permutation_needs_no_division():
    (kernel,) = kernels(permute(leaf(3, 5, 7), (1, 0, 2)) * 2.0)

    assert not has_division(kernel.nodes())


def test_heads_are_split_without_division():
    x = leaf(3, 5, 8)
    heads = permute(reshape(x, (3, 5, 2, 4)), (0, 2, 1, 3))

    (kernel,) = kernels(heads * 2.0)

    assert not has_division(kernel.nodes())


def test_outputs_come_first_among_buffers():
    x = leaf(5, 7)
    y, z = exp(x), exp(x) * 2.0

    (kernel,) = kernels(y, z)

    assert kernel.outputs == 2
    assert len(kernel.dtypes) == 3


def test_a_whole_sum_has_no_rows():
    (kernel,) = kernels(reduce("add", leaf(37), (0,)))

    assert kernel.rows == ()
    assert not kernel.flat


def test_a_row_value_of_more_axes_does_not_cut_the_rows():
    total = reduce("add", leaf(37), (0,))

    (kernel,) = kernels(exp(reshape(total, (1, 1))))

    assert kernel.inner.params["size"] == 37


def test_an_axis_of_one_is_no_loop():
    x = leaf(5, 1, 7)

    (kernel,) = kernels(exp(expand(x, (5, 1, 7))))

    assert kernel.flat


def framed(x: gn.Tensor) -> gn.Tensor:
    """A picture written into a larger one."""
    found = gn.zeros(x.shape[0], x.shape[1] + 4, x.shape[2] + 5)
    found.narrow(1, 4, x.shape[1]).narrow(2, 2, x.shape[2]).copy_(x)
    return found * 2


@pytest.mark.parametrize(
    "body",
    [
        framed,
        lambda x: F.pad(x, (2, 3, 4, 2)),
        lambda x: F.pad(x, (0, 2, 4, 0)).cumsum(-1) * 2,
    ],
)
def test_a_part_of_a_domain_is_stored_along_its_rows_at_every_size(body: Callable):
    swept(body, [(3, 17, 7), (5, 6, 33), (7, 33, 3), (16, 7, 9)])


def grid_of(pictures: gn.Tensor) -> gn.Tensor:
    """Pictures in bytes, written one by one into a grid with gaps, as torchvision saves them."""
    count, channels, side, _ = pictures.shape
    across, step = math.isqrt(count), side + 2
    grid = gn.zeros(channels, across * step + 2, across * step + 2)
    for k in range(count):
        row = grid.narrow(1, k // across * step + 2, side)
        row.narrow(2, k % across * step + 2, side).copy_(pictures[k])
    return grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).to("cpu", gn.uint8)


def test_pictures_are_written_into_a_grid_at_every_size():
    swept(grid_of, [(25, 3, 16, 16), (25, 3, 32, 32), (16, 2, 9, 9)])


def test_diagonals_are_written_at_every_size_and_offset():
    with passes():
        for shape, offset in (((5, 5), 2), ((5, 5), 1), ((3, 5), 2), ((4, 9), -3)):
            found = gn.diag_embed(gn.ones(shape), offset)
            assert found.numpy().sum((1, 2)).tolist() == [shape[1]] * shape[0]
