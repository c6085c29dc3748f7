"""Schedules by formulas: closed forms and steps agree; a rate that was changed stays changed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnomon import optim
from gnomon.optim import lr_scheduler as s
from tests.optim.walks import parameters

CLOSED = {
    "step": lambda o: s.StepLR(o, 3, gamma=0.5),
    "milestones": lambda o: s.MultiStepLR(o, [2, 5, 5], gamma=0.5),
    "exponential": lambda o: s.ExponentialLR(o, 0.9),
    "constant": lambda o: s.ConstantLR(o, 0.5, total_iters=4),
    "line": lambda o: s.LinearLR(o, 0.1, total_iters=5),
    "polynomial": lambda o: s.PolynomialLR(o, 8, power=2.0),
    "cosine": lambda o: s.CosineAnnealingLR(o, 6, eta_min=0.01),
}


def optimizer() -> optim.SGD:
    """An optimizer with a rate of 0.1."""
    return optim.SGD(parameters(), lr=0.1)


@pytest.mark.parametrize("name", CLOSED)
def test_steps_reach_what_the_closed_form_says(name: str):
    scheduler = CLOSED[name](optimizer())

    for _ in range(7):
        scheduler.step()
        np.testing.assert_allclose(scheduler.get_last_lr(), scheduler.closed_form(), atol=1e-15)


@pytest.mark.parametrize("name", CLOSED)
def test_a_loaded_schedule_goes_on(name: str):
    one, two = optimizer(), optimizer()
    first, second = CLOSED[name](one), CLOSED[name](two)
    for _ in range(3):
        first.step()
    second.load_state_dict(first.state_dict())
    two.load_state_dict(one.state_dict())

    first.step()
    second.step()

    assert first.get_last_lr() == second.get_last_lr()
    assert second.last_epoch == 4


def test_a_rate_that_was_changed_by_hand_stays_changed():
    o = optimizer()
    scheduler = s.ExponentialLR(o, 0.5)
    o.param_groups[0]["lr"] = 8.0

    scheduler.step()

    assert o.param_groups[0]["lr"] == 4.0


def test_a_function_of_the_epoch_scales_the_first_rate():
    scheduler = s.LambdaLR(optimizer(), lambda epoch: 1 / (epoch + 1))

    scheduler.step()

    assert scheduler.get_last_lr() == [0.05]
    assert "lr_lambdas" not in scheduler.state_dict()


def test_restarts_begin_anew_with_longer_periods():
    scheduler = s.CosineAnnealingWarmRestarts(optimizer(), 2, T_mult=2)
    rates = []
    for _ in range(6):
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])

    quarter = 0.05 * (1 + math.cos(math.pi / 4))
    np.testing.assert_allclose(rates[:4], [0.05, 0.1, quarter, 0.05])
    np.testing.assert_allclose(rates[5], 0.1)
