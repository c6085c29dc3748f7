"""Products of groups by tiles of teams: the order of grouped.py, and so its bits.

Tiles are counted through all groups, and a team has every so many-th of them, whatever the sizes of
groups are. Rows of a tile are those of one group; in a sum over steps each run is a chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gnomon.codegen.emitter import LLVMModule, literal
from gnomon.codegen.kernels.group_bounds import GroupBounds, GroupedSpec
from gnomon.codegen.kernels.order import Letter
from gnomon.codegen.kernels.product import VectorPlace, count, walk
from gnomon.codegen.kernels.staging import Side
from gnomon.codegen.kernels.tally import trailing_ones
from gnomon.codegen.kernels.tensor_tiles import TensorWriter, takes_tensor_cores
from gnomon.codegen.kernels.tiled import TiledWriter
from gnomon.codegen.machine import Machine

__all__ = ["group_writer"]


class TiledGroups(GroupBounds, TiledWriter):
    """Base of grouped products by tiles."""

    def __init__(self, module: LLVMModule, name: str, spec: GroupedSpec, machine: Machine) -> None:
        self.grouped = spec
        super().__init__(module, name, spec.product, machine)


class TiledRows(TiledGroups):
    """A product with grouped rows."""

    def share(self) -> None:
        """Emit one group after another, then zeros for the rows of no group."""
        if self.grouped.block:
            self.share_blocks()
            return
        e = self.e

        def group(number: str, begin: str, done: str) -> list[str]:
            last = e.add(e.mul(number, self.grouped.runs), self.grouped.runs - 1)
            end = self.end_of(last, begin, count(self.spec.rows))
            return [end, self.tiles((begin, end), done, lambda *at: self.tile(number, *at))]

        begin, done = e.loop(0, self.groups, 1, group, [("i64", "0"), ("i64", "0")])
        self.tiles((begin, str(count(self.spec.rows))), done, self.no_group)

    def share_blocks(self) -> None:
        """Emit the groups of all blocks, then zeros for the rows of none in each."""
        e, (blocks, size) = self.e, (self.grouped.runs, self.grouped.block)

        def run(group: str, block: str, done: str) -> list[str]:
            bounds = self.bounds_in(block, group)
            return [self.tiles(bounds, done, lambda *at: self.tile(group, *at))]

        def none(number: str, done: str) -> list[str]:
            share, block = self.in_share(number, blocks)
            first = e.mul(share, self.own_groups)
            _, begin = self.bounds_in(block, e.add(first, e.sub(self.own_groups, 1)))
            end = e.mul(e.add(block, 1), size)
            return [self.tiles((begin, end), done, lambda *at: self.no_group(*at, batch=first))]

        def group(number: str, done: str) -> list[str]:
            return e.loop(0, blocks, 1, lambda b, n: run(number, b, n), [("i64", done)])

        done = e.loop(0, self.groups, 1, group, [("i64", "0")])
        e.loop(0, blocks * self.grouped.shares, 1, none, [("i64", *done)])

    def no_group(self, row: str, column: str, batch: str = "0") -> None:
        """Emit a tile of zeros."""
        self.put_zeros()
        self.finish(batch, row, column)

    def tiles(self, bounds: tuple[str, str], done: str, body: Callable[[str, str], None]) -> str:
        """Emit body(row, column) for the team's tiles of a range of rows; gives the tiles so far.

        done: the tiles of earlier ranges.
        """
        e, wide, (begin, end) = self.e, count(self.spec.columns), bounds
        self.bounds = (end, wide)
        high = e.value(f"udiv i64 {e.add(e.sub(end, begin), self.rows - 1)}, {self.rows}")
        number = e.mul(high, -(-wide // self.columns))
        first = e.sub("%thread", e.value(f"urem i64 {done}, %threads"))
        before = e.value(f"icmp slt i64 {first}, 0")
        first = e.value(f"select i1 {before}, i64 {e.add(first, '%threads')}, i64 {first}")

        def one(tile: str) -> None:
            column, row = (e.value(f"{how} i64 {tile}, {high}") for how in ("udiv", "urem"))
            body(e.add(begin, e.mul(row, self.rows)), e.mul(column, self.columns))

        e.loop(first, number, "%threads", one)
        return e.add(done, number)


class TiledSteps(TiledGroups):
    """A product with grouped steps."""

    is_short, is_ragged = False, True

    @property
    def letters(self) -> list[Letter]:
        """The summed letters: every run is a leaf."""
        return [(self.grouped.runs, self.grouped.runs)]

    def sum_up(self, batch: str, row: str, column: str) -> None:
        """Emit the sums of a tile over all runs of its group."""
        e = self.e
        self.origin = row, column
        bases = [self.base(side, batch) for side in self.sides]

        def run(number: str, depth: str) -> list[str]:
            begin, end = self.bounds_of(number, batch)
            self.bases = [
                e.offset(base, e.mul(e.mul(begin, step), self.spec.item_of(side.name)))
                for base, side in zip(bases, self.sides, strict=True)
                for step in [walk(self.spec.steps, side.name)[-1][1]]
            ]
            sums = self.one_run(e.sub(end, begin))
            pops = trailing_ones(e, number)
            sums = self.stack.add_older(sums, "0", (depth, pops))
            self.stack.keep(sums, e.sub(depth, pops))
            return [e.add(e.sub(depth, pops), 1)]

        e.loop(0, self.grouped.runs, 1, run, [("i64", "0")])

    def one_run(self, length: str) -> list[str]:
        """Emit the chain over a run; an empty one is the beginning of a chain."""
        e = self.e
        self.chunk = length
        self.pieces = e.value(f"udiv i64 {e.add(length, self.deep - 1)}, {self.deep}")
        some = e.value(f"zext i1 {e.value(f'icmp sgt i64 {length}, 0')} to i64")

        def chain(_: str, *sums: str) -> list[str]:
            self.begin()
            return self.chain("0", 1, "0", [(self.spec.sums, value) for value in sums])[1:]

        return e.loop(0, some, 1, chain, self.empty)

    def store(self, place: VectorPlace, value: str) -> None:
        """Store a thread's sum; an empty one, which began at -0.0, is 0.0."""
        kind = self.spec.sums
        super().store(place, self.e.value(f"fadd {kind} {value}, {literal(0.0, kind)}"))


class TensorRows(TiledRows, TensorWriter):
    """A product with grouped rows, by tensor cores."""

    def has_octets(self, side: Side) -> bool:
        """Whether octets are copied: rows of a group begin anywhere."""
        return (side.along or side.name == "b") and super().has_octets(side)


class TensorSteps(TiledSteps, TensorWriter):
    """A product with grouped steps, by tensor cores."""

    def has_octets(self, side: Side) -> bool:
        """Whether octets are copied: steps of a run begin anywhere."""
        return not side.along and super().has_octets(side)


WRITERS: Mapping[str, tuple[type[TiledGroups], type[TiledGroups]]] = {
    "rows": (TiledRows, TensorRows),
    "steps": (TiledSteps, TensorSteps),
}
"""The writers by the axis of groups: by multiply-adds, and by tensor cores."""


def group_writer(spec: GroupedSpec, machine: Machine) -> type[TiledGroups]:
    """The writer of a product of groups by teams."""
    return WRITERS[spec.axis][takes_tensor_cores(spec.product, machine)]
