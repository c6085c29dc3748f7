"""One graph divided over a mesh by a table of layouts, for tests of passes. Not a test.

It gives the passes graphs and layouts that no tensors are behind. All ranks run the same program;
the rank's numbers are inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.compiler.build import build
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.report import bytes_sent
from gnomon.ir.node import Graph, Node
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.control_primitives import executed
from gnomon.ops.layouts import MeshLayout
from gnomon.ops.placements import REPLICATED, Placement
from gnomon.passes.accumulate import accumulate
from gnomon.passes.choose import product_flops
from gnomon.passes.layout import NETWORK, MeshAxis
from gnomon.passes.shard import open_up, shard
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import current

Arrays = list[np.ndarray]
Layout = Mapping[str, Placement]
"""Mesh axis -> placement; an axis that is not named replicates."""


def spelled(mesh: DeviceMesh, layout: Layout) -> MeshLayout:
    """A layout with the mesh's ranks."""
    return tuple((name, ranks, layout.get(name, REPLICATED)) for name, ranks in mesh.axes)


def compiled(graph: Graph, inputs: Sequence[np.ndarray]) -> Arrays:
    """Run a graph by machine code."""
    buffers = build(graph).run([DeviceBuffer.of(np.ascontiguousarray(x)) for x in inputs])
    return [made.array(x) for made, x in zip(buffers, graph.outputs, strict=True)]


@dataclass(frozen=True)
class Division:
    """The division of a program: the mesh, layouts of inputs and outputs, rows of microbatches.

    An output's layout of None leaves it as it comes, a pending sum excepted.
    """

    mesh: DeviceMesh
    inputs: tuple[Layout, ...]
    outputs: tuple[Layout | None, ...]
    rows: tuple[int | None, ...] = ()
    microbatches: int = 1


class RankProgram:
    """The program of every rank of a mesh; immutable."""

    def __init__(self, graph: Graph, division: Division) -> None:
        self.mesh, self.division = division.mesh, division
        self.given = len(graph.inputs)
        self.repeated: list[tuple[str, Node]] = []
        """Products that every rank along a mesh axis computes."""
        self.outputs, local = divided(open_up(graph), division, self.repeated)
        if division.microbatches > 1:
            numbers = [None] * (len(local.inputs) - self.given)
            local = accumulate(local, [*division.rows, *numbers], division.microbatches)
        self.graph = local

    def run(self, inputs: Sequence[np.ndarray]) -> Arrays:
        """The outputs of this rank from its parts of the inputs."""
        assert len(inputs) == self.given, f"needs {self.given} inputs, got {len(inputs)}"
        return compiled(self.graph, inputs)

    @property
    def flops(self) -> float:
        """The multiplications and additions of one rank's products."""
        return sum(product_flops(x) * times for x, times in executed(self.graph))

    @property
    def collectives(self) -> list[Node]:
        """The collectives of a rank, in program order."""
        return [x for x, times in executed(self.graph) if x.op in COLLECTIVES for _ in range(times)]

    def traffic(self) -> Counter[tuple[str, str]]:
        """Bytes that one rank sends, by collective and mesh axis."""
        sent: Counter[tuple[str, str]] = Counter()
        for node in self.collectives:
            sent[node.op, node.params["mesh"]] += round(bytes_sent(node))
        return sent


def divided(
    graph: Graph, division: Division, repeated: list[tuple[str, Node]]
) -> tuple[list[dict[str, Placement]], Graph]:
    """One rank's graph, whose last inputs are its numbers, and the layout of each output."""
    layouts: list[dict[str, Placement]] = [{} for _ in graph.outputs]
    given = len(graph.inputs)
    for name, count in division.mesh.axes:
        if count == 1:
            continue
        across = MeshAxis(name, count, NETWORK, current().numerics != "fast")
        numbers = [REPLICATED] * (len(graph.inputs) - given)
        inputs = [*(layout.get(name, REPLICATED) for layout in division.inputs), *numbers]
        wants = [None if x is None else x.get(name, REPLICATED) for x in division.outputs]
        found = shard(graph, across, inputs, wants)
        repeated.extend(
            (name, node)
            for node in graph
            if product_flops(node) and found.plan[node].given == REPLICATED
        )
        graph = found.graph
        for layout, placed in zip(layouts, found.outputs, strict=True):
            layout[name] = placed
    return layouts, graph
