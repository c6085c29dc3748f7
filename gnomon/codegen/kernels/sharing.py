"""Sharing of a matrix product among threads: a rectangle of whole tiles each, found at run time.

Rows of all batches form one line that is cut into equal runs; columns may be cut too, when that
costs less packing or when there are few rows. No result depends on the cut.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.codegen.emitter import Emitter
from gnomon.codegen.kernels.microkernel import Tile

CUTS = 8
"""Columns are cut in 1, 2, 4, ... or in as many parts as there are threads: so many candidates."""
PACKING = 16
"""The cost of copying one value of an operand, in multiplications."""


@dataclass(frozen=True)
class TileWork:
    """The tiles that threads share: row and column panels per batch, and packed operands."""

    batches: int
    row_panels: int
    column_panels: int
    tile: Tile
    copied: str = "ab"


@dataclass(frozen=True)
class ThreadShare:
    """One thread's share: SSA bounds of row panels, through all batches, and of columns."""

    rows: tuple[str, str]
    columns: tuple[str, str]


def share_work(e: Emitter, work: TileWork) -> ThreadShare:
    """Emit the choice of this thread's rectangle of tiles."""
    cuts = best_cut(e, work)
    groups = e.value(f"udiv i64 %threads, {cuts}")
    group = e.value(f"udiv i64 %thread, {cuts}")
    member = e.value(f"urem i64 %thread, {cuts}")
    rows = part(e, work.batches * work.row_panels, group, groups)
    return ThreadShare(rows, part(e, work.column_panels, member, cuts))


def part(e: Emitter, count: int, number: str, parts: str) -> tuple[str, str]:
    """The bounds of part `number` out of several nearly equal ones."""
    low = e.value(f"udiv i64 {e.mul(number, count)}, {parts}")
    high = e.value(f"udiv i64 {e.mul(e.add(number, 1), count)}, {parts}")
    return low, high


def best_cut(e: Emitter, work: TileWork) -> str:
    """The number of column parts: the divisor of the number of threads with the lowest cost."""

    def weigh(index: str, best: str, cost: str) -> list[str]:
        power = e.value(f"shl i64 1, {index}")
        final = e.value(f"icmp eq i64 {index}, {CUTS}")
        cuts = e.value(f"select i1 {final}, i64 %threads, i64 {power}")
        groups = e.value(f"udiv i64 %threads, {cuts}")
        fits = e.value(f"icmp eq i64 {e.mul(groups, cuts)}, %threads")
        price = price_of(e, work, groups, cuts)
        cheaper = e.value(f"icmp slt i64 {price}, {cost}")
        wins = e.value(f"and i1 {fits}, {cheaper}")
        return [
            e.value(f"select i1 {wins}, i64 {cuts}, i64 {best}"),
            e.value(f"select i1 {wins}, i64 {price}, i64 {cost}"),
        ]

    alone = e.value("icmp eq i64 %threads, 1")
    candidates = e.value(f"select i1 {alone}, i64 0, i64 {CUTS + 1}")
    return e.loop(0, candidates, 1, weigh, [("i64", "1"), ("i64", str((1 << 63) - 1))])[0]


def price_of(e: Emitter, work: TileWork, groups: str, cuts: str) -> str:
    """An estimate of the busiest thread's work for one step of K, packing included.

    `groups` is 0 if no letter is cut so, when there are more cuts than threads.
    """
    some = e.call("i64", "llvm.smax.i64", ("i64", groups), ("i64", "1"))
    rows = e.mul(ceil(e, work.batches * work.row_panels, some), work.tile.rows)
    columns = e.mul(ceil(e, work.column_panels, cuts), work.tile.columns)
    copied = "0"
    for operand, size in zip("ab", (rows, columns), strict=True):
        copied = e.add(copied, size) if operand in work.copied else copied
    return e.add(e.mul(rows, columns), e.mul(copied, PACKING))


def ceil(e: Emitter, count: int, parts: str) -> str:
    """count / parts, rounded up."""
    return e.value(f"udiv i64 {e.sub(e.add(parts, count), 1)}, {parts}")


def evenly(e: Emitter, bounds: tuple[str, str], most: int) -> str:
    """The step that cuts a range into the fewest equal blocks of at most `most`."""
    length = e.sub(bounds[1], bounds[0])
    some = e.call("i64", "llvm.smax.i64", ("i64", length), ("i64", "1"))
    blocks = e.value(f"udiv i64 {e.add(some, most - 1)}, {most}")
    return e.value(f"udiv i64 {e.sub(e.add(some, blocks), 1)}, {blocks}")
