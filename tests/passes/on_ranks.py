"""Divides small graphs over threads and runs them with the interpreter. Not a test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks
from gnomon.ir.node import Graph, Node
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.interpret import evaluate
from gnomon.ops.placements import REPLICATED, Partial, Placement, Split
from gnomon.passes.layout import MeshAxis
from gnomon.passes.localize import mesh_axis_of
from gnomon.passes.shard import emit
from gnomon.passes.strategies import Strategy
from gnomon.runtime.comm import here


def across(ranks: int = 2, **rules: object) -> MeshAxis:
    """The mesh axis of these tests."""
    return MeshAxis("a", ranks, **rules)


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

    def one(rank: int):
        given = [held_by(rank, ranks, p, x) for p, x in zip(placements, arrays, strict=True)]
        return interpreted(local, given)

    return run_ranks(DeviceMesh.of({"a": ranks}), one)


def interpreted(graph: Graph, given: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of this rank by the interpreter; its places in the mesh are the last inputs."""
    values = dict(zip(graph.inputs, given, strict=False))
    for x in graph.inputs[len(given) :]:
        values[x] = np.asarray(here.link_along(mesh_axis_of(x)).place, np.int64)
    for node in graph:
        if node in values:
            continue
        inputs = [values[x] for x in node.inputs]
        values[node] = met(node, *inputs) if node.op in COLLECTIVES else evaluate(node, inputs)
    return [values[x] for x in graph.outputs]


FOLDS = {
    **{"add": np.add, "max": np.maximum, "min": np.minimum},
    **{"or": np.logical_or, "and": np.logical_and},
}


def met(node: Node, x: np.ndarray) -> np.ndarray:
    """A collective, as numpy says it."""
    p, link = node.params, here.link_along(node.params["mesh"])
    told = link.tell(np.ascontiguousarray(x).tobytes())
    parts = [np.frombuffer(each, x.dtype).reshape(x.shape) for each in told]
    if node.op == "permute_ranks":
        return parts[(link.place - p["shift"]) % link.count]
    if node.op == "all_gather":
        return np.concatenate(parts, p["axis"])
    if node.op == "all_to_all":
        own = [np.split(each, link.count, p["axis"])[link.place] for each in parts]
        return np.concatenate(own, p["joined"])
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        odd = parts[-1:] if len(parts) % 2 else []
        parts = [FOLDS[p["monoid"]](a, b) for a, b in pairs] + odd
    if node.op == "all_reduce":
        return parts[0]
    return np.split(parts[0], link.count, p["axis"])[link.place]


def by_strategy(node: Node, strategy: Strategy, rules: MeshAxis) -> Graph:
    """One rank's graph of one node that takes this strategy and gives everything."""
    plan = {x: Strategy((), w) for x, w in zip(node.inputs, strategy.wanted, strict=True)}
    plan[node] = strategy
    return emit(Graph(node.inputs, [node]), rules, plan, [REPLICATED])
