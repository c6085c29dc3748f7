"""Questions about tensors: kinds, positions, histograms."""

from __future__ import annotations

import numpy as np

import gnomon as gn


def test_histograms_are_numpys(rng):
    x, shares = rng.standard_normal(50), rng.uniform(0, 1, 50)
    ends = np.array([-1.0, 0.0, 0.25, 2.0])

    for bins in (5, ends):
        given = gn.tensor(bins) if isinstance(bins, np.ndarray) else bins
        made = gn.histogram(gn.tensor(x), given, weight=gn.tensor(shares), density=True)
        hist, edges = np.histogram(x, bins, weights=shares, density=True)
        np.testing.assert_allclose(made.hist, hist)
        np.testing.assert_allclose(made.bin_edges, edges)


def test_mantissa_and_exponent_are_numpys():
    x = np.array([6.0, -0.3, 0.0, 5e-324, 1e300, 1.0])

    made = gn.frexp(gn.tensor(x))

    for ours, theirs in zip(made, np.frexp(x), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)


def test_positions_of_a_flat_tensor_are_those_of_its_axes():
    made = gn.unravel_index(gn.arange(24), (2, 3, 4))

    for ours, theirs in zip(made, np.unravel_index(np.arange(24), (2, 3, 4)), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)


def test_kinds_of_tensors():
    x = gn.tensor([1.0])

    assert gn.is_nonzero(x)
    assert gn.is_signed(x)
    assert x.is_same_size(gn.zeros(1))
    assert not gn.is_signed(gn.tensor([1], dtype=gn.uint8))
    assert x.get_device() == -1
    assert x.is_cpu
    assert not x.is_meta
    assert not x.is_conj()
    assert x.real.tolist() == [1.0]
    assert x.ndimension() == 1
    assert x.dim_order() == (0,)
