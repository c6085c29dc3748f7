"""Where parts of a program are compiled, gradients over a mesh have the bits of one process."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import fully_shard
from gnomon.distributed.tensor import Replicate, Shard, distribute_tensor
from tests.distributed.on_threads import on_threads
from tests.fuzz_ranks import whole_of

Step = Callable[[gn.Tensor, gn.Tensor, float], gn.Tensor]
STEPS: dict[str, Step] = {
    "product": lambda t, w, c: (t @ w).tanh() * c,
    "reads": lambda t, w, c: t + w * c * t,
    "fold": lambda t, w, c: t * (w * c).exp().sum(0, keepdim=True).expand(t.shape) * 0.1,
    "both sides": lambda t, w, c: (t @ w) + (w @ t) * c,
}
LAYOUTS = {
    "rows": (Shard(0), Shard(0)),
    "columns": (Shard(1), Shard(0)),
    "whole": (Replicate(), Replicate()),
}


def gradient(
    w: gn.Tensor, x: gn.Tensor, parts: Sequence[Sequence[str]], compiled: bool
) -> gn.Tensor:
    """The gradient of w in a program of three parts, the second of which may be compiled."""
    factors = iter(np.random.default_rng(0).uniform(-2, 2, 12))
    scaled = [[(STEPS[name], float(next(factors))) for name in names] for names in parts]

    def run(steps: Sequence[tuple[Step, float]], t: gn.Tensor) -> gn.Tensor:
        for step, c in steps:
            t = step(t, w, c)
        return t

    def inner(t: gn.Tensor) -> gn.Tensor:
        return run(scaled[1], t)

    middle = gn.compile(inner) if compiled else inner
    run(scaled[2], middle(run(scaled[0], x))).sum().backward()
    return w.grad


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_a_weight_that_is_read_inside_and_outside_has_the_sum_of_one_process(
    seed: int, layout: str
):
    source, rng = random.Random(seed), np.random.default_rng(seed)
    parts = [source.choices([*STEPS], k=2) for _ in range(3)]
    w, x = (rng.standard_normal((4, 4)).astype(np.float32) * 0.5 for _ in range(2))
    alone = gradient(gn.tensor(w, requires_grad=True), gn.tensor(x), parts, False)

    def work(rank: int, ranks: int) -> np.ndarray:
        mesh = init_device_mesh("cpu", (ranks,))
        spread = [
            distribute_tensor(gn.tensor(value), mesh, [kind])
            for value, kind in zip((w, x), LAYOUTS[layout], strict=True)
        ]
        return whole_of(gradient(spread[0].requires_grad_(), spread[1], parts, True))

    for found in on_threads(work, 2):
        assert found.tobytes() == alone.numpy().tobytes()


class Block(nn.Module):
    """A layer of its own between two calls of a layer that others share."""

    def __init__(self, shared: nn.Linear) -> None:
        super().__init__()
        self.shared, self.own = shared, nn.Linear(8, 8)

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return x + self.shared(self.own(self.shared(x)).relu())


class Stack(nn.Module):
    """Blocks that share a layer, of which some are compiled."""

    def __init__(self, compiled: Sequence[bool]) -> None:
        super().__init__()
        self.shared = nn.Linear(8, 8)
        self.blocks = nn.ModuleList(Block(self.shared) for _ in compiled)
        self.calls = [
            gn.compile(block) if chosen else block
            for block, chosen in zip(self.blocks, compiled, strict=True)
        ]

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        x = self.shared(x)
        for call in self.calls:
            x = call(x)
        return x


def after_a_step(ranks: int, compiled: Sequence[bool], rows: np.ndarray) -> list[np.ndarray]:
    """The weights of blocks after a step, whole."""
    gn.manual_seed(0)
    model = Stack(compiled)
    if ranks > 1:
        fully_shard(model, mesh=init_device_mesh("cpu", (ranks,)))
    optimizer = gn.optim.SGD(model.parameters(), lr=0.5)
    model(gn.tensor(rows)).square().mean().backward()
    optimizer.step()
    return [whole_of(p) for p in model.parameters()]


def test_compiled_blocks_that_share_a_layer_train_as_on_one_process():
    rows = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32)
    alone = after_a_step(1, (False, False, False), rows)

    def work(rank: int, ranks: int) -> list[np.ndarray]:
        share = len(rows) // ranks
        return after_a_step(ranks, (False, True, True), rows[rank * share : (rank + 1) * share])

    for found in on_threads(work, 4):
        assert [x.tobytes() for x in found] == [x.tobytes() for x in alone]
