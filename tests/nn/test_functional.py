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


@pytest.mark.parametrize("weight", [None, gn.zeros(0)])
@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_rows_that_do_not_count_need_no_classes(name, weight):
    x, loss = gn.zeros(2, 0, requires_grad=True), getattr(F, name)
    ignored = gn.tensor([-100, -100])

    assert loss(x, ignored, weight, reduction="none").tolist() == [0.0, 0.0]
    assert np.isnan(loss(x, ignored, weight).item())
    total = loss(x, ignored, weight, reduction="sum")
    total.backward()
    assert (total.item(), x.grad.shape) == (0.0, (2, 0))
    with pytest.raises(IndexError):
        loss(x, gn.tensor([-100, 0]), weight, reduction="sum").item()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_pools_say_where_the_largest_stand(count):
    x = gn.arange(4.0**count).flip(0).reshape(1, 1, *(4,) * count)

    for name, size in ((f"max_pool{count}d", 2), (f"adaptive_max_pool{count}d", 2)):
        values, places = getattr(F, f"{name}_with_indices")(x, size)

        assert x.flatten().take(places).tolist() == values.tolist()
        assert getattr(F, name)(x, size, return_indices=True)[1].tolist() == places.tolist()


def test_rrelu_draws_its_shares_in_training_alone():
    x = gn.arange(-100.0, 100.0)

    drawn = F.rrelu(x, 0.25, 0.5, training=True)

    shares = (drawn[:100] / x[:100]).numpy()
    assert (shares.min() >= 0.25, shares.max() < 0.5, len(set(shares.tolist())) > 50) == (True,) * 3
    assert drawn[100:].equal(x[100:])
    assert F.rrelu_(x, 0.25, 0.75) is x
    assert x[0].item() == -50.0


def test_whole_channels_are_replaced_and_keep_their_mean():
    made = F.feature_alpha_dropout(gn.ones(40, 50, 3, 2), 0.3, training=True).reshape(-1, 6)

    assert (made == made[:, :1]).all()
    assert 0.2 < (made[:, 0] < 0).float().mean().item() < 0.4
