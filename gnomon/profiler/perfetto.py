"""A profile in Perfetto's format: a stream of packets, each with one event of a track.

The protobuf is written by hand (gnomon/profiler/wire.py); names of fields are from Perfetto's
published .proto files. Words and source lines are written once, before all events, which name them
by number. A packet's length and time have fixed widths, and values that differ between runs of a
call are at its end, so that packets are copied and their gaps filled (gnomon/profiler/sheet.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gnomon.profiler.details import Detail, details, group_events, origin, rates, text, title
from gnomon.profiler.lanes import LANES, POINT, arrange
from gnomon.profiler.merge import meetings, merge
from gnomon.profiler.model import Line, Profile
from gnomon.profiler.sheet import Sheet, counts, varints
from gnomon.profiler.wire import VARINT, double, fixed, message, number, string, tag, varint
from gnomon.runtime.files import publish

__all__ = ["pieces", "write_perfetto"]

# Trace.packet; fields of TracePacket
PACKET = 1
TIMESTAMP, SEQUENCE, TRACK_EVENT, INTERNED, FLAGS, TRACK = 8, 10, 11, 12, 13, 60
CLEARED, NEEDS = 1, 2
# of TrackEvent
BEGIN, END, INSTANT, COUNTER = (number(9, kind) for kind in (1, 2, 3, 4))
CATEGORY, ANNOTATION, NAME, TRACK_OF, COUNTED, PLACE, LEAVES, LANDS = 3, 4, 10, 11, 30, 34, 47, 48
# of InternedData
CATEGORIES, NAMES, KEYS, PLACES, STRINGS = 1, 2, 3, 4, 29
LENGTH = 4
"""The bytes of a packet's length."""
HEAD = 1 + LENGTH + 1
"""The bytes before a packet's time: the packet's tag, its length, the time's tag."""
SPEEDS = ("GB/s", "GFLOP/s")
SPEED, FLOW = 13, 10
"""The bytes of a rate, and of the end of an arrow, at a packet's end."""


OPENED, RATED, CLOSED, CURVE = range(4)
"""Kinds of packets: a begin, a begin with rates, an end, a point of the counter."""


def write_perfetto(profile: Profile | Sequence[Profile], path: str | Path) -> None:
    """Write a profile, or those of several ranks on one clock, as a Perfetto trace file."""
    publish(Path(path), pieces(profile))


def pieces(profile: Profile | Sequence[Profile]) -> Iterator[bytes | bytearray]:
    """Yield the bytes of a Perfetto trace: interned words, tracks, events."""
    profiles = [profile] if isinstance(profile, Profile) else merge(profile)
    words = InternedTables()
    writers = [PerfettoWriter(each, words) for each in profiles]
    for met, parts in enumerate(meetings(profiles), 1):
        for way, (place, k) in enumerate(reversed(parts), 1):
            writers[place].meets[k], writers[place].meeting[k] = min(way, 2), met
    packets = [writer.packets() for writer in writers]
    yield packet(number(FLAGS, CLEARED | NEEDS), message(INTERNED, *words.fields))
    for writer in writers:
        yield from writer.tracks()
    for writer, found in zip(writers, packets, strict=True):
        for sheet, (times, drawn, chosen) in Sheet.each(*found):
            yield writer.filled(sheet, times, drawn, chosen)


def packet(*fields: bytes) -> bytes:
    """A packet of the only sequence in the trace."""
    return message(PACKET, *fields, number(SEQUENCE, 1), width=LENGTH)


def little_endian_bytes(values: np.ndarray) -> np.ndarray:
    """64-bit numbers as rows of 8 bytes, little-endian."""
    return values.astype(values.dtype.newbyteorder("<")).view(np.uint8).reshape(-1, 8)


