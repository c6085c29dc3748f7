"""Gradients over a mesh have the bits of one process, with compiled parts and without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import fully_shard
from tests.distributed.on_threads import on_threads
from tests.fuzz_orders import findings
from tests.fuzz_ranks import whole_of


@pytest.mark.parametrize("seed", [2, 4, 5, 8, 25, 62, 86, 96, 109, 114])
def test_random_programs_have_the_gradients_of_one_process(seed: int):
    assert findings(seed) == []


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
