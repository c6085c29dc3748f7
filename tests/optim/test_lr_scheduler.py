"""Schedules of several parts: phases, sequences, chains, plateaus."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon import optim
from gnomon.errors import ArgumentError
from gnomon.optim import lr_scheduler as s
from tests.optim.walks import parameters


def optimizer(**options: float) -> optim.SGD:
    """An optimizer with a rate of 0.1."""
    return optim.SGD(parameters(), lr=0.1, **options)


def rates(scheduler: s.LRScheduler, steps: int) -> list[float]:
    """The rates of the first steps."""
    found = [scheduler.get_last_lr()[0]]
    for _ in range(steps):
        scheduler.step()
        found.append(scheduler.get_last_lr()[0])
    return found


def test_one_cycle_rises_and_falls_while_momentum_falls_and_rises():
    o = optimizer(momentum=0.9)
    scheduler = s.OneCycleLR(o, max_lr=1.0, total_steps=11, anneal_strategy="linear")

    found = rates(scheduler, 10)

    assert found[0] == 1 / 25
    assert max(found) < 1.0
    np.testing.assert_allclose(found[-1], 1 / 25 / 1e4)
    np.testing.assert_allclose(o.param_groups[0]["momentum"], 0.95)
    with pytest.raises(ArgumentError, match="Tried to step 12 times"):
        rates(scheduler, 2)


def test_a_sequence_changes_schedules_at_its_milestones():
    o = optimizer()
    parts = [s.ConstantLR(o, 0.5, total_iters=9), s.ExponentialLR(o, 0.1)]

    found = rates(s.SequentialLR(o, parts, [2]), 4)

    np.testing.assert_allclose(found, [0.05, 0.05, 0.1, 0.01, 0.001])


def test_a_chain_applies_all_its_schedules():
    o = optimizer()
    chain = s.ChainedScheduler([s.ExponentialLR(o, 0.5), s.ExponentialLR(o, 0.1)])

    np.testing.assert_allclose(rates(chain, 2), [0.1, 0.005, 0.00025])


def test_a_plateau_lowers_the_rate_after_some_patience():
    o = optimizer()
    scheduler = s.ReduceLROnPlateau(o, factor=0.5, patience=1, mode="max")
    seen = []
    for value in (1.0, 2.0, 2.0, 2.0, 2.0, 3.0):
        scheduler.step(value)
        seen.append(o.param_groups[0]["lr"])

    assert seen == [0.1, 0.1, 0.1, 0.05, 0.05, 0.05]


def test_a_schedule_of_schedules_saves_its_parts():
    one, two = optimizer(), optimizer()
    made = [
        s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=3), s.ExponentialLR(o, 0.9)], [3])
        for o in (one, two)
    ]
    rates(made[0], 4)
    made[1].load_state_dict(made[0].state_dict())
    two.load_state_dict(one.state_dict())

    assert rates(made[0], 2) == rates(made[1], 2)
