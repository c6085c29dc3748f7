"""Routines on matrices: gradients by differences, typed errors, and the same bits twice."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ops import lapack

L = gn.linalg
STEP = 1e-6


def symmetric(x):
    """The symmetric half of a matrix."""
    return (x + x.mT) / 2


def positive(x):
    """A matrix that has a Cholesky factor."""
    return x @ x.mT + gn.eye(x.shape[-1], dtype=gn.float64)


FACTORS = {
    "cholesky": (lambda x: L.cholesky(positive(x)), (2, 4, 4)),
    "cholesky upper": (lambda x: L.cholesky(positive(x), upper=True), (4, 4)),
    "qr tall": (L.qr, (2, 5, 3)),
    "qr wide": (L.qr, (2, 3, 5)),
    "qr complete": (lambda x: L.qr(x, mode="complete"), (3, 5)),
    "r": (lambda x: L.qr(x, mode="r")[1], (5, 3)),
    "svd tall": (lambda x: L.svd(x, full_matrices=False), (2, 5, 3)),
    "svd wide": (lambda x: L.svd(x, full_matrices=False), (2, 3, 5)),
    "eigh": (lambda x: L.eigh(symmetric(x)), (2, 4, 4)),
    "eigvalsh": (lambda x: L.eigvalsh(symmetric(x), UPLO="U"), (4, 4)),
    "pinv tall": (L.pinv, (2, 5, 3)),
    "pinv wide": (L.pinv, (3, 5)),
    "logdet": (lambda x: gn.logdet(positive(x)), (2, 4, 4)),
    "norm": (lambda x: L.norm(x, 2), (4, 3)),
    "nuclear norm": (lambda x: L.norm(x, "nuc"), (3, 4)),
}


def total(made, weights):
    """A weighted sum of all results."""
    made = made if isinstance(made, tuple) else (made,)
    return sum((x * w.reshape(x.shape)).sum() for x, w in zip(made, weights, strict=False))


@pytest.mark.parametrize("name", FACTORS)
def test_a_slope_is_what_differences_say(name, rng):
    function, shape = FACTORS[name]
    x, way = rng.standard_normal((2, *shape))
    first = function(gn.tensor(x))
    kept = first if isinstance(first, tuple) else (first,)
    weights = [gn.tensor(rng.standard_normal(y.shape)) for y in kept]
    leaf = gn.tensor(x, requires_grad=True)

    total(function(leaf), weights).backward()

    ends = [total(function(gn.tensor(x + h * way)), weights).item() for h in (STEP, -STEP)]
    told = (ends[0] - ends[1]) / (2 * STEP)
    assert np.sum(leaf.grad.numpy() * way) == pytest.approx(told, rel=1e-6, abs=1e-6)


def test_a_gradient_has_a_gradient(rng):
    x = positive(gn.tensor(rng.standard_normal((3, 3))))

    found = gn.func.hessian(gn.logdet)(x)

    inverse = np.linalg.inv(x.numpy())
    np.testing.assert_allclose(found, -np.einsum("li,jk->jilk", inverse, inverse), rtol=1e-9)


def test_what_has_no_factor_is_told_where_it_is_called():
    bad = gn.stack([gn.eye(2), gn.tensor([[1.0, 2.0], [2.0, 1.0]])])

    with pytest.raises(L.LinAlgError, match=r"matrix \[1\] of the batch is not positive definite"):
        L.cholesky(bad)
    assert L.cholesky_ex(bad).info.tolist() == [0, 2]
    with pytest.raises(L.LinAlgError, match=r"linalg.solve: there is no result: Singular"):
        L.inv(gn.ones(2, 2))
    with pytest.raises(RuntimeError, match=r"linalg.svd: there is no result"):
        L.svd(gn.full((2, 2), float("nan")))


@pytest.mark.parametrize("function", [L.cholesky, L.inv, L.svdvals, gn.det, L.pinv])
def test_samples_and_programs_give_the_same_bits(function, rng):
    x = positive(gn.tensor(rng.standard_normal((3, 4, 4))))
    wanted = function(x).numpy()

    np.testing.assert_array_equal(gn.vmap(function)(x), wanted)
    np.testing.assert_array_equal(gn.compile(lambda x: function(x) + 0)(x), wanted)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3), (1, 1)])
@pytest.mark.parametrize(
    "function", [L.cholesky, L.qr, L.svd, L.eigh, L.inv, gn.slogdet, gn.det, L.pinv]
)
def test_sizes_of_nothing(function, shape):
    made = function(gn.ones(*shape))

    for x in made if isinstance(made, tuple) else (made,):
        assert x.numpy().shape == tuple(x.shape)


def test_any_number_of_threads_gives_the_same_bits(rng):
    found = lapack.thread_count()
    if found is None:
        pytest.skip("numpy has another BLAS")
    x, before = gn.tensor(rng.standard_normal((257, 257))), found[0]()
    made = []
    for threads in (1, 2, 4):
        found[1](threads)
        made.append((L.svdvals(x).numpy(), L.inv(x).numpy(), L.qr(x).R.numpy()))
    found[1](before)

    for other in made[1:]:
        for a, b in zip(made[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_nan_leaves_no_factor_and_no_solution():
    a = gn.tensor([[[gn.nan, 1.0], [1.0, 3.0]], [[4.0, 2.0], [2.0, 5.0]]])

    with pytest.raises(gn.linalg.LinAlgError, match="leading minor of order 1"):
        L.cholesky(a)
    assert L.cholesky_ex(a).info.tolist() == [1, 0]
    assert L.inv(a).isnan().flatten(1).all(1).tolist() == [True, False]
    assert L.solve(a, gn.ones(2)).isnan().tolist() == [[True, True], [False, False]]
    assert L.matrix_exp(a.nan_to_num(gn.inf)).isnan().flatten(1).all(1).tolist() == [True, False]


def test_pivots_are_rows():
    factors, pivots = gn.eye(3), gn.tensor([1, 99, 3], dtype=gn.int32)
    for call in (gn.lu_unpack, lambda a, p: gn.lu_solve(gn.ones(3, 1), a, p)):
        with pytest.raises(ArgumentError, match="pivots are numbers of rows, from 1 to 3: got 99"):
            str(call(factors, pivots))


PIVOTS = [2, [1, 2], [1, 2, 3, 3], [[1, 2, 3]], [1.0, 2.0, 3.0], [True, True, True]]


@pytest.mark.parametrize("numbers", PIVOTS, ids=repr)
def test_pivots_fit_their_factors(numbers):
    pivots, factors = gn.tensor(numbers), gn.eye(3)
    with pytest.raises(ShapeError, match=r"lu_unpack: pivots of factors of \(3, 3\) are int32"):
        gn.lu_unpack(factors, pivots)
    with pytest.raises(ShapeError, match=r"lu_solve: pivots of factors of \(3, 3\) are int32"):
        gn.lu_solve(gn.ones(3, 1), factors, pivots)


def test_factors_are_matrices():
    with pytest.raises(ShapeError, match="lu_unpack: needs matrices"):
        gn.lu_unpack(gn.ones(3), gn.tensor([1], dtype=gn.int32))
