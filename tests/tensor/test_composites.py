"""Functions that come down to methods; torch's word on them is in tests/parity/table/names.py."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, ShapeError


def test_slopes_are_numpys(rng):
    x, places = rng.standard_normal((5, 4)), np.array([0.0, 1, 1.5, 3])

    for order in (1, 2):
        ours = gn.gradient(gn.tensor(x), spacing=(0.5, gn.tensor(places)), edge_order=order)
        theirs = np.gradient(x, 0.5, places, edge_order=order)
        for our, their in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(our.numpy(), their, rtol=1e-12, atol=1e-12)


def test_a_median_and_quantiles_leave_nan_out():
    x = np.array([[1.0, np.nan, 3, 2], [np.nan, np.nan, 5, 7], [4, 3, 2, 1]])

    assert gn.tensor(x).nanmedian(1).values.tolist() == [2.0, 5.0, 2.0]
    assert gn.tensor(x).nanmedian(1).indices.tolist() == [3, 2, 2]
    for q in (0.0, 0.3, 1.0):
        np.testing.assert_allclose(gn.nanquantile(gn.tensor(x), q, 1), np.nanquantile(x, q, 1))


def test_a_name_that_ends_in_an_underscore_writes():
    x = gn.tensor([-1.0, 2.0])

    assert gn.relu_(x) is x
    assert x.tolist() == [0.0, 2.0]
    assert x.ldexp_(gn.tensor([1.0, 3.0])).tolist() == [0.0, 16.0]


def test_a_copy_of_a_view_is_apart():
    x = gn.arange(6)

    y = gn.view_copy(x, (2, 3))
    parts = gn.unbind_copy(y)
    y.zero_()

    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    assert parts[1].tolist() == [3, 4, 5]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match="addbmm: needs two batches"):
        gn.addbmm(gn.ones(2, 2), gn.ones(2, 2), gn.ones(2, 2))
    with pytest.raises(ArgumentError, match="nanquantile: shares lie in"):
        gn.nanquantile(gn.ones(3), 1.5)
    with pytest.raises(ArgumentError, match="gradient: needs a spacing"):
        gn.gradient(gn.ones(3, 3), spacing=(1.0,))
    with pytest.raises(ShapeError, match="gradient: needs more than 2"):
        gn.gradient(gn.ones(2), edge_order=2)


def test_the_norms_of_a_vectors_slices_are_its_magnitudes():
    assert gn.norm_except_dim(gn.tensor([3.0, -4.0]), 2, 0).tolist() == [3.0, 4.0]
    assert gn.norm_except_dim(gn.tensor([3.0, -4.0]), 2, -1).item() == 5.0


def test_a_slope_does_not_see_the_element_between_its_neighbours():
    x = gn.tensor([1.0, float("inf"), 4.0, 5.0, 7.0])

    assert gn.gradient(x)[0].tolist() == [float("inf"), 1.5, -float("inf"), 1.5, 2.0]
    assert gn.gradient(gn.tensor([1.0, 2.0, 4.0]), spacing=float("inf"))[0].tolist() == [0, 0, 0]
