"""einops works on tensors as soon as it is imported."""

from __future__ import annotations

import einops
import numpy as np
import pytest

import gnomon as gn


@pytest.fixture
def x(rng) -> np.ndarray:
    """Three axes of different sizes."""
    return rng.standard_normal((2, 3, 4))


@pytest.mark.parametrize("pattern", ["a b c -> c (b a)", "a (b 1) c -> b a c", "a b c -> (a b c)"])
def test_axes_are_rearranged(pattern, x):
    y = einops.rearrange(gn.from_numpy(x), pattern)

    assert np.array_equal(y.numpy(), einops.rearrange(x, pattern))


@pytest.mark.parametrize("fold", ["sum", "mean", "max"])
def test_axes_are_folded(fold, x):
    y = einops.reduce(gn.from_numpy(x), "a b c -> c", fold)

    np.testing.assert_allclose(y.numpy(), einops.reduce(x, "a b c -> c", fold), rtol=1e-14)


def test_axes_are_repeated_and_tensors_joined(x):
    t = gn.from_numpy(x)

    assert einops.repeat(t, "a b c -> a b (c 2)").shape == (2, 3, 8)
    assert einops.pack([t, t[:, 0]], "a * c")[0].shape == (2, 4, 4)
    assert np.allclose(
        einops.einsum(t, t, "a b c, a b d -> c d").numpy(), np.einsum("abc,abd->cd", x, x)
    )


def test_gradients_flow_through(x):
    t = gn.from_numpy(x).requires_grad_()

    einops.reduce(t, "a b c -> a", "sum").sum().backward()

    assert t.grad.numpy().tolist() == np.ones_like(x).tolist()
