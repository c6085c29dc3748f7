"""Chunks of logits: compute the regions of logit_rows.py block by block, with the same bits.

A block is some rows and some columns of logits, computed in memory that the next block reuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from gnomon.dtypes import accumulator
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.ops import logits
from gnomon.ops.chunks import Chunk, ChunkBuilder, PartialSums, ValuePart
from gnomon.ops.logits import Beside, LogitCut, LogitTensors, Sums
from gnomon.ops.op_calls import fill
from gnomon.ops.primitives import leaves_of, reduce
from gnomon.ops.view_primitives import slice_

CACHE_BYTES = 4 << 20
"""The most bytes of logits in a chunk, so that it stays in the processor's cache."""
LEAST_ROWS = 128
"""The fewest rows of a chunk, even if they exceed `CACHE_BYTES`."""


class LogitBlock(NamedTuple):
    """A block of logits: the number of its rows and columns, and the first of each."""

    rows: int
    row: int
    columns: int
    column: int


class Tiles:
    """The logits of one region, block by block; if `flat`, all rows are one axis."""

    def __init__(self, node: Node, flat: bool = False) -> None:
        call = node.params["call"]
        tensors, *self.others = fill(call.args, node.inputs)
        self.given, self.arena = LogitTensors(*tensors), node.arena
        self.settings = dict(call.kwargs)
        self.cut = LogitCut(*self.settings["cut"])
        rows, self.width = self.given.x.shape[:-1], self.given.x.shape[-1]
        self.rows = (prod(rows),) if flat else rows
        self.classes = self.given.weight.shape[0]
        self.inside = prod(self.rows[1:])
        """Number of rows per index of the first axis."""

    def space(self, *shape: int) -> Node:
        """Reserve memory that chunks share, one after another."""
        return self.arena.input(shape, accumulator(self.given.x.dtype), "chunks")

    def blocks(self, rows: int, columns: int) -> Iterator[LogitBlock]:
        """Yield all blocks of a number of rows and columns, row by row."""
        for row in range(0, self.rows[0], rows):
            for column in range(0, self.classes, columns):
                down, across = min(rows, self.rows[0] - row), min(columns, self.classes - column)
                yield LogitBlock(down, row, across, column)

    def by_rows(
        self, piece: ChunkBuilder, x: Node, block: LogitBlock, before: int = 0, after: int = 1
    ) -> Node:
        """The rows of a block in a value (..., rows, after), `before` elements after its start."""
        shape = (block.rows, *self.rows[1:], *(() if after == 1 else (after,)))
        return piece.take(x, shape, before + block.row * self.inside * after)

    def by_columns(self, piece: ChunkBuilder, x: Node, block: LogitBlock, after: int = 1) -> Node:
        """The columns of a block in a value (classes, after)."""
        shape = (block.columns, *(() if after == 1 else (after,)))
        return piece.take(x, shape, block.column * after)

    def tensors(self, piece: ChunkBuilder, block: LogitBlock) -> LogitTensors:
        """The tensors from which a block's logits are computed, as inputs of a chunk."""
        given = self.given
        x = self.by_rows(piece, given.x, block, after=self.width)
        weight = self.by_columns(piece, given.weight, block, self.width)
        columns = self.by_columns(piece, given.columns, block)
        bias = None if given.bias is None else self.by_columns(piece, given.bias, block)
        return LogitTensors(x, weight, columns, bias=bias)

    def beside(self, piece: ChunkBuilder, block: LogitBlock) -> Beside:
        """The other tensors that are read with a block's logits, as inputs of a chunk."""
        columns = self.by_columns(piece, self.given.columns, block)
        given, parts = self.given, {}
        if given.target is not None:
            parts["target"] = self.by_rows(piece, given.target, block)
        if given.classes is not None:
            parts["classes"] = self.by_columns(piece, given.classes, block)
        if given.shares is not None:
            whole = self.by_rows(piece, given.shares, block, block.column, self.classes)
            bounds = [(0, n, 1) for n in (*whole.shape[:-1], block.columns)]
            parts["shares"] = slice_(whole, tuple(bounds))
        return Beside(columns, **parts)

    def logits(self, block: LogitBlock, place: Node) -> Chunk:
        """The chunk that computes the logits of a block."""
        piece = ChunkBuilder()
        y = logits.logits_of(self.tensors(piece, block), self.settings["softcap"])
        return piece.chunk((y, ValuePart(place)))

    def held(self, piece: ChunkBuilder, block: LogitBlock, place: Node) -> Node:
        """The stored logits of a block as a chunk's input, with an axis of column blocks."""
        return piece.take(place, (block.rows, *self.rows[1:], 1, block.columns))


