"""Chunks: small graphs over parts of a region's operands and results, which compute it in turn.

Each operation provides the chunks of its regions (`chunked` in facts.py). Every part is contiguous,
or begins at an offset and is read with the strides of the whole. Sums over several chunks follow
canonical order: a chunk is a subtree, and subtrees are joined as their tree says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gnomon.ir.node import Arena, Graph, Node, Shape


class ValuePart(NamedTuple):
    """A part of a value from an element on; its shape is that of the chunk's input or output."""

    node: Node
    start: int = 0


class Chunk(NamedTuple):
    """A graph to compute, and the parts of values that are its inputs and outputs."""

    graph: Graph
    inputs: tuple[ValuePart, ...]
    outputs: tuple[ValuePart, ...]


ChunksOf = Callable[[Node, Sequence[Node | None]], Iterator[Chunk]]
"""A function from a result of a region and all results, None for unwanted ones, to chunks."""


class ChunkBuilder:
    """Builder of a chunk: it collects inputs, then closes the graph."""

    def __init__(self) -> None:
        self.arena = Arena()
        self.leaves: list[Node] = []
        self.parts: list[ValuePart] = []

    def take(self, node: Node, shape: Shape, start: int = 0) -> Node:
        """Add a part of a value as an input."""
        self.leaves.append(self.arena.input(shape, node.dtype))
        self.parts.append(ValuePart(node, start))
        return self.leaves[-1]

    def chunk(self, *results: tuple[Node, ValuePart]) -> Chunk:
        """Close the chunk, which stores these results in parts of values."""
        nodes, places = zip(*results, strict=True)
        return Chunk(Graph(self.leaves, nodes), tuple(self.parts), places)


class PartialSums:
    """Partial sums in a binary tree: a newer subtree joins the older ones of its size.

    The oldest one is stored in the result's buffer, the others in memory that `space` reserves.
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
        """The part of memory in which a level's partial sum is stored."""
        if level == 0:
            return result
        return ValuePart(self.spaces[level - 1], result.start % self.size)
