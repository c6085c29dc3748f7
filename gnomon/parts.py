"""Regions that are computed in turns, as kernels over parts of buffers.

Until kernels are in order such a region is one kernel; then its turns stand in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from gnomon.ir.node import Graph, Node
from gnomon.listing import Kernel
from gnomon.schedule.turns import TURNS, Part, Turn

__all__ = ["apart", "by_turns"]

Build = Callable[[Graph], tuple[Graph, Sequence[Kernel]]]
"""A graph after all passes, and its kernels."""


def by_turns(members: Sequence[Node], results: Sequence[Node], build: Build) -> Kernel:
    """A region as one kernel; `members` are the results of its call that somebody reads."""
    node, built = members[0], {}
    wanted = [x if x in members else None for x in results]
    made: list[Kernel] = []
    for turn in TURNS[node.params["name"]](node, wanted):
        if turn.graph not in built:
            built[turn.graph] = build(turn.graph)
        made += kernels_of_turn(turn, *built[turn.graph], nodes=tuple(members))
    return Kernel(
        node.params["name"],
        made[0].code,
        (*members, *node.inputs),
        len(members),
        size=None,
        nodes=tuple(members),
        flops=sum(k.flops for k in made),
        turns=tuple(made),
    )


def kernels_of_turn(
    turn: Turn, graph: Graph, kernels: Sequence[Kernel], nodes: tuple[Node, ...]
) -> list[Kernel]:
    """The kernels of one turn, over the parts that it reads and gives."""
    homes = dict(zip(graph.inputs, turn.inputs, strict=True))
    homes.update(zip(graph.outputs, turn.outputs, strict=True))
    arena = nodes[0].arena
    for kernel in kernels:
        for x in kernel.buffers:
            if x not in homes:
                # what one turn alone needs: of its own in each, so that memory is shared
                homes[x] = Part(arena.input(x.shape, x.dtype, "turn"))
    return [placed(k, homes, nodes) for k in kernels]


def placed(kernel: Kernel, homes: Mapping[Node, Part], nodes: tuple[Node, ...]) -> Kernel:
    """A kernel whose buffers lie where they are said to."""
    return replace(
        kernel,
        homes=tuple((homes[x].node, homes[x].start * x.dtype.itemsize) for x in kernel.buffers),
        members=tuple(placed(k, homes, nodes) for k in kernel.members),
        nodes=nodes,
    )


def apart(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Kernels in order, turns in place of their regions."""
    return [turn for kernel in kernels for turn in kernel.turns or (kernel,)]
