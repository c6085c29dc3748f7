"""Distributions of choices."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import distributions as D
from gnomon.errors import ArgumentError

CHANCES = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])


def test_a_choice_is_given_by_chances_or_by_logits():
    by_chance = D.Categorical(gn.tensor(3 * CHANCES))
    by_logit = D.Categorical(logits=gn.tensor(np.log(CHANCES) + 5))
    picked = gn.tensor([2, 0])

    for kind in (by_chance, by_logit):
        np.testing.assert_allclose(kind.log_prob(picked).numpy(), np.log([0.7, 0.5]))
        np.testing.assert_allclose(
            kind.entropy().numpy(), -(CHANCES * np.log(CHANCES)).sum(1), rtol=1e-12
        )
        assert kind.mode.tolist() == [2, 0]
    assert D.kl_divergence(by_chance, by_logit).numpy() == pytest.approx([0, 0])
    assert by_chance.enumerate_support().shape == (3, 2)
    with pytest.raises(ArgumentError, match="needs either probs or logits"):
        D.Categorical()


def test_choices_occur_as_often_as_they_should():
    gn.manual_seed(0)
    drawn = D.Categorical(gn.tensor(CHANCES)).sample((4000,)).numpy()

    assert drawn.shape == (4000, 2)
    for row in range(2):
        share = np.bincount(drawn[:, row], minlength=3) / 4000
        np.testing.assert_allclose(share, CHANCES[row], atol=0.03)


def test_a_choice_may_be_one_hot():
    kind = D.OneHotCategorical(gn.tensor(CHANCES))

    assert (kind.batch_shape, kind.event_shape) == ((2,), (3,))
    assert kind.sample((4,)).sum(-1).tolist() == [[1, 1]] * 4
    picked = gn.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(kind.log_prob(picked).numpy(), np.log([0.7, 0.5]))


def test_yes_and_no():
    kind = D.Bernoulli(gn.tensor([0.25, 0.5]))

    np.testing.assert_allclose(kind.log_prob(gn.ones(2)).numpy(), np.log([0.25, 0.5]), rtol=1e-6)
    np.testing.assert_allclose(D.Bernoulli(logits=0.0).entropy().item(), np.log(2), rtol=1e-6)
    assert set(kind.sample((50,)).flatten().tolist()) == {0.0, 1.0}
    assert D.kl_divergence(kind, D.Bernoulli(gn.tensor([0.0, 0.5]))).tolist() == [np.inf, 0]
