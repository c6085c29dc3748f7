"""Muon: steps along orthogonal matrices."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import optim
from gnomon.errors import ArgumentError


@pytest.mark.parametrize("shape", [(4, 6), (6, 4)])
def test_a_step_has_singular_values_near_one(shape: tuple[int, int]):
    p = gn.zeros(shape, requires_grad=True)
    p.grad = gn.tensor(np.random.default_rng(0).standard_normal(shape), dtype="float32")
    optim.Muon([p], lr=1.0, adjust_lr_fn="original").step()
    lengths = np.linalg.svd(p.detach().numpy(), compute_uv=False) / np.sqrt(
        max(1, shape[0] / shape[1])
    )
    assert lengths.min() > 0.6
    assert lengths.max() < 1.3


def test_other_shapes_are_refused():
    with pytest.raises(ArgumentError, match="2 axes"):
        optim.Muon([gn.ones(3, requires_grad=True)])


def test_words_for_the_rate_are_checked():
    with pytest.raises(ArgumentError, match="adjust_lr_fn"):
        optim.Muon([gn.ones(3, 2, requires_grad=True)], adjust_lr_fn="other")
