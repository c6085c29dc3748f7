"""Values where ordinary tests do not look: NaN, infinities, ends of ranges, numbers beside dtypes.

What comes is torch's, its dtype too, eager and compiled.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

inf, nan = math.inf, math.nan
ODD = [1.0, nan, 3.0, inf, -inf, 2.0]
MATRICES = {
    "below": [[1.0, 2.0], [nan, 4.0]],
    "above": [[4.0, nan], [1.0, 3.0]],
    "first": [[nan, 1.0], [1.0, 3.0]],
    "last": [[4.0, 1.0], [1.0, nan]],
    "infinite last": [[4.0, 1.0], [1.0, inf]],
    "infinite first": [[inf, 1.0], [1.0, 4.0]],
    "infinite aside": [[4.0, inf], [inf, 4.0]],
}


def told(x):
    """A result as dtypes and arrays."""
    if isinstance(x, (tuple, list)):
        return [part for each in x for part in told(each)]
    if not hasattr(x, "numpy"):
        return [("", np.asarray(x))]
    values = x.float() if "bfloat16" in str(x.dtype) else x
    return [(str(x.dtype).rpartition(".")[2], values.numpy())]


def outcome(function, lib):
    """What a function gives; nothing where that is an error."""
    try:
        return told(function(lib))
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
        return []


def check(function, rtol=0.0):
    """Both libraries give one outcome, and so does the compiled function."""
    wanted = outcome(function, torch)
    for run in (function, gn.compile(function)):
        found = outcome(run, gn)
        assert [dtype for dtype, _ in found] == [dtype for dtype, _ in wanted]
        for (_, mine), (_, theirs) in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=0)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("how", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles_of_nan_and_infinities(name, how):
    # torch multiplies infinity by 0 where there is no way to go, as numpy does not
    shares = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]
    lone = [0.25, 0.5] if how == "linear" else shares if how != "midpoint" else [0.5]
    for row, q in (
        ([1.0, 4.0, 8.0, 2.0], shares),
        ([1.0, nan, 2.0], shares),
        ([nan, nan], shares),
        ([1.0, inf, -inf, 2.0], lone),
        ([[1.0, 2.0], [nan, 3.0]], shares),
    ):
        dim = None if isinstance(row[0], float) else 1
        check(
            lambda lib, row=row, q=q, dim=dim: getattr(lib, name)(
                lib.tensor(row), lib.tensor(q), dim, interpolation=how
            ),
            rtol=1e-6,
        )


ORDERS = {
    "median": lambda lib, x: [x.median(), x.nanmedian(), lib.median(x, 0), lib.nanmedian(x, 0)],
    "kthvalue": lambda lib, x: [lib.kthvalue(x, k) for k in (1, 3, 5, 6)],
    "sort": lambda lib, x: [lib.sort(x, 0), lib.sort(x, 0, descending=True), lib.argsort(x)],
    "topk": lambda lib, x: [lib.topk(x, 3), lib.topk(x, 3, largest=False)],
    "unique": lambda lib, x: lib.unique(x),
    "cummax": lambda lib, x: [lib.cummax(x, 0), lib.cummin(x, 0)],
    "aminmax": lambda lib, x: [lib.aminmax(x), x.max(0), x.min(0), x.argmax(), x.argmin()],
}


@pytest.mark.parametrize("name", ORDERS)
def test_orders_of_nan_and_infinities(name):
    check(lambda lib: ORDERS[name](lib, lib.tensor(ODD)))


@pytest.mark.parametrize("right", [False, True])
def test_places_of_nan_and_infinities_in_rows_that_have_them(right):
    values = [nan, -inf, inf, 0.0, 1.0, 2.0, 5.0]
    for row in (
        [1.0, 2.0, 3.0],
        [-inf, 1.0, 2.0, inf, nan],
        [1.0, nan, nan],
        [nan],
        [2.0, 1.0, 0.0],
    ):
        check(lambda lib, row=row: lib.bucketize(lib.tensor(values), lib.tensor(row), right=right))
        check(
            lambda lib, row=row: lib.searchsorted(
                lib.tensor([row, row[::-1]]), lib.tensor([values, values]), right=right
            )
        )


def test_places_in_rows_of_any_length(rng):
    for n in (0, 1, 2, 3, 4, 5, 7, 8, 9, 100):
        row, values = rng.integers(0, 9, n), rng.integers(-1, 11, (3, 5))
        for right in (False, True):
            check(
                lambda lib, row=row, values=values, right=right: lib.searchsorted(
                    lib.tensor(row), lib.tensor(values), right=right, out_int32=right
                )
            )


FACTORS = {
    "inv": lambda lib, a, b: [lib.linalg.inv(a), lib.linalg.inv_ex(a)],
    "solve": lambda lib, a, b: [lib.linalg.solve(a, b), lib.linalg.solve_ex(a, b)],
    "solve_triangular": lambda lib, a, b: lib.linalg.solve_triangular(a, b[:, None], upper=True),
    "cholesky": lambda lib, a, b: lib.linalg.cholesky(a),
    "cholesky_ex": lambda lib, a, b: lib.linalg.cholesky_ex(a)[1],
    "cholesky of many": lambda lib, a, b: lib.linalg.cholesky_ex(lib.stack([a, lib.eye(2)]))[1],
    "det": lambda lib, a, b: [lib.linalg.det(a), lib.linalg.slogdet(a)[1]],
    "svdvals": lambda lib, a, b: lib.linalg.svdvals(a),
    "pinv": lambda lib, a, b: lib.linalg.pinv(a),
    "matrix_exp": lambda lib, a, b: lib.linalg.matrix_exp(a),
}


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("name", FACTORS)
def test_factors_of_nan_and_infinities(name, matrix):
    a = MATRICES[matrix]
    check(lambda lib: FACTORS[name](lib, lib.tensor(a), lib.tensor([1.0, 2.0])), rtol=1e-5)


def test_equations_whose_sides_are_not_finite():
    for b in ([nan, 1.0], [inf, 1.0], [1.0, -inf]):
        check(lambda lib, b=b: lib.linalg.solve(lib.tensor([[1.0, 2], [3, 4]]), lib.tensor(b)))
