"""Complex functions at zeros, infinities, NaN and near the largest numbers: torch's values."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

inf, nan = math.inf, math.nan
ODD = (0.0, -0.0, 1.0, -1.0, inf, -inf, nan)
SIZES = {
    "complex64": (0.0, 1.0, -1.0, 0.5, 3e38, -3e38, 1.5e38, 1.8e19, 1e-20, 88.9, -100.0, 1e10),
    "complex128": (0.0, 1.0, -1.0, 0.5, 1.7e308, -1.7e308, 1.3e154, 1e-160, 712.0, -750.0, 1e10),
}
NAMES = (
    *("sqrt", "rsqrt", "exp", "exp2", "log", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh", "reciprocal", "sigmoid", "abs", "angle"),
)


def seen(lib, name, dtype, values):
    """The real and the imaginary parts."""
    found = getattr(lib, name)(lib.tensor(values, dtype=getattr(lib, dtype))).numpy()
    return np.stack([found.real, found.imag])


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_zeros_infinities_and_nan(name, dtype):
    values = [complex(a, b) for a, b in product(ODD, ODD)]
    mine, theirs = (seen(lib, name, dtype, values) for lib in (gn, torch))
    if name == "sigmoid":  # of −∞ torch's is NaN where the size is known to be 0
        mine[np.isnan(theirs)] = nan

    np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    known = ~np.isnan(mine) & (mine != 0)
    np.testing.assert_array_equal(np.signbit(mine)[known], np.signbit(theirs)[known])


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_all_sizes(name, dtype):
    values = [complex(a, b) for a, b in product(SIZES[dtype], SIZES[dtype])]
    mine, theirs = (seen(lib, name, dtype, values) for lib in (gn, torch))
    if name == "sigmoid":
        mine[np.isnan(theirs)] = nan
    tiny = float(np.finfo(np.float32 if dtype == "complex64" else np.float64).tiny)

    # beside the unit circle our logarithm's real part is right to an absolute, not a relative part,
    # and torch's inverse cosine beside the imaginary axis
    close = {"log": 1e-19, "log10": 1e-19, "acos": 1e-15}.get(name, tiny)
    np.testing.assert_allclose(
        mine, theirs, rtol=3e-5 if dtype == "complex64" else 1e-12, atol=close
    )


@pytest.mark.parametrize("dtype", SIZES)
def test_quotients(dtype):
    numbers = (0.0, 1.0, -2.0, inf, SIZES[dtype][4])
    values = [complex(a, b) for a, b in product(numbers, numbers)]
    pairs = list(product(values, values))

    def seen(lib):
        x, y = (lib.tensor([p[k] for p in pairs], dtype=getattr(lib, dtype)) for k in (0, 1))
        found = [x / y, x.real / y, *(x / c for c in (0, 0j, 1 - 2j))]
        return np.concatenate([[z.numpy().real, z.numpy().imag] for z in found])

    mine, theirs = seen(gn), seen(torch)
    wrong = ~np.isclose(mine, theirs, rtol=1e-6, atol=0, equal_nan=True)
    # torch's squares of large numbers overflow
    assert not (wrong & ~np.isnan(theirs) & (theirs != 0) & np.isfinite(theirs)).any()
    small = [
        all(abs(v) not in numbers[4:] for z in pair for v in (z.real, z.imag)) for pair in pairs
    ]
    np.testing.assert_allclose(mine[:, small], theirs[:, small], rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_slopes_of_large_numbers_are_numbers(name):
    for value in (3e38 + 1j, -3e38 - 3e38j, 2e19 + 1j, 1 + 2e19j, 100.0 + 1e-20j):
        x = gn.tensor(value, dtype=gn.complex64, requires_grad=True)
        y = getattr(gn, name)(x)
        (y.abs() if y.is_complex() else y).backward()

        if y.abs().isfinite():
            assert gn.view_as_real(x.grad).isfinite().all(), (name, value, x.grad)
