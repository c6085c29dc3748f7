"""Averages of a model over its training."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from gnomon.optim import swa_utils


def shifted(layer: nn.Module, by: float) -> None:
    """Move all parameters."""
    with gn.no_grad():
        for p in layer.parameters():
            p.add_(by)


def test_parameters_are_averaged_plainly_or_by_decay():
    layer = nn.Linear(2, 1)
    first = layer.weight.detach().numpy().copy()
    mean = swa_utils.AveragedModel(layer)
    decayed = swa_utils.AveragedModel(layer, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9))

    for _ in range(3):
        mean.update_parameters(layer)
        decayed.update_parameters(layer)
        shifted(layer, 1.0)

    np.testing.assert_allclose(mean.module.weight.detach().numpy(), first + 1, rtol=1e-5)
    np.testing.assert_allclose(decayed.module.weight.detach().numpy(), first + 0.29, rtol=1e-5)
    assert mean.n_averaged.item() == 3
    assert list(mean.state_dict()) == ["n_averaged", "module.weight", "module.bias"]


def test_statistics_are_measured_anew():
    model = nn.Sequential(nn.BatchNorm1d(2)).eval()
    batches = [gn.tensor([[0.0, 2.0], [2.0, 4.0]]), gn.tensor([[4.0, 6.0], [6.0, 8.0]])]

    swa_utils.update_bn([(b, None) for b in batches], model)

    assert model[0].running_mean.tolist() == [3.0, 5.0]
    assert model[0].momentum == 0.1
    assert not model.training


def test_the_rate_goes_to_that_of_the_averages_and_stays():
    for strategy, middle in (("linear", 0.75), ("cos", 0.75)):
        optimizer = gn.optim.SGD([gn.ones(1)], lr=1.0)
        schedule = swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=4, anneal_strategy=strategy)
        rates = []
        for _ in range(6):
            rates.append(schedule.get_last_lr()[0])
            schedule.step()
        assert rates[0] == 1.0
        np.testing.assert_allclose(rates[2], middle)
        np.testing.assert_allclose(rates[4:], 0.5)
    at_once = swa_utils.SWALR(gn.optim.SGD([gn.ones(1)], lr=1.0), 0.5, anneal_epochs=0)
    assert at_once.get_last_lr() == [0.5]
    for wrong in ({"anneal_strategy": "square"}, {"anneal_epochs": -1}):
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            swa_utils.SWALR(optimizer, 0.5, **wrong)
