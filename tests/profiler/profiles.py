"""Profiles for the tests of exports: small ones by hand, random ones for property tests."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

from gnomon.profiler.model import (
    BufferRecord,
    Decision,
    Event,
    Line,
    MachineLimits,
    OpRecord,
    Profile,
    Record,
)
from tests import drawn as st

T = TypeVar("T")
CPU = MachineLimits("a cpu", 2, 1e11, 2e10)
HERE = Line("train.py", 7, "step", "layers.0", "backward")
THERE = Line("model.py", 21, "forward", "layers.1", "forward")
X = BufferRecord("x", "input", "float32", (2, 3), 24)
Y = BufferRecord("y", "output", "float32", (2,), 8)
ADD = Record(
    4, "map_add", "k1", "step", (HERE, THERE), (OpRecord("add", (HERE,)),), (X, Y), 600, 3200
)

NAMES = ("", "a", "to tell", '"\\\n', "\0é\U0001f600", "\udc80")
WHOLE = (0, -1, 7, 2**31, -(2**63), 2**64, 10**30)
FLOATS = (0.0, -0.0, 0.1, -1e308, 5e-324, float("inf"), float("-inf"), float("nan"))
KINDS = ["kernel", "span", "step", "comm", "copy", "alloc", "free", "compile", "forced"]


def one_run() -> Profile:
    """A step that launches two kernels, one of them on another thread, and allocates."""
    events = [
        Event("step", "step 0", 0, 9000),
        Event("span", "train", 1000, 8000),
        Event("alloc", "alloc", 1500, 1500, nbytes=64, lines=(HERE,)),
        Event("kernel", "map_add", 2000, 3600, record=4),
        Event("kernel", "map_add", 4000, 4800, thread=1, record=4),
        Event("free", "free", 7000, 7000, nbytes=64),
        Event("forced", "item", 8200, 8300, lines=(THERE,), args={"note": "x", "loss": 0.5}),
    ]
    return Profile(CPU, {4: ADD}, events)


class Maker:
    """Parts of profiles by a seed: a strategy for every number took most of the tests."""

    def __init__(self, *seed: int) -> None:
        self.random = Random(str(seed))

    def number(self, most: int = 6) -> int:
        """A number up to a bound, which is often near one of its ends."""
        near = self.random.choice((0, 1, most, self.random.randint(0, most)))
        return min(near, most)

    def name(self) -> str:
        """A name, which may hold what is hard to write."""
        return self.random.choice(NAMES)

    def several(self, make: Callable[[], T], most: int) -> tuple[T, ...]:
        """From none to the most of something."""
        return tuple(make() for _ in range(self.number(most)))

    def line(self) -> Line:
        """A line of a user's program."""
        phase = self.random.choice(("forward", "backward"))
        return Line(self.name(), self.number(), self.name(), self.name(), phase)

    def buffer(self) -> BufferRecord:
        """A buffer, which may be empty."""
        role = self.random.choice(("input", "output", "in-place"))
        dtype = self.random.choice(("float32", "int64"))
        return BufferRecord(self.name(), role, dtype, self.several(self.number, 3), self.number())

    def record(self, number: int) -> Record:
        """A call site of any names and sizes."""
        names = self.name(), self.name(), self.name()
        buffers, sizes = self.several(self.buffer, 10), [self.number(10**15) for _ in range(2)]
        return Record(
            *(number, *names, self.several(self.line, 3), (), buffers, *sizes),
            decisions=(Decision("a", 1, 2),),
        )

    def value(self) -> object:
        """What may be noted of an event."""
        return self.random.choice((self.name(), *WHOLE, *FLOATS))

    def event(self) -> Event:
        """An event that may overlap any other, last no time, or lack a name."""
        kind, start = self.random.choice(KINDS), self.number(40)
        called = self.random.choice((None, self.number())) if kind in ("kernel", "comm") else None
        return Event(
            *(kind, self.name(), start),
            start + self.number(20) * self.random.choice((0, 1, 1000)),
            thread=self.number(2),
            record=called,
            nbytes=self.number(10**12),
            lines=self.several(self.line, 3),
            args={self.name(): self.value() for _ in range(self.number(2))},
        )


def any_profile(seed: int, calls: int, events: int, offset: int, rank: int, world: int) -> Profile:
    """A profile of so many calls and events; with fewer of them the others stay as they are."""
    known = {number: Maker(seed, 0, number).record(number) for number in range(calls)}
    happened = [Maker(seed, 1, number).event() for number in range(events)]
    happened.sort(key=lambda event: event.start)
    return Profile(CPU, known, happened, rank=rank, world=world, clock_offset=offset)


def profiles(rank: int = 0, world: int = 1) -> st.Strategy:
    """Profiles of few events, in order of their start."""
    return st.builds(
        any_profile,
        st.integers(0, 2**32),
        st.integers(0, 3),
        st.integers(0, 12),
        st.integers(-100, 100) if rank else st.just(0),
        st.just(rank),
        st.just(world),
    )
