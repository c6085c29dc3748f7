"""A residual network of 3 × 3 convolutions with batch norm, trained by SGD with momentum."""

from __future__ import annotations

import functools

import gnomon as gn
from gnomon import nn, optim
from gnomon.bench.ours.common import about
from gnomon.bench.profile import profile
from gnomon.bench.serve import BenchProblem
from gnomon.nn import functional as F

__all__ = ["resnet"]


class Normed(nn.Module):
    """A convolution and the norm of its channels."""

    def __init__(self, given: int, made: int, size: int, stride: int) -> None:
        super().__init__()
        self.c = nn.Conv2d(given, made, size, stride, size // 2, bias=False)
        self.n = nn.BatchNorm2d(made)

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """Apply the convolution, then the normalization."""
        return self.n(self.c(x))


class BasicBlock(nn.Module):
    """Two convolutions around a short cut."""

    def __init__(self, given: int, made: int, stride: int) -> None:
        super().__init__()
        self.a, self.b = Normed(given, made, 3, stride), Normed(made, made, 3, 1)
        straight = stride == 1 and given == made
        self.short = nn.Identity() if straight else Normed(given, made, 1, stride)

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """One block."""
        return F.relu(self.b(F.relu(self.a(x))) + self.short(x))


class ResNet(nn.Module):
    """Stem, blocks, mean over the image, classes."""

    def __init__(self, problem: BenchProblem) -> None:
        super().__init__()
        width, blocks = problem["width"], problem["blocks"]
        given = [width, *(made for made, _ in blocks)]
        self.stem = Normed(3, width, 3, 1)
        rows = zip(given, blocks, strict=False)
        self.blocks = nn.Sequential(*[BasicBlock(n, made, stride) for n, (made, stride) in rows])
        self.fc = nn.Linear(given[-1], problem["classes"])

    def forward(self, x: gn.Tensor, targets: gn.Tensor) -> gn.Tensor:
        """The mean loss of telling each image's class."""
        x = self.blocks(F.relu(self.stem(x))).mean((2, 3))
        return F.cross_entropy(self.fc(x), targets)


def resnet(problem: BenchProblem) -> dict:
    """One training step of a residual network."""
    model = ResNet(problem)
    first = {name: gn.from_numpy(array) for name, array in problem.weights().items()}
    model.load_state_dict(first, strict=False)
    optimizer = optim.SGD(model.parameters(), lr=problem["lr"], momentum=problem["momentum"])

    @gn.compile
    def train(images: gn.Tensor, targets: gn.Tensor) -> gn.Tensor:
        loss = model(images, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    batches = [problem.array(name) for name in ("images", "targets")]
    number = iter(range(1 << 60))

    def step() -> float:
        place = next(number) % len(batches[0])
        return train(*(gn.from_numpy(array[place]) for array in batches)).item()

    return {
        "step": step,
        "about": about(),
        "profile": functools.partial(profile, step),
    }
