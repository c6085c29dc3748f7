"""Floats of 8 bits are rounded and read as ml_dtypes does it, whatever shares their kernel."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
import gnomon.nn.functional as F
from gnomon.codegen.float8 import FLOATS8
from gnomon.settings import override

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
"""Every half, of which those between two floats of 8 bits lie in their middle."""
FINITE = HALVES[np.isfinite(HALVES)]
BESIDE = [np.nextafter(FINITE, np.float32(end)) for end in (np.inf, -np.inf)]
FAR = np.array([1e38, -1e38, 1e-40, -1e-40, 464.0, 465.0, 61440.0, 61441.0, -0.0], np.float32)
NUMBERS = np.concatenate([HALVES, *BESIDE, FAR])


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The bytes of numbers; of those that are none, one."""
    return np.where(np.isnan(array.astype(np.float32)), 127, array.view(np.uint8))


@pytest.mark.parametrize("dtype", FLOATS8)
def test_numbers_are_rounded_to_the_nearest(dtype):
    with np.errstate(over="ignore", invalid="ignore"):
        expected = NUMBERS.astype(dtype.numpy)
    x = gn.tensor(NUMBERS)

    stored = x.to(dtype)
    np.testing.assert_array_equal(bytes_of(stored.numpy()), bytes_of(expected))
    # one kernel that stores nothing between rounds too
    np.testing.assert_array_equal(x.to(dtype).to(gn.float32).numpy(), expected.astype(np.float32))
    call = gn.compile(lambda x: x.to(dtype).to(gn.float32))
    np.testing.assert_array_equal(call(x).numpy(), expected.astype(np.float32))


@pytest.mark.parametrize("dtype", FLOATS8)
def test_every_byte_is_read(dtype):
    held = np.arange(256, dtype=np.uint8).view(dtype.numpy)

    for wide in (gn.float32, gn.float64, gn.float16, gn.bfloat16):
        found = gn.from_numpy(held).to(wide).numpy().astype(np.float32)
        np.testing.assert_array_equal(found, held.astype(np.float32))


@pytest.mark.parametrize("dtype", FLOATS8)
def test_kernels_apart_and_together_have_the_same_bits(dtype):
    x = gn.randn(37, 5) * 100

    def program(x: gn.Tensor) -> gn.Tensor:
        y = (x * 3).to(dtype)
        return y.to(gn.float32) + y.t().to(gn.float32).t()

    together = gn.compile(program)(x)
    with override(without="fuse"):
        assert gn.compile(program)(x).numpy().tobytes() == together.numpy().tobytes()


@pytest.mark.parametrize("dtype", FLOATS8)
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_products_are_those_of_wide_numbers_rounded_once(dtype, rows: int):
    x, w = gn.randn(rows, 70).to(dtype), gn.randn(33, 70).to(dtype)
    wide = F.linear(x.float(), w.float())

    np.testing.assert_array_equal(F.linear(x, w).float().numpy(), wide.to(dtype).float().numpy())
    np.testing.assert_array_equal((x @ w.t()).float().numpy(), wide.to(dtype).float().numpy())


def test_products_of_groups_are_those_of_wide_numbers():
    x, w = gn.randn(8, 16).to(gn.float8_e4m3fn), gn.randn(2, 16, 8).to(gn.float8_e4m3fn)
    ends = gn.tensor([3, 8], dtype=gn.int32)

    expected = gn.grouped_mm(x.float(), w.float(), ends).to(gn.float8_e4m3fn)
    np.testing.assert_array_equal(
        gn.grouped_mm(x, w, ends).float().numpy(), expected.float().numpy()
    )


@pytest.mark.parametrize("dtype", FLOATS8)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + x,
        lambda x: -x,
        lambda x: x / 4.0,
        lambda x: x.sum(1),
        lambda x: x.cumsum(0),
        lambda x: x.amax(0),
        lambda x: x.sort(1)[0],
        lambda x: x[gn.tensor([2, 0])],
        lambda x: gn.cat([x, x.flip(0)]),
        lambda x: x.index_add(0, gn.tensor([1, 1]), x[:2]),
    ],
)
def test_operations_are_those_of_the_interpreter(dtype, function):
    x = (gn.randn(5, 9) * 3).to(dtype)

    found = function(x).float().numpy()

    with gn.device("reference"):
        there = function(x.to("reference")).float().to("cpu").numpy()
    np.testing.assert_array_equal(found, there)
