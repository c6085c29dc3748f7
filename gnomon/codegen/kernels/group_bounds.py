"""Groups of rows or of steps of a product: where each begins and ends, read when code runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gnomon.codegen.emitter import Emitter
from gnomon.codegen.kernels.product import MatmulSpec, count

__all__ = ["GroupBounds", "GroupedSpec"]


@dataclass(frozen=True)
class GroupedSpec:
    """A product whose batch is groups of its rows or of its steps ("rows", "steps").

    `ends`: the slot of the ends of all runs, i64; each group has `runs` of them. Where the axis is
    in blocks, as many as runs, of `block` each, ends are stored block by block, relative to it.
    Groups may be apart: each of so many `shares` of them has blocks of its own.
    """

    in_text: ClassVar = ("ends", "shares")

    product: MatmulSpec
    axis: str
    runs: int
    ends: int
    block: int = 0
    shares: int = 1


class GroupBounds:
    """Mixin of grouped products' writers that reads the bounds of groups."""

    e: Emitter
    spec: MatmulSpec
    grouped: GroupedSpec

    @property
    def groups(self) -> int:
        """The number of groups, of all shares."""
        return count(self.spec.batch)

    @property
    def own_groups(self) -> int:
        """The number of groups of one share."""
        return self.spec.batch[-1].size

    def in_share(self, number: str, size: int) -> tuple[str, str]:
        """Split a group's global number into its share and its number in that share."""
        e = self.e
        if self.grouped.shares == 1:
            return "0", number
        share = e.value(f"udiv i64 {number}, {size}")
        return share, e.sub(number, e.mul(share, size))

    def end_of(self, run: str, least: str, axis: int) -> str:
        """The end of a run of rows or steps, clamped to `least` and the axis's end."""
        e = self.e
        ends = e.buffer(self.grouped.ends)
        end = e.load(e.offset(ends, e.mul(run, 8)), "i64", 8)
        return e.most(e.least(end, axis), least)

    def bounds_in(self, block: str, group: str) -> tuple[str, str]:
        """The first row or step of a group in a block, and the one after its last."""
        e, size = self.e, self.grouped.block
        share, own = self.in_share(group, self.own_groups)
        behind = e.add(e.mul(share, self.grouped.runs), block)
        number = e.add(e.mul(behind, self.own_groups), own)
        before = self.end_of(e.most(e.sub(number, 1), "0"), "0", size)
        leads = e.value(f"icmp eq i64 {own}, 0")
        begin = e.value(f"select i1 {leads}, i64 0, i64 {before}")
        start = e.mul(block, size)
        return e.add(start, begin), e.add(start, self.end_of(number, begin, size))

    def bounds_of(self, run: str, group: str) -> tuple[str, str]:
        """The first step of a group in a run, and the one after its last."""
        if self.grouped.block:
            return self.bounds_in(run, group)
        e, steps = self.e, count(self.spec.steps)
        number = e.add(e.mul(group, self.grouped.runs), run)
        before = self.end_of(e.most(e.sub(number, 1), "0"), "0", steps)
        begin = e.value(f"select i1 {e.value(f'icmp eq i64 {number}, 0')}, i64 0, i64 {before}")
        return begin, self.end_of(number, begin, steps)
