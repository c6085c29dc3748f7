"""Lower collectives to transfers, folds and views.

A sum over ranks is a reduction along the axis of ranks, with a leaf for each, so its bits follow
from rank order and every rank has the same. Sums of few bytes are gathered and folded whole by
every rank, in one message; of larger sums each rank folds a stretch, and all ranks gather the
stretches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from functools import reduce as reduced
from typing import Any

from gnomon.dtypes import accumulator
from gnomon.ir.node import Arena, Graph, Node, Shape
from gnomon.ir.operators import cast, elementwise
from gnomon.ir.rewrite import remade
from gnomon.ops.collectives import MEETINGS, TRANSFERS, After
from gnomon.ops.control_primitives import CONTROL, ChangedGraphs, with_graphs
from gnomon.ops.primitives import reshape
from gnomon.ops.transfers import exchange_ranks, fold_ranks, gather_ranks, shift_ranks
from gnomon.ops.view_primitives import permute, slice_

__all__ = ["SMALL", "fold_slices", "lower_collectives"]

SMALL = 32 << 10
"""The most bytes of a sum sent in one message: a second one would take longer than its bytes."""
MOST_ROWS = 32
"""The most ranks whose parts are folded as they arrive; the code has a load for each."""


def lower_collectives(graph: Graph) -> Graph:
    """The graph with collectives lowered to transfers, folds and views."""
    if not any(node.op in MEETINGS or node.op in CONTROL for node in graph):
        return graph
    inside = ChangedGraphs(lower_collectives)

    def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
        if node.op in CONTROL:
            return arena.node(node.op, inputs, **with_graphs(node.params, inside))
        return lowered(arena, node, inputs)

    return remade(graph, rebuild)


def lowered(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
    """A node over new inputs; a collective becomes transfers, folds and views."""
    if node.op not in MEETINGS:
        return arena.with_inputs(node, inputs)
    x, *before = inputs
    after = tuple(map(transfer_behind, before))
    if node.op in TRANSFERS:
        return arena.with_inputs(node, (x, *after))
    return x if node.params["ranks"] == 1 else LOWERED[node.op](x, node, after)


def transfer_behind(made: Node) -> Node:
    """The transfer on whose data a lowered collective depends, which the next one waits for."""
    while made.op not in TRANSFERS and made.inputs:
        made = made.inputs[0]
    return made


def all_gather(x: Node, node: Node, after: After) -> Node:
    """The values of all ranks, concatenated along an axis."""
    p = node.params
    if p["axis"] == 0:
        return gathered(x, node, after, node.shape)
    return side_by_side(gathered(x, node, after), p["axis"])


def all_to_all(x: Node, node: Node, after: After) -> Node:
    """Send one part of an axis to each rank; the parts that come are joined along another axis."""
    p = node.params
    parts = one_each(x, p["axis"], p["ranks"])
    if p["joined"] == 0:
        return exchange_parts(parts, node, after, node.shape)
    return side_by_side(exchange_parts(parts, node, after), p["joined"])


def permute_ranks(x: Node, node: Node, after: After) -> Node:
    """The value of another rank, by a shift of ranks."""
    p = node.params
    if p["shift"] == 0:
        return x
    return shift_ranks(x, p["shift"], p["mesh"], p["ranks"], message_name(node), after)


def reduce_scatter(x: Node, node: Node, after: After) -> Node:
    """The fold of every rank's x, of which each rank gets its part of an axis."""
    p = node.params
    return folded_as_it_comes(one_each(x, p["axis"], p["ranks"]), node, after)


