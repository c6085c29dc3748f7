"""Chunks: small graphs over parts of what a region reads and gives, which compute it one by one.

An operation gives those of its regions (`chunked` in facts.py). Every part is contiguous, or begins
somewhere and is read with the strides of the whole. What sums over several pieces follows canonical
order: a piece is a subtree, and subtrees are joined as their tree says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gnomon.ir.node import Arena, Graph, Node, Shape


class ValuePart(NamedTuple):
    """A stretch of a value, from an element on; how long it is, its reader knows."""

    node: Node
    start: int = 0


class Chunk(NamedTuple):
    """A graph to compute, and the places of its inputs and outputs in buffers."""

    graph: Graph
    inputs: tuple[ValuePart, ...]
    outputs: tuple[ValuePart, ...]


ChunksOf = Callable[[Node, Sequence[Node | None]], Iterator[Chunk]]
"""Given a result of a region's call, and all of them, None for unwanted ones: its chunks."""


class ChunkBuilder:
    """Collects what one chunk reads, then closes its graph."""

    def __init__(self) -> None:
        self.arena = Arena()
        self.leaves: list[Node] = []
        self.parts: list[ValuePart] = []

    def take(self, node: Node, shape: Shape, start: int = 0) -> Node:
        """A part of a value as an input."""
        self.leaves.append(self.arena.input(shape, node.dtype))
        self.parts.append(ValuePart(node, start))
        return self.leaves[-1]

    def chunk(self, *results: tuple[Node, ValuePart]) -> Chunk:
        """The chunk that gives these results, each at its place."""
        nodes, places = zip(*results, strict=True)
        return Chunk(Graph(self.leaves, nodes), tuple(self.parts), places)


class PartialSums:
    """Partial sums on their way up a tree: a newer subtree joins the older ones of its size.

    The oldest one is stored in the result's buffer, the others in memory that `space` gives.
    """

    def __init__(self, pieces: int, size: int, space: Callable[[int], Node]) -> None:
        self.size = size
        self.spaces = [space(size) for _ in range(pieces.bit_length() - 2)]

    def chunk(self, piece: ChunkBuilder, number: int, part: Node, result: ValuePart) -> Chunk:
        """Combine a numbered piece with the pending ones that it completes, up to `result`."""
        newest = number.bit_count()
        joins = (~number & (number + 1)).bit_length() - 1
        for level in range(newest - 1, newest - 1 - joins, -1):
            place = self.place(level, result)
            part = piece.take(place.node, part.shape, place.start) + part
        return piece.chunk((part, self.place(newest - joins, result)))

    def place(self, level: int, result: ValuePart) -> ValuePart:
        """The place of a level's partial sum."""
        if level == 0:
            return result
        return ValuePart(self.spaces[level - 1], result.start % self.size)
