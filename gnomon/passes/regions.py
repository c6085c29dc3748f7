"""The strategies of a region that a hand-written kernel computes, found from its body.

The strategies follow from its body. Axes that the body's signatures tie together are one letter of
the region; a letter may be split if every node of the body then finds its operands in place, on any
rank. A part is the same call over smaller operands, and its body says which leaves its sums have,
for the kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from gnomon.ir.memo import memo
from gnomon.ir.node import PRIMITIVES, Arena, Graph, Node
from gnomon.ir.provenance import inherit
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.facts import Counted
from gnomon.ops.placements import REPLICATED, Partial, Placement, Split
from gnomon.ops.registry import asks_for_chunks, facts_of
from gnomon.passes.inline import inline
from gnomon.passes.layout import MeshAxis, can_be_split, is_whole, local_shape
from gnomon.passes.localize import Locals
from gnomon.passes.strategies import Strategy, strategies

Place = tuple[Node, int]
"""A value and one of its axes."""
COUNTED = "counted"
"""The rule of a split along an axis that positions refer to: they count from the part's begin."""


class Divided(NamedTuple):
    """A region's body with one letter split: the strategy of each of its nodes."""

    body: Graph
    plan: dict[Node, Strategy]

    @property
    def given(self) -> list[Placement]:
        """The placement of each result."""
        return [self.plan[x].given for x in self.body.outputs]


def is_closed(node: Node) -> bool:
    """Whether a region is divided as one node, since a kernel claims it or it is chunked."""
    if node.op != "region" or not all(x.size for x in (*node.inputs, node)):
        return False
    return facts_of(node).claim is not None or asks_for_chunks(node)


@memo
@cache
def primitives_of(body: Graph) -> Graph:
    """A graph with all regions inlined."""
    return inline(body, lambda node: False)


def of_region(node: Node, across: MeshAxis) -> Iterator[Strategy]:
    """The strategies of a region's result, one for each letter that can be split."""
    body: Graph = node.params["body"]
    index: int = node.params["index"]
    counted = counted_by(node)
    for wanted in letters_of(body):
        shifts = counted is not None and wanted[counted.operand] == Split(counted.axis)
        made = divided(body, wanted, across, shifts)
        if made is not None and all(may_give(node, p) for p in made.given):
            rule = COUNTED if shifts else "letter"
            yield Strategy(wanted, made.given[index], rule)


def may_give(node: Node, placement: Placement) -> bool:
    """Whether a claimed region may have a result in this placement on each rank."""
    claim = facts_of(node).claim
    if isinstance(placement, Partial):
        return claim is None or claim.sums
    return placement != REPLICATED


def counted_by(node: Node) -> Counted | None:
    """The operand of a region that has positions along a split axis; None if there is none."""
    claim = facts_of(node).claim
    return claim.counted if claim else None


@memo
@cache
def letters_of(body: Graph) -> tuple[tuple[Placement, ...], ...]:
    """The placements of a region's operands when one of its letters is split, for each letter."""
    graph = primitives_of(body)
    root = TiedAxes(graph).root
    letters = dict.fromkeys(root((x, k)) for x in graph.inputs for k in range(x.rank))
    found: list[tuple[Placement, ...]] = []
    for letter in letters:
        axes = [[k for k in range(x.rank) if root((x, k)) == letter] for x in graph.inputs]
        if all(len(own) < 2 for own in axes):
            found.append(tuple(Split(own[0]) if own else REPLICATED for own in axes))
    return tuple(found)


class TiedAxes:
    """The axes of a graph's values, in groups that operations' signatures tie together."""

    def __init__(self, graph: Graph) -> None:
        self.parent: dict[Place, Place] = {}
        for node in graph:
            if node.op not in ("input", *CONTROL):
                self.tie(node)

    def root(self, place: Place) -> Place:
        """The representative of the group of axes that an axis is in."""
        while place in self.parent:
            place = self.parent[place]
        return place

    def tie(self, node: Node) -> None:
        """Tie the axes of a node's inputs and result that have one letter in its signature."""
        signature = PRIMITIVES[node.op].signature(node)
        first: dict[str, Place] = {}
        for x, row in zip((*node.inputs, node), (*signature.inputs, signature.output), strict=True):
            places = ((letter, (x, k)) for k, letter in enumerate(row) if letter is not None)
            for letter, place in places:
                old, new = self.root(first.setdefault(letter, place)), self.root(place)
                if old != new:
                    self.parent[new] = old


