"""A loss hears the two words that said how it is reduced before `reduction` did."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.nn import functional as F

CASES = [
    ({"size_average": False}, "sum"),
    ({"size_average": True}, "mean"),
    ({"reduce": False}, "none"),
    ({"reduce": True, "size_average": False}, "sum"),
    ({"reduce": False, "size_average": False}, "none"),
    ({"reduce": None, "size_average": None}, "mean"),
]
LOSSES = ("binary_cross_entropy", "kl_div", "l1_loss", "mse_loss", "soft_margin_loss")


@pytest.mark.parametrize(("words", "reduction"), CASES)
@pytest.mark.parametrize("name", LOSSES)
def test_older_words_ask_for_a_reduction(name: str, words: dict, reduction: str):
    x, y = gn.tensor([[0.2, 0.7, 0.4]]), gn.tensor([[0.5, 0.25, 1.0]])
    loss = getattr(F, name)

    assert loss(x, y, **words).tolist() == loss(x, y, reduction=reduction).tolist()


def test_losses_of_classes_hear_them_too():
    x, y = gn.tensor([[0.2, 0.7, 0.4], [0.1, 0.3, 0.0]]), gn.tensor([2, 0])

    for loss in (F.cross_entropy, F.nll_loss, F.multi_margin_loss):
        assert loss(x, y, size_average=False).item() == loss(x, y, reduction="sum").item()


def test_what_is_no_loss_refuses_them():
    with pytest.raises(gn.errors.ArgumentError, match="size_average"):
        F.relu(gn.ones(2), size_average=False)


def test_a_factor_may_stand_behind_the_first_tensor():
    x, y = gn.ones(2, 2), gn.full((2, 2), 2.0)

    assert x.add(3, y).tolist() == x.add(y, alpha=3).tolist()
    assert x.sub(3, y).tolist() == x.sub(y, alpha=3).tolist()
    assert x.addcmul(3, y, y).tolist() == x.addcmul(y, y, value=3).tolist()
    assert x.clone().addcdiv_(3, y, x).tolist() == x.addcdiv(y, x, value=3).tolist()
    assert x.addmm(2, 3, y, y).tolist() == x.addmm(y, y, beta=2, alpha=3).tolist()
    assert x.addmm(2, y, y).tolist() == x.addmm(y, y, beta=2).tolist()
    with pytest.raises(TypeError):
        x.add(3, y, y)


def test_settings_stand_by_position_in_pytorchs_order():
    x, y = gn.tensor([0.2, 0.7]), gn.tensor([0.5, 0.25])

    assert (
        F.huber_loss(x, y, "sum", 0.3).item()
        == F.huber_loss(x, y, delta=0.3, reduction="sum").item()
    )
    assert (
        F.mse_loss(x, y, None, None, "none").tolist() == F.mse_loss(x, y, reduction="none").tolist()
    )
    with pytest.raises(TypeError, match="too many positional"):
        F.mse_loss(x, y, None, None, "sum", None, 4)
    with pytest.raises(TypeError, match="too many positional"):
        F.huber_loss(x, y, "sum", reduction="mean")
