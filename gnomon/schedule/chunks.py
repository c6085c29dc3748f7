"""A region computed in chunks: small graphs over parts of what it reads and gives, one by one.

Only the loss of logits is: see gnomon/ops/logits.py for what it means. Every part is contiguous, or
begins somewhere and is read with the strides of the whole. What sums over several pieces follows
canonical order: a piece is a subtree, and subtrees are joined as their tree says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from gnomon.dtypes import accumulator
from gnomon.ir.node import Arena, Graph, Node, Shape
from gnomon.ir.operators import cast
from gnomon.ops import logits
from gnomon.ops.logits import Beside, LogitCut, LogitTensors, Sums
from gnomon.ops.op_calls import fill
from gnomon.ops.primitives import reduce
from gnomon.ops.registry import asks_for_chunks, facts_of
from gnomon.ops.view_primitives import slice_
from gnomon.passes.regions import leaves_of

NEAR = 4 << 20
"""Bytes of logits that are processed while they are in a near cache ..."""
FEWEST = 128
"""... but no fewer rows than this."""


@dataclass(frozen=True)
class ValuePart:
    """A stretch of a value, from an element on; how long it is, its reader knows."""

    node: Node
    start: int = 0


@dataclass(frozen=True)
class Chunk:
    """A graph to compute, and the places of its inputs and outputs in buffers."""

    graph: Graph
    inputs: tuple[ValuePart, ...]
    outputs: tuple[ValuePart, ...]


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

    def chunk(self, results: Sequence[Node], places: Sequence[ValuePart]) -> Chunk:
        """The chunk that gives these results."""
        return Chunk(Graph(self.leaves, results), tuple(self.parts), tuple(places))


@dataclass(frozen=True)
class LogitBlock:
    """Some rows and some columns: how many, and which."""

    rows: int
    row: int
    columns: int
    column: int


def sums_in(node: Node) -> Sums:
    """The leaves of a region's sums, as its body has them: of a part, its share."""
    results = node.params["body"].outputs
    if facts_of(node).chunked == look_through.__name__:
        return Sums((), results[0].shape[0])
    return Sums(leaves_of(results[1]), *leaves_of(results[0]))


class Tiles:
    """Logits of one region's tensors, block by block; `flat`, rows are one axis."""

    def __init__(self, node: Node, flat: bool = False) -> None:
        call = node.params["call"]
        self.node, self.arena = node, node.arena
        tensors, *self.others = fill(call.args, node.inputs)
        self.given = LogitTensors(*tensors)
        self.settings, self.cut = dict(call.kwargs), cut_of(node)
        rows, self.width = self.given.x.shape[:-1], self.given.x.shape[-1]
        self.rows = (prod(rows),) if flat else rows
        self.classes = self.given.weight.shape[0]
        self.sums = sums_in(node)
        self.inside = prod(self.rows[1:])
        """Rows of one index along the first axis."""

    def space(self, *shape: int) -> Node:
        """Memory that chunks hand on to later ones."""
        return self.arena.input(shape, accumulator(self.given.x.dtype), "chunks")

    def by_rows(
        self, piece: ChunkBuilder, x: Node, block: LogitBlock, before: int = 0, after: int = 1
    ) -> Node:
        """The rows of a block of a value (..., rows, after), `before` elements after its start."""
        shape = (block.rows, *self.rows[1:], *(() if after == 1 else (after,)))
        return piece.take(x, shape, before + block.row * self.inside * after)

    def tensors(self, piece: ChunkBuilder, block: LogitBlock) -> LogitTensors:
        """The tensors of a block's logits, as inputs of a chunk."""
        given, column, columns = self.given, block.column, block.columns
        parts = {
            "x": self.by_rows(piece, given.x, block, after=self.width),
            "weight": piece.take(given.weight, (columns, self.width), column * self.width),
            "columns": piece.take(given.columns, (columns,), column),
        }
        if given.bias is not None:
            parts["bias"] = piece.take(given.bias, (columns,), column)
        return LogitTensors(**parts)

    def beside(self, piece: ChunkBuilder, block: LogitBlock) -> Beside:
        """The tensors read beside logits of a block."""
        given, column, columns = self.given, block.column, block.columns
        parts = {"columns": piece.take(given.columns, (columns,), column)}
        if given.target is not None:
            parts["target"] = self.by_rows(piece, given.target, block)
        if given.classes is not None:
            parts["classes"] = piece.take(given.classes, (columns,), column)
        if given.shares is not None:
            whole = self.by_rows(piece, given.shares, block, column, self.classes)
            bounds = [(0, n, 1) for n in whole.shape[:-1]]
            parts["shares"] = slice_(whole, (*bounds, (0, columns, 1)))
        return Beside(**parts)

    def logits(self, block: LogitBlock, place: Node) -> Chunk:
        """Logits of a block."""
        piece = ChunkBuilder()
        y = logits.logits_of(self.tensors(piece, block), self.settings["softcap"])
        return piece.chunk([y], [ValuePart(place)])

    def held(self, piece: ChunkBuilder, block: LogitBlock, place: Node) -> Node:
        """The stored logits of a block, with one axis of column blocks."""
        return piece.take(place, (block.rows, *self.rows[1:], 1, block.columns))


