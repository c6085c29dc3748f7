"""A group's hyperparameters as rank-0 tensors: inputs of programs, never constants.

A schedule changes them at every step, while the step's program stays the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.errors import ArgumentError
from gnomon.tensor.state import is_capturing, state
from gnomon.tensor.tensor import Tensor, from_array

HyperparameterKey = tuple[int, str, int | None]


def entry(group: dict[str, Any], name: str, part: int | None) -> Any:
    """An entry of a group, or one element of an entry that is a tuple."""
    return group[name] if part is None else group[name][part]


def unshare_states(entries: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The states of parameters; a tensor that several share is copied for all but the first."""
    met, made = set[int](), dict[int, dict[str, Any]]()
    for number, state_of in sorted(entries.items()):
        made[number] = {k: v.clone() if id(v) in met else v for k, v in state_of.items()}
        met.update(id(v) for v in state_of.values() if isinstance(v, Tensor))
    return made


class NumberTensors:
    """A cache of hyperparameters as tensors."""

    def __init__(self) -> None:
        self.kept: dict[HyperparameterKey, tuple[float, Tensor]] = {}

    def get(self, groups: list[dict[str, Any]], place: HyperparameterKey) -> Tensor:
        """The hyperparameter at (group, name, part) as a tensor."""
        number, name, part = place
        value = entry(groups[number], name, part)
        if isinstance(value, Tensor):
            return value
        if is_capturing():
            return state.recorder.number(groups, lambda: float(entry(groups[number], name, part)))
        kept = self.kept.get(place)
        if kept is None or kept[0] != value:
            kept = self.kept[place] = (value, from_array(np.asarray(value, np.float64)))
        return kept[1]


def one_each(optimizer: Any, name: str, value: Any) -> list:
    """A list with a value per group, from one for all or a list of them."""
    groups = len(optimizer.param_groups)
    found = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(found) != groups:
        raise ArgumentError(f"{name}: expected {groups} values, one per group: got {len(found)}.")
    return found
