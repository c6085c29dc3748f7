"""The few functions of nn.functional that do more than the registry's operations."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F


def test_writing_to_the_input_is_asked_for_by_name_or_place():
    for call in (lambda x: F.relu(x, inplace=True), lambda x: F.leaky_relu(x, 0.5, True)):
        x = gn.tensor([-2.0, 1.0])

        made = call(x)

        assert made is x
        assert x.tolist()[1] == 1.0
        assert x.tolist()[0] > -2.0


def test_one_hot_counts_the_classes_itself():
    assert F.one_hot(gn.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert F.one_hot(gn.tensor([0]), 2).tolist() == [[1, 0]]


def test_dropout_is_off_at_rest_and_refuses_odd_chances():
    x = gn.ones(3)

    assert F.dropout(x, 0.5, training=False) is x
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        F.dropout(x, 1.5)


def test_dropout_repeats_with_its_seed_and_has_its_mask_in_the_gradient():
    x = gn.ones(200, requires_grad=True)

    gn.manual_seed(3)
    one = F.dropout(x, 0.5)
    gn.manual_seed(3)
    two = F.dropout(x, 0.5)
    one.sum().backward()

    assert one.tolist() == two.tolist()
    assert x.grad.tolist() == one.tolist()
    assert 60 < (one == 0).sum().item() < 140


def test_a_hard_choice_is_one_and_passes_the_soft_gradient():
    logits = gn.zeros(4, 5, requires_grad=True)

    chosen = F.gumbel_softmax(logits, hard=True)
    (chosen * gn.arange(5)).sum().backward()

    np.testing.assert_allclose(chosen.sum(-1).detach().numpy(), 1.0)
    np.testing.assert_allclose(chosen.max(dim=-1).values.detach().numpy(), 1.0)
    assert logits.grad.abs().sum().item() > 0


def test_batch_norm_writes_the_statistics_that_it_is_given():
    x = np.random.default_rng(0).standard_normal((8, 2))
    mean, var = gn.zeros(2, dtype=gn.float64), gn.ones(2, dtype=gn.float64)

    F.batch_norm(gn.tensor(x), mean, var, training=True, momentum=0.5)

    np.testing.assert_allclose(mean.numpy(), x.mean(0) / 2)
    np.testing.assert_allclose(var.numpy(), 0.5 + x.var(0, ddof=1) / 2)
    with pytest.raises(ArgumentError, match="more than 1 value per channel"):
        F.batch_norm(gn.ones(1, 2), None, None, training=True)


def test_functions_are_the_operations_themselves():
    assert F.linear is gn.linear
    assert F.cross_entropy(gn.zeros(1, 4), gn.tensor([2])).item() == pytest.approx(np.log(4))
