"""A profile as Chrome trace JSON, which chrome://tracing, Perfetto and many tools open.

Times are microseconds with three decimals. What is said of a kernel is written once per call and
lane and copied, since a trace of a long run is mostly the same few hundred kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gnomon.profiler.details import details, origin, rates, text
from gnomon.profiler.lanes import POINTS, arrange
from gnomon.profiler.merge import merge
from gnomon.profiler.model import Event, Profile
from gnomon.runtime.files import publish

__all__ = ["FORMAT", "chrome", "write_chrome"]

FORMAT = 1
"""Of what stands under "gnomon" in the header."""
LANES = 1000
"""Thread numbers of a process; a number is never that of a process, which viewers would mix up."""


def write_chrome(profile: Profile | Sequence[Profile], path: str | Path) -> None:
    """Write a profile as a Chrome trace; several ranks' profiles go on one clock, in one file."""
    publish(Path(path), chrome(profile))


def chrome(profile: Profile | Sequence[Profile]) -> bytes:
    """The text of a Chrome trace."""
    profiles = [profile] if isinstance(profile, Profile) else merge(profile)
    header = {
        "displayTimeUnit": "ns",
        "gnomon": {"format": FORMAT, "ranks": [origin(each) for each in profiles]},
    }
    if len(profiles) == 1:
        # where tools that merge ranks themselves look
        only = profiles[0]
        header["distributedInfo"] = {"rank": only.rank, "world_size": only.world}
    pieces: list[str] = []
    for each in profiles:
        Writer(each, pieces).write()
    body = ",\n".join(pieces)
    return f'{encoded(header)[:-1]},"traceEvents":[\n{body}\n]}}\n'.encode()


def encoded(value: Any) -> str:
    """A value as JSON on one line; a number that JSON has not is null."""
    return msgspec.json.encode(value).decode()


class Writer:
    """Writes the events of one rank, one piece of text each."""

    def __init__(self, profile: Profile, pieces: list[str]) -> None:
        self.profile, self.pieces = profile, pieces
        self.layout = arrange(profile)
        self.process = profile.rank + 1
        self.threads = [self.process * LANES + k for k in range(len(self.layout.lanes))]
        self.arrows = [
            f'"name":"launch","cat":"launch","pid":{self.process},"tid":{k}' for k in self.threads
        ]
        self.first = self.process << 32
        self.begin: list[float] = (self.layout.starts / 1000).tolist()

    def write(self) -> None:
        """Names first, then slices in the order of time, then the memory's curve."""
        self.name()
        self.draw()
        self.count()

    def name(self) -> None:
        """What process and threads are called, and their order."""
        of = origin(self.profile)
        names = {
            "process_name": {"name": f"rank {of['rank']} of {of['world']}"},
            "process_labels": {"labels": text(str(of["machine"]))},
            "process_sort_index": {"sort_index": self.profile.rank},
        }
        where = f'"ph":"M","ts":0,"pid":{self.process}'
        for kind, said in names.items():
            self.pieces.append(
                f'{{{where},"tid":{self.process},"name":"{kind}","args":{encoded(said)}}}'
            )
        for thread, lane in zip(self.threads, self.layout.lanes, strict=True):
            place = f'{where},"tid":{thread}'
            said = encoded({"name": lane.name})
            order = encoded({"sort_index": lane.thread * LANES + lane.number})
            self.pieces.append(f'{{{place},"name":"thread_name","args":{said}}}')
            self.pieces.append(f'{{{place},"name":"thread_sort_index","args":{order}}}')

    def draw(self) -> None:
        """Every event as a slice or a point, beside it the arrows that start or end there."""
        layout, events, begin, add = (
            self.layout,
            self.profile.events,
            self.begin,
            self.pieces.append,
        )
        took: list[float] = ((layout.ends - layout.starts) / 1000).tolist()
        moved, counted = (np.round(each, 3).tolist() for each in rates(self.profile, layout))
        launched = layout.launched()
        tails: dict[tuple[object, ...], str] = {}
        for k in layout.walk:
            if k < 0:
                continue
            event, lane = events[k], layout.lane[k]
            key = (event.kind, event.name, event.record, event.nbytes, id(event.lines), lane)
            tail = tails.get(key) if not event.args else self.tail(event, lane)
            if tail is None:
                tail = tails[key] = self.tail(event, lane)
            if event.record is not None:
                tail = f'{tail},"GB/s":{moved[k]},"GFLOP/s":{counted[k]}'
            if event.kind in POINTS and not took[k]:
                add(f'{{"ph":"i","s":"t","ts":{begin[k]},{tail}}}}}')
            else:
                add(f'{{"ph":"X","ts":{begin[k]},"dur":{took[k]},{tail}}}}}')
            where = f'"ts":{begin[k]},{self.arrows[lane]}'
            for j in launched.get(k, ()):
                add(f'{{"ph":"s","id":{self.first + j},{where}}}')
            if layout.launch[k] >= 0:
                add(f'{{"ph":"f","bp":"e","id":{self.first + k},{where}}}')

    def tail(self, event: Event, lane: int) -> str:
        """The part of a slice that runs of one call share; its last brackets are still open."""
        record = self.profile.records.get(event.record) if event.record is not None else None
        said = details(event, record)
        name = text(event.name, record.name if record is not None else event.kind)
        where = f'"pid":{self.process},"tid":{self.threads[lane]}'
        return f'"name":{encoded(name)},"cat":"{event.kind}",{where},"args":{encoded(said)[:-1]}'

    def count(self) -> None:
        """The bytes that live, as a curve."""
        where = f'"name":"live bytes","cat":"memory","pid":{self.process}'
        times = (self.layout.live_at / 1000).tolist()
        for time, live in zip(times, self.layout.live.tolist(), strict=True):
            self.pieces.append(f'{{"ph":"C","ts":{time},{where},"args":{{"bytes":{live}}}}}')
