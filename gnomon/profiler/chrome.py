"""A profile as Chrome trace JSON, which chrome://tracing, Perfetto and many tools open.

Times are microseconds with three decimals, padded with spaces to one width. Each distinct text is
written once per lane and copied (gnomon/profiler/sheet.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gnomon.profiler.details import details, group_events, origin, rates, text, title
from gnomon.profiler.lanes import LANES, POINT, arrange
from gnomon.profiler.merge import Part, meetings, merge
from gnomon.profiler.model import Profile
from gnomon.profiler.sheet import Sheet, counts, decimals, widest
from gnomon.runtime.files import publish

__all__ = ["FORMAT", "chrome", "write_chrome"]

FORMAT = 1
"""The version of the "gnomon" entry in the trace's header."""
TIME, ID, TOOK = ',\n{"ts":', ',"id":', ',"dur":'
RATE, COUNTED = ',"args":{"GB/s":', ',"GFLOP/s":'
"""The texts before gaps, from which the gaps' positions follow."""
DOT, ARROW, SLICE, RATED = range(4)
"""Kinds of pieces: a point, an arrow's start, a slice, a slice with its rates."""


def write_chrome(profile: Profile | Sequence[Profile], path: str | Path) -> None:
    """Write a profile, or those of several ranks on one clock, as a Chrome trace file."""
    publish(Path(path), pieces(profile))


def chrome(profile: Profile | Sequence[Profile]) -> bytes:
    """A profile, or those of several ranks, as the bytes of a Chrome trace."""
    return b"".join(pieces(profile))


def pieces(profile: Profile | Sequence[Profile]) -> Iterator[bytes | bytearray]:
    """Yield the bytes of a Chrome trace piece by piece."""
    profiles = [profile] if isinstance(profile, Profile) else merge(profile)
    header: dict[str, Any] = {
        "displayTimeUnit": "ns",
        "gnomon": {"format": FORMAT, "ranks": [origin(each) for each in profiles]},
    }
    if len(profiles) == 1:
        # where tools that merge ranks themselves look
        only = profiles[0]
        header["distributedInfo"] = {"rank": only.rank, "world_size": only.world}
    writers = [ChromeWriter(each) for each in profiles]
    names = ",\n".join(name for writer in writers for name in writer.names())
    yield f'{encoded(header)[:-1]},"traceEvents":[\n{names}'.encode()
    for writer in writers:
        yield from writer.slices()
        yield writer.counters()
    yield "".join(chains(writers, meetings(profiles))).encode()
    yield b"\n]}\n"


def chains(writers: Sequence[ChromeWriter], met: Sequence[Sequence[Part]]) -> Iterator[str]:
    """Yield the arrows of each collective, from rank to rank in order of arrival."""
    for number, parts in enumerate(met):
        for k, (place, event) in enumerate(parts):
            letter = "f" if k == len(parts) - 1 else "t" if k else "s"
            yield writers[place].link(event, number, letter)


def encoded(value: Any) -> str:
    """A value as JSON on one line."""
    return msgspec.json.encode(value).decode()


class Hole:
    """A gap of fixed width in a text, and the numbers to fill it with."""

    def __init__(self, values: np.ndarray, point: bool = False) -> None:
        """Format all values at one width; with `point`, as thousandths with a decimal point."""
        self.width = widest(values, point)
        self.blank = " " * self.width
        self.glyphs = decimals(values, self.width, point)


