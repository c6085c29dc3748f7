"""Merge the profiles of all ranks, and measure how long each rank waited for others.

merge.py aligns the clocks; here threads, runs and buffers get distinct numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace
from rich.table import Table

from gnomon.profiler.merge import meetings, merge
from gnomon.profiler.model import Event, Profile

__all__ = ["Standstill", "as_one", "standstill_table", "standstills"]

APART = 1_000_000
"""The distance between the numbers of one rank and of the next."""
NUMBERED = ("run", "buffer")
"""Event arguments that are numbers to be shifted."""


class Standstill(NamedTuple):
    """A rank's collectives: their number, and nanoseconds in all.

    flying: from start to end. still: the part in which the rank waited. late: the part of that in
    which it waited for ranks that came later; the rest is the transfer itself.
    """

    rank: int
    collectives: int = 0
    flying: int = 0
    still: int = 0
    late: int = 0

    def and_one(self, event: Event, last: int) -> Standstill:
        """Add a collective that the last rank entered at time `last`."""
        still = int(event.args.get("waited", 0))
        late = min(max(0, last - (event.end - still)), still)
        flying = self.flying + event.end - event.start
        return Standstill(
            self.rank, self.collectives + 1, flying, self.still + still, self.late + late
        )


def standstills(profiles: Sequence[Profile]) -> list[Standstill]:
    """The waiting times of each rank in the collectives that several ranks recorded."""
    ranks = merge(profiles)
    found = [Standstill(profile.rank) for profile in ranks]
    for parts in meetings(ranks):
        last = max(ranks[place].events[k].start for place, k in parts)
        for place, k in parts:
            found[place] = found[place].and_one(ranks[place].events[k], last)
    return found


def standstill_table(rows: Sequence[Standstill]) -> Table:
    """A table of each rank's time in collectives."""
    drawn = Table("rank", "collectives", "under way", "stood still", "for late ranks", "transfer")
    for row in rows:
        times = (row.flying, row.still, row.late, row.still - row.late)
        shown = [f"{1e-6 * each:.2f} ms" for each in times]
        drawn.add_row(str(row.rank), str(row.collectives), *shown)
    return drawn


def as_one(profiles: Sequence[Profile]) -> Profile:
    """Merge the profiles of all ranks on rank 0's clock, with threads per rank."""
    ranks = merge(profiles)
    made = replace(ranks[0], events=[], threads={}, lost=sum(x.lost for x in ranks))
    for profile in ranks:
        for mine, theirs in (
            (made.records, profile.records),
            (made.sources, profile.sources),
            (made.graphs, profile.graphs),
            (made.code, profile.code),
        ):
            mine |= theirs  # type: ignore[operator]
        first = profile.rank * APART
        made.threads |= {
            first + k: f"rank {profile.rank}: {name}" for k, name in profile.threads.items()
        }
        made.events += [shifted_event(event, first) for event in profile.events]
    made.events.sort(key=lambda event: event.start)
    return made


def shifted_event(event: Event, by: int) -> Event:
    """An event with its thread, run and buffer numbers shifted."""
    args = {k: x + by if k in NUMBERED else x for k, x in event.args.items()}  # type: ignore[operator]
    return replace(event, thread=event.thread + by, args=args)
