"""What all distributions share."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import distributions as D
from gnomon.errors import ArgumentError


def test_axes_of_a_batch_can_belong_to_the_event():
    base = D.Normal(gn.zeros(4, 3), gn.ones(3))
    whole = D.Independent(base, 1)
    x = gn.ones(4, 3)

    assert (whole.batch_shape, whole.event_shape) == ((4,), (3,))
    assert whole.log_prob(x).tolist() == base.log_prob(x).sum(-1).tolist()
    assert whole.entropy().shape == (4,)
    assert whole.rsample((2,)).shape == (2, 4, 3)
    assert D.kl_divergence(whole, whole).tolist() == [0] * 4
    with pytest.raises(ArgumentError, match="3 axes of a batch of"):
        D.Independent(base, 3)


def test_a_formula_for_a_new_kind_can_be_given():
    class Mine(D.Normal):
        """A kind of its own."""

    @D.register_kl(Mine, D.Normal)
    def formula(p: Mine, q: D.Normal) -> str:
        return "mine"

    assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)) == "mine"
    assert D.kl_divergence(D.Normal(0.0, 1.0), Mine(0.0, 1.0)).item() == 0


def test_what_a_kind_does_not_know_is_said():
    with pytest.raises(NotImplementedError, match="Categorical has no rsample"):
        D.Categorical(gn.ones(3)).rsample()


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: D.Normal(0.0, 1.0), "Normal(loc: 0.0, scale: 1.0)"),
        (lambda: D.Normal(gn.zeros(2), 1.0), "Normal(loc: Size([2]), scale: Size([2]))"),
        (lambda: D.Categorical(logits=gn.ones(3)), "Categorical(logits: Size([3]))"),
        (lambda: D.Poisson(gn.tensor([2.0])), "Poisson(rate: Tensor([2.]))"),
        (
            lambda: D.Independent(D.Normal(gn.zeros(3), 1.0), 1),
            "Independent(Normal(loc: Size([3]), scale: Size([3])), 1)",
        ),
    ],
)
def test_a_distribution_prints_its_parameters(made, text):
    assert repr(made()) == text
