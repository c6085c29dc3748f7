"""lobpcg finds PyTorch's eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("words", [{}, {"largest": False}, {"method": "basic"}, {"k": 1}])
def test_eigenvalues_are_pytorchs(words, rng):
    x = rng.standard_normal((2, 10, 10))
    a, guess = x @ x.swapaxes(-2, -1) + np.eye(10), rng.standard_normal((2, 10, 2))
    found = []
    for xp in (gn, torch):
        values, vectors = xp.lobpcg(xp.tensor(a), X=xp.tensor(guess), tol=1e-9, **words)
        found.append((values.numpy(), np.abs(vectors.numpy())))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
