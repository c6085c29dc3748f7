"""The order of calls around transfers: readers of a transfer's result run when that can be there.

Calls keep their order, but for two kinds. What a transfer sends is computed as soon as it can be.
What would wait for a transfer, and what needs that, is put off while others can run, for as long as
the transfer takes by a model. The model's processor and network are the same for all ranks,
whatever runs them: groups start their transfers in one order.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple

__all__ = [
    "BoundedReduction",
    "Overlap",
    "TimedCall",
    "computing",
    "dependents",
    "needed",
    "overlapped",
    "reached",
    "travelling",
]

FLOPS, BANDWIDTH, CALL = 5e10, 1e10, 2e-6
"""The model's processor: flops and bytes per second, and seconds of a call."""
WIRE, LATENCY = 2.5e8, 2e-5
"""The model's network: bytes per second, and seconds of a transfer of none."""


class BoundedReduction(NamedTuple):
    """A transfer that reduces gradients of a unit: the unit's bound of transfers, and its bytes."""

    bound: int | str
    """The most reductions under way when it begins; 0: any number; "auto"."""
    nbytes: int
    """The bytes of its operand, which stays in memory until it is waited for."""


@dataclass(frozen=True)
class TimedCall:
    """A call and its cost: values written and read, flops, bytes, whether it transfers.

    gathers, reduces: whether it gathers the parameters of a unit, or reduces its gradients.
    is_ordered: whether it comes after another transfer.
    """

    writes: tuple[Hashable, ...]
    reads: tuple[Hashable, ...]
    flops: int
    nbytes: int
    transfers: bool = False
    gathers: bool = False
    reduces: BoundedReduction | None = None
    is_ordered: bool = False

    @property
    def seconds(self) -> float:
        """The estimated seconds of the call; of a transfer, those on the network."""
        if self.transfers:
            return travelling(self.nbytes)
        return computing(self.flops, self.nbytes)


def overlapped(works: Sequence[TimedCall]) -> list[int]:
    """The order of calls, by number, that overlaps transfers and computation.

    >>> sends, waits = TimedCall(("b",), ("a",), 0, 10**6, True), TimedCall(("c",), ("b",), 0, 0)
    >>> overlapped([sends, waits, TimedCall(("d",), (), 10**9, 0)])
    [0, 2, 1]
    """
    return Overlap(works).order()


class Overlap:
    """A simulation that orders calls on a modelled clock, or by given times of each."""

    def __init__(
        self,
        works: Sequence[TimedCall],
        needs: Sequence[set[int]] | None = None,
        seconds: Sequence[float] | None = None,
    ) -> None:
        self.works, self.needs = works, needed(works) if needs is None else needs
        self.seconds = [x.seconds for x in works] if seconds is None else seconds
        self.clock = self.wire = 0.0
        self.stalls: list[float] = []
        """The times for which the processor waited, in order."""
        self.arrives: dict[Hashable, float] = {}
        """Transferred value -> the time at which it has arrived."""
        self.left = [len(needs) for needs in self.needs]
        """For each call, the number of calls that must still run before it."""
        self.feeds: list[list[int]] = [[] for _ in works]
        for k, needs in enumerate(self.needs):
            for j in needs:
                self.feeds[j].append(k)
        self.urgent = urgent(works, self.feeds)
        """For each call, whether it is a transfer or computes for transfers alone."""
        self.due: dict[int, float] = {}
        """Reader of a unit's reduction, which frees the bytes sent -> the time when it should run,
        after twice the time of the transfer, so that no stall follows on a slower network."""
        self.urgent_now: list[tuple[float, int]] = []
        """Urgent calls that wait for no transfer, the shortest first."""
        self.now: list[int] = []
        """All other calls that wait for none, the first first; some may have run."""
        self.put_off: list[tuple[float, int]] = []
        """Calls that wait for a transfer, by when it is done."""
        self.owed: list[tuple[float, int]] = []
        """Calls that waited, by when they should run."""
        self.overdue: list[int] = []
        """Calls that waited and are past the time when they should have run."""
        self.ran: set[int] = set()
        for k, left in enumerate(self.left):
            if not left:
                self._offer(k)

    def order(self) -> list[int]:
        """The numbers of all calls, in running order."""
        found: list[int] = []
        while len(found) < len(self.works):
            found.append(self._next())
            self.ran.add(found[-1])
            self._run(found[-1])
        return found

    def _offer(self, k: int) -> None:
        """Queue a call whose dependences have run: to run now, or when its transfers end."""
        there = self._there(k)
        if there > self.clock:
            heappush(self.put_off, (there, k))
        else:
            self._ready(k)

    def _ready(self, k: int) -> None:
        """Queue a call that may run now, among the urgent ones or the others."""
        if self.urgent[k]:
            heappush(self.urgent_now, (self._takes(k), k))
        else:
            heappush(self.now, k)

    def _next(self) -> int:
        """Choose the next call: the shortest urgent, one that waited, the first, the least wait."""
        while self.put_off and self.put_off[0][0] <= self.clock:
            _, k = heappop(self.put_off)
            self._ready(k)
            heappush(self.owed, (self.due.get(k, inf), k))
        if self.urgent_now:
            return heappop(self.urgent_now)[1]
        while self.owed and self.owed[0][0] <= self.clock:
            heappush(self.overdue, heappop(self.owed)[1])
        for heap in (self.overdue, self.now):
            while heap and heap[0] in self.ran:
                heappop(heap)
            if heap:
                return heappop(heap)
        return heappop(self.put_off)[1]

    def _takes(self, k: int) -> float:
        """The processor time of a call: 0 for a transfer."""
        return 0.0 if self.works[k].transfers else self.seconds[k]

    def _there(self, k: int) -> float:
        """The time at which the transfers that a call reads are complete."""
        return max((self.arrives.get(x, 0.0) for x in self.works[k].reads), default=0.0)

    def _run(self, k: int) -> None:
        """Simulate a call: a transfer takes network time, others processor time."""
        work, there = self.works[k], self._there(k)
        if there > self.clock:
            self.stalls.append(there - self.clock)
            self.clock = there
        if work.transfers:
            self.wire = max(self.wire, self.clock) + self.seconds[k]
            self.arrives.update(dict.fromkeys(work.writes, self.wire))
            if work.reduces:
                self.due.update(dict.fromkeys(self.feeds[k], self.wire + self.seconds[k]))
        else:
            self.clock += self.seconds[k]
        for reader in self.feeds[k]:
            self.left[reader] -= 1
            if not self.left[reader]:
                self._offer(reader)


