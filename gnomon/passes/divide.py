"""Turn a program over a mesh into one rank's program, by the shard pass for each mesh axis.

The program itself names its mesh axes, where parts become whole values and whole values become
parts (gnomon/ops/layouts.py). All other inputs vary: they are each rank's own (varying.py). The
last inputs of the divided program are the rank's numbers along those axes. Microbatches count as
ranks too, the innermost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gnomon.errors import LayoutError
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.rewrite import remade
from gnomon.ops.layouts import LAYOUTS, is_microbatches
from gnomon.ops.placements import REPLICATED, VARYING, Split
from gnomon.passes.accumulate import in_microbatches
from gnomon.passes.choose import Plan
from gnomon.passes.coalesce import coalesce
from gnomon.passes.early_parts import with_early_parts
from gnomon.passes.layout import NETWORK, MeshAxis
from gnomon.passes.localize import is_alike
from gnomon.passes.shard import open_up, shard
from gnomon.passes.start_order import has_own_rows, in_start_order
from gnomon.passes.virtual_ranks import shares_of, virtual_ranks
from gnomon.settings import current

__all__ = ["Hear", "divide", "mesh_axes"]

ENDS = frozenset({"from_local", "to_local"})


Hear = Callable[[MeshAxis, Graph, Plan], None]


def ignore_plan(across: MeshAxis, graph: Graph, plan: Plan) -> None:
    """Ignore a plan: the default of `hear`."""


def divide(graph: Graph, hear: Hear = ignore_plan, ranks_differ: bool = False) -> Graph:
    """The program of one rank; a program without mesh axes is returned unchanged.

    hear: called with each mesh axis, the program divided over it, and the decisions. ranks_differ:
    whether some ranks may already have values that others compute in this program.
    """
    axes = mesh_axes(graph)
    if not axes:
        return graph
    own = has_own_rows(graph)
    graph = with_early_parts(without_single_ranks(open_up(graph), axes))
    for name, ranks in axes.items():
        if is_microbatches(name) or ranks == 1:
            continue
        ordered = current().numerics != "fast"
        shares = shares_of(graph, name, ranks, ordered)
        refuse_uneven(graph, name, shares)
        across = MeshAxis(name, shares, NETWORK, ordered, frozenset(axes) - {name})
        held = [REPLICATED if is_alike(x) else VARYING for x in graph.inputs]
        made = shard(graph, across, held, [REPLICATED] * len(graph.outputs))
        hear(across, graph, made.plan)
        graph = made.graph
        graph = graph if shares == ranks else virtual_ranks(graph, name, shares, ranks)
    graph = coalesce(graph)
    for name, count in axes.items():
        if is_microbatches(name):
            graph = in_microbatches(graph, name, count)
    return in_start_order(graph, ranks_differ) if own or ranks_differ else graph


def refuse_uneven(graph: Graph, mesh: str, shares: int) -> None:
    """Refuse parts of tensors along a mesh axis whose ranks share rows unequally."""
    for x in graph:
        for name, ranks, placement in x.params["layout"] if x.op in ENDS else ():
            if name == mesh and isinstance(placement, Split) and 1 < ranks != shares:
                raise LayoutError(
                    f"divide: {x.op}: {ranks} ranks of mesh axis {mesh!r} hold parts of a tensor "
                    f"{x.shape}, and share rows as {shares} leaves. Use a mesh axis of its own for "
                    f"one of them, or a power of two, {shares} at most."
                )


def without_single_ranks(graph: Graph, axes: Mapping[str, int]) -> Graph:
    """A program without the mesh axes of one rank: their placements change nothing."""
    if 1 not in axes.values():
        return graph

    def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
        if node.op not in LAYOUTS:
            return arena.with_inputs(node, inputs)
        rest = tuple(each for each in node.params["layout"] if each[1] > 1)
        return arena.node(node.op, inputs, **{**node.params, "layout": rest}) if rest else inputs[0]

    return remade(graph, rebuild)


def mesh_axes(graph: Graph) -> dict[str, int]:
    """The mesh axes that a program names, outermost first, and their ranks."""
    named = sorted((x.params["layout"] for x in graph if x.op in LAYOUTS), key=len, reverse=True)
    return {name: ranks for layout in named for name, ranks, _ in layout}
