"""Regions that are computed in chunks, as kernels over parts of buffers.

Until kernels are in order such a region is one kernel; then its chunks stand in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from gnomon.ir.node import Graph, Node
from gnomon.ops.chunks import Chunk, ValuePart
from gnomon.ops.registry import facts_of
from gnomon.program.kernel import Kernel

__all__ = ["by_chunks", "with_chunks"]

ChunkGraph = Callable[[Graph], tuple[Graph, Sequence[Kernel]]]
"""A graph after all passes, and its kernels."""


def by_chunks(members: Sequence[Node], results: Sequence[Node], build: ChunkGraph) -> Kernel:
    """A region computed by chunks, as one kernel; `members` are the results that are read."""
    node, built = members[0], {}
    chunked = facts_of(node).chunked
    assert chunked is not None, "asks_for_chunks looked"
    wanted = [x if x in members else None for x in results]
    made: list[Kernel] = []
    for chunk in chunked(node, wanted):
        if chunk.graph not in built:
            built[chunk.graph] = build(chunk.graph)
        made += kernels_of_chunk(chunk, *built[chunk.graph], nodes=tuple(members))
    return Kernel(
        node.params["name"],
        made[0].code,
        (*members, *node.inputs),
        len(members),
        size=None,
        nodes=tuple(members),
        flops=sum(k.flops for k in made),
        chunks=tuple(made),
    )


def kernels_of_chunk(
    chunk: Chunk, graph: Graph, kernels: Sequence[Kernel], nodes: tuple[Node, ...]
) -> list[Kernel]:
    """The kernels of one chunk, over the parts of buffers that it reads and writes."""
    homes = dict(zip(graph.inputs, chunk.inputs, strict=True))
    homes.update(zip(graph.outputs, chunk.outputs, strict=True))
    arena = nodes[0].arena
    for kernel in kernels:
        for x in kernel.buffers:
            if x not in homes:
                # what one chunk alone needs: of its own in each, so that memory is shared
                homes[x] = ValuePart(arena.input(x.shape, x.dtype, "chunk"))
    return [place_in(k, homes, nodes) for k in kernels]


def place_in(kernel: Kernel, homes: Mapping[Node, ValuePart], nodes: tuple[Node, ...]) -> Kernel:
    """A kernel with the buffers that `homes` names."""
    return replace(
        kernel,
        homes=tuple((homes[x].node, homes[x].start * x.dtype.itemsize) for x in kernel.buffers),
        members=tuple(place_in(k, homes, nodes) for k in kernel.members),
        nodes=nodes,
    )


def with_chunks(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Kernels in order, with chunks in place of their regions."""
    return [chunk for kernel in kernels for chunk in kernel.chunks or (kernel,)]
