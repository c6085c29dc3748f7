"""Resuming: which values of the configuration may change, and which changes make a branch.

A resumed run ends with the bits of an uninterrupted one. Changes that preserve this are free;
changes of how it learns make a branch, which is recorded in later checkpoints and the summary;
changes of what the run is are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gnomon.errors import ConfigError, brief
from gnomon.train.config import Config, to_dict
from gnomon.train.learning_rate import factor_at

__all__ = ["ConfigChange", "FIXED", "FREE", "LEARNING", "differences", "weighed"]

FREE = (
    *("run.name", "run.dir", "run.threads", "run.device", "corpus.folder", "train.evaluate_every"),
    *("train.checkpoint_every", "train.keep_checkpoints", "train.record_hashes"),
    *("train.microbatches", "train.recompute", "train.compare_replicas_every"),
    "train.verify_every",
    *("evaluation.", "sample."),
)
"""Keys, or prefixes of keys, on which no bit depends; the text is compared by its hash."""
FIXED = (
    *("run.seed", "corpus.", "model.", "train.batch_size", "train.sequence_length"),
    "train.init_from",
)
LEARNING = ("optimizer.", "schedule.", "train.steps")


@dataclass(frozen=True)
class ConfigChange:
    """A changed value of the configuration: before and now."""

    key: str
    before: object
    now: object

    def __str__(self) -> str:
        return f"{self.key}: {brief(self.now)} (was {brief(self.before)})"


def differences(before: Config, now: Config) -> list[ConfigChange]:
    """The changed values between two configurations."""
    old, new = flat(to_dict(before)), flat(to_dict(now))
    return [ConfigChange(key, old.get(key), new[key]) for key in new if old.get(key) != new[key]]


def flat(groups: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """The values of nested dictionaries by GROUP.NAME."""
    return {f"{group}.{name}": v for group, part in groups.items() for name, v in part.items()}


def weighed(made: Config, now: Config, done: int) -> tuple[list[ConfigChange], list[ConfigChange]]:
    """The free changes, and those that make a branch after `done` steps; others are refused.

    made: the configuration of the steps so far.
    """
    found = differences(made, now)
    for change in found:
        if not change.key.startswith((*FREE, *LEARNING)):
            assert change.key.startswith(FIXED), f"{change.key} is in no list."
            raise ConfigError(
                f"resume: {change.key} must stay {brief(change.before)}: got {brief(change.now)}. "
                "Start a new run."
            )
    if now.train.steps < done:
        raise ConfigError(
            f"resume: train.steps: expected at least {done}, the steps already taken: "
            f"got {now.train.steps}. Start a new run."
        )
    bent = any(factor_at(step, made) != factor_at(step, now) for step in range(done))
    branch = [
        x for x in found if (done and x.key.startswith("optimizer.")) or (bent and of_schedule(x))
    ]
    return [x for x in found if x not in branch], branch


def of_schedule(change: ConfigChange) -> bool:
    """Whether a change affects the shape of the learning-rate schedule."""
    return change.key.startswith(("schedule.", "train.steps"))
