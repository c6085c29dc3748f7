"""Tensors for tests: of every dtype, within their bounds."""

from __future__ import annotations

import pytest

import gnomon as gn

BOUNDS = (
    *((gn.float32, -9, 9), (gn.float16, -9, 9), (gn.int64, -9, 9), (gn.int8, -9, 9)),
    *((gn.uint8, 0, 9), (gn.bool, 0, 1)),
)


@pytest.mark.parametrize(("dtype", "low", "high"), BOUNDS, ids=str)
def test_values_lie_within_the_dtype_s_bounds(dtype, low, high):
    x = gn.testing.make_tensor((40, 5), dtype=dtype, device="cpu")

    assert (x.dtype, x.shape) == (dtype, (40, 5))
    assert low <= x.min().item() < x.max().item() <= high


def test_bounds_gradients_and_zeros_are_as_asked():
    x = gn.testing.make_tensor(3, 4, dtype=gn.float64, low=2, high=3, requires_grad=True)
    ones = gn.testing.make_tensor(50, dtype=gn.int32, low=0, high=2, exclude_zero=True)

    assert x.requires_grad
    assert bool(((x >= 2) & (x < 3)).all())
    assert ones.tolist() == [1] * 50
    assert gn.testing.make_tensor(2, dtype=gn.float32, low=4, high=4).tolist() == [4.0, 4.0]
