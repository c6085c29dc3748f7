"""Record a step's values as whole arrays, to compare them with another run's.

Under a mesh all ranks gather each value; the first one writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from gnomon import nn, optim
from gnomon.settings import current
from gnomon.tensor.computed_values import ValueName
from gnomon.train.state import optimizer_arrays, parameter_arrays
from gnomon.train.step import Values
from gnomon.train.team import Team

__all__ = ["StepArrays", "circumstances", "numbers_of", "state_of", "values_as_arrays"]

StepArrays = dict[ValueName, np.ndarray]


def circumstances(team: Team) -> dict[str, object]:
    """The mesh, the plan, and the mode of numerics of a run."""
    mesh = ",".join(f"{name}={count}" for name, count in team.mesh.axes)
    record = {"mesh": mesh, "numerics": current().numerics, "plan": asdict(team.plan)}
    return record | ({"plan_file": str(team.plan_file)} if team.plan_file else {})


def numbers_of(window: np.ndarray, rate: float) -> StepArrays:
    """The tokens and the learning rate of a step, as named arrays."""
    given = {"tokens": window, "learning rate": np.float64(rate)}
    return {ValueName("input", name, ""): np.asarray(value) for name, value in given.items()}


def values_as_arrays(values: Values, loss: float, norm: float) -> StepArrays:
    """The computed values of a step, its loss and gradient norm, as named arrays."""
    found = {name: value.cpu().numpy() for name, value in values.items()}
    for name, value in (("loss", loss), ("gradient norm", norm)):
        found[ValueName("result", name, "")] = np.asarray(value, np.float32)
    return found


def state_of(model: nn.Module, optimizer: optim.AdamW) -> StepArrays:
    """The parameters and the optimizer's state as named arrays; all ranks call it."""
    return with_phase("parameter", parameter_arrays(model)) | with_phase(
        "optimizer", optimizer_arrays(model, optimizer)
    )


def with_phase(phase: str, arrays: Mapping[str, np.ndarray]) -> StepArrays:
    """Arrays with ValueNames of a phase in place of names."""
    return {ValueName(phase, name, ""): array for name, array in arrays.items()}
