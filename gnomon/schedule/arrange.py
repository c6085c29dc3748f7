"""Order kernels for a low peak of memory and few barriers.

Kernels are chosen one by one among those whose operands are ready. A kernel that frees memory comes
first, so that a weight's gradient is summed while its operands are in cache; then one that needs no
barrier; then the one that the program names first. An order that needs more memory than the
program's own is rejected. No value depends on the order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from operator import itemgetter

from gnomon.schedule.memory import LiveInterval, liveness_bound

SLACK = 256
"""Freeing less than the peak of memory divided by this is not worth a barrier."""


@dataclass(frozen=True)
class KernelWork:
    """The values that a kernel makes and reads; sizes are in bytes."""

    writes: tuple[Hashable, ...]
    reads: tuple[Hashable, ...]


BufferBytes = Mapping[Hashable, int]
"""Value -> its bytes between kernels; inputs and results are left out."""


def arranged(works: Sequence[KernelWork], sizes: BufferBytes) -> list[int]:
    """The kernels' numbers in an order with a low peak of memory and few barriers.

    >>> works = [
    ...     KernelWork(("a",), ()),
    ...     KernelWork(("b",), ()),
    ...     KernelWork((), ("a",)),
    ...     KernelWork((), ("b",)),
    ... ]
    >>> arranged(works, {"a": 640, "b": 640})
    [0, 2, 1, 3]
    """
    own = list(range(len(works)))
    most = peak(works, sizes, own)
    best: list[tuple[int, list[int]]] = []
    for late in (False, True):
        order = Arrangement(works, sizes, most // SLACK, late).order()
        best.append((peak(works, sizes, order), order))
    return min((*best, (most, own)), key=itemgetter(0))[1]


def peak(works: Sequence[KernelWork], sizes: BufferBytes, order: Sequence[int]) -> int:
    """The most bytes alive during one kernel, if kernels run in this order."""
    first: dict[Hashable, int] = {}
    last: dict[Hashable, int] = {}
    for step, k in enumerate(order):
        for value in (*works[k].writes, *works[k].reads):
            if value in sizes:
                first.setdefault(value, step)
                last[value] = step
    return liveness_bound([LiveInterval(sizes[v], first[v], last[v]) for v in first])


def stages(works: Sequence[KernelWork]) -> list[int]:
    """The stage of each kernel: kernels of one stage do not read each other's results.

    >>> stages([KernelWork(("a",), ()), KernelWork(("b",), ()), KernelWork((), ("a",))])
    [0, 0, 1]
    """
    found: list[int] = []
    made, stage = set[Hashable](), 0
    for work in works:
        if not made.isdisjoint(work.reads):
            made, stage = set[Hashable](), stage + 1
        made.update(work.writes)
        found.append(stage)
    return found


class Arrangement:
    """Scheduler that picks kernels one after another."""

    def __init__(
        self, works: Sequence[KernelWork], sizes: BufferBytes, slack: int, late: bool
    ) -> None:
        self.works, self.sizes, self.slack = works, sizes, slack
        makers: dict[Hashable, set[int]] = {}
        for k, work in enumerate(works):
            for value in work.writes:  # a value may be made in parts, by a kernel each
                makers.setdefault(value, set()).add(k)
        self.readers: dict[Hashable, set[int]] = {}
        self.needs: list[set[int]] = [set() for _ in works]
        self.feeds: list[list[int]] = [[] for _ in works]
        for k, work in enumerate(works):
            for value in work.reads:
                self.readers.setdefault(value, set()).add(k)
                self.needs[k] |= makers.get(value, set()) - {k}
        for k, needs in enumerate(self.needs):
            for maker in needs:
                self.feeds[maker].append(k)
        if late:
            self._delay()
        self.done: set[int] = set()
        self.fresh: set[int] = set()
        """Kernels that ran since the last barrier."""
        self.now: list[tuple[bool, int]] = []
        """Heap of ready kernels that need no barrier, best first; a kernel may occur more than
        once."""
        self.later: list[tuple[bool, int]] = []
        """Heap of ready kernels that need a barrier first."""

    def _delay(self) -> None:
        """Delay a kernel with a single reader until all else that the reader needs is computed.

        This applies only to kernels that take more memory than they can free.
        """
        waits = [k for k, feeds in enumerate(self.feeds) if len(feeds) == 1 and self._adds(k)]
        needs = [set(needs) for needs in self.needs]
        for k in waits:
            others = needs[self.feeds[k][0]].difference(waits)
            for maker in others - self.needs[k]:
                self.needs[k].add(maker)
                self.feeds[maker].append(k)

    def _adds(self, k: int) -> bool:
        """Whether a kernel writes more bytes than it reads."""
        made, read = (
            sum(self.sizes.get(v, 0) for v in values)
            for values in (self.works[k].writes, self.works[k].reads)
        )
        return made > read

    def order(self) -> list[int]:
        """The numbers of all kernels, in the chosen order."""
        for k, needs in enumerate(self.needs):
            if not needs:
                self._offer(k)
        found: list[int] = []
        while len(found) < len(self.works):
            found.append(self._next())
            self._finish(found[-1])
        return found

    def _next(self) -> int:
        """Choose the next kernel; one that frees much memory is worth a barrier."""
        self._clean(self.now)
        self._clean(self.later)
        frees = bool(self.later) and not self.later[0][0]
        if not self.now or (frees and self.now[0][0]):
            self._wait()
            self._clean(self.now)
        return heappop(self.now)[1]

    def _clean(self, heap: list[tuple[bool, int]]) -> None:
        """Remove kernels that have run from the front of a heap."""
        while heap and heap[0][1] in self.done:
            heappop(heap)

    def _wait(self) -> None:
        """Add a barrier: kernels that had to wait for one may run now."""
        self.fresh.clear()
        for entry in self.later:
            heappush(self.now, entry)
        self.later.clear()

    def _offer(self, k: int) -> None:
        """Queue a kernel that may run, now or after the next barrier; those that free go first."""
        entry = (self._grows(k), k)
        if not self.fresh.isdisjoint(self.needs[k]):
            heappush(self.later, entry)
        else:
            heappush(self.now, entry)

    def _grows(self, k: int) -> bool:
        """Whether a kernel does not free clearly more memory than it takes."""
        work = self.works[k]
        made = sum(self.sizes.get(v, 0) for v in work.writes if self.readers.get(v))
        freed = sum(self.sizes.get(v, 0) for v in set(work.reads) if len(self.readers[v]) == 1)
        return freed - made <= self.slack

    def _finish(self, k: int) -> None:
        """Record that a kernel has run, and queue kernels that may run now, or free more now."""
        self.done.add(k)
        self.fresh.add(k)
        for value in set(self.works[k].reads):
            left = self.readers[value]
            left.discard(k)
            if len(left) == 1 and self.sizes.get(value, 0):
                (last,) = left
                if self.needs[last] <= self.done:
                    self._offer(last)
        for reader in self.feeds[k]:
            if self.needs[reader] <= self.done:
                self._offer(reader)
