"""Barriers: the calls before which all threads must wait for each other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """A range of bytes that a call touches in one memory."""

    memory: object
    start: int
    end: int


class Touch(NamedTuple):
    """The bytes that one call writes and reads."""

    writes: tuple[Span, ...]
    reads: tuple[Span, ...]


def barriers(calls: Sequence[Touch]) -> list[bool]:
    """Whether a barrier of all threads is needed before each call.

    >>> a, b = Span("a", 0, 8), Span("b", 0, 8)
    >>> barriers([Touch((a,), ()), Touch((b,), ()), Touch((a,), (b,))])
    [False, False, True]
    """
    found: list[bool] = []
    written, read = TouchedBytes(), TouchedBytes()
    for call in calls:
        clash = written.meets(call.reads) or written.meets(call.writes) or read.meets(call.writes)
        if clash:
            written, read = TouchedBytes(), TouchedBytes()
        found.append(clash)
        written.add(call.writes)
        read.add(call.reads)
    return found


class TouchedBytes:
    """A set of bytes: for each memory, the starts and ends of its ranges in turn, ascending."""

    def __init__(self) -> None:
        self.edges: dict[object, list[int]] = {}

    def meets(self, spans: Iterable[Span]) -> bool:
        """Whether any of these ranges overlaps the set."""
        return any(map(self._meets, spans))

    def _meets(self, span: Span) -> bool:
        """Whether a range overlaps the set."""
        edges = self.edges.get(span.memory)
        if edges is None:
            return False
        at = bisect_right(edges, span.start)
        # behind a start its stretch goes on; behind an end the next one may begin in time
        return at % 2 == 1 or (at < len(edges) and edges[at] < span.end)

    def add(self, spans: Iterable[Span]) -> None:
        """Add ranges of bytes, merged with those that they touch."""
        for span in spans:
            edges = self.edges.setdefault(span.memory, [])
            first, last = bisect_left(edges, span.start), bisect_right(edges, span.end)
            outer = [span.start] * (first % 2 == 0) + [span.end] * (last % 2 == 0)
            edges[first:last] = outer
