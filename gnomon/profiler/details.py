"""Details of an event in a trace, such as its line, shapes and bytes, for both exports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from math import isfinite
from operator import attrgetter

import numpy as np

from gnomon.profiler.lanes import LaneLayout
from gnomon.profiler.model import BufferRecord, Event, Line, Profile, Record

__all__ = ["Detail", "details", "group_events", "origin", "rates", "text", "title"]

Detail = str | int | float | list[str]
JOINING = frozenset({"buffer", "run", "group"})
"""Event arguments that only connect events with each other and are not shown."""
WORDS = attrgetter("kind", "name", "record", "nbytes", "lines")
"""The fields by which events are grouped."""
MOST = 8
"""The maximum number of lines and buffers listed per event."""


def group_events(
    profile: Profile, layout: LaneLayout, *arrows: np.ndarray
) -> tuple[list[int], np.ndarray]:
    """Group events that differ only in times and rates.

    Returns each group's first event, and each event's group. arrows: the number of each event's
    arrows, by which groups differ too.
    """
    known: defaultdict[object, int] = defaultdict(count().__next__)
    columns = layout.sorts, layout.lane, layout.launch >= 0, *arrows
    noted = (k if e.args and e.args.keys() - JOINING else -1 for k, e in enumerate(profile.events))
    words = map(WORDS, profile.events)
    keys = zip(words, noted, *(column.tolist() for column in columns), strict=True)
    forms = np.array([known[key] for key in keys], np.int64)
    (firsts,) = np.nonzero(np.diff(np.maximum.accumulate(forms), prepend=-1))
    return firsts.tolist(), forms


def details(event: Event, record: Record | None) -> dict[str, Detail]:
    """The user's notes, lines and sizes of an event, the same for every run of its call."""
    said: dict[str, Detail] = {
        text(name): exportable(value) for name, value in event.args.items() if name not in JOINING
    }
    said |= of_lines(event.lines or (record.lines if record is not None else ()))
    if event.nbytes:
        said["bytes"] = event.nbytes
    if record is not None:
        said |= of_record(record)
    elif event.record is not None:
        said["record"] = event.record
    return said


def exportable(value: str | int | float) -> str | int | float:
    """A value as JSON and protobuf can hold it; numbers out of range become text."""
    if isinstance(value, str):
        return text(value, "")
    fits = isfinite(value) if isinstance(value, float) else -(1 << 63) <= value < 1 << 63
    return value if fits else str(value)


def title(event: Event, record: Record | None) -> str:
    """The title of an event: its own name, its record's name, or its kind."""
    return text(event.name or (record.name if record is not None else "") or event.kind)


def of_lines(lines: Sequence[Line]) -> dict[str, Detail]:
    """The first line's place, function, module and phase, and the places of the others."""
    if not lines:
        return {}
    first = lines[0]
    said: dict[str, Detail] = {"line": place(first)}
    parts = {"function": first.function, "module": first.module, "phase": first.phase}
    said |= {name: text(value) for name, value in parts.items() if value}
    if len(lines) > 1:
        said["also"] = shortened([place(line) for line in lines[1:]])
    return said


def of_record(record: Record) -> dict[str, Detail]:
    """The shapes, bytes, flops and program of a call."""
    within = [f"{each.name} {place(each.lines[0])}" for each in record.members if each.lines]
    return {
        **({"kernels": shortened(within)} if within else {}),
        "shapes": shortened([shape(buffer) for buffer in record.buffers]),
        "bytes": record.nbytes,
        "flops": record.flops,
        "program": text(record.program),
        "record": record.id,
    }


def place(line: Line) -> str:
    """A line as file:line."""
    return text(f"{line.file}:{line.line}")


def shape(buffer: BufferRecord) -> str:
    """A buffer's role, name, dtype and shape as text."""
    return text(f"{buffer.role} {buffer.name}: {buffer.dtype}{list(buffer.shape)}")


def shortened(words: list[str]) -> list[str]:
    """The first few of some texts, and how many more there are."""
    more = len(words) - MOST
    return [*words[:MOST], f"and {more} more"] if more > 0 else words


def origin(profile: Profile) -> dict[str, str | int]:
    """The rank, clock, machine and lost events of a profile, for a trace's header."""
    return {
        "rank": profile.rank,
        "world": profile.world,
        "clock_offset": profile.clock_offset,
        "machine": profile.machine.name,
        "threads": profile.machine.threads,
        "lost": profile.lost,
    }


def rates(profile: Profile, layout: LaneLayout) -> tuple[np.ndarray, np.ndarray]:
    """GB/s and GFLOP/s of each event; 0 where unknown."""
    places = {number: place for place, number in enumerate(profile.records)}
    nowhere = len(places)
    sizes = [(record.nbytes, record.flops) for record in profile.records.values()]
    called = [places.get(event.record, nowhere) for event in profile.events]
    moved = np.array([*sizes, (0, 0)], dtype=np.float64)[np.array(called, dtype=np.int64)]
    took = layout.ends - layout.starts
    speed = np.where(took[:, None] > 0, moved / np.maximum(took, 1)[:, None], 0.0)
    return speed[:, 0], speed[:, 1]


def text(words: str, otherwise: str = "unnamed") -> str:
    """A text that is valid UTF-8, and `otherwise` if it is empty."""
    return words.encode("utf-8", "backslashreplace").decode() or otherwise
