"""Parts that several workloads share: first weights, an optimizer's groups, our own description."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

import gnomon as gn
from gnomon import nn, optim
from gnomon.bench.profile import profile
from gnomon.bench.serve import BenchProblem
from gnomon.runtime import device

__all__ = ["about", "compiled", "load", "trained"]


def load(model: nn.Module, weights: dict[str, np.ndarray]) -> nn.Module:
    """The model, with the problem's first weights."""
    model.load_state_dict({name: gn.from_numpy(array) for name, array in weights.items()})
    return model


def decaying(model: nn.Module, problem: BenchProblem) -> list[dict]:
    """Groups of parameters: matrices decay, vectors do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": problem["decay"]},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]


def compiled(model: nn.Module, problem: BenchProblem) -> Callable:
    """A training step of a language model: tokens and targets to the loss."""
    optimizer = optim.AdamW(decaying(model, problem), lr=problem["lr"], betas=problem["betas"])

    @gn.compile
    def train(tokens: gn.Tensor, targets: gn.Tensor) -> gn.Tensor:
        loss = model(tokens, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return train


def trained(model: nn.Module, problem: BenchProblem) -> dict:
    """One compiled training step of a language model, window after window."""
    train = compiled(model, problem)
    windows, number = problem.array("tokens"), iter(range(1 << 60))

    def step() -> float:
        window = windows[next(number) % len(windows)]
        given = (np.ascontiguousarray(window[:, s]) for s in (slice(-1), slice(1, None)))
        return train(*map(gn.from_numpy, given)).item()

    kernels = functools.partial(profile, step)
    return {"step": step, "about": about(), "profile": kernels}


def about(*_: Callable) -> dict[str, str]:
    """Version, and which code products take."""
    target = device.target()
    return {"version": gn.__version__, "products": f"generated, {target.name}"}
