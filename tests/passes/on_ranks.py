"""Divides small graphs over threads and runs them with the interpreter. Not a test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.distributed.launch import run_ranks
from gnomon.distributed.mesh import Mesh
from gnomon.distributed.program import run_steps
from gnomon.ir.node import Graph, Node
from gnomon.ops.interpret import interpret_graph
from gnomon.passes.layout import REPLICATED, Across, Partial, Placement, Split
from gnomon.passes.segments import cut
from gnomon.passes.shard import emit
from gnomon.passes.strategies import Strategy


def across(ranks: int = 2, **rules: object) -> Across:
    """The mesh axis of these tests."""
    return Across("a", ranks, **rules)


def held_by(rank: int, ranks: int, placement: Placement, whole: np.ndarray) -> np.ndarray:
    """What one rank holds of an array; a pending sum is whole - 1, 1, 0, 0, ..."""
    if isinstance(placement, Split):
        return np.ascontiguousarray(np.split(whole, ranks, placement.axis)[rank])
    if isinstance(placement, Partial):
        pieces = {0: whole - 1, 1: np.ones_like(whole)}
        return pieces.get(rank, np.zeros_like(whole)).astype(whole.dtype)
    return whole


def run_local(
    local: Graph, placements: Sequence[Placement], arrays: Sequence[np.ndarray], ranks: int
) -> list[list[np.ndarray]]:
    """Every rank's outputs of one rank's graph."""
    steps = cut(local)

    def one(comm, rank: int):
        given = [held_by(rank, ranks, p, x) for p, x in zip(placements, arrays, strict=True)]
        return run_steps(local, steps, comm, given, interpret_graph)

    return run_ranks(Mesh((("a", ranks),)), one)


def by_strategy(node: Node, strategy: Strategy, rules: Across) -> Graph:
    """One rank's graph of one node that takes this strategy and gives everything."""
    plan = {x: Strategy((), w) for x, w in zip(node.inputs, strategy.wanted, strict=True)}
    plan[node] = strategy
    return emit(Graph(node.inputs, [node]), rules, plan, [REPLICATED])
