"""Between which calls threads must wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Bytes that a call touches: of which memory, from where to where."""

    memory: object
    start: int
    end: int

    def meets(self, other: Span) -> bool:
        """Whether two calls touch the same bytes."""
        return self.memory == other.memory and self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Touch:
    """What one call writes and reads."""

    writes: tuple[Span, ...]
    reads: tuple[Span, ...]


def barriers(calls: Sequence[Touch]) -> list[bool]:
    """For each call, whether all threads must have finished the ones before.

    >>> a, b = Span("a", 0, 8), Span("b", 0, 8)
    >>> barriers([Touch((a,), ()), Touch((b,), ()), Touch((a,), (b,))])
    [False, False, True]
    """
    found: list[bool] = []
    written: list[Span] = []
    read: list[Span] = []
    for call in calls:
        clash = (
            any(x.meets(y) for x in call.reads for y in written)
            or any(x.meets(y) for x in call.writes for y in written)
            or any(x.meets(y) for x in call.writes for y in read)
        )
        if clash:
            written, read = [], []
        found.append(clash)
        written.extend(call.writes)
        read.extend(call.reads)
    return found