def look_through(node: Node, results: Sequence[Node | None]) -> Iterator[Chunk]:
    """The statistics of logits, a block of columns and some rows at a time."""
    tiles = Tiles(node, flat=True)
    size = tiles.classes // tiles.sums.columns
    (rows,), step = tiles.rows, rows_at_once(tiles, size)
    place = tiles.space(step * size)
    for number in range(tiles.sums.columns):
        for row in range(0, rows, step):
            block = LogitBlock(min(step, rows - row), row, size, number * size)
            yield tiles.logits(block, place)
            yield looked_at(tiles, block, place, results)


def rows_at_once(tiles: Tiles, columns: int) -> int:
    """The number of rows of logits in one chunk."""
    (rows,), cut, item = tiles.rows, tiles.cut, accumulator(tiles.given.x.dtype).itemsize
    limit = min(NEAR, rows * tiles.classes * item // cut.across)
    most = max(limit // (columns * item), min(FEWEST, -(-rows // cut.down)))
    return piece_of(rows, -(-rows // most))


def piece_of(size: int, pieces: int) -> int:
    """The length of all pieces but the last, which may be shorter."""
    return -(-size // pieces)


def looked_at(
    tiles: Tiles, block: LogitBlock, place: Node, results: Sequence[Node | None]
) -> Chunk:
    """A chunk that computes the requested statistics of one block of logits."""
    piece = ChunkBuilder()
    y = tiles.held(piece, block, place)
    beside = tiles.beside(piece, block)
    found = logits.statistics(y, beside, tiles.settings["spread"])
    start = block.column // block.columns * prod(tiles.rows) + block.row * tiles.inside
    # of a single block, which stands first as well as last
    asked = [(y, ValuePart(x, start)) for y, x in zip(found, results, strict=True) if x is not None]
    return piece.chunk([y for y, _ in asked], [place for _, place in asked])


class Waiting:
    """Partial sums on their way up a tree: a newer subtree joins the older ones of its size.

    The oldest one is stored in the result's buffer.
    """

    def __init__(self, tiles: Tiles, pieces: int, size: int) -> None:
        self.size = size
        self.spaces = [tiles.space(size) for _ in range(pieces.bit_length() - 2)]

    def chunk(self, piece: ChunkBuilder, number: int, part: Node, result: ValuePart) -> Chunk:
        """Combine a numbered piece with the pending ones that it completes, up to `result`."""
        newest = number.bit_count()
        joins = (~number & (number + 1)).bit_length() - 1
        for level in range(newest - 1, newest - 1 - joins, -1):
            place = self.place(level, result)
            part = piece.take(place.node, part.shape, place.start) + part
        return piece.chunk([part], [self.place(newest - joins, result)])

    def place(self, level: int, result: ValuePart) -> ValuePart:
        """The place of a level's partial sum."""
        if level == 0:
            return result
        whole = self.spaces[level - 1]
        return ValuePart(whole, result.start % self.size)


def slope_chunks(node: Node, results: Sequence[Node | None]) -> Iterator[Chunk]:
    """Chunks of the requested gradients of x, weight and bias: rows outside, columns inside."""
    tiles = Tiles(node)
    cut = within_leaves(tiles)
    if cut.sweeps:
        yield from in_sweeps(node, *(*results, None)[:3], cut=cut)
        return
    slopes = Slopes(tiles, results, cut)
    rows, columns = slopes.tiles.rows[0] // cut.down, slopes.tiles.classes // cut.across
    for high in range(cut.down):
        for wide in range(cut.across):
            yield from slopes.of(LogitBlock(rows, high * rows, columns, wide * columns))
    yield from slopes.last()


def within_leaves(tiles: Tiles) -> LogitCut:
    """The cut that was asked for, no finer than leaves allow: a part of a region has fewer."""
    down, across, sweeps = tiles.cut
    most = (prod(tiles.rows), tiles.classes) if sweeps else (tiles.sums.rows[0], tiles.sums.columns)
    return LogitCut(min(down, most[0]), min(across, most[1]), sweeps)


def in_sweeps(
    node: Node, x: Node | None, weight: Node | None, bias: Node | None, cut: LogitCut
) -> Iterator[Chunk]:
    """The slope of x by pieces of rows, then those of weight and bias by pieces of columns."""
    whole = LogitCut(1, 1, sweeps=True)
    if x is not None:
        slopes = Slopes(Tiles(node, flat=True), (x,), whole._replace(down=cut.down))
        (rows,), step = slopes.tiles.rows, slopes.rows
        for row in range(0, rows, step):
            block = LogitBlock(min(step, rows - row), row, slopes.tiles.classes, 0)
            yield from slopes.of(block)
    if weight is not None or bias is not None:
        slopes = Slopes(Tiles(node), (None, weight, bias), whole._replace(across=cut.across))
        classes, step = slopes.tiles.classes, slopes.columns
        for column in range(0, classes, step):
            block = LogitBlock(slopes.tiles.rows[0], 0, min(step, classes - column), column)
            yield from slopes.of(block)


class Slopes:
    """The chunks of slopes."""

    def __init__(self, tiles: Tiles, results: Sequence[Node | None], cut: LogitCut) -> None:
        self.tiles = tiles
        self.lse, self.g = tiles.others
        self.x, self.weight, self.bias = (*results, None, None)[:3]
        self.rows = piece_of(tiles.rows[0], cut.down)
        self.columns = piece_of(tiles.classes, cut.across)
        self.place = tiles.space(self.rows * tiles.inside * self.columns)
        # in sweeps every sum is whole
        down, across = (1, 1) if cut.sweeps else cut[:2]
        self.down, whole = down, tiles.sums
        self.sums = Sums((whole.rows[0] // down, *whole.rows[1:]), whole.columns // across)
        self.across_x = Waiting(tiles, across, self.rows * tiles.inside * tiles.width)
        self.down_weight = Waiting(tiles, down, tiles.classes * tiles.width)
        self.bias_parts = tiles.space(down * tiles.classes)

    def of(self, block: LogitBlock) -> Iterator[Chunk]:
        """All chunks of one block."""
        yield self.tiles.logits(block, self.place)
        yield self.in_place(block)
        if self.x is not None:
            yield self.of_x(self.x, block)
        if self.weight is not None:
            yield self.of_weight(self.weight, block)
        if self.bias is not None:
            yield self.of_bias(self.bias, block)

    def in_place(self, block: LogitBlock) -> Chunk:
        """Logits become their slopes, where they are."""
        tiles, piece = self.tiles, ChunkBuilder()
        y = tiles.held(piece, block, self.place)
        beside = tiles.beside(piece, block)
        lse = tiles.by_rows(piece, self.lse, block)
        found = logits.slopes_of(y, beside, lse, self.coefficients(piece, block), self.spread)
        found = logits.before_cap(found, y, tiles.settings["softcap"])
        return piece.chunk([found], [ValuePart(self.place)])

    @property
    def spread(self) -> bool:
        """Whether the sum of logits has a slope."""
        return self.tiles.settings["spread"]

    def coefficients(self, piece: ChunkBuilder, block: LogitBlock) -> list[Node]:
        """The slopes of the numbers per row, for a block's rows."""
        rows = prod(self.tiles.rows)
        return [self.tiles.by_rows(piece, self.g, block, k * rows) for k in range(self.g.shape[0])]

    def slopes(self, piece: ChunkBuilder, block: LogitBlock) -> Node:
        """The stored gradients of a block's logits."""
        shape = (block.rows, *self.tiles.rows[1:], block.columns)
        return piece.take(self.place, shape)

    def of_x(self, x: Node, block: LogitBlock) -> Chunk:
        """A part of the slope of x."""
        tiles, piece = self.tiles, ChunkBuilder()
        shape = (block.columns, tiles.width)
        weight = piece.take(tiles.given.weight, shape, block.column * tiles.width)
        part = logits.slope_of_x(self.slopes(piece, block), weight, self.sums)
        part = cast(part, x.dtype)
        result = ValuePart(x, block.row * tiles.inside * tiles.width)
        return self.across_x.chunk(piece, block.column // block.columns, part, result)

    def of_weight(self, weight: Node, block: LogitBlock) -> Chunk:
        """A part of the slope of weight."""
        tiles, piece = self.tiles, ChunkBuilder()
        rows = tiles.by_rows(piece, tiles.given.x, block, after=tiles.width)
        part = logits.slope_of_weight(self.slopes(piece, block), rows, self.sums)
        part = cast(part, weight.dtype)
        result = ValuePart(weight, block.column * tiles.width)
        return self.down_weight.chunk(piece, block.row // block.rows, part, result)

    def of_bias(self, bias: Node, block: LogitBlock) -> Chunk:
        """A part of the slope of the bias."""
        piece = ChunkBuilder()
        part = logits.slope_of_bias(self.slopes(piece, block), self.sums)
        place = block.row // block.rows * self.tiles.classes
        if self.down == 1:
            return piece.chunk([part], [ValuePart(bias, block.column)])
        return piece.chunk([part], [ValuePart(self.bias_parts, place + block.column)])

    def last(self) -> Iterator[Chunk]:
        """The parts of the bias's slope, joined."""
        if self.bias is not None and self.down > 1:
            piece = ChunkBuilder()
            parts = piece.take(self.bias_parts, (self.down, self.tiles.classes))
            yield piece.chunk([reduce("add", parts, (0,))], [ValuePart(self.bias)])


ChunksOf = Callable[[Node, Sequence[Node | None]], Iterator[Chunk]]
CHUNKS: dict[str, ChunksOf] = {chunks.__name__: chunks for chunks in (look_through, slope_chunks)}
"""The ways that operations name, given a result of a call and all: None for unwanted ones."""


def chunks_of(node: Node, results: Sequence[Node | None]) -> Iterator[Chunk]:
    """The chunks of a region that is computed so."""
    return CHUNKS[facts_of(node).chunked](node, results)


def is_chunked(node: Node) -> bool:
    """Whether a region is computed in chunks: only when it was asked to be cut."""
    return asks_for_chunks(node) and all(x.size for x in node.inputs)


def cut_of(node: Node) -> LogitCut:
    """The cut that was asked of a region."""
    return LogitCut(*dict(node.params["call"].kwargs)["cut"])