def computing(flops: int, nbytes: int) -> float:
    """The model's time for a call of so many flops, that touches so many bytes."""
    return CALL + flops / FLOPS + nbytes / BANDWIDTH


def travelling(nbytes: int) -> float:
    """The model's time for a transfer that sends so many bytes."""
    return LATENCY + nbytes / WIRE


def urgent(works: Sequence[TimedCall], feeds: Sequence[Sequence[int]]) -> list[bool]:
    """For each call, whether it is a transfer, feeds one, or serves one transfer alone."""
    sent = {x for work in works if work.transfers for x in work.reads}
    serves: dict[int, int] = {}
    """Call -> the only transfer that needs it; for a transfer itself."""
    for k in reversed(range(len(works))):
        served = {serves.get(j) for j in feeds[k]}
        one = k if works[k].transfers else served.pop() if len(served) == 1 else None
        if one is not None:
            serves[k] = one
    return [k in serves or not sent.isdisjoint(x.writes) for k, x in enumerate(works)]


def needed(works: Sequence[TimedCall]) -> list[set[int]]:
    """For each call, the calls that must run before it, by values and by its unit's order."""
    found = dependencies(works)
    bounded(works, found)
    return found


def bounded(works: Sequence[TimedCall], needs: list[set[int]]) -> None:
    """Delay the gather of a unit's parameters until the unit two before is no longer read.

    Both are in the order in which they are first read. A reader after the first reader of the
    waiting unit is not waited for, nor is what runs after it by the order of transfers.
    """
    read: dict[Hashable, list[int]] = {}
    for k, work in enumerate(works):
        for x in work.reads:
            read.setdefault(x, []).append(k)
    readers = {
        k: sorted(j for x in work.writes for j in read.get(x, ()))
        for k, work in enumerate(works)
        if work.gathers
    }
    order = sorted((k for k in readers if readers[k]), key=lambda k: readers[k][0])
    feeds = dependents(needs) if any(work.is_ordered for work in works) else None
    for before, k in zip(order, order[2:], strict=False):
        waited = {j for j in readers[before] if j != k and j < readers[k][0]}
        waited -= reached([k], feeds) if feeds else set()
        needs[k] |= waited
        for j in waited if feeds else ():
            feeds[j].add(k)


def dependents(needs: Sequence[set[int]]) -> list[set[int]]:
    """For each call, the calls that depend on it."""
    feeds: list[set[int]] = [set() for _ in needs]
    for k, needs_of_one in enumerate(needs):
        for j in needs_of_one:
            feeds[j].add(k)
    return feeds


def reached(starts: Sequence[int], feeds: Sequence[set[int]]) -> set[int]:
    """The given calls, and all that depend on one of them."""
    found, stack = set(starts), list(starts)
    while stack:
        for k in feeds[stack.pop()] - found:
            found.add(k)
            stack.append(k)
    return found


def dependencies(works: Sequence[TimedCall]) -> list[set[int]]:
    """For each call, the calls that must run before it.

    A call depends on calls that touch what it writes, or write what it reads.
    """
    writers: dict[Hashable, list[int]] = {}
    readers: dict[Hashable, list[int]] = {}
    found: list[set[int]] = []
    for k, work in enumerate(works):
        needs = {j for x in (*work.reads, *work.writes) for j in writers.get(x, ())}
        needs |= {j for x in work.writes for j in readers.get(x, ())}
        found.append(needs)
        for x in work.writes:
            writers.setdefault(x, []).append(k)
        for x in work.reads:
            readers.setdefault(x, []).append(k)
    return found
