"""Names that the array API standard and PyTorch both have, and mean differently."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, ShapeError

X = np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 5.0]])


@pytest.mark.parametrize("name", ["var", "std"])
def test_a_variance_is_the_standards_until_a_word_is_pytorchs(name: str):
    function, x = getattr(gn, name), gn.from_numpy(X)
    biased, unbiased = (getattr(np, name)(X, 1, ddof=d) for d in (0, 1))

    np.testing.assert_allclose(function(x).numpy(), getattr(np, name)(X))
    np.testing.assert_allclose(function(x, axis=1).numpy(), biased)
    np.testing.assert_allclose(function(x, dim=1).numpy(), unbiased)
    np.testing.assert_allclose(function(x, 1).numpy(), unbiased)
    np.testing.assert_allclose(getattr(x, name)(axis=1).numpy(), unbiased)


def test_sorted_values_are_a_tensor_that_unpacks_into_a_pair():
    x = gn.from_numpy(X)
    values, indices = found = gn.sort(x, descending=True)

    assert (found + 1).tolist() == (values + 1).tolist() == [[4, 2, 1], [6, 3, 1]]
    assert found.indices.tolist() == indices.tolist() == [[0, 2, 1], [2, 1, 0]]
    assert gn.sort(x, axis=0)[0].tolist() == [0, 0, 1]
    assert gn.sort(x, dim=0)[0].tolist() == [[0, 0, 1], [3, 2, 5]]


def test_places_are_given_by_axis_or_by_row():
    x = gn.from_numpy(X)
    rows, columns = gn.nonzero(x)

    assert rows.tolist() == [0, 0, 1, 1]
    assert columns.tolist() == [0, 2, 1, 2]
    assert gn.nonzero(x, as_tuple=False).tolist() == x.nonzero().tolist() == np.argwhere(X).tolist()
    with pytest.raises(AttributeError, match=r"Use x\.nonzero\(\)"):
        gn.nonzero(x).squeeze(1)


def test_the_function_squeezes_only_axes_of_size_1():
    x = gn.ones(1, 3, 1)

    assert gn.squeeze(x, 0).shape == (3, 1)
    assert gn.squeeze(x, dim=1).shape == x.squeeze(1).shape == (1, 3, 1)
    assert gn.squeeze(x).shape == (3,)
    with pytest.raises(ShapeError, match=r"squeeze: axes \[1\] of \(1, 3, 1\)"):
        gn.squeeze(x, 1)


def test_size_is_a_number_that_can_be_called():
    x = gn.ones(2, 3)

    assert x.size == 6
    assert x.size() == (2, 3)
    assert (x.size(0), x.size(dim=-1)) == (2, 3)


def test_copies_are_made_where_they_are_asked_for():
    x = gn.arange(4)
    shown, own, cast = (
        gn.reshape(x, (2, 2)),
        gn.reshape(x, (2, 2), copy=True),
        gn.astype(x, x.dtype),
    )

    x[0] = 7

    assert (shown[0, 0].item(), own[0, 0].item(), cast[0].item()) == (7, 0, 0)
    assert gn.reshape(input=x, size=(4, 1), copy=True).shape == (4, 1)
    assert gn.astype(x, gn.int64, copy=False) is x
    with pytest.raises(ArgumentError, match="asarray: a list cannot"):
        gn.asarray([1], copy=False)


def test_shapes_are_broadcast_without_tensors():
    assert gn.broadcast_shapes((2, 1), (3,), 1) == (2, 3)


def test_a_version_of_the_standard_that_is_not_known_is_refused():
    x = gn.ones(1)

    assert x.__array_namespace__(api_version="2025.12") is gn
    with pytest.raises(ArgumentError, match=r"no version '1999\.1'"):
        x.__array_namespace__(api_version="1999.1")


def test_the_median_of_two_tensors_is_refused_by_name():
    x = gn.tensor([3.0, 1.0, 2.0])

    with pytest.raises(ArgumentError, match=r"^median: an axis is an integer: got"):
        gn.median(x, x)


def test_bytes_are_seen_under_another_dtype():
    x = gn.tensor([[1.0, -2.0], [0.5, 3.0]])

    seen = x.view(gn.int32)
    seen[0, 0] = 0
    pairs = x.view(dtype=gn.int16)

    assert seen.tolist() == x.numpy().view(np.int32).tolist()
    assert x[0, 0].item() == 0.0
    assert pairs.shape == (2, 4)
    assert x.view(gn.float32) is x
    with pytest.raises(ArgumentError, match=r"float32 as gnomon\.float64"):
        gn.zeros(3).view(gn.float64)
    assert x.view(4).shape == x.view((2, 2)).view(-1).shape == (4,)
    assert x.view(size=(4, 1)).shape == (4, 1)


UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", [*UNSIGNED, "int8", "bool"])
def test_sums_of_integers_are_the_standards_by_its_words_and_pytorchs_as_methods(dtype: str):
    x = gn.ones(2, 3, dtype=dtype)
    torchs = [x.sum(), x.prod(), x.cumsum(0), x.cumprod(0), x.nansum(), x.trace()]
    torchs += [gn.sum(x, dim=0), gn.prod(x, 1), gn.cumsum(x, 0), gn.cumprod(x, 0)]
    standards = [gn.sum(x), gn.prod(x, axis=0), gn.linalg.trace(x)]
    standards += [gn.cumulative_sum(x, axis=0), gn.cumulative_prod(x, axis=1)]

    assert {y.dtype for y in torchs} == {gn.int64}
    assert {y.dtype for y in standards} == {gn.uint64 if dtype in UNSIGNED else gn.int64}
    assert gn.sum(x, dtype=gn.int32).dtype is gn.int32


FOLDS = [
    "sum",
    "mean",
    "nansum",
    "nanmean",
    "var",
    "std",
    "var_mean",
    "std_mean",
    "amax",
    "amin",
    "norm",
    "count_nonzero",
]


@pytest.mark.parametrize("name", FOLDS)
def test_no_axes_are_all_of_them_as_dim_and_none_as_axis(name):
    x = gn.arange(6.0).reshape(2, 3)
    function = getattr(gn, name)

    for made in (function(x, dim=[]), function(x, dim=()), getattr(x, name)(dim=[])):
        assert (made if isinstance(made, gn.Tensor) else made[0]).shape == ()
    apart = function(x, axis=())
    assert (apart if isinstance(apart, gn.Tensor) else apart[0]).shape == (2, 3)
    assert gn.any(x, dim=[]).shape == (2, 3)
    assert gn.linalg.vector_norm(x, 2, []).shape == ()
