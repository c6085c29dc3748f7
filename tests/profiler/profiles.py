"""Profiles for the tests of exports: small ones by hand, random ones for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from gnomon.profiler.model import Buffer, Decision, Event, Line, Machine, Op, Profile, Record

CPU = Machine("a cpu", 2, 1e11, 2e10)
HERE = Line("train.py", 7, "step", "layers.0", "backward")
THERE = Line("model.py", 21, "forward", "layers.1", "forward")
X = Buffer("x", "input", "float32", (2, 3), 24)
Y = Buffer("y", "output", "float32", (2,), 8)
ADD = Record(4, "map_add", "k1", "step", (HERE, THERE), (Op("add", (HERE,)),), (X, Y), 600, 3200)

names = st.sampled_from(["", "a", "to tell", '"\\\n', "\0é\U0001f600", "\udc80"])
numbers = st.integers(0, 6)
lines = st.builds(Line, names, numbers, names, names, st.sampled_from(["forward", "backward"]))
some_lines = st.lists(lines, max_size=3).map(tuple)
buffers = st.builds(
    Buffer,
    names,
    st.sampled_from(["input", "output", "in-place"]),
    st.sampled_from(["float32", "int64"]),
    st.lists(numbers, max_size=3).map(tuple),
    numbers,
)
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


@st.composite
def records(draw: st.DrawFn, number: int) -> Record:
    """A call site of any names and sizes."""
    return Record(
        number,
        draw(names),
        draw(names),
        draw(names),
        draw(some_lines),
        (),
        tuple(draw(st.lists(buffers, max_size=10))),
        draw(st.integers(0, 10**15)),
        draw(st.integers(0, 10**15)),
        decisions=(Decision("a", 1, 2),),
    )


@st.composite
def events(draw: st.DrawFn) -> Event:
    """An event that may overlap any other, last no time, or lack a name."""
    start = draw(st.integers(0, 40))
    values = st.one_of(names, st.integers(), st.floats())
    kind = draw(st.sampled_from(KINDS))
    return Event(
        kind,
        draw(names),
        start,
        start + draw(st.integers(0, 20)) * draw(st.sampled_from([0, 1, 1000])),
        thread=draw(st.integers(0, 2)),
        record=draw(st.none() | numbers) if kind in ("kernel", "comm") else None,
        nbytes=draw(st.integers(0, 10**12)),
        lines=draw(some_lines),
        args=draw(st.dictionaries(names, values, max_size=2)),
    )


@st.composite
def profiles(draw: st.DrawFn, rank: int = 0, world: int = 1) -> Profile:
    """A profile of few events, in order of their start."""
    known = {number: draw(records(number)) for number in range(draw(st.integers(0, 3)))}
    happened = sorted(draw(st.lists(events(), max_size=12)), key=lambda event: event.start)
    offset = draw(st.integers(-100, 100)) if rank else 0
    return Profile(CPU, known, happened, rank=rank, world=world, clock_offset=offset)
