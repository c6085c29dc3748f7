"""Ten steps of training with a loss printed at each: what the scripts beside this one share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

STEPS = 10


def train(model: torch.nn.Module, loss_of: Callable[[int], torch.Tensor], lr: float = 1e-3) -> None:
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}", flush=True)
    print("done")


def images(count: int, size: int, channels: int = 3) -> torch.Tensor:
    rng = np.random.default_rng(1)
    drawn = rng.standard_normal((count, channels, size, size)).astype(np.float32)
    return torch.from_numpy(drawn).to(torch.get_default_dtype())


def labels(count: int, classes: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(2).integers(0, classes, count))


def tokens(count: int, length: int, words: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(3).integers(0, words, (count, length)))
