"""The rate rises, stays and falls where the schedule says."""

from __future__ import annotations

import pytest

from gnomon.train.config import build
from gnomon.train.learning_rate import factor_at

pytestmark = pytest.mark.unit


def config(total, **schedule):
    """A configuration of so many steps."""
    return build({"train": {"steps": total}, "schedule": schedule})


def test_the_rate_rises_stays_and_falls():
    plan = config(100, warmup_steps=10, decay_fraction=0.5, final_factor=0.1)

    rates = [factor_at(step, plan) for step in range(100)]

    assert rates[0] == pytest.approx(0.1)
    assert rates[9:50] == [1.0] * 41
    assert rates[75] == pytest.approx(0.55)
    assert rates[99] == pytest.approx(0.1 + 0.9 / 50)


def test_a_shorter_run_keeps_the_rates_of_the_longer():
    short, long = config(30, steps=100), config(100, steps=100)

    assert [factor_at(s, short) for s in range(30)] == [factor_at(s, long) for s in range(30)]


def test_a_longer_run_stretches_the_schedule():
    stretched, plain = config(200, steps=100), config(200)

    assert [factor_at(s, stretched) for s in range(200)] == [
        factor_at(s, plain) for s in range(200)
    ]


def test_without_decay_the_rate_stays():
    assert factor_at(99, config(100, decay_fraction=0.0, warmup_steps=0)) == 1.0
