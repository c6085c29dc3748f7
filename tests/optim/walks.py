"""Parameters and gradients by numpy, for the tests of optimizers."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon.optim import Optimizer

SHAPES = ((3, 4), (5,), ())


def parameters(seed: int = 0, dtype: str = "float64") -> list[gn.Tensor]:
    """Three parameters of different shapes."""
    random = np.random.default_rng(seed)
    made = [gn.tensor(np.asarray(random.standard_normal(s)), dtype=dtype) for s in SHAPES]
    return [t.requires_grad_() for t in made]


def slope(step: int, place: int) -> np.ndarray:
    """The gradient of one parameter at one step."""
    random = np.random.default_rng(10 * step + place)
    return np.asarray(random.standard_normal(SHAPES[place]))


def walk(optimizer: Optimizer, params: list[gn.Tensor], steps: range) -> None:
    """Take steps along given gradients."""
    for step in steps:
        for place, p in enumerate(params):
            p.grad = gn.tensor(slope(step, place), dtype=p.dtype)
        optimizer.step()


def values(tensors: list[gn.Tensor]) -> list[np.ndarray]:
    """Their values."""
    return [t.detach().numpy().copy() for t in tensors]
