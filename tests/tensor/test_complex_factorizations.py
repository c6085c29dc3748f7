"""Factorizations of complex matrices are numpy's."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import LinAlgError, ShapeError

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def drawn(rng, *shape):
    """Complex normal numbers."""
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


@pytest.mark.parametrize("name", ["det", "slogdet", "qr", "eigh", "cond"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 2, 2)])
def test_results_are_numpys(name: str, shape, rng):
    x = drawn(rng, *shape)

    made = getattr(gn.linalg, name)(gn.tensor(x))

    wanted = getattr(np.linalg, name)(x)
    both = (made, wanted) if isinstance(made, tuple) else ((made,), (wanted,))
    for a, b in zip(*both, strict=True):
        assert a.numpy().dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a.numpy(), b, **CLOSE)


@pytest.mark.parametrize("shape", [(3, 5), (2, 5, 3), (0, 3)])
def test_full_vectors_are_square(shape, rng):
    x = drawn(rng, *shape)

    u, s, vh = gn.linalg.svd(gn.tensor(x))

    assert (u.shape[-2:], vh.shape[-2:]) == ((shape[-2],) * 2, (shape[-1],) * 2)
    for v in (u, vh):
        one = np.broadcast_to(np.eye(v.shape[-1]), v.shape)
        np.testing.assert_allclose((v @ v.mH).numpy(), one, **CLOSE)
    k = min(shape[-2:])
    np.testing.assert_allclose((u[..., :k] * s[..., None, :] @ vh[..., :k, :]).numpy(), x, **CLOSE)


def test_factors_solve_equations_from_both_sides(rng):
    a, b = gn.tensor(drawn(rng, 3, 3)), gn.tensor(drawn(rng, 3, 3))
    factors = gn.linalg.lu_factor(a)
    for words, product in (
        ({}, lambda x: a @ x),
        ({"adjoint": True}, lambda x: a.mH @ x),
        ({"left": False}, lambda x: x @ a),
        ({"left": False, "adjoint": True}, lambda x: x @ a.mH),
    ):
        made = gn.linalg.lu_solve(*factors, b, **words)
        np.testing.assert_allclose(product(made).numpy(), b.numpy(), **CLOSE)


def test_reflections_are_those_of_qr(rng):
    x, b = gn.tensor(drawn(rng, 4, 3)), gn.tensor(drawn(rng, 4, 2))
    q = gn.linalg.qr(x, mode="complete")[0]

    reflected = gn.geqrf(x)

    made = gn.linalg.householder_product(*reflected)
    np.testing.assert_allclose(made.numpy(), q[:, :3].numpy(), **CLOSE)
    turned = gn.ormqr(*reflected, b, transpose=True)
    np.testing.assert_allclose(turned.numpy(), (q.mH @ b).numpy(), **CLOSE)


def test_the_first_minor_that_is_not_positive_is_told():
    x = gn.tensor([[1, 2j], [-2j, 1]])

    assert gn.linalg.cholesky_ex(x).info.item() == 2
    with pytest.raises(LinAlgError, match="leading minor of order 2"):
        gn.linalg.cholesky(x)


def test_what_does_not_fit_is_refused():
    wide, x = gn.ones(2, 3, dtype=gn.complex64), gn.ones(2, 2, dtype=gn.complex64)
    for call in (gn.linalg.det, gn.linalg.eigh, gn.linalg.inv_ex):
        with pytest.raises(ShapeError, match=r"needs square matrices .* got \(2, 3\)"):
            call(wide)
    with pytest.raises(ShapeError, match="needs at least as many rows"):
        gn.linalg.householder_product(wide, wide[0])
    with pytest.raises(ShapeError, match="B must have 2 rows"):
        gn.linalg.solve_triangular(x, wide.mT, upper=True)
    with pytest.raises(ShapeError, match="pivots of factors"):
        gn.linalg.lu_solve(x, gn.tensor([1]), x)
