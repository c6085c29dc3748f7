"""The shares of a kernel's work that threads have: contiguous, or strided; of one, or of a team.

A processor's thread has one stretch, of which its caches hold what comes next. Neighbours on a card
work beside each other in memory, so that what they read together is together. No result depends on
it: what is summed, and in which order, is the kernel's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gnomon.codegen.blocks import rounds
from gnomon.codegen.emitter import LANES, Emitter
from gnomon.codegen.lifted import Lifted, is_lifted
from gnomon.codegen.numbers import KernelNumbers
from gnomon.codegen.plan_loops import LoopPlan

__all__ = ["SHARES", "WorkShares", "WorkTeam"]

TEAM = 8
"""Vectors of threads in a team: those of a block of 128 threads."""
LEAST_LEAVES = 4
"""Leaves of a sum from which on a team shares them."""
LONG_ROW = 1024
"""Numbers of a row from which on a team shares it."""


@dataclass(frozen=True)
class WorkShares:
    """The division of a kernel's work among threads.

    chunk: elements of a row that one task takes, where rows may be cut; columns: the same where
    elements have sums of their own.
    """

    chunk: int
    columns: int
    strided: bool

    def tasks(self, e: Emitter, count: object, body: Callable[[str], None]) -> None:
        """Emit body(task) for each task of this thread."""
        if self.strided:
            e.loop("%thread", str(count), "%threads", body)
        else:
            e.loop(*self.stretch(e, str(count), 1), 1, body)

    def stretch(self, e: Emitter, total: str, unit: int) -> tuple[str, str]:
        """The thread's part of 0..total, with ends at multiples of unit."""
        units = e.value(f"add i64 {total}, {unit - 1}")
        units = e.value(f"udiv i64 {units}, {unit}")
        ends = []
        for thread in ("%thread", e.add("%thread", 1)):
            cut = e.value(f"udiv i64 {e.mul(thread, units)}, %threads")
            ends.append(e.least(e.mul(cut, unit), total))
        return ends[0], ends[1]

    def members(self, plan: LoopPlan, numbers: KernelNumbers) -> int:
        """The number of vectors of threads that share one task as a team.

        A team does it where leaves are many and long.
        """
        folds = [node for node in plan.nodes if node.op == "fold"]
        counts = [numbers.leaves(fold) for fold in folds]
        if not self.strided or not counts or any(map(is_lifted, counts)):
            return 1
        rows = [plan.is_lane_fold(fold) for fold in folds]
        size = numbers.size(plan.kernel.inner if rows[0] else folds[0].inputs[0])
        if is_lifted(size) or size < LONG_ROW:
            return 1
        many = [n >= LEAST_LEAVES for n in counts]
        if all(rows):
            free = [n == 1 and not rounds(fold) for n, fold in zip(counts, folds, strict=True)]
            return TEAM if all(map(max, many, free)) else 1
        return TEAM if any(many) and not any(rows) else 1


SHARES = {
    "contiguous": WorkShares(chunk=4096, columns=4 * LANES, strided=False),
    "strided": WorkShares(chunk=16 * LANES, columns=2 * LANES, strided=True),
}
"""By name: a machine has one."""


class WorkTeam:
    """The threads that share a task, each with its number; mostly one alone."""

    def __init__(self, e: Emitter, shares: WorkShares, members: int) -> None:
        self.e, self.strided, self.members = e, shares.strided, members
        self.member = e.call("i64", "member") if members > 1 else "0"
        self.apart = False
        """Whether code is being written that members run for different parts."""
        if shares.strided:
            e.module.define(f"; threads {members * LANES}")

    def each(self, count: int | Lifted, body: Callable[[str], None]) -> None:
        """Emit body(k) for all k, each by one member, and a barrier."""
        if self.members == 1 or self.apart:
            self.e.loop(0, count, 1, body)
            return
        self.apart = True
        self.e.loop(self.member, count, self.members, body)
        self.apart = False
        self.meet()

    def taken(self, values: list[str]) -> list[str]:
        """Values that all members have loaded, so that their source may be overwritten."""
        if self.members > 1:
            self.meet()
        return values

    def meet(self) -> None:
        """Emit a barrier of the team, if it has other members."""
        if self.strided and not self.apart:
            self.e.call("void", "meet")