class InternedTables:
    """Tables of words and lines that are written once and named by number."""

    def __init__(self) -> None:
        self.fields: list[bytes] = []
        self._known: dict[tuple[int, str | Line], int] = {}
        self._counts: dict[int, int] = {}

    def number(self, table: int, word: str) -> int:
        """The number of a word in a table, which gets it if it is new."""
        return self._numbered(table, word, string(2, word))

    def place(self, line: Line) -> int:
        """The number of a source line."""
        names = string(2, text(line.file)), string(3, text(line.function))
        return self._numbered(PLACES, line, *names, number(4, line.line & 0xFFFFFFFF))

    def _numbered(self, table: int, thing: str | Line, *fields: bytes) -> int:
        """The number of a thing in its table, which gets it if it is new."""
        found = self._known.get((table, thing))
        if found is None:
            found = self._counts[table] = self._counts.get(table, 0) + 1
            self._known[table, thing] = found
            self.fields.append(message(table, number(1, found), *fields))
        return found


class PerfettoWriter:
    """Writes the packets of one rank."""

    def __init__(self, profile: Profile, words: InternedTables) -> None:
        self.profile, self.words, self.layout = profile, words, arrange(profile)
        layout = self.layout
        self.process = profile.rank + 1
        self.base = self.process << 32
        self.lanes = [self.base + 2 + k for k in range(len(layout.lanes))]
        self.arrows, self.launched = layout.arrows()
        self.landed = layout.launch >= 0
        # of a collective's part, its number, and whether its arrow ends there or goes on
        self.meeting, self.meets = np.zeros((2, len(layout.lane)), np.int64)
        last = max(int(layout.ends.max(initial=0)), 1)
        self.width = -(-last.bit_length() // 7)
        # the first two names have one-byte numbers, so that a speed has its width
        self.live_width = len(varint(int(layout.live.max(initial=0))))
        self.rates = rates(profile, layout)
        self.speeds = [words.number(KEYS, name) for name in SPEEDS]

    def tracks(self) -> Iterator[bytes]:
        """Yield the packets that define the process, its live-bytes counter, threads and lanes."""
        labels = [
            string(8, text(f"{name}={value}")) for name, value in origin(self.profile).items()
        ]
        name = string(6, f"rank {self.profile.rank} of {self.profile.world}")
        process = message(3, number(1, self.process), name, *labels)
        yield packet(message(TRACK, number(1, self.base), process))
        curve = number(1, self.base + 1), string(2, "live bytes"), message(8, number(3, 3))
        yield packet(message(TRACK, *curve, number(5, self.base)))
        thread = self.base
        for k, lane in enumerate(self.layout.lanes):
            track = number(1, self.lanes[k])
            if lane.number:
                yield packet(message(TRACK, track, string(2, text(lane.name)), number(5, thread)))
                continue
            thread = self.lanes[k]
            numbers = number(1, self.process), number(2, self.process * LANES + k)
            yield packet(message(TRACK, track, message(4, *numbers, string(5, text(lane.name)))))

    def packets(self) -> tuple[list[bytes], np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All distinct packets with gaps; and each packet's form, time, kind and event, by time.

        A packet of the counter has the index of a point instead of an event.
        """
        layout = self.layout
        firsts, form = group_events(self.profile, layout, self.arrows, self.meets)
        begins, ways = zip(*map(self.begin, firsts), strict=True) if firsts else ((), ())
        ends = [self.end(lane) for lane in range(len(layout.lanes))]
        opens, event = layout.walk >= 0, np.maximum(layout.walk, ~layout.walk)
        lane = layout.lane[event]
        live = np.arange(len(layout.live))
        curve = np.full(len(live), len(begins) + len(ends))
        form, drawn, times = (
            np.where(opens, form[event], len(begins) + lane),
            np.where(opens, np.array(ways, np.int64)[form[event]], CLOSED),
            np.where(opens, layout.starts[event], layout.ends[event]),
        )
        times = np.concatenate((times, layout.live_at))
        order = np.argsort(times, kind="stable")
        columns = (form, curve), (drawn, np.full(len(live), CURVE)), (event, live)
        form, drawn, event = (np.concatenate(column)[order] for column in columns)
        return [*begins, *ends, self.counted()], form, times[order], drawn, event

    def filled(
        self, sheet: Sheet, times: np.ndarray, drawn: np.ndarray, chosen: np.ndarray
    ) -> bytearray:
        """Fill times, rates and arrow ids into the gaps of some packets."""
        sheet.fill(sheet.begins + HEAD, varints(times, self.width))
        (which,) = np.nonzero(drawn == CURVE)
        live = self.layout.live[chosen[which]]
        sheet.fill(sheet.ends[which] - self.live_width, varints(live, self.live_width))
        (which,) = np.nonzero(drawn <= RATED)
        event, ends = chosen[which], sheet.ends[which]
        met = self.meets[event] > 0
        sheet.fill(ends[met] - 8, little_endian_bytes(self.meeting[event[met]]))
        ends -= FLOW * met
        landed, rated = self.landed[event], drawn[which] == RATED
        sheet.fill(ends[landed] - 8, little_endian_bytes(self.base + event[landed]))
        ends -= FLOW * landed
        for speed in reversed(self.rates):
            sheet.fill(ends[rated] - 8, little_endian_bytes(speed[event[rated]]))
            ends -= SPEED * rated
        many = self.arrows[event]
        place = counts(many)
        leads = np.repeat((np.cumsum(self.arrows) - self.arrows)[event], many) + place
        ends = np.repeat(ends - FLOW * many, many) + FLOW * (place + 1)
        sheet.fill(ends - 8, little_endian_bytes(self.base + self.launched[leads]))
        return sheet.text

    def begin(self, k: int) -> tuple[bytes, int]:
        """The packet that opens slice k, or is point k, and its kind of drawing."""
        event, words = self.profile.events[k], self.words
        record = self.profile.record_of(event)
        point = self.layout.sorts[k] == POINT
        fields = [
            INSTANT if point else BEGIN,
            number(TRACK_OF, self.lanes[self.layout.lane[k]]),
            number(CATEGORY, words.number(CATEGORIES, event.kind)),
            number(NAME, words.number(NAMES, title(event, record))),
            *(number(PLACE, words.place(line)) for line in self.profile.lines_of(event)[:1]),
            *(self.said(key, value) for key, value in details(event, record).items()),
        ]
        fields += [fixed(LEAVES, 0)] * int(self.arrows[k])
        if record is not None and not point:
            fields += [self.annotation(key, double(5, 0.0)) for key in self.speeds]
        if self.landed[k]:
            fields.append(fixed(LANDS, 0))
        if self.meets[k]:
            fields.append(fixed(LANDS if self.meets[k] == 1 else LEAVES, 0))
        return self.timed(*fields), RATED if record is not None and not point else OPENED

    def end(self, lane: int) -> bytes:
        """The packet that closes a lane's innermost slice."""
        return self.timed(END, number(TRACK_OF, self.lanes[lane]))

    def counted(self) -> bytes:
        """The packet of a point of the live-bytes counter."""
        blank = varint(0, self.live_width)
        return self.timed(COUNTER, number(TRACK_OF, self.base + 1), tag(COUNTED, VARINT) + blank)

    def timed(self, *fields: bytes) -> bytes:
        """A packet of an event with a gap for its time; the event's fields come last."""
        time = tag(TIMESTAMP, VARINT) + varint(0, self.width)
        event = message(TRACK_EVENT, *fields)
        return message(PACKET, time, number(SEQUENCE, 1), number(FLAGS, NEEDS), event, width=LENGTH)

    def said(self, key: str, value: Detail) -> bytes:
        """An annotation of an event, with interned strings."""
        return self.annotation(self.words.number(KEYS, key), *self.value(value))

    def annotation(self, key: int, *value: bytes) -> bytes:
        """An annotation with an encoded value."""
        return message(ANNOTATION, number(1, key), *value)

    def value(self, value: Detail) -> list[bytes]:
        """A value as the protobuf field of its type."""
        if isinstance(value, list):
            return [message(12, *self.value(each)) for each in value]
        if isinstance(value, str):
            return [number(17, self.words.number(STRINGS, value))]
        if isinstance(value, bool):
            return [number(2, value)]
        return [double(5, value) if isinstance(value, float) else number(4, value)]
