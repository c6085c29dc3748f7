"""A region computed in turns: small graphs over parts of what it reads and gives, one by one.

Only the loss of logits is: see gnomon/ops/logits.py for what it means. Every part is contiguous, or
begins somewhere and is read with the strides of the whole. What sums over several pieces follows
canonical order: a piece is a subtree, and subtrees are joined as their tree says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from gnomon.dtypes import DType
from gnomon.ir.node import Arena, Graph, Node, Shape
from gnomon.ops import logits
from gnomon.ops.logits import Beside, Cut, Given, Sums, sums_of
from gnomon.ops.primitives import reduce
from gnomon.ops.registry import fill
from gnomon.ops.view_primitives import slice_

NEAR = 4 << 20
"""Bytes of logits that are looked at while they are in a near cache ..."""
FEWEST = 128
"""... but no fewer rows than this."""


@dataclass(frozen=True)
class Part:
    """A stretch of a value, from an element on; how long it is, its reader knows."""

    node: Node
    start: int = 0


@dataclass(frozen=True)
class Turn:
    """A graph to compute, and where its inputs and outputs lie."""

    graph: Graph
    inputs: tuple[Part, ...]
    outputs: tuple[Part, ...]


class Piece:
    """Collects what one turn reads, then closes its graph."""

    def __init__(self) -> None:
        self.arena = Arena()
        self.leaves: list[Node] = []
        self.parts: list[Part] = []

    def take(self, node: Node, shape: Shape, start: int = 0) -> Node:
        """A part of a value as an input."""
        self.leaves.append(self.arena.input(shape, node.dtype))
        self.parts.append(Part(node, start))
        return self.leaves[-1]

    def turn(self, results: Sequence[Node], places: Sequence[Part]) -> Turn:
        """The turn that gives these results."""
        return Turn(Graph(self.leaves, results), tuple(self.parts), tuple(places))


@dataclass(frozen=True)
class Block:
    """Some rows and some columns: how many, and which."""

    rows: int
    row: int
    columns: int
    column: int


class Tiles:
    """Logits of one region's tensors, block by block."""

    def __init__(self, node: Node) -> None:
        call = node.params["call"]
        self.node, self.arena = node, node.arena
        tensors, *self.others = fill(call.args, node.inputs)
        self.given = Given(*tensors)
        self.settings = dict(call.kwargs)
        self.rows, self.width = self.given.x.shape[:-1], self.given.x.shape[-1]
        self.classes, self.blocks = self.given.weight.shape[0], self.given.starts.size
        self.inside = prod(self.rows[1:])
        """Rows of one index along the first axis."""

    def space(self, *shape: int, dtype: DType | None = None) -> Node:
        """Memory that turns hand on to later ones."""
        return self.arena.input(shape, dtype or self.given.x.dtype, "turns")

    def by_rows(self, piece: Piece, x: Node, block: Block, before: int = 0, after: int = 1) -> Node:
        """The rows of a block of a value (..., rows, after), `before` elements after its start."""
        shape = (block.rows, *self.rows[1:], *(() if after == 1 else (after,)))
        return piece.take(x, shape, before + block.row * self.inside * after)

    def tensors(self, piece: Piece, block: Block) -> Given:
        """What logits of a block are made of, as inputs of a turn."""
        given, column, columns = self.given, block.column, block.columns
        parts = {
            "x": self.by_rows(piece, given.x, block, after=self.width),
            "weight": piece.take(given.weight, (columns, self.width), column * self.width),
            "starts": self.starts(piece, block),
        }
        if given.bias is not None:
            parts["bias"] = piece.take(given.bias, (columns,), column)
        return Given(**parts)

    def starts(self, piece: Piece, block: Block) -> Node:
        """The first columns of a block's blocks."""
        size = self.classes // self.blocks
        return piece.take(self.given.starts, (block.columns // size,), block.column // size)

    def beside(self, piece: Piece, block: Block) -> Beside:
        """What is looked at beside logits of a block."""
        given, column, columns = self.given, block.column, block.columns
        parts = {"starts": self.starts(piece, block)}
        if given.target is not None:
            parts["target"] = self.by_rows(piece, given.target, block)
        if given.classes is not None:
            parts["classes"] = piece.take(given.classes, (columns,), column)
        if given.shares is not None:
            whole = self.by_rows(piece, given.shares, block, column, self.classes)
            bounds = [(0, n, 1) for n in whole.shape[:-1]]
            parts["shares"] = slice_(whole, (*bounds, (0, columns, 1)))
        return Beside(**parts)

    def logits(self, block: Block, place: Node) -> Turn:
        """Logits of a block."""
        piece = Piece()
        y = logits.logits_of(self.tensors(piece, block), self.settings["softcap"])
        return piece.turn([y], [Part(place)])

    def held(self, piece: Piece, block: Block, place: Node) -> Node:
        """Logits of a block that are there."""
        size = self.classes // self.blocks
        shape = (block.rows, *self.rows[1:], block.columns // size, size)
        return piece.take(place, shape)


def look_through(node: Node, results: Sequence[Node]) -> Iterator[Turn]:
    """The statistics of logits, a block of columns and some rows at a time."""
    tiles = Tiles(node)
    size, item = tiles.classes // tiles.blocks, tiles.given.x.dtype.itemsize
    rows, inside = tiles.rows[0], tiles.inside
    _, across = tiles.settings["cut"]
    limit = min(NEAR, prod(tiles.rows) * tiles.classes * item // max(across, 1))
    while rows % 2 == 0 and rows * inside * size * item > limit and rows * inside >= 2 * FEWEST:
        rows //= 2
    place = tiles.space(rows * inside * size)
    for number in range(tiles.blocks):
        for row in range(0, tiles.rows[0], rows):
            block = Block(rows, row, size, number * size)
            yield tiles.logits(block, place)
            yield looked_at(tiles, block, place, results)


def looked_at(tiles: Tiles, block: Block, place: Node, results: Sequence[Node]) -> Turn:
    """The statistics of one block."""
    piece = Piece()
    y = tiles.held(piece, block, place)
    beside = tiles.beside(piece, block)
    found = logits.statistics(y, beside, tiles.settings["spread"])
    start = block.column // block.columns * prod(tiles.rows) + block.row * tiles.inside
    places = [Part(x, start) for x in results]
    # of a single block, which stands first as well as last
    return piece.turn(found, places)


class Waiting:
    """Partial sums on their way up a tree: a newer subtree joins the older ones of its size.

    The oldest one lies where the result will be.
    """

    def __init__(self, tiles: Tiles, pieces: int, size: int) -> None:
        self.size = size
        self.spaces = [tiles.space(size) for _ in range(pieces.bit_length() - 2)]

    def turn(self, piece: Piece, number: int, part: Node, result: Part) -> Turn:
        """Give the piece with this number to those that wait; complete sums rest in the result."""
        newest = number.bit_count()
        joins = (~number & (number + 1)).bit_length() - 1
        for level in range(newest - 1, newest - 1 - joins, -1):
            place = self.place(level, result)
            part = piece.take(place.node, part.shape, place.start) + part
        return piece.turn([part], [self.place(newest - joins, result)])

    def place(self, level: int, result: Part) -> Part:
        """Where the partial sum of a level lies."""
        if level == 0:
            return result
        whole = self.spaces[level - 1]
        return Part(whole, result.start % self.size)


def slope_turns(node: Node, results: Sequence[Node | None]) -> Iterator[Turn]:
    """Slopes of x, weight and bias, those that are asked for: rows outside, columns inside."""
    slopes = Slopes(Tiles(node), results)
    down, across = slopes.tiles.settings["cut"]
    rows, columns = slopes.tiles.rows[0] // down, slopes.tiles.classes // across
    for high in range(down):
        for wide in range(across):
            yield from slopes.of(Block(rows, high * rows, columns, wide * columns))
    yield from slopes.last()


class Slopes:
    """The turns of slopes."""

    def __init__(self, tiles: Tiles, results: Sequence[Node | None]) -> None:
        self.tiles = tiles
        self.lse, self.g = tiles.others
        self.x, self.weight, self.bias = (*results, None, None)[:3]
        down, across = tiles.settings["cut"]
        self.down = down
        rows, columns = prod(tiles.rows) // down, tiles.classes // across
        whole = sums_of(tiles.rows, tiles.classes)
        self.sums = Sums((whole.rows[0] // down, *whole.rows[1:]), whole.columns // across)
        self.place = tiles.space(rows * columns)
        self.across_x = Waiting(tiles, across, rows * tiles.width)
        self.down_weight = Waiting(tiles, down, tiles.classes * tiles.width)
        self.bias_parts = tiles.space(down * tiles.classes)

    def of(self, block: Block) -> Iterator[Turn]:
        """All turns of one block."""
        yield self.tiles.logits(block, self.place)
        yield self.in_place(block)
        if self.x is not None:
            yield self.of_x(block)
        if self.weight is not None:
            yield self.of_weight(block)
        if self.bias is not None:
            yield self.of_bias(block)

    def in_place(self, block: Block) -> Turn:
        """Logits become their slopes, where they are."""
        tiles, piece = self.tiles, Piece()
        y = tiles.held(piece, block, self.place)
        beside = tiles.beside(piece, block)
        lse = tiles.by_rows(piece, self.lse, block)
        found = logits.slopes_of(y, beside, lse, self.coefficients(piece, block), self.spread)
        found = logits.before_cap(found, y, tiles.settings["softcap"])
        return piece.turn([found], [Part(self.place)])

    @property
    def spread(self) -> bool:
        """Whether the sum of logits has a slope."""
        return self.tiles.settings["spread"]

    def coefficients(self, piece: Piece, block: Block) -> list[Node]:
        """The slopes of the numbers per row, for a block's rows."""
        rows = prod(self.tiles.rows)
        return [self.tiles.by_rows(piece, self.g, block, k * rows) for k in range(self.g.shape[0])]

    def slopes(self, piece: Piece, block: Block) -> Node:
        """A block's slopes of logits that are there."""
        shape = (block.rows, *self.tiles.rows[1:], block.columns)
        return piece.take(self.place, shape)

    def of_x(self, block: Block) -> Turn:
        """A part of the slope of x."""
        tiles, piece = self.tiles, Piece()
        shape = (block.columns, tiles.width)
        weight = piece.take(tiles.given.weight, shape, block.column * tiles.width)
        part = logits.slope_of_x(self.slopes(piece, block), weight, self.sums)
        result = Part(self.x, block.row * tiles.inside * tiles.width)
        return self.across_x.turn(piece, block.column // block.columns, part, result)

    def of_weight(self, block: Block) -> Turn:
        """A part of the slope of weight."""
        tiles, piece = self.tiles, Piece()
        x = tiles.by_rows(piece, tiles.given.x, block, after=tiles.width)
        part = logits.slope_of_weight(self.slopes(piece, block), x, self.sums)
        result = Part(self.weight, block.column * tiles.width)
        return self.down_weight.turn(piece, block.row // block.rows, part, result)

    def of_bias(self, block: Block) -> Turn:
        """A part of the slope of the bias."""
        piece = Piece()
        part = logits.slope_of_bias(self.slopes(piece, block), self.sums)
        place = block.row // block.rows * self.tiles.classes
        if self.down == 1:
            return piece.turn([part], [Part(self.bias, block.column)])
        return piece.turn([part], [Part(self.bias_parts, place + block.column)])

    def last(self) -> Iterator[Turn]:
        """The parts of the bias's slope, joined."""
        if self.bias is not None and self.down > 1:
            piece = Piece()
            parts = piece.take(self.bias_parts, (self.down, self.tiles.classes))
            yield piece.turn([reduce("add", parts, (0,))], [Part(self.bias)])


Turns = Callable[[Node, Sequence[Node | None]], Iterator[Turn]]
TURNS: dict[str, Turns] = {"logit_blocks": look_through, "logit_slopes": slope_turns}
"""Region -> its turns, given a result of its call and all its results, None for unwanted ones."""


def in_turns(node: Node) -> bool:
    """Whether a region is computed in turns: only when it was asked to be cut."""
    if node.op != "region" or node.params["name"] not in TURNS:
        return False
    cut: Cut | None = dict(node.params["call"].kwargs)["cut"]
    return cut is not None and all(x.size for x in node.inputs)
