"""Gradients through factors are those of the matrix that the factors make."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import GradientError

REBUILT = {
    "svd": lambda u, s, vh: u * s.unsqueeze(-2) @ vh,
    "qr": lambda q, r: q @ r,
    "lu": lambda p, low, high: p @ low @ high,
}


def drawn(rng, *shape):
    """Complex normal numbers."""
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


@pytest.mark.parametrize("name", REBUILT)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 4)])
def test_factors_pass_the_gradient_of_their_product_on(name: str, shape, rng):
    x, g = gn.tensor(drawn(rng, *shape), requires_grad=True), drawn(rng, *shape)
    words = {"full_matrices": False} if name == "svd" else {}

    REBUILT[name](*getattr(gn.linalg, name)(x, **words)).backward(gn.tensor(g))

    np.testing.assert_allclose(x.grad.numpy(), g, atol=1e-10)


def test_eigenvectors_pass_the_hermitian_part_on(rng):
    x, g = gn.tensor(drawn(rng, 3, 3), requires_grad=True), drawn(rng, 3, 3)
    values, v = gn.linalg.eigh(x + x.mH)

    (v * values @ v.mH).backward(gn.tensor(g))

    np.testing.assert_allclose(x.grad.numpy(), g + np.conj(g.T), atol=1e-10)


def test_a_determinant_is_its_direction_times_its_size(rng):
    x = gn.tensor(drawn(rng, 2, 3, 3), requires_grad=True)
    y, g = x.detach().clone().requires_grad_(), gn.tensor(drawn(rng, 2))
    sign, size = gn.linalg.slogdet(y)

    (gn.linalg.det(x) * g).real.sum().backward()
    (sign * size.exp() * g).real.sum().backward()

    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), atol=1e-10)


@pytest.mark.parametrize(("name", "k"), [("svd", 0), ("svd", 2), ("eigh", 1), ("eig", 1)])
def test_a_loss_that_depends_on_phases_is_refused(name: str, k: int, rng):
    x = gn.tensor(drawn(rng, 3, 3), requires_grad=True)

    getattr(gn.linalg, name)(x)[k].real.sum().backward()

    with pytest.raises(GradientError, match=rf"linalg\.{name}: .* this loss depends on phi"):
        x.grad.numpy()
