"""Eigenvalues of matrices that are not symmetric."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import DtypeError, LinAlgError, ShapeError


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 0), (2, 0, 3, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_pairs_solve_their_equation(rng, shape: tuple[int, ...], dtype: str):
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    x = (x if dtype.startswith("c") else x.real).astype(dtype)
    values, vectors = gn.linalg.eig(gn.tensor(x))

    kind = "complex64" if "32" in dtype or dtype == "complex64" else "complex128"
    assert values.dtype.name == vectors.dtype.name == kind
    near = {"rtol": 1e-4, "atol": 1e-4} if kind == "complex64" else {"atol": 1e-10}
    v = vectors.numpy()
    np.testing.assert_allclose(x @ v, v * values.numpy()[..., None, :], **near)
    np.testing.assert_allclose(np.linalg.norm(v, axis=-2), np.ones(values.shape), **near)
    again = gn.linalg.eigvals(gn.tensor(x)).numpy()
    np.testing.assert_allclose(again, np.linalg.eigvals(x), **near)


def test_real_eigenvalues_are_complex_too():
    assert gn.linalg.eigvals(gn.tensor([[2.0, 0.0], [0.0, 3.0]])).tolist() == [2, 3]
    assert gn.linalg.eig(gn.eye(2)).eigenvectors.is_complex()


@pytest.mark.parametrize(
    ("matrix", "error", "said"),
    [
        (lambda: gn.ones(2, 3), ShapeError, r"batches of square matrices: got \(2, 3\)"),
        (lambda: gn.ones(3), ShapeError, "batches of square matrices"),
        (lambda: gn.ones(2, 2, dtype=gn.int64), DtypeError, "expected one of float32, complex64"),
        (lambda: gn.full((2, 2), float("nan")), LinAlgError, "should not contain infs or NaNs"),
    ],
)
def test_what_has_no_eigenvalues_is_refused(matrix, error: type[Exception], said: str):
    for call in (gn.linalg.eig, gn.linalg.eigvals):
        with pytest.raises(error, match=said):
            call(matrix())


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_gradient_through_pairs_is_that_of_the_matrix_they_make(rng, dtype: str):
    x, g = (rng.standard_normal((2, 3, 3)) + 1j * rng.standard_normal((2, 3, 3)) for _ in "xg")
    x, g = (x, g) if dtype == "complex128" else (x.real, g.real + 0j)
    a = gn.tensor(x, requires_grad=True)
    values, vectors = gn.linalg.eig(a)

    (vectors * values.unsqueeze(-2) @ gn.linalg.inv(vectors)).backward(gn.tensor(g))

    np.testing.assert_allclose(a.grad.numpy(), g if dtype == "complex128" else g.real, atol=1e-10)


def test_a_compiled_function_has_eigenvalues(rng):
    x = rng.standard_normal((3, 3))

    made = gn.compile(lambda a: gn.linalg.eigvals(a).abs().sum())(gn.tensor(x))

    np.testing.assert_allclose(made.item(), np.abs(np.linalg.eigvals(x)).sum(), rtol=1e-12)
