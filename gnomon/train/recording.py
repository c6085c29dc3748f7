"""Values of a step to be compared with another run's: tokens, values, state, as whole arrays.

Under a mesh all ranks take part where a value is made whole; the first one writes.
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
    """The mesh and its plan, on which bits do not depend, and numerics, on which they do."""
    mesh = ",".join(f"{name}={count}" for name, count in team.mesh.axes)
    record = {"mesh": mesh, "numerics": current().numerics, "plan": asdict(team.plan)}
    return record | ({"plan_file": str(team.plan_file)} if team.plan_file else {})


def numbers_of(window: np.ndarray, rate: float) -> StepArrays:
    """The inputs of a step."""
    given = {"tokens": window, "learning rate": np.float64(rate)}
    return {ValueName("input", name, ""): np.asarray(value) for name, value in given.items()}


def values_as_arrays(values: Values, loss: float, norm: float) -> StepArrays:
    """The values that a step computed."""
    found = {name: value.cpu().numpy() for name, value in values.items()}
    for name, value in (("loss", loss), ("gradient norm", norm)):
        found[ValueName("result", name, "")] = np.asarray(value, np.float32)
    return found


def state_of(model: nn.Module, optimizer: optim.AdamW) -> StepArrays:
    """Parameters and the optimizer's state, as all ranks ask for them."""
    return named("parameter", parameter_arrays(model)) | named(
        "optimizer", optimizer_arrays(model, optimizer)
    )


def named(phase: str, arrays: Mapping[str, np.ndarray]) -> StepArrays:
    """Arrays under the names of values."""
    return {ValueName(phase, name, ""): array for name, array in arrays.items()}
