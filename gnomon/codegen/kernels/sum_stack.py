"""The stack of a tile's partial sums, in a team's scratch memory; each thread has its own part.

What is pushed and added when is order.py's part. No thread reads another one's sums, so nobody
waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.codegen.emitter import BITS, LANES, Emitter
from gnomon.codegen.kernels.order import Letter, combine_counts, depths
from gnomon.codegen.lifted import by_caller
from gnomon.codegen.shares import TEAM, WorkTeam

__all__ = ["SumStack", "deepest"]

THREADS = TEAM * LANES
"""Threads of a team."""


def deepest(letters: Sequence[Letter]) -> int:
    """The most partial sums that are on the stack at a time, at least one."""

    def most(*flat: int) -> tuple[int]:
        nest = list(zip(flat[::2], flat[1::2], strict=True))
        return (max(1, *depths(combine_counts(nest))),)

    return by_caller(most, 1, *(number for letter in letters for number in letter))[0]


class SumStack:
    """The stack of one thread: `number` sums of a type in each slot."""

    def __init__(self, e: Emitter, team: WorkTeam, kind: str, number: int) -> None:
        self.e, self.kind, self.item = e, kind, BITS[kind] // 8
        self.slot_bytes = number * THREADS * self.item
        self.own = e.mul(e.add(e.mul(team.member, LANES), "%lane"), self.item)

    def plus(self, older: str, newer: str) -> str:
        """Emit the sum of two partial sums."""
        plus = "add" if self.kind == "i32" else "fadd"
        return self.e.value(f"{plus} {self.kind} {older}, {newer}")

    def add_older(self, sums: Sequence[str], first: str, counts: tuple[str, str]) -> list[str]:
        """Add partial sums of the stack to newer ones, from number `first` below its top on.

        counts: the sums on the stack, and how many of them are added.
        """
        e, (depth, pops) = self.e, counts

        def pop(number: str, *newer: str) -> list[str]:
            slot = self.slot(e.sub(depth, e.add(number, 1)))
            pairs = [(self.load(slot, at), value) for at, value in enumerate(newer)]
            return [self.plus(*pair) for pair in pairs]

        return e.loop(first, pops, 1, pop, [(self.kind, value) for value in sums])

    def slot(self, depth: str) -> str:
        """The address of the thread's first sum in a slot."""
        e = self.e
        return e.offset("%scratch", e.add(e.mul(depth, self.slot_bytes), self.own))

    def load(self, slot: str, number: str | int) -> str:
        """Load one of the thread's sums."""
        e, step = self.e, THREADS * self.item
        at = number * step if isinstance(number, int) else e.mul(number, step)
        return e.load(e.offset(slot, at), self.kind, self.item)

    def keep(self, sums: Sequence[str], depth: str) -> None:
        """Store the thread's sums into a slot."""
        e, slot = self.e, self.slot(depth)
        for number, value in enumerate(sums):
            place = e.offset(slot, number * THREADS * self.item)
            e.store(value, place, self.kind, self.item)
