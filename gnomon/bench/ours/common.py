"""What several workloads share: first weights, groups of an optimizer, what we say of ourselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import gnomon as gn
from gnomon import nn
from gnomon.bench.serve import Problem
from gnomon.runtime import device

__all__ = ["about", "decaying", "load"]


def load(model: nn.Module, weights: dict[str, np.ndarray]) -> nn.Module:
    """The model, with the problem's first weights."""
    model.load_state_dict({name: gn.from_numpy(array) for name, array in weights.items()})
    return model


def decaying(model: nn.Module, problem: Problem) -> list[dict]:
    """Groups of parameters: matrices decay, vectors do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": problem["decay"]},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]


def about(*_: Callable) -> dict[str, str]:
    """Version, and which code products take."""
    target = device.target()
    return {"version": gn.__version__, "products": f"generated, {target.name}"}
