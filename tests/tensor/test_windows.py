"""Windows of signals."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DtypeError


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett"])
def test_a_window_is_numpys(name: str):
    ours = getattr(gn, f"{name}_window")
    theirs = {"hann": np.hanning}.get(name) or getattr(np, name)

    np.testing.assert_allclose(ours(7, periodic=False).numpy(), theirs(7), atol=1e-6)
    np.testing.assert_allclose(ours(7, dtype=gn.float64).numpy(), theirs(8)[:-1], atol=1e-12)
    assert ours(1).tolist() == [1.0]
    with pytest.raises(ArgumentError, match="lengths are not negative"):
        ours(-1)


def test_ratios_are_equal():
    np.testing.assert_allclose(gn.logspace(0, 2, 3).numpy(), [1, 10, 100])
    np.testing.assert_allclose(gn.logspace(0, 3, 4, base=2).numpy(), [1, 2, 4, 8])


def test_complex_ends_keep_their_imaginary_part():
    straight = gn.linspace(1, 2j, 3, dtype=gn.complex128)
    turning = gn.logspace(0, 1j, 3)

    np.testing.assert_allclose(straight.numpy(), np.linspace(1, 2j, 3))
    np.testing.assert_allclose(turning.numpy(), np.logspace(0, 1j, 3), rtol=1e-6)
    assert (gn.linspace(0, 1j, 3).dtype, turning.dtype) == (gn.complex64, gn.complex64)
    for make in (gn.linspace, gn.logspace):
        with pytest.raises(DtypeError, match="ends are complex numbers: got float32"):
            make(0, 1j, 3, dtype=gn.float32)
