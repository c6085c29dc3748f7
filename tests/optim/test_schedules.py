"""Schedules by formulas: closed forms and steps agree; a rate that was changed stays changed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gnomon as gn
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
    assert scheduler.state_dict()["lr_lambdas"] == [None]


class Rise:
    """A function of the epoch that knows something."""

    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, epoch: int) -> float:
        return self.by * epoch


@pytest.mark.parametrize("kind", [s.LambdaLR, s.MultiplicativeLR])
def test_an_object_for_a_function_is_saved_by_what_it_knows(kind: type):
    first, second = (kind(optimizer(), [Rise(by)]) for by in (2.0, 3.0))
    state = first.state_dict()
    assert state["lr_lambdas"] == [{"by": 2.0}]

    second.load_state_dict(state)

    assert second.lr_lambdas[0].by == 2.0
    assert state["lr_lambdas"] == [{"by": 2.0}]


def test_functions_stay_when_a_state_is_loaded():
    """The state of a schedule of PyTorch's has None in the place of functions."""
    first, second = (s.LambdaLR(optimizer(), lambda epoch: 2.0 * epoch) for _ in range(2))
    second.load_state_dict(first.state_dict())
    second.step()
    assert second.get_last_lr() == [0.2]


def test_restarts_begin_anew_with_longer_periods():
    scheduler = s.CosineAnnealingWarmRestarts(optimizer(), 2, T_mult=2)
    rates = []
    for _ in range(6):
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])

    quarter = 0.05 * (1 + math.cos(math.pi / 4))
    np.testing.assert_allclose(rates[:4], [0.05, 0.1, quarter, 0.05])
    np.testing.assert_allclose(rates[5], 0.1)


ALL = {
    **CLOSED,
    "lambda": lambda o, **k: s.LambdaLR(o, lambda epoch: 0.5**epoch, **k),
    "product": lambda o, **k: s.MultiplicativeLR(o, lambda epoch: 0.5, **k),
    "restarts": lambda o, **k: s.CosineAnnealingWarmRestarts(o, 3, **k),
    "cycle": lambda o, **k: s.CyclicLR(o, 0.02, 0.1, 2, cycle_momentum=False, **k),
    "one cycle": lambda o, **k: s.OneCycleLR(o, 0.2, 9, cycle_momentum=False, **k),
}


def rates(scheduler: s.LRScheduler, steps: int) -> list[float]:
    """The rates at the beginning and after each step."""
    group, found = scheduler.optimizer.param_groups[0], []
    for _ in range(steps):
        found.append(float(group["lr"]))
        scheduler.step()
    return [*found, float(group["lr"])]


@pytest.mark.parametrize("name", ALL)
def test_a_rate_that_is_a_tensor_goes_as_a_number_does(name: str):
    rate = gn.tensor(0.1, dtype=gn.float64)
    with_tensor = ALL[name](optim.SGD(parameters(), lr=rate))
    first = with_tensor.get_last_lr()[0]
    at_first = float(first)

    curve = rates(with_tensor, 6)

    np.testing.assert_allclose(curve, rates(ALL[name](optimizer()), 6), rtol=1e-12)
    assert with_tensor.optimizer.param_groups[0]["lr"] is rate
    assert float(first) == at_first
    with_tensor.get_last_lr()[0].zero_()
    assert float(rate) == curve[-1]


RESUMED = {
    "exponential": (lambda o, **k: s.ExponentialLR(o, 0.5, **k), [0.1, 0.05, 0.025]),
    "product": (ALL["product"], [0.1, 0.05, 0.025]),
    "line": (lambda o, **k: s.LinearLR(o, 0.5, total_iters=6, **k), [0.1, 0.11, 0.12]),
    "polynomial": (lambda o, **k: s.PolynomialLR(o, 6, **k), [0.1, 0.05, 0.0]),
    "cosine": (lambda o, **k: s.CosineAnnealingLR(o, 6, **k), [0.1, 0.02679491924311227, 0.0]),
    "step": (lambda o, **k: s.StepLR(o, 3, gamma=0.5, **k), [0.1, 0.1, 0.05]),
    "milestones": (lambda o, **k: s.MultiStepLR(o, [5], gamma=0.5, **k), [0.1, 0.05, 0.05]),
}
"""Schedules that go on behind epoch 3, and PyTorch's rates for a rate of 0.1."""


@pytest.mark.parametrize("name", RESUMED)
def test_a_schedule_that_goes_on_leaves_the_rate_as_it_is(name: str):
    make, meant = RESUMED[name]
    o = optimizer()
    o.param_groups[0]["initial_lr"] = 0.2

    scheduler = make(o, last_epoch=3)

    assert scheduler.last_epoch == 4
    np.testing.assert_allclose(rates(scheduler, 2), meant, atol=1e-15)


def test_milestones_of_an_older_file_are_counted():
    one, two = (s.MultiStepLR(optimizer(), [2, 2], gamma=0.5) for _ in range(2))
    two.load_state_dict({**one.state_dict(), "milestones": {2: 2}})

    assert rates(two, 3) == [0.1, 0.1, 0.025, 0.025]
