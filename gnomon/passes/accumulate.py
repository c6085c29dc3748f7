"""Microbatches: compute the rows of one step in several parts, with the same bits.

Microbatches are ranks of a mesh axis of their own. The shard pass divides the program over them
after all other axes; their collectives become loops (microbatch_loops.py). A loss divides by the
global count because it was built over all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnomon.errors import LayoutError
from gnomon.ir.node import Arena, Graph, Node, copy_into
from gnomon.ir.provenance import inherit
from gnomon.ops.layouts import MICROBATCHES, MeshLayout
from gnomon.ops.placements import REPLICATED, Placement, Split
from gnomon.passes.layout import TIME, MeshAxis
from gnomon.passes.microbatch_loops import loops
from gnomon.passes.shard import open_up, shard

__all__ = ["accumulate", "check_count", "in_microbatches", "marked", "rows_over"]


def rows_over(microbatches: int) -> MeshLayout:
    """The layout of rows that are split over this many microbatches."""
    return ((f"{MICROBATCHES} {microbatches}", microbatches, Split(0)),)


def check_count(microbatches: int) -> None:
    """Refuse numbers of microbatches that would cut a sum inside a subtree."""
    if microbatches < 1 or microbatches & (microbatches - 1):
        raise LayoutError(
            f"accumulate: microbatches must be a power of two: got {microbatches}. "
            "Other numbers would cut the sums inside a subtree."
        )


def accumulate(graph: Graph, rows: Sequence[int | None], microbatches: int) -> Graph:
    """Compute a program in equal blocks of rows, one after another.

    rows: for each input the axis of its rows; None where all microbatches share it. Gradients are
    summed in canonical order, so that their bits do not depend on the number of microbatches.
    """
    check_count(microbatches)
    if microbatches == 1:
        return graph
    placements: list[Placement] = [REPLICATED if k is None else Split(k) for k in rows]
    ((name, _, _),) = rows_over(microbatches)
    arena = Arena()
    whole = copies(arena, graph.inputs)
    return Graph(
        whole,
        by_microbatches(open_up(graph), whole, placements, MeshAxis(name, microbatches, TIME)),
    )


def in_microbatches(graph: Graph, mesh: str, microbatches: int) -> Graph:
    """Turn a program that places values over microbatches into loops over these."""
    marks = marked(graph, mesh)
    arena, cut = Arena(), Arena()
    whole = copies(arena, graph.inputs)
    own = [*copies(cut, graph.inputs), *copies(cut, marks)]
    known = dict(zip((*graph.inputs, *marks), own, strict=True))
    rest = Graph(own, copy_into(cut, graph.outputs, known))
    before = copy_into(
        arena, [x.inputs[0] for x in marks], dict(zip(graph.inputs, whole, strict=True))
    )
    placements = [*[REPLICATED] * len(whole), *(x.params["layout"][0][2] for x in marks)]
    across = MeshAxis(mesh, microbatches, TIME)
    return Graph(whole, by_microbatches(rest, [*whole, *before], placements, across))


def marked(graph: Graph, mesh: str) -> list[Node]:
    """The nodes of a program that place a value over a mesh axis."""
    return [x for x in graph if x.op == "place" and x.params["layout"][0][0] == mesh]


def copies(arena: Arena, nodes: Iterable[Node]) -> list[Node]:
    """New inputs with these nodes' shapes, dtypes and source lines."""
    made: list[Node] = []
    for x in nodes:
        with inherit(x.sites):
            made.append(arena.input(x.shape, x.dtype, x.params.get("name", "")))
    return made


def by_microbatches(
    graph: Graph, given: Sequence[Node], placements: Sequence[Placement], across: MeshAxis
) -> list[Node]:
    """The outputs of a program over microbatches, as loops in the arena of the given values."""
    microbatch = shard(graph, across, placements, [REPLICATED] * len(graph.outputs)).graph
    return loops(microbatch, given, placements, across)
