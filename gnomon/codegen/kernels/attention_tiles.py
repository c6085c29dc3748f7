"""Columns of tiles for attention: rows of A, packed, times one panel of B.

Chains are as short as a head is wide, so loops are taken apart further than in other products, and
the last panel of A may have few rows. What they are called with: attention_parts.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from gnomon.codegen.emitter import Emitter, Module
from gnomon.codegen.kernels.microkernel import (
    Left,
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
"""Panels of A and one of B; rows of A, bytes from a panel of it to the next, steps; where sums are;
and a number for each column."""


class Panel(Left):
    """Packed panels of which not all rows need be taken."""

    def __init__(self, whole: Tile) -> None:
        self.whole = whole

    def unit(self, tile: Tile) -> int:
        """The next step of all rows."""
        return self.whole.rows * tile.item


class Long(Right):
    """A packed panel; the loop's end is tested less often."""

    def unrolls(self, tile: Tile) -> tuple[int, ...]:
        """So many steps at once."""
        return UNROLL, 1


def emit_columns(module: Module, name: str, tile: Tile, ways: Iterable[str]) -> None:
    """Define name.way for each way.

    "begin" makes new sums. "extend" goes on with those that are there, "grow" with their products
    with the factors.
    """
    for way in ways:
        e = module.function(
            f"{name}.{way}", PARAMETERS, linkage="internal", attributes="noinline nounwind"
        )
        whole = e.value(f"udiv i64 %rows, {tile.rows}")
        rest = e.sub("%rows", e.mul(whole, tile.rows))
        # with fewer rows than these, chains would wait for themselves
        few = replace(tile, rows=-(-CHAINS // (tile.columns // tile.lanes)))
        short = e.value(f"icmp sle i64 {rest}, {few.rows}")
        some = e.value(f"icmp sgt i64 {rest}, 0")
        with_few = e.value(f"and i1 {some}, {short}")
        e.loop(0, whole, 1, partial(one_tile, e, way, (tile, tile)))
        e.when(with_few, partial(one_tile, e, way, (tile, few), whole))
        with_all = e.value(f"xor i1 {short}, true")
        e.when(with_all, partial(one_tile, e, way, (tile, tile), whole))
        e.ret()


def one_tile(e: Emitter, way: str, tiles: tuple[Tile, Tile], index: str) -> None:
    """A panel of A, or its first rows, times B: the tile of a whole panel, and what is taken."""
    whole, tile = tiles
    into, a = e.offset("%into", e.mul(index, whole.bytes)), e.offset("%a", e.mul(index, "%stride"))
    places = [e.offset(into, place) for place in tile.places]
    sums = [value for _, value in minus_zero(tile)]
    if way != "begin":
        sums = [e.load(place, tile.kind, tile.item) for place in places]
    vectors = range(tile.columns // tile.lanes)
    if way == "grow":
        lines = [e.offset("%factors", place) for place in tile.places[: len(vectors)]]
        factors = [e.load(line, tile.kind, tile.item) for line in lines] * tile.rows
        pairs = zip(sums, factors, strict=True)
        sums = [e.value(f"fmul {tile.kind} {value}, {factor}") for value, factor in pairs]
    sides = Sides(Panel(whole), Long())
    _, _, *sums = chain_group(e, tile, sides, vectors, [a, "%b", *sums])
    for place, value in zip(places, sums, strict=True):
        e.store(value, place, tile.kind, tile.item)
