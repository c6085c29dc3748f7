"""Values that vary over a mesh axis: each rank has a value of its own.

Plain inputs of a rank's program vary, and so does the part that a rank takes of a value over a
mesh. Constants and results of collectives are the same on all ranks. A value computed from a
varying value varies, and each rank computes it whole. Where it meets a split value, and the result
can be split like that, each rank takes the stretch of its own value, which counts as replicated at
this one node; nothing is divided for its sake. A product that folds a shared axis is an exception:
the split value is gathered, and each rank folds it with its own value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.ir.node import Node
from gnomon.ops.collectives import MEETINGS
from gnomon.ops.layouts import LAYOUTS
from gnomon.ops.placements import REPLICATED, VARYING, Partial, Placement, Split
from gnomon.passes.layout import MeshAxis, is_whole
from gnomon.passes.strategies import Strategy, is_named

ALIKE = frozenset({"all_reduce", "all_gather", "gather_ranks"})
"""Collectives whose results are the same on all ranks."""


def varies(node: Node, given: Sequence[Placement], across: MeshAxis) -> bool:
    """Whether every rank has its own whole value of a node, given its inputs' placements."""
    if node.op in LAYOUTS and is_named(node, across):
        everywhere = (across.name, across.ranks, REPLICATED) in node.params["layout"]
        return "pins" in node.params and everywhere and VARYING in given
    if ends_varying(node, across):
        return node.op not in ALIKE or node.params["mesh"] != across.name
    return VARYING in given


def ends_varying(node: Node, across: MeshAxis) -> bool:
    """Whether a node is a collective of the program itself, not one along the other mesh axes."""
    return node.op in MEETINGS and node.params["mesh"] not in across.beside


def is_left_alone(node: Node, given: Sequence[Placement]) -> bool:
    """Whether a node changes only "varying" or only "split" inputs, and its input is another."""
    only = node.params.get("only")
    if only == "split":
        return not isinstance(given[0], Split)
    return only == "varying" and given[0] != VARYING


def is_divided(strategy: Strategy, given: Sequence[Placement]) -> bool:
    """Whether a strategy gives parts because an input is in parts already.

    Parts that need inputs to be moved or reduced first do not count: they only save work.
    """
    pairs = zip(given, strategy.wanted, strict=True)
    return isinstance(strategy.given, Split) and any(
        have == want and not is_whole(want) for have, want in pairs
    )


def usable(every: Sequence[Strategy], given: Sequence[Placement]) -> Sequence[Strategy]:
    """The strategies among which cost may choose: all of them if no operand varies.

    If an operand varies, the result's value depends on whether it is split, so cost has no
    influence: it is split wherever the values that a layout splits can stay in place, and whole on
    each rank elsewhere.
    """
    if VARYING not in given or [s.rule for s in every] == ["boundary"]:
        return every
    if all(map(is_whole, given)):
        return [s for s in every if all(map(is_whole, (*s.wanted, s.given)))]
    found = [s for s in every if keeps_split(s, given)]
    return [s for s in found if moves_no_split(s, given)] or found


def keeps_split(strategy: Strategy, given: Sequence[Placement]) -> bool:
    """Whether a strategy takes a split input as it is, and splits no varying value for a sum."""
    if is_whole(strategy.given):
        return True
    pairs = list(zip(given, strategy.wanted, strict=True))
    kept = any(isinstance(have, Split) and have == want for have, want in pairs)
    cut = any(have == VARYING and isinstance(want, Split) for have, want in pairs)
    return kept and not (cut and isinstance(strategy.given, Partial))


def moves_no_split(strategy: Strategy, given: Sequence[Placement]) -> bool:
    """Whether a strategy moves no split input and leaves its result split."""
    pairs = zip(given, strategy.wanted, strict=True)
    kept = [have == want for have, want in pairs if isinstance(have, Split)]
    divided = isinstance(strategy.given, Split) or strategy.rule == "lookup"
    return divided and bool(kept) and all(kept)


def check_varying(plan: Mapping[Node, Strategy], across: MeshAxis) -> None:
    """Check that no value made of varying ones counts as equal on all ranks."""
    for node, strategy in plan.items():
        if not node.inputs or (node.op in LAYOUTS and is_named(node, across)):
            continue
        given = [plan[x].given for x in node.inputs]
        if VARYING not in given or ends_varying(node, across):
            continue
        assert (
            strategy.given == VARYING
            or not all(map(is_whole, given))
            or isinstance(strategy.given, Split)
        ), f"shard: {node.op} {node.shape} of what varies over {across.name!r} is {strategy.given}"
