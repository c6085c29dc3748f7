"""Factors of matrices of low rank, by random directions."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (2, 5, 5)])
def test_factors_give_a_matrix_of_low_rank_back(rng, shape: tuple[int, ...]):
    left, right = rng.standard_normal((*shape[:-1], 2)), rng.standard_normal((2, shape[-1]))
    x = gn.tensor(left @ right)
    u, s, v = gn.svd_lowrank(x, q=3)

    assert (u.shape[-1], s.shape[-1], v.shape[-1]) == (3, 3, 3)
    np.testing.assert_allclose((u * s.unsqueeze(-2) @ v.mT).numpy(), x.numpy(), atol=1e-10)
    wanted = np.linalg.svd(x.numpy(), compute_uv=False)[..., :2]
    np.testing.assert_allclose(s[..., :2].numpy(), wanted, rtol=1e-9)


def test_what_is_taken_away_first(rng):
    x, m = gn.tensor(rng.standard_normal((6, 3))), gn.tensor(rng.standard_normal((1, 3)))
    wanted = np.linalg.svd((x - m).numpy(), compute_uv=False)

    np.testing.assert_allclose(gn.svd_lowrank(x, q=3, M=m).S.numpy(), wanted, rtol=1e-9)


def test_components_are_those_of_centred_rows(rng):
    x = gn.tensor(rng.standard_normal((6, 3)), requires_grad=True)
    u, s, v = gn.pca_lowrank(x)
    centred = x.detach().numpy() - x.detach().numpy().mean(0)

    np.testing.assert_allclose(
        s.detach().numpy(), np.linalg.svd(centred, compute_uv=False), rtol=1e-9
    )
    np.testing.assert_allclose((u * s @ v.mT).detach().numpy(), centred, atol=1e-10)
    plain = gn.pca_lowrank(x.detach(), center=False).S.numpy()
    np.testing.assert_allclose(
        plain, np.linalg.svd(x.detach().numpy(), compute_uv=False), rtol=1e-9
    )
    s.sum().backward()
    assert x.grad.shape == (6, 3)


def test_more_components_than_there_are_refused():
    with pytest.raises(ArgumentError, match=r"q\(=4\) must be .* min\(m, n\)=3"):
        gn.pca_lowrank(gn.ones(3, 5), q=4)
    with pytest.raises(ArgumentError, match=r"niter\(=-1\)"):
        gn.pca_lowrank(gn.ones(3, 5), niter=-1)