# statistics


def look_through(node: Node, results: Sequence[Node | None]) -> Iterator[Chunk]:
    """Yield the chunks of the statistics of logits: some rows and a block of columns each."""
    tiles = Tiles(node, flat=True)
    size = tiles.classes // node.params["body"].outputs[0].shape[0]
    rows = rows_at_once(tiles, size)
    place = tiles.space(rows * size)
    for block in sorted(tiles.blocks(rows, size), key=lambda block: block.column):
        yield tiles.logits(block, place)
        yield looked_at(tiles, block, place, results)


def rows_at_once(tiles: Tiles, columns: int) -> int:
    """The number of rows of logits in one chunk."""
    (rows,), cut, item = tiles.rows, tiles.cut, accumulator(tiles.given.x.dtype).itemsize
    limit = min(CACHE_BYTES, rows * tiles.classes * item // cut.across)
    most = max(limit // (columns * item), min(LEAST_ROWS, -(-rows // cut.down)))
    return piece_of(rows, -(-rows // most))


def piece_of(size: int, pieces: int) -> int:
    """The length of equal pieces of an axis; the last one may be shorter."""
    return -(-size // pieces)


def looked_at(
    tiles: Tiles, block: LogitBlock, place: Node, results: Sequence[Node | None]
) -> Chunk:
    """A chunk that computes the requested statistics of one block of logits."""
    piece = ChunkBuilder()
    y = tiles.held(piece, block, place)
    found = logits.statistics(y, tiles.beside(piece, block), tiles.settings["spread"])
    start = block.column // block.columns * prod(tiles.rows) + block.row
    # of a single block, which stands first as well as last
    asked = zip(found, results, strict=True)
    return piece.chunk(*((y, ValuePart(x, start)) for y, x in asked if x is not None))


# slopes


def slope_chunks(node: Node, results: Sequence[Node | None]) -> Iterator[Chunk]:
    """Yield the chunks of the requested gradients of x, weight and bias.

    In sweeps the gradient of x is computed by chunks of rows, then the others by chunks of columns.
    """
    x, weight, bias = (*results, None)[:3]
    tiles, sums = Tiles(node), sums_in(node)
    down, across, sweeps = tiles.cut
    if not sweeps:
        # a part of a region has fewer leaves
        pieces = min(down, sums.rows[0]), min(across, sums.columns)
        yield from Slopes(tiles, sums, (x, weight, bias), *pieces).chunks()
        return
    flat = Tiles(node, flat=True)
    if x is not None:
        yield from Slopes(flat, sums, (x, None, None), min(down, flat.rows[0]), 1).chunks()
    if weight is not None or bias is not None:
        pieces = 1, min(across, tiles.classes)
        yield from Slopes(tiles, sums, (None, weight, bias), *pieces).chunks()


def sums_in(node: Node) -> Sums:
    """The leaves of gradients' sums, from the region's body; a part of a region has its share."""
    of_x, of_weight = map(leaves_of, node.params["body"].outputs[:2])
    return Sums(of_weight, *of_x)


class Slopes:
    """The chunks of gradients, by pieces of rows outside and of columns inside."""

    def __init__(
        self,
        tiles: Tiles,
        sums: Sums,
        results: Sequence[Node | None],
        down: int,
        across: int,
    ) -> None:
        self.tiles, self.down = tiles, down
        self.lse, self.g = tiles.others
        self.x, self.weight, self.bias = results
        self.rows, self.columns = piece_of(tiles.rows[0], down), piece_of(tiles.classes, across)
        self.place = tiles.space(self.rows * tiles.inside * self.columns)
        # those of a piece
        self.sums = Sums((sums.rows[0] // down, *sums.rows[1:]), sums.columns // across)
        row = self.rows * tiles.inside * tiles.width
        self.across_x = PartialSums(across, row, tiles.space)
        self.down_weight = PartialSums(down, tiles.classes * tiles.width, tiles.space)
        self.bias_parts = tiles.space(down * tiles.classes)

    def chunks(self) -> Iterator[Chunk]:
        """Yield all chunks, block by block."""
        for block in self.tiles.blocks(self.rows, self.columns):
            yield self.tiles.logits(block, self.place)
            yield self.in_place(block)
            if self.x is not None:
                yield self.of_x(self.x, block)
            if self.weight is not None:
                yield self.of_weight(self.weight, block)
            if self.bias is not None:
                yield self.of_bias(self.bias, block)
        if self.bias is not None and self.down > 1:
            piece = ChunkBuilder()
            parts = piece.take(self.bias_parts, (self.down, self.tiles.classes))
            yield piece.chunk((reduce("add", parts, (0,)), ValuePart(self.bias)))

    def in_place(self, block: LogitBlock) -> Chunk:
        """The chunk that replaces a block's logits by their gradients, in place."""
        tiles, piece = self.tiles, ChunkBuilder()
        spread, softcap = tiles.settings["spread"], tiles.settings["softcap"]
        y = tiles.held(piece, block, self.place)
        beside, lse = tiles.beside(piece, block), tiles.by_rows(piece, self.lse, block)
        rows = prod(tiles.rows)
        parts = [tiles.by_rows(piece, self.g, block, k * rows) for k in range(self.g.shape[0])]
        found = logits.before_cap(logits.slopes_of(y, beside, lse, parts, spread), y, softcap)
        return piece.chunk((found, ValuePart(self.place)))

    def slopes(self, piece: ChunkBuilder, block: LogitBlock) -> Node:
        """The stored gradients of a block's logits, as a chunk's input."""
        return piece.take(self.place, (block.rows, *self.tiles.rows[1:], block.columns))

    def of_x(self, x: Node, block: LogitBlock) -> Chunk:
        """The chunk that adds a block's part to the gradient of x."""
        tiles, piece = self.tiles, ChunkBuilder()
        weight = tiles.by_columns(piece, tiles.given.weight, block, tiles.width)
        part = cast(logits.slope_of_x(self.slopes(piece, block), weight, self.sums), x.dtype)
        result = ValuePart(x, block.row * tiles.inside * tiles.width)
        return self.across_x.chunk(piece, block.column // self.columns, part, result)

    def of_weight(self, weight: Node, block: LogitBlock) -> Chunk:
        """The chunk that adds a block's part to the gradient of weight."""
        tiles, piece = self.tiles, ChunkBuilder()
        x = tiles.by_rows(piece, tiles.given.x, block, after=tiles.width)
        part = cast(logits.slope_of_weight(self.slopes(piece, block), x, self.sums), weight.dtype)
        result = ValuePart(weight, block.column * tiles.width)
        return self.down_weight.chunk(piece, block.row // self.rows, part, result)

    def of_bias(self, bias: Node, block: LogitBlock) -> Chunk:
        """The chunk that adds a block's part to the gradient of the bias."""
        piece = ChunkBuilder()
        part = logits.slope_of_bias(self.slopes(piece, block), self.sums)
        if self.down == 1:
            return piece.chunk((part, ValuePart(bias, block.column)))
        place = block.row // self.rows * self.tiles.classes + block.column
        return piece.chunk((part, ValuePart(self.bias_parts, place)))
