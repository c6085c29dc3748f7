"""Relaxed choices: gradients flow through samples, which a low temperature makes choices."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import distributions as D


def test_a_low_temperature_makes_choices():
    gn.manual_seed(0)
    chances = gn.tensor([0.1, 0.3, 0.6])
    drawn = D.RelaxedOneHotCategorical(0.01, chances).sample((4000,)).numpy()
    answers = D.RelaxedBernoulli(0.01, gn.tensor(0.3)).sample((4000,)).numpy()

    np.testing.assert_allclose(drawn.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(drawn.mean(0), chances.numpy(), atol=0.04)
    assert answers.mean() == pytest.approx(0.3, abs=0.04)


def test_gradients_flow_to_logits():
    logits = gn.zeros(3, requires_grad=True)
    hard = D.OneHotCategoricalStraightThrough(logits=logits).rsample()
    (hard * gn.arange(3.0)).sum().backward()

    assert hard.sum().item() == pytest.approx(1)
    np.testing.assert_allclose(logits.grad.numpy(), [-1 / 3, 0, 1 / 3], atol=1e-6)
    soft = D.RelaxedOneHotCategorical(1.0, logits=logits)
    assert soft.rsample((2,)).requires_grad
    assert soft.expand((4,)).sample().shape == (4, 3)
    assert soft.temperature.item() == 1
