"""Eigenvalues and eigenvectors are PyTorch's, in its order and up to a factor of length 1."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5, 5)])
def test_pairs(rng, kind: str, shape: tuple[int, ...]):
    x = rng.standard_normal(shape)
    x = x + 1j * rng.standard_normal(shape) if kind == "complex" else x
    mine, its = gn.linalg.eig(gn.tensor(x)), torch.linalg.eig(torch.tensor(x))

    assert mine._fields == ("eigenvalues", "eigenvectors")
    np.testing.assert_allclose(mine.eigenvalues.numpy(), its.eigenvalues.numpy(), rtol=1e-10)
    both = (mine.eigenvectors.numpy().conj() * its.eigenvectors.numpy()).sum(-2)
    np.testing.assert_allclose(np.abs(both), np.ones(both.shape), rtol=1e-10)
    values = gn.linalg.eigvals(gn.tensor(x)).numpy()
    np.testing.assert_allclose(values, torch.linalg.eigvals(torch.tensor(x)).numpy(), rtol=1e-10)
