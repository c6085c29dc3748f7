"""The correct ways to divide one node over ranks, derived from its signature.

A parallel letter is split: the output is split there. A folded letter is split: every rank holds
one node of the canonical tree, which is allowed where the cut falls between subtrees. A lookup in a
split table finds each row on one rank. shard.py chooses the strategy; localize.py rebuilds the
node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gnomon.dtypes import accumulator, bool_
from gnomon.ir.node import PRIMITIVES, Node
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.layouts import LAYOUTS
from gnomon.ops.placements import REPLICATED, VARYING, Partial, Placement, Split
from gnomon.ops.primitives import split_spec, summed
from gnomon.ops.scalars import SCALARS
from gnomon.passes.layout import MeshAxis, can_be_split

UNORDERED = frozenset({"max", "min", "and", "or"})
"""Folds whose result does not depend on their order."""
CARRIERS = frozenset({"permute", "reshape", "slice", "detach"})
"""Views that move elements, so that they commute with a sum to the bit."""


@dataclass(frozen=True)
class Strategy:
    """A strategy: placements wanted of the inputs, the placement of the result, how to rebuild."""

    wanted: tuple[Placement, ...]
    given: Placement
    rule: str = "letter"
    """The kind of rebuilding: "letter": on parts; "lookup" or "rows": a table split along
    positions; "boundary": a change between a rank's own part and the whole value."""
    own: bool = False
    """Whether each rank folds the rows that it gave, which need not be a subtree of all."""
    rows: int = 0
    """The number of rows that a pending sum adds, where each rank gave its own."""
    share: bool = False
    """Whether a rank's part of a pending sum is the sum of the rows that it gave."""


def strategies(node: Node, across: MeshAxis) -> list[Strategy]:
    """Every correct strategy of a node, those that move least first."""
    if node.op in LAYOUTS and is_named(node, across):
        return [boundary(node, across)]
    count = len(node.inputs)
    found = list(carrying(node))
    found.append(Strategy((REPLICATED,) * count, REPLICATED))
    # choices and loops run whole on every rank, which all take the same way
    if node.op not in ("input", "const", "region") and node.op not in CONTROL:
        found.extend(by_letters(node, across))
        found.extend(by_lookup(node))
    return [s for s in found if legal(node, s, across.ranks)]


def is_named(node: Node, across: MeshAxis) -> bool:
    """Whether a node's layout names a mesh axis."""
    return any(name == across.name for name, _, _ in node.params["layout"])


def boundary(node: Node, across: MeshAxis) -> Strategy:
    """The only strategy of a node with a layout: the placement that it names."""
    named = {name: placement for name, _, placement in node.params["layout"]}
    placement: Placement = named.get(across.name, REPLICATED)
    if node.op == "from_local" and across.name in node.params.get("varies", ()):
        placement = VARYING
    outside = {"from_local": (REPLICATED, placement), "to_local": (placement, VARYING)}
    wanted, given = outside.get(node.op, (placement, placement))
    return Strategy((wanted,), given, "boundary")


def legal(node: Node, strategy: Strategy, ranks: int) -> bool:
    """Whether a strategy gives all ranks parts of the same size."""
    inputs = zip(node.inputs, strategy.wanted, strict=True)
    return can_be_split(node.shape, strategy.given, ranks) and all(
        can_be_split(x.shape, w, ranks) for x, w in inputs
    )


def carrying(node: Node) -> Iterator[Strategy]:
    """The strategy that passes a pending sum through an operation that commutes with it exactly."""
    scalar = SCALARS[node.params["f"]] if node.op == "map" else None
    if node.op in CARRIERS or (scalar is not None and scalar.passes_sum):
        yield Strategy((Partial(),), Partial())


def by_letters(node: Node, across: MeshAxis) -> Iterator[Strategy]:
    """Yield a strategy for each letter that may be split."""
    signature = PRIMITIVES[node.op].signature(node)
    rows = (*signature.inputs, signature.output)
    for letter in dict.fromkeys(c for row in rows for c in row if c is not None):
        if letter in signature.whole or any(row.count(letter) > 1 for row in rows):
            continue
        monoid = signature.reduced.get(letter)
        if monoid is not None and not may_cut(node, letter, monoid, across):
            continue
        wanted = tuple(placed(letter, row) for row in signature.inputs)
        yield Strategy(wanted, Partial(monoid) if monoid else placed(letter, signature.output))


def placed(letter: str, row: tuple[str | None, ...]) -> Placement:
    """The placement, when one letter is split, of a tensor with these letters as axes."""
    return Split(row.index(letter)) if letter in row else REPLICATED


def may_cut(node: Node, letter: str, monoid: str, across: MeshAxis) -> bool:
    """Whether ranks may each fold their part of a letter without changing a bit of the result."""
    if monoid in UNORDERED:
        return True
    if monoid != "add":
        return False
    if not node.dtype.is_floating_point or not across.ordered:
        return True
    if node.dtype is not accumulator(node.dtype):
        return False
    if across.own:
        return True
    number, count = leaf_of(node, letter)
    return number == 0 and across.ranks & (across.ranks - 1) == 0 and count % across.ranks == 0


def leaf_of(node: Node, letter: str) -> tuple[int, int]:
    """The number of larger letters that are folded outside this one, and its number of leaves."""
    if node.op == "reduce":
        return 0, node.params["leaves"]
    sizes, names = folded_letters(node)
    place = names.index(letter)
    outside = sum(sizes[c] > 1 for c in names[:place])
    return outside, node.params["leaves"][place]


def folded_letters(node: Node) -> tuple[dict[str, int], list[str]]:
    """Sizes by letter, and the letters that a contract or scatter folds, outermost first."""
    left, right, out = split_spec(node.params["spec"])
    shapes = node.inputs[0].shape + node.inputs[1].shape
    sizes = dict(zip(left + right, shapes, strict=True))
    if node.op == "contract":
        return sizes, summed(left, right, out)
    return sizes, [c for c in left if c not in out]


def by_lookup(node: Node) -> Iterator[Strategy]:
    """Yield the strategies that split a table along the letter that is looked up."""
    if node.op == "gather" and node.dtype is not bool_:
        table, _, out = split_spec(node.params["spec"])
        letter = next(c for c in table if c not in out)
        yield Strategy((Split(table.index(letter)), REPLICATED), Partial(), "lookup")
    if node.op == "scatter":
        values, _, out = split_spec(node.params["spec"])
        letter = next(c for c in out if c not in values)
        yield Strategy((REPLICATED, REPLICATED), Split(out.index(letter)), "rows")
