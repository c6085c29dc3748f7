"""The loss of logits over ranks: the bits of one process, and no message as large as logits."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks
from gnomon.dtypes import float32, int64
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import constant
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.linear_cross_entropy import linear_cross_entropy
from gnomon.ops.placements import REPLICATED, Placement, Split
from gnomon.passes.shard import open_up, shard
from tests.distributed.rank_programs import compiled
from tests.gradients import gradients
from tests.passes.on_ranks import across, held_by

ROWS, WIDTH, CLASSES = 64, 8, 512


def loss_and_slopes() -> Graph:
    """A loss in pieces and the slopes of both its factors."""
    arena = Arena()
    x, weight = arena.input((ROWS, WIDTH), float32), arena.input((CLASSES, WIDTH), float32)
    target = arena.input((ROWS,), int64)
    loss = linear_cross_entropy(x, weight, target, strategy="vocab")
    slopes = gradients(loss, constant(arena, 1.0, float32), [x, weight])
    return Graph([x, weight, target], [loss, *slopes])


def joined(parts: list[np.ndarray], placement: Placement) -> np.ndarray:
    """A value from what ranks hold of it."""
    return np.concatenate(parts, placement.axis) if isinstance(placement, Split) else parts[0]


WAYS = {
    "rows": ((Split(0), REPLICATED, Split(0)), (REPLICATED, Split(0), REPLICATED)),
    "classes": ((REPLICATED, Split(0), REPLICATED), (REPLICATED, REPLICATED, Split(0))),
}


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("way", WAYS)
def test_ranks_give_the_bits_of_one_process(way: str, ranks: int, rng: np.random.Generator):
    graph, (inputs, outputs) = loss_and_slopes(), WAYS[way]
    arrays = [rng.standard_normal(x.shape).astype(np.float32) for x in graph.inputs[:2]]
    arrays.append(rng.integers(0, CLASSES, ROWS))
    divided = shard(open_up(graph), across(ranks), inputs, outputs)

    def one(rank: int) -> list[np.ndarray]:
        held = [held_by(rank, ranks, p, x) for p, x in zip(inputs, arrays, strict=True)]
        return compiled(divided.graph, held)

    found = run_ranks(DeviceMesh.of({"a": ranks}), one)

    for k, (whole, placement) in enumerate(
        zip(compiled(graph, arrays), divided.outputs, strict=True)
    ):
        assert joined([rank[k] for rank in found], placement).tobytes() == whole.tobytes()
    sent = [prod(x.shape) for x in divided.graph if x.op in COLLECTIVES]
    assert max(sent) < ROWS * CLASSES // ranks