def all_reduce(x: Node, node: Node, after: After) -> Node:
    """The fold of every rank's x, in one message or, of many bytes, in two smaller ones."""
    ranks = node.params["ranks"]
    if x.size * x.dtype.itemsize <= SMALL or x.size % ranks:
        return folded(gathered(x, node, after), node)
    stretches = reshape(x, (ranks, x.size // ranks))
    own = folded_as_it_comes(stretches, node, after, ".scatter")
    return gathered(own, node, (), x.shape, ".gather")


LOWERED: dict[str, Callable[[Node, Node, After], Node]] = {
    "all_gather": all_gather,
    "all_reduce": all_reduce,
    "all_to_all": all_to_all,
    "permute_ranks": permute_ranks,
    "reduce_scatter": reduce_scatter,
}
"""Collective -> its lowering, given the operand, the node, and transfers to wait for."""


def message_name(node: Node) -> str:
    """The name of a collective in messages."""
    monoid, rows = node.params.get("monoid", "add"), node.params.get("rows", 0)
    name = node.op if monoid == "add" else f"{node.op}[{monoid}]"
    return f"{name} over {rows:,} rows" if rows else name


def gathered(x: Node, node: Node, after: After, shape: Shape | None = None, part: str = "") -> Node:
    """The transfer that receives every rank's x, along a new first axis."""
    p = node.params
    return gather_ranks(
        x, p["mesh"], p["ranks"], shape, message_name(node) + part, after, **unit_in(p)
    )


def exchange_parts(
    x: Node, node: Node, after: After, shape: Shape | None = None, part: str = ""
) -> Node:
    """The transfer that sends each rank its part of x, and receives its part from each."""
    p = node.params
    return exchange_ranks(
        x, p["mesh"], p["ranks"], shape, message_name(node) + part, after, **unit_in(p)
    )


def unit_in(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters `unit` and `phase` of a collective, if it has them."""
    return {name: params[name] for name in ("unit", "phase") if name in params}


def folded(x: Node, node: Node) -> Node:
    """The fold of a collective over its first axis, which is that of ranks."""
    return fold_slices(x, node.params["monoid"], ordered=node.params["ordered"])


def folded_as_it_comes(x: Node, node: Node, after: After, part: str = "") -> Node:
    """The transfer that gives each rank the fold of its part, folded while data arrive."""
    p, ranks = node.params, x.shape[0]
    mean = p["monoid"] == "average"
    narrow = x.dtype.is_storage_only or (mean and accumulator(x.dtype) is not x.dtype)
    if narrow or p["monoid"].startswith("bits") or ranks > MOST_ROWS:
        return folded(exchange_parts(x, node, after, part=part), node)
    fold = "add" if mean else p["monoid"], leaves_of(x, p["monoid"], p["ordered"])
    made = fold_ranks(x, fold, p["mesh"], message_name(node) + part, after, **unit_in(p))
    return made / ranks if mean else made


def leaves_of(x: Node, monoid: str, ordered: bool) -> int:
    """The leaves of a fold along the axis of ranks."""
    tree = ordered and monoid in ("add", "average") and x.dtype.is_floating_point
    return x.shape[0] & -x.shape[0] if tree else 1


def fold_slices(x: Node, monoid: str, ordered: bool = True) -> Node:
    """The fold along the axis of ranks: a perfect binary tree if `ordered`, else one chain."""
    ranks = x.shape[0]
    if monoid.startswith("bits"):
        return reduced(partial(elementwise, monoid.removeprefix("bits_")), slices(x))
    leaves, mean = leaves_of(x, monoid, ordered), monoid == "average"
    monoid = "add" if mean else monoid
    params = {"monoid": monoid, "axis": 0, "leaves": leaves, "lanes": False}
    dtype = accumulator(x.dtype) if mean else x.dtype
    made = x.arena.node("reduce", (x,), **params, dtype=dtype)
    return cast(made / ranks, x.dtype) if mean else made


def slices(x: Node) -> list[Node]:
    """The slices of a value along its first axis."""
    rest = [(0, n, 1) for n in x.shape[1:]]
    parts = [slice_(x, ((k, k + 1, 1), *rest)) for k in range(x.shape[0])]
    return [reshape(part, x.shape[1:]) for part in parts]


def one_each(x: Node, axis: int, ranks: int) -> Node:
    """x with one axis cut into `ranks` parts, which are numbered by a new first axis."""
    shape = (*x.shape[:axis], ranks, x.shape[axis] // ranks, *x.shape[axis + 1 :])
    others = [k for k in range(len(shape)) if k != axis]
    return permute(reshape(x, shape), (axis, *others))


def side_by_side(x: Node, axis: int) -> Node:
    """The parts along the first axis, joined along another one."""
    ranks, *shape = x.shape
    order = list(range(1, x.rank))
    order.insert(axis, 0)
    shape[axis] *= ranks
    return reshape(permute(x, tuple(order)), tuple(shape))
