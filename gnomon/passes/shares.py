"""Shares: the part of a sum over the rows of all ranks that one rank's rows make.

A plain parameter inside of a module whose rows each rank passed has the gradient of its rank's own
loss, as PyTorch's ignored parameters do. Its sum is over the rank's rows alone, so it needs no tree
over all rows, and no message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gnomon.errors import LayoutError
from gnomon.ir.node import Graph, Node
from gnomon.ir.operators import elementwise
from gnomon.ops.placements import VARYING, Split
from gnomon.passes.layout import MeshAxis
from gnomon.passes.strategies import CARRIERS, Strategy, is_named

__all__ = ["commutes_with_sum", "in_shares", "is_share", "scaled_share"]


def is_share(node: Node) -> bool:
    """Whether a node takes a rank's share of a sum."""
    return "share" in node.params


def in_shares(graph: Graph, across: MeshAxis) -> set[Node]:
    """The folds of sums of which a rank takes its share, with the nodes of their partial sums."""
    taken = [x for x in graph.nodes if is_share(x) and is_named(x, across)]
    return {x for node in taken for x in nodes_of_sum(node.inputs[0])}


def nodes_of_sum(x: Node) -> Iterator[Node]:
    """A sum's last fold, and the nodes through which its partial sums reach it."""
    waiting, seen = [x], {x}
    while waiting:
        x = waiting.pop()
        yield x
        fresh = [
            y for y in dict.fromkeys(x.inputs if commutes_with_sum(x) else ()) if y not in seen
        ]
        waiting.extend(fresh)
        seen.update(fresh)


def commutes_with_sum(x: Node) -> bool:
    """Whether an operation applied to partial sums gives the partial sums of its result."""
    if x.op == "reduce":
        return x.params["monoid"] == "add"
    return x.op in CARRIERS or (x.op == "map" and x.params["f"] in ("cast", "add"))


def scaled_share(node: Node, part: Node, plan: Mapping[Node, Strategy], across: MeshAxis) -> Node:
    """A rank's part of a sum, scaled to the gradient of its own mean; a whole value as it is."""
    (x,) = node.inputs
    if plan[x].share or plan[x].given == VARYING:
        return elementwise("mul", part, float(across.ranks))
    if any(reads_part(step, plan) for step in nodes_of_sum(x)):
        raise LayoutError(
            f"fully_shard: a gradient {x.shape} of a plain tensor is of the rows of all ranks "
            f"of {across.name!r}, and none has its own share. Use it outside of the module."
        )
    return part


def reads_part(step: Node, plan: Mapping[Node, Strategy]) -> bool:
    """Whether a step has a rank's own part: of an axis split over ranks, or of a pending sum."""
    split = any(isinstance(plan[y].given, Split) for y in (step, *step.inputs))
    return split or (commutes_with_sum(step) and any(plan[y].share for y in step.inputs))
