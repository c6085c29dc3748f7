"""One training step as one compiled program: losses, gradients, clipping, AdamW.

Learning rates are numbers of the optimizer's groups, which are inputs of the program: they change
from step to step and the same program is replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import gnomon as gn
from gnomon import nn, optim
from gnomon.models.initialization import EMBEDDING
from gnomon.models.qwen3 import Qwen3ForCausalLM
from gnomon.runtime import events
from gnomon.train.config import Config
from gnomon.train.state import optimizer_of

__all__ = ["Step", "make_optimizer"]


def make_optimizer(model: Qwen3ForCausalLM, config: Config) -> optim.AdamW:
    """AdamW in three groups: the embedding, matrices (which decay), norm weights."""
    chosen = config.optimizer
    named = list(model.named_parameters())
    embedding = [name for name, _ in named if name.endswith(EMBEDDING)]
    matrices = [name for name, p in named if p.ndim == 2 and name not in embedding]
    norms = [name for name, p in named if p.ndim == 1]
    groups = [
        {"names": embedding, "weight_decay": 0.0, "factor": chosen.embedding_factor},
        {"names": matrices, "weight_decay": chosen.weight_decay, "factor": 1.0},
        {"names": norms, "weight_decay": 0.0, "factor": 1.0},
    ]
    betas = (chosen.beta1, chosen.beta2)
    return optimizer_of(model, groups, lr=chosen.learning_rate, betas=betas, eps=chosen.eps)


class Step:
    """Takes one step: windows and a learning rate in, loss and gradient norm out."""

    def __init__(self, model: Qwen3ForCausalLM, optimizer: optim.AdamW, config: Config) -> None:
        parameters = list(model.parameters())
        largest = config.optimizer.clip_norm
        self.taken = self.kernels = 0

        @gn.compile
        def program(window_bt: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
            optimizer.zero_grad()
            loss = model.losses(window_bt).mean()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(parameters, largest)
            optimizer.step()
            return loss.detach(), norm

        self.program, self.optimizer = program, optimizer

    def __call__(self, window: np.ndarray, rate: float) -> tuple[float, float]:
        """Learn from (batch, length + 1) tokens."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        # listening has its price, so only the first steps are listened to
        stop = events.subscribe(self.hear) if self.taken < 2 else None
        try:
            loss, norm = self.program(gn.from_numpy(window))
        finally:
            if stop:
                stop()
        self.taken += 1
        return loss.item(), norm.item()

    def hear(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Count what a step runs."""
        if kind == "run":
            self.kernels = len(fields["program"].steps)
