"""Columns of tiles for attention: rows of A, unpacked, times one panel of B.

A is broadcast value by value, so any strides serve it; only B is packed. Chains are as short as a
head is wide, so loops are taken apart further than in other products. What they are called with:
attention_parts.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.codegen.kernels.lines import Lines, Turned, is_narrow
from gnomon.codegen.kernels.microkernel import (
    Right,
    Sides,
    Tile,
    chain_group,
    minus_zero,
)

UNROLL = 4
"""Steps of a chain between two tests of the loop's end."""
CHAINS = 8
"""Chains that keep a processor busy, which waits four cycles for two additions in each."""
PARAMETERS = (
    *(("ptr", label) for label in "ab"),
    *(("i64", label) for label in ("rows", "stride", "length")),
    *(("ptr", label) for label in ("into", "factors")),
)
"""A and a panel of B; rows of A, bytes from one line of it to the next, steps; where sums are; and
a number for each column."""


class Squares(Lines):
    """The microkernel's A as square panels of columns; panels are `stride` apart."""

    def begin(self, e: Emitter, tile: Tile) -> None:
        """Emit the distance of each row from the first."""
        self.rows = [row * tile.columns * tile.item for row in range(tile.rows)]

    def row(self, e: Emitter, tile: Tile, a: str, first: str) -> str:
        """The address of a row."""
        return e.offset(a, e.mul(first, tile.columns * tile.item))

    def at(self, e: Emitter, tile: Tile, a: str, units: int) -> str:
        """Advance the pointer by `units` steps, at most one whole panel."""
        return e.offset(a, "%stride" if units == tile.columns else units * tile.item)


class Long(Right):
    """The microkernel's B for long chains: a packed panel, with a more unrolled loop."""

    def __init__(self, most: int) -> None:
        self.most = most

    def unrolls(self, tile: Tile) -> tuple[int, ...]:
        """The unroll factors of the loop over steps."""
        return (self.most, 1)[: self.most]


WAYS = {"score": Lines, "begin": Turned, "extend": Turned, "grow": Turned, "along": Squares}
"""How to find A. "score" and "begin" make new sums, "extend" and "along" go on with those that are
there, "grow" with their products with the factors."""


def emit_columns(
    module: LLVMModule, name: str, tile: Tile, ways: Iterable[str], pitch: int = 0
) -> None:
    """Define a product name.way for each way; rows of sums are `pitch` apart, or a tile's width."""
    for way in ways:
        e = module.function(
            f"{name}.{way}", PARAMETERS, linkage="internal", attributes="noinline nounwind"
        )
        steps = tile.columns if way == "along" else 1 if is_narrow(tile) else UNROLL
        sides = Sides(WAYS[way](), Long(steps))
        sides.left.begin(e, tile)
        whole, few, count = row_counts(e, tile)
        for begin, times, some in (("0", whole, tile), (e.mul(whole, tile.rows), count, few)):
            e.loop(0, times, 1, partial(one_tile, e, way, sides, pitch, some, begin))
        e.ret()


def row_counts(e: Emitter, tile: Tile) -> tuple[str, Tile, str]:
    """The number of whole tiles for all rows, the lower tile for the rest, and its number.

    With fewer rows than the lower one, chains would wait for their own results.
    """
    few = replace(tile, rows=min(tile.rows, -(-CHAINS // (tile.columns // tile.lanes))))
    whole = e.value(f"udiv i64 %rows, {tile.rows}")
    rest = e.sub("%rows", e.mul(whole, tile.rows))
    # a whole tile is given up where lower ones then take its rows and the rest exactly
    for left in range(1, tile.rows):
        if left % few.rows and (left + tile.rows) % few.rows == 0:
            same = e.value(f"icmp eq i64 {rest}, {left}")
            some = e.value(f"and i1 {same}, {e.value(f'icmp ne i64 {whole}, 0')}")
            one = e.value(f"zext i1 {some} to i64")
            whole, rest = e.sub(whole, one), e.add(rest, e.mul(one, tile.rows))
    count = e.value(f"udiv i64 {e.add(rest, few.rows - 1)}, {few.rows}")
    costly = e.value(f"icmp ugt i64 {e.mul(count, few.rows)}, {e.most(rest, tile.rows)}")
    whole = e.add(whole, e.value(f"zext i1 {costly} to i64"))
    return whole, few, e.value(f"select i1 {costly}, i64 0, i64 {count}")


def one_tile(
    e: Emitter, way: str, sides: Sides, pitch: int, tile: Tile, begin: str, index: str
) -> None:
    """Emit the product of the tile of rows that begins at `begin` with the panel of B."""
    first, pitch = e.add(begin, e.mul(index, tile.rows)), (pitch or tile.columns) * tile.item
    into, a = e.offset("%into", e.mul(first, pitch)), sides.left.row(e, tile, "%a", first)
    vectors = range(tile.columns // tile.lanes)
    lines = [e.offset(into, row * pitch) for row in range(tile.rows)]
    places = [e.offset(line, place) for line in lines for place in tile.places[: len(vectors)]]
    sums = [value for _, value in minus_zero(tile)]
    if way not in ("begin", "score"):
        sums = [e.load(place, tile.kind, tile.item) for place in places]
    if way == "grow":
        lines = [e.offset("%factors", place) for place in tile.places[: len(vectors)]]
        factors = [e.load(line, tile.kind, tile.item) for line in lines] * tile.rows
        pairs = zip(sums, factors, strict=True)
        sums = [e.value(f"fmul {tile.kind} {value}, {factor}") for value, factor in pairs]
    _, _, *sums = chain_group(e, tile, sides, vectors, [a, "%b", *sums])
    for place, value in zip(places, sums, strict=True):
        e.store(value, place, tile.kind, tile.item)
