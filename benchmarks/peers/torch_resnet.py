"""The residual network of gnomon/bench/ours/resnet.py in torch, channels last."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.peers.torch_common import prepared, training


class Normed(nn.Module):
    """A convolution and its norm."""

    def __init__(self, given: int, made: int, size: int, stride: int) -> None:
        super().__init__()
        self.c = nn.Conv2d(given, made, size, stride, size // 2, bias=False)
        self.n = nn.BatchNorm2d(made)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Both."""
        return self.n(self.c(x))


class Block(nn.Module):
    """Two convolutions around a short cut."""

    def __init__(self, given: int, made: int, stride: int) -> None:
        super().__init__()
        self.a, self.b = Normed(given, made, 3, stride), Normed(made, made, 3, 1)
        straight = stride == 1 and given == made
        self.short = nn.Identity() if straight else Normed(given, made, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One block."""
        return F.relu(self.b(F.relu(self.a(x))) + self.short(x))


class ResNet(nn.Module):
    """Stem, blocks, mean, classes."""

    def __init__(self, problem: Any) -> None:
        super().__init__()
        given = [problem["width"], *(made for made, _ in problem["blocks"])]
        self.stem = Normed(3, problem["width"], 3, 1)
        rows = zip(given, problem["blocks"], strict=False)
        self.blocks = nn.Sequential(*[Block(n, made, stride) for n, (made, stride) in rows])
        self.fc = nn.Linear(given[-1], problem["classes"])

    def forward(self, x: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean loss."""
        return F.cross_entropy(self.fc(self.blocks(F.relu(self.stem(x))).mean((2, 3))), targets)


def resnet(problem: Any) -> dict:
    """One training step."""
    compiled = prepared(problem)
    model = ResNet(problem)
    first = {n: torch.from_numpy(w) for n, w in problem.weights().items()}
    model.load_state_dict(first, strict=False)
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=problem["lr"], momentum=problem["momentum"], fused=True
    )
    images = [
        x.contiguous(memory_format=torch.channels_last)
        for x in torch.from_numpy(problem.array("images"))
    ]
    batches = [images, torch.from_numpy(problem.array("targets"))]
    return training(problem, torch.compile(model) if compiled else model, optimizer, batches)
