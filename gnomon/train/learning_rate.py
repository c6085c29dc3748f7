"""The learning rate at a step: linear warmup, constant, linear decay."""

from __future__ import annotations

from gnomon.train.config import Config

__all__ = ["factor_at"]


def factor_at(step: int, config: Config) -> float:
    """The factor of the learning rate at a step, counted from 0: warmup, constant, decay."""
    schedule = config.schedule
    steps = max(schedule.steps, config.train.steps)
    falling = schedule.decay_fraction * steps
    rise = (step + 1) / max(1, schedule.warmup_steps)
    left = (steps - step) / falling if falling else 1.0
    fall = schedule.final_factor + (1 - schedule.final_factor) * min(1.0, left)
    return min(1.0, rise, fall)
