"""The memory plan: one block for intermediate values, shared by values with disjoint lifetimes.

Buffers are placed largest first, each at the lowest offset that is free for the whole of its
interval, since an early end of large buffers lowers the peak. Intervals are counted in calls, so
barriers must separate calls where memory is reused (gnomon/schedule/order.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from gnomon.ir.node import Node
from gnomon.ir.sizes import hint, is_symbolic, late

ALIGN = 64


class LiveInterval(NamedTuple):
    """The live interval of a value: its bytes, the call that writes it, the last that reads it."""

    nbytes: int
    first: int
    last: int


@dataclass(frozen=True)
class MemoryPlan:
    """The offset of each value, the bytes of the whole block, and the least any plan could need."""

    offsets: tuple[int, ...]
    total: int
    bound: int


def plan_memory(
    intervals: Sequence[LiveInterval], heirs: Iterable[tuple[int, int]] = ()
) -> MemoryPlan:
    """Offsets such that values alive together never overlap.

    An heir (value, operand) takes over the operand's buffer, whose last use is the call that
    computes the value.

    >>> chain = [LiveInterval(64, 0, 1), LiveInterval(64, 1, 2), LiveInterval(64, 2, 3)]
    >>> plan_memory(chain).total, plan_memory(chain, [(2, 1), (1, 0)]).total
    (128, 64)
    """
    owner = owners(intervals, dict(heirs))
    merged = {k: interval for k, interval in enumerate(intervals) if owner[k] == k}
    for k, interval in enumerate(intervals):
        whole = merged[owner[k]]
        if interval.last > whole.last:
            merged[owner[k]] = whole._replace(last=interval.last)
    values = list(merged.values())
    plan = (shared_places if any(is_symbolic(x.nbytes) for x in values) else disjoint)(values)
    offsets = dict(zip(merged, plan.offsets, strict=True))
    return replace(plan, offsets=tuple(offsets[k] for k in owner))


def owners(intervals: Sequence[LiveInterval], heirs: Mapping[int, int]) -> list[int]:
    """The index of the value that owns each value's buffer: the first of a chain of heirs."""
    found = list(range(len(intervals)))
    for k in sorted(found, key=lambda k: intervals[k].first):
        found[k] = found[heirs[k]] if k in heirs else k
    return found


def disjoint(intervals: Sequence[LiveInterval]) -> MemoryPlan:
    """The plan for constant sizes: values that are alive together have separate bytes."""
    rows = [(in_lines(x.nbytes), x.first, x.last) for x in intervals]
    largest = sorted(range(len(rows)), key=lambda k: (-intervals[k].nbytes, rows[k][1]))
    offsets, taken = [0] * len(rows), PlacedValues(len(rows))
    for k in largest:
        offsets[k] = taken.place(*rows[k])
    total = max((at + size for at, (size, *_) in zip(offsets, rows, strict=True)), default=0)
    return MemoryPlan(tuple(offsets), total, liveness_bound(intervals))


def shared_places(intervals: Sequence[LiveInterval]) -> MemoryPlan:
    """The plan for symbolic sizes: values that are never alive together may share an offset."""
    groups: list[list[int]] = []
    for k in sorted(range(len(intervals)), key=lambda k: -hint(intervals[k].nbytes)):
        own = intervals[k]
        free = (
            group
            for group in groups
            if all(own.last < intervals[j].first or intervals[j].last < own.first for j in group)
        )
        found = next(free, None)
        if found is None:
            groups.append([k])
        else:
            found.append(k)
    offsets, end = [0] * len(intervals), 0
    for group in groups:
        for k in group:
            offsets[k] = end
        end += late(largest, *dict.fromkeys(in_lines(intervals[k].nbytes) for k in group))
    known = [x._replace(nbytes=hint(x.nbytes)) for x in intervals]
    return MemoryPlan(tuple(offsets), end, liveness_bound(known))


def largest(*numbers: int) -> int:
    """The largest of one or more numbers."""
    return max(numbers)


class PlacedValues:
    """The offsets of values so far, as columns of an array: programs have tens of thousands."""

    def __init__(self, most: int) -> None:
        self.columns, self.count = np.zeros((4, most), np.int64), 0
        """Columns: start and end offset, first and last call of each value; sorted by start."""

    def place(self, size: int, first: int, last: int) -> int:
        """Place a value at the lowest offset that is free during its live interval."""
        n = self.count
        starts, ends, begun, over = self.columns[:, :n]
        alive = (begun <= last) & (over >= first)
        found = lowest_gap(size, starts[alive], ends[alive])
        at = starts.searchsorted(found)
        self.columns[:, at + 1 : n + 1] = self.columns[:, at:n]
        self.columns[:, at] = found, found + size, first, last
        self.count += 1
        return found


def lowest_gap(size: int, starts: np.ndarray, ends: np.ndarray) -> int:
    """The lowest free offset for `size` bytes between values with ascending starts."""
    below = np.zeros(len(ends) + 1, np.int64)  # below each value, the end of all before it
    np.maximum.accumulate(ends, out=below[1:])
    fits = np.append(starts - below[:-1] >= size, True)
    return int(below[fits.argmax()])


def nbytes(x: Node) -> int:
    """The bytes of a value."""
    return x.size * x.dtype.itemsize


def in_lines(nbytes: int) -> int:
    """Bytes rounded up to a whole number of cache lines."""
    return -(-nbytes // ALIGN) * ALIGN


def liveness_bound(intervals: Sequence[LiveInterval]) -> int:
    """The most bytes alive during one call."""
    steps = [0] * (max((x.last for x in intervals), default=0) + 2)
    for size, first, last in intervals:
        steps[first] += in_lines(size)
        steps[last + 1] -= in_lines(size)
    return max(accumulate(steps))