class ChromeWriter:
    """Writes the trace events of one rank."""

    def __init__(self, profile: Profile) -> None:
        self.profile, self.layout = profile, arrange(profile)
        layout = self.layout
        self.process = profile.rank + 1
        self.threads = [self.process * LANES + k for k in range(len(layout.lanes))]
        self.time = Hole(layout.starts, point=True)
        self.took = Hole(layout.ends - layout.starts, point=True)
        moved, counted = (np.rint(1000 * each).astype(np.int64) for each in rates(profile, layout))
        self.moved, self.counted = Hole(moved, point=True), Hole(counted, point=True)
        self.flow = Hole((self.process << 32) + np.arange(len(layout.launch)))
        ends = [len(self.arrow("f", lane)) for lane in range(len(layout.lanes))]
        self.landed = layout.launch >= 0
        self.heads = np.array(ends, np.int64)[layout.lane]

    def names(self) -> Iterator[str]:
        """Yield the metadata events with the names and order of the process and its threads."""
        rank, world = self.profile.rank, self.profile.world
        names = {
            "process_name": {"name": f"rank {rank} of {world}"},
            "process_labels": {"labels": text(self.profile.machine.name)},
            "process_sort_index": {"sort_index": rank},
        }
        where = f'"ph":"M","ts":0,"pid":{self.process}'
        for kind, said in names.items():
            yield f'{{{where},"tid":{self.process},"name":"{kind}","args":{encoded(said)}}}'
        for thread, lane in zip(self.threads, self.layout.lanes, strict=True):
            place = f'{where},"tid":{thread}'
            yield f'{{{place},"name":"thread_name","args":{encoded({"name": text(lane.name)})}}}'
            order = encoded({"sort_index": lane.thread * LANES + lane.number})
            yield f'{{{place},"name":"thread_sort_index","args":{order}}}'

    def slices(self) -> Iterator[bytearray]:
        """Yield the JSON of every event, followed by the arrows that start at it."""
        for sheet, (chosen, drawn, other) in Sheet.each(*self.pieces()):
            yield self.filled(sheet, chosen, drawn, other)

    def filled(
        self, sheet: Sheet, chosen: np.ndarray, drawn: np.ndarray, other: np.ndarray
    ) -> bytearray:
        """Fill times, rates and arrow ids into the gaps of some pieces."""
        begins = sheet.begins + len(TIME)
        sheet.fill(begins, self.time.glyphs.take(chosen, axis=0))
        begins += self.time.width
        (which,) = np.nonzero(drawn == ARROW)
        sheet.fill(begins[which] + len(ID), self.flow.glyphs.take(other[which], axis=0))
        (which,) = np.nonzero(drawn >= SLICE)
        begins += len(TOOK)
        sheet.fill(begins[which], self.took.glyphs.take(chosen[which], axis=0))
        (which,) = np.nonzero(drawn == RATED)
        begins += self.took.width + len(RATE)
        sheet.fill(begins[which], self.moved.glyphs.take(chosen[which], axis=0))
        begins += self.moved.width + len(COUNTED)
        sheet.fill(begins[which], self.counted.glyphs.take(chosen[which], axis=0))
        (which,) = np.nonzero(self.landed[chosen] & (drawn != ARROW))
        landed = chosen[which]
        heads = sheet.ends[which] - self.heads[landed] + len(TIME)
        sheet.fill(heads, self.time.glyphs.take(landed, axis=0))
        sheet.fill(heads + self.time.width + len(ID), self.flow.glyphs.take(landed, axis=0))
        return sheet.text

    def pieces(self) -> tuple[list[bytes], np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All distinct texts with gaps; and each piece's text, event, kind and arrow's end.

        After each event come the arrows that start at it.
        """
        order = self.layout.walk[self.layout.walk >= 0]
        arrows, launched = self.layout.arrows()
        firsts, form = group_events(self.profile, self.layout, arrows)
        texts, ways = zip(*map(self.piece, firsts), strict=True) if firsts else ((), ())
        starts = [self.arrow("s", lane).encode() for lane in range(len(self.layout.lanes))]
        many = 1 + arrows[order]
        chosen = np.repeat(order, many)
        ends = np.concatenate([[-1], launched])
        place = counts(many)
        other = ends[np.where(place > 0, (np.cumsum(arrows) - arrows)[chosen] + place, 0)]
        drawn = np.where(place > 0, ARROW, np.array(ways, np.int64)[form[chosen]])
        form = np.where(place > 0, len(texts) + self.layout.lane[chosen], form[chosen])
        return [*texts, *starts], form, chosen, drawn, other

    def piece(self, k: int) -> tuple[bytes, int]:
        """The JSON of an event with gaps, and its kind of drawing."""
        event, lane = self.profile.events[k], self.layout.lane[k]
        record = self.profile.record_of(event)
        said = encoded(details(event, record))
        name = encoded(title(event, record))
        where = (
            f'"name":{name},"cat":"{event.kind}","pid":{self.process},"tid":{self.threads[lane]}'
        )
        time = f"{TIME}{self.time.blank}"
        if self.layout.sorts[k] == POINT:
            return f'{time},"ph":"i","s":"t",{where},"args":{said}}}'.encode(), DOT
        time += f"{TOOK}{self.took.blank}"
        lands = self.arrow("f", lane) if self.landed[k] else ""
        if record is None:
            return f'{time},"ph":"X",{where},"args":{said}}}{lands}'.encode(), SLICE
        speed = f"{RATE}{self.moved.blank}{COUNTED}{self.counted.blank}"
        return f'{time}{speed},{said[1:]},"ph":"X",{where}}}{lands}'.encode(), RATED

    def arrow(self, letter: str, lane: int) -> str:
        """The JSON of one end of an arrow, with gaps."""
        where = f'"pid":{self.process},"tid":{self.threads[lane]}'
        bound = ',"bp":"e"' if letter == "f" else ""
        hole = f"{TIME}{self.time.blank}{ID}{self.flow.blank}"
        return f'{hole},"ph":"{letter}"{bound},"name":"launch","cat":"launch",{where}}}'

    def link(self, k: int, number: int, letter: str) -> str:
        """The JSON of a collective's arrow at one of its events."""
        where = f'"pid":{self.process},"tid":{self.threads[self.layout.lane[k]]}'
        bound = ',"bp":"e"' if letter == "f" else ""
        time = f"{TIME}{self.layout.starts[k] / 1000}{ID}{number}"
        return f'{time},"ph":"{letter}"{bound},"name":"meeting","cat":"comm",{where}}}'

    def counters(self) -> bytes:
        """The live bytes over time as counter events."""
        where = f'"ph":"C","name":"live bytes","cat":"memory","pid":{self.process}'
        times = (self.layout.live_at / 1000).tolist()
        lived = zip(times, self.layout.live.tolist(), strict=True)
        curve = [f'{TIME}{time},{where},"args":{{"bytes":{live}}}}}' for time, live in lived]
        return "".join(curve).encode()