@memo
@cache
def divided(
    body: Graph, wanted: tuple[Placement, ...], across: MeshAxis, counted: bool = False
) -> Divided | None:
    """The body with its operands split so; None where that needs a message or the rank's number.

    counted: whether positions that the body creates may be those of a part.
    """
    graph = primitives_of(body)
    pairs = list(zip(graph.inputs, wanted, strict=True))
    if not all(can_be_split(x.shape, p, across.ranks) for x, p in pairs):
        return None
    plan = {x: Strategy((), p) for x, p in pairs}
    tied = TiedAxes(graph)
    split = {tied.root((x, p.axis)) for x, p in pairs if isinstance(p, Split)}
    for node in graph:
        if node in plan:
            continue
        found = [
            s for s in strategies_of_any_rank(node, across, counted) if is_placed_for(node, s, plan)
        ]
        if not found:
            return None
        plan[node] = max(found, key=lambda s: preference(node, s, split, tied))
    return Divided(graph, plan)


def strategies_of_any_rank(node: Node, across: MeshAxis, counted: bool) -> Iterator[Strategy]:
    """Yield the strategies of a node in a body that do not depend on the rank's number."""
    for strategy in strategies(node, across):
        placed = node.op == "iota" and strategy.given != REPLICATED
        if strategy.rule == "letter" and (counted or not placed):
            yield strategy
    if node.op == "gather":
        yield Strategy((Partial(), REPLICATED), Partial())
    if node.op == "map" and node.params["f"] == "where" and is_zero(node.inputs[2]):
        yield Strategy((REPLICATED, Partial(), REPLICATED), Partial())


def is_zero(x: Node) -> bool:
    """Whether a value is 0 or -0.0 everywhere, so that a sum of such values is the same."""
    while x.op in ("expand", "reshape"):
        (x,) = x.inputs
    return x.op == "const" and x.params["value"] == 0


def is_placed_for(node: Node, strategy: Strategy, plan: dict[Node, Strategy]) -> bool:
    """Whether the inputs of a node are placed as a strategy wants them."""
    wants = zip(node.inputs, strategy.wanted, strict=True)
    return all(plan[x].given == want for x, want in wants)


def preference(node: Node, strategy: Strategy, split: set[Place], tied: TiedAxes) -> int:
    """A preference: 2 for a split along the letter, 1 for a pending sum, 0 for a repetition."""
    match strategy.given:
        case Split(axis):
            return 2 if tied.root((node, axis)) in split else -1
        case Partial():
            return 1
        case _:
            return 0


@memo
@cache
def part_of(
    body: Graph, wanted: tuple[Placement, ...], across: MeshAxis, counted: bool = False
) -> Graph:
    """A region's body over the parts of its operands that one rank has."""
    made = divided(body, wanted, across, counted)
    assert made is not None, "a region is divided only as it can be"
    with inherit(()):
        arena = Arena()
        local = Locals(arena, across)
        held: dict[Node, Node] = {}
        for x, placement in zip(made.body.inputs, wanted, strict=True):
            held[x] = arena.input(local_shape(x.shape, placement, across.ranks), x.dtype)
        for node in made.body:
            if node not in held:
                parts = tuple(held[x] for x in node.inputs)
                held[node] = local.build(node, made.plan[node], parts)
    return Graph([held[x] for x in made.body.inputs], [held[x] for x in made.body.outputs])


def region_part(node: Node, strategy: Strategy, parts: tuple[Node, ...], local: Locals) -> Node:
    """A region over parts: the same call, its body over the parts' shapes."""
    if is_whole(strategy.given):
        return local.arena.with_inputs(node, parts)
    counted = strategy.rule == COUNTED
    across = replace(local.across, own=strategy.own)
    body = part_of(node.params["body"], strategy.wanted, across, counted)
    if counted:
        parts = with_local_positions(node, parts, local)
    return local.arena.node("region", parts, **{**node.params, "body": body})


def with_local_positions(node: Node, parts: tuple[Node, ...], local: Locals) -> tuple[Node, ...]:
    """The operands, with positions shifted to count from the beginning of this rank's part."""
    counted = counted_by(node)
    assert counted is not None, "only such a region is divided so"
    operand, axis, positions = counted
    size, x = parts[operand].shape[axis], parts[positions]
    shifted = x - local.offset(size, x.dtype)
    return (*parts[:positions], shifted, *parts[positions + 1 :])
