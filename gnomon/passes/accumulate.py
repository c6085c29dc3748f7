"""Microbatches: one step's rows in several turns, with the bits of one turn.

Turns are ranks of a mesh axis called time. The shard pass divides the program over them; here the
turns are laid one after the other and their parts of each sum are added by the tree. A loss divides
by the global count because it was built over all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gnomon.errors import LayoutError
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import constant, elementwise
from gnomon.ir.provenance import inherit
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.joining import joined
from gnomon.ops.view_primitives import slice_
from gnomon.passes.layout import REPLICATED, TIME, Across, Placement, Split
from gnomon.passes.shard import open_up, shard

TURNS = "time"
"""The mesh axis whose ranks are turns."""


@dataclass(frozen=True)
class Turns:
    """A program in turns: one graph, and per turn what it reads first and the sums it ends with."""

    graph: Graph
    reads: tuple[tuple[Node, ...], ...]
    sums: tuple[tuple[Node, ...], ...]


def accumulate(graph: Graph, rows: Sequence[int | None], microbatches: int) -> Graph:
    """The same program, computed in equal blocks of rows, one after the other."""
    return graph if microbatches == 1 else turns_of(graph, tuple(rows), microbatches).graph


@lru_cache(maxsize=64)
def turns_of(graph: Graph, rows: tuple[int | None, ...], microbatches: int) -> Turns:
    """A program in turns over equal blocks of rows.

    rows says for each input along which axis its rows lie, or None for what all turns share.
    Gradients are summed in canonical order: their bits do not depend on how many turns there are.
    """
    if microbatches < 1 or microbatches & (microbatches - 1):
        raise LayoutError(
            f"accumulate: microbatches must be a power of two: got {microbatches}. "
            "Other numbers would cut the sums inside a subtree."
        )
    across = Across(TURNS, microbatches, TIME)
    lying: list[Placement] = [REPLICATED if k is None else Split(k) for k in rows]
    turn = shard(open_up(graph), across, lying, [REPLICATED] * len(graph.outputs))
    return in_turns(turn.graph, graph.inputs, lying, microbatches)


def in_turns(turn: Graph, inputs: Sequence[Node], lying: Sequence[Placement], count: int) -> Turns:
    """One graph that takes all turns; what does not depend on the turn is built once."""
    arena = Arena()
    *leaves, number = turn.inputs
    whole = [arena.input(x.shape, x.dtype, x.params["name"]) for x in inputs]
    images: dict[Node, list[Node]] = {}
    for leaf, x, placement in zip(leaves, whole, lying, strict=True):
        images[leaf] = [stretch(x, placement, k, count) for k in range(count)]
    images[number] = [constant(arena, k, number.dtype) for k in range(count)]
    for node in turn.nodes:
        if node in images:
            continue
        with inherit(node.sites):
            images[node] = turned(arena, node, [images[x] for x in node.inputs], count)
    split = [leaf for leaf, p in zip(leaves, lying, strict=True) if isinstance(p, Split)]
    ends = [x.inputs[0] for x in turn if is_meeting(x)]
    return Turns(
        Graph(whole, [images[x][0] for x in turn.outputs]),
        tuple(tuple(images[x][k] for x in split) for k in range(count)),
        tuple(tuple(images[x][k] for x in ends) for k in range(count)),
    )


def is_meeting(node: Node) -> bool:
    """Whether turns come together here."""
    return node.op in COLLECTIVES and node.params["mesh"] == TURNS


def stretch(x: Node, placement: Placement, turn: int, count: int) -> Node:
    """What one turn sees of an input."""
    if not isinstance(placement, Split):
        return x
    size = x.shape[placement.axis] // count
    start = turn * size
    return slice_(
        x,
        tuple(
            (start, start + size, 1) if k == placement.axis else (0, n, 1)
            for k, n in enumerate(x.shape)
        ),
    )


def turned(arena: Arena, node: Node, inputs: list[list[Node]], count: int) -> list[Node]:
    """A node in every turn: the same object where the turn makes no difference."""
    if is_meeting(node):
        return together(node, inputs[0], count)
    if all(x is parts[0] for parts in inputs for x in parts):
        once = arena.node(node.op, tuple(parts[0] for parts in inputs), **node.params)
        return [once] * count
    return [
        arena.node(node.op, tuple(parts[k] for parts in inputs), **node.params)
        for k in range(count)
    ]


def together(node: Node, parts: list[Node], count: int) -> list[Node]:
    """What the turns give each other."""
    if node.op == "all_reduce":
        return [tree(parts, node.params["monoid"])] * count
    if node.op == "all_gather":
        return [joined(parts, node.params["axis"])] * count
    whole = (
        tree(parts, node.params["monoid"])
        if node.op == "reduce_scatter"
        else joined(parts, node.params["joined"])
    )
    return [stretch(whole, Split(node.params["axis"]), k, count) for k in range(count)]


FOLDS = {"add": "add", "max": "maximum", "min": "minimum", "and": "and", "or": "or"}
"""Monoid -> the scalar function that folds two values."""


def tree(parts: Sequence[Node], monoid: str) -> Node:
    """The perfect binary tree over parts, older + newer."""
    level = list(parts)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [elementwise(FOLDS[monoid], older, newer) for older, newer in pairs]
    return level[0]
