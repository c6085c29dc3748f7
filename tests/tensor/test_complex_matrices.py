"""Functions of complex matrices are numpy's, with gradients, by real ones of twice the size."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import LinAlgError
from gnomon.tensor.complex_matrices import doubled, halved

CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def drawn(rng, *shape):
    """Complex normal numbers."""
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def positive(rng, *shape):
    """Hermitian matrices whose eigenvalues are positive."""
    x = drawn(rng, *shape)
    return x @ np.conj(x.swapaxes(-2, -1)) + np.eye(shape[-1])


def test_a_product_of_what_stands_for_two_stands_for_their_product(rng):
    x, y = gn.tensor(drawn(rng, 2, 3, 4)), gn.tensor(drawn(rng, 4, 2))

    made = halved(doubled(x) @ doubled(y))

    np.testing.assert_allclose(made.numpy(), (x @ y).numpy(), **CLOSE)


@pytest.mark.parametrize("name", ["inv", "cholesky", "svdvals", "eigvalsh", "pinv", "matrix_rank"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4)])
def test_a_function_of_a_square_matrix_is_numpys(name, shape, rng):
    x = positive(rng, *shape)

    made = getattr(gn.linalg, name)(gn.tensor(x)).numpy()

    wanted = getattr(np.linalg, name)(x)
    assert made.dtype == wanted.dtype
    np.testing.assert_allclose(made, wanted, **CLOSE)


@pytest.mark.parametrize("shape", [(3, 5), (2, 5, 3)])
def test_a_function_of_any_matrix_is_numpys(shape, rng):
    x = drawn(rng, *shape[:-1], 2) @ drawn(rng, 2, shape[-1])

    made = gn.linalg.pinv(gn.tensor(x)).numpy()

    np.testing.assert_allclose(made, np.linalg.pinv(x), **CLOSE)
    assert gn.linalg.matrix_rank(gn.tensor(x)).tolist() == np.linalg.matrix_rank(x).tolist()
    assert gn.linalg.matrix_rank(gn.tensor(x), atol=1e3).sum().item() == 0


def test_the_imaginary_parts_of_a_hermitian_diagonal_are_not_read(rng):
    x = drawn(rng, 3, 3)

    made = gn.linalg.eigvalsh(gn.tensor(x), UPLO="U").numpy()

    np.testing.assert_allclose(made, np.linalg.eigvalsh(x, UPLO="U"), **CLOSE)


@pytest.mark.parametrize("columns", [(), (2,)])
def test_equations_are_solved_from_both_sides(columns, rng):
    a, b = drawn(rng, 3, 3), drawn(rng, 3, *columns)

    made = gn.linalg.solve(gn.tensor(a), gn.tensor(b)).numpy()

    np.testing.assert_allclose(made, np.linalg.solve(a, b), **CLOSE)
    real = gn.linalg.solve(gn.tensor(a), gn.tensor(b.real)).numpy()
    np.testing.assert_allclose(real, np.linalg.solve(a, b.real), **CLOSE)
    rows = gn.linalg.solve(gn.tensor(a), gn.tensor(a[:2]), left=False).numpy()
    np.testing.assert_allclose(rows, np.eye(3)[:2], **CLOSE)


def test_an_exponential_of_a_matrix_turns():
    made = gn.linalg.matrix_exp(gn.tensor([[1j * np.pi, 0], [0, 0]], dtype=gn.complex128)).numpy()

    np.testing.assert_allclose(made, [[-1, 0], [0, 1]], **CLOSE)


def test_the_gradient_of_an_inverse_is_its_formula(rng):
    a, g = drawn(rng, 3, 3), drawn(rng, 3, 3)
    x = gn.tensor(a, requires_grad=True)

    gn.linalg.inv(x).backward(gn.tensor(g))

    turned = np.conj(np.linalg.inv(a)).T
    np.testing.assert_allclose(x.grad.numpy(), -turned @ g @ turned, **CLOSE)


def test_what_has_no_inverse_or_factor_is_refused():
    with pytest.raises(LinAlgError, match="Singular"):
        gn.linalg.inv(gn.zeros(2, 2, dtype=gn.complex64))
    with pytest.raises(LinAlgError, match="positive definite"):
        gn.linalg.cholesky(gn.tensor([[1, 2j], [-2j, 1]]))
