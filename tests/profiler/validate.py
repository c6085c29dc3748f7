"""Whether a Chrome trace is one: every fault that would make a viewer drop or misplace an event.

It knows nothing of how we write traces; what it asks is what the format's readers need.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from math import inf, isfinite
from pathlib import Path
from typing import Any

import msgspec

from gnomon.errors import ArgumentError, brief, clipped
from gnomon.runtime.files import NOT_JSON, read

__all__ = ["check_chrome", "faults"]

Fields = dict[str, Any]
NEEDED: dict[str, tuple[str, ...]] = {
    "X": ("name", "pid", "tid", "ts", "dur"),
    "B": ("name", "pid", "tid", "ts"),
    "E": ("pid", "tid", "ts"),
    "i": ("name", "pid", "tid", "ts", "s"),
    "C": ("name", "pid", "ts", "args"),
    "M": ("name", "pid", "args"),
    "s": ("name", "cat", "id", "pid", "tid", "ts"),
    "t": ("name", "cat", "id", "pid", "tid", "ts"),
    "f": ("name", "cat", "id", "pid", "tid", "ts"),
}
"""Of each kind of event, by its letter, the fields that readers ask for."""
TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "cat": (str,),
    "s": (str,),
    "id": (int, str),
    "pid": (int,),
    "tid": (int,),
    "ts": (int, float),
    "dur": (int, float),
    "args": (dict,),
}
NAMED = {
    "process_name": "name",
    "process_labels": "labels",
    "process_sort_index": "sort_index",
    "thread_name": "name",
    "thread_sort_index": "sort_index",
}
"""What metadata may be called, and what its args say."""
LARGEST = 1 << 60
"""Of numbers: microseconds of this many are some thousand years."""
FLOW = re.compile("s(t+f?|f)")


def check_chrome(path: str | Path) -> None:
    """Refuse a file that is no sound Chrome trace, and say what is wrong."""
    path = Path(path)
    found = faults(read(path))
    if found:
        more = f" And {len(found) - 5} more." if len(found) > 5 else ""
        raise ArgumentError(f"{path.name}: {' '.join(map(clipped, found[:5]))}{more}")


def faults(trace: bytes | str) -> list[str]:
    """What is wrong with a Chrome trace, a sentence each; none if nothing is.

    >>> faults('{"traceEvents": [{"ph": "E", "pid": 1, "ts": 2}]}')
    ['event 0 (E): no tid.']
    """
    try:
        # this reader takes no NaN and no Infinity, which other readers refuse too
        top = msgspec.json.decode(trace)
    except NOT_JSON as cause:
        return [f"not JSON: {cause}."]
    if not isinstance(top, dict) or not isinstance(top.get("traceEvents"), list):
        return ["no list traceEvents."]
    found = (
        [] if top.get("displayTimeUnit", "ms") in ("ms", "ns") else ["displayTimeUnit: ms or ns."]
    )
    events: list[Fields] = []
    for number, event in enumerate(top["traceEvents"]):
        wrong = list(of_event(event))
        letter = event.get("ph") if isinstance(event, dict) else None
        found += [f"event {number} ({letter}): {each}." for each in wrong]
        if not wrong:
            events.append(event)
    found += of_names(events)
    lanes = lanes_of(events, found)
    for lane, slices in lanes.items():
        found += of_lane(lane, slices)
    return found + list(of_flows(events, lanes))


def of_event(event: Any) -> Iterator[str]:
    """What is wrong with one event by itself."""
    if not isinstance(event, dict):
        yield "not an object"
        return
    letter = event.get("ph")
    if not isinstance(letter, str) or letter not in NEEDED:
        yield f"unknown letter {brief(letter)}"
        return
    for name in NEEDED[letter]:
        if name not in event:
            yield f"no {name}"
    for name, types in TYPES.items():
        value = event.get(name, ...)
        if value is ...:
            continue
        if not isinstance(value, types) or isinstance(value, bool):
            yield f"{name} is {brief(value)}"
        elif value == "" or (isinstance(value, float) and not isfinite(value)):
            yield f"{name} is empty or not finite"
        elif not isinstance(value, str | dict) and abs(value) > LARGEST:
            yield f"{name} is {brief(value)}"
    yield from CHECKS.get(letter, nothing)(event)


def nothing(event: Fields) -> Iterator[str]:
    """No further questions."""
    return iter(())


def of_slice(event: Fields) -> Iterator[str]:
    """A slice does not end before it starts."""
    took = event.get("dur")
    if isinstance(took, int | float) and took < 0:
        yield f"dur is {took}"


def of_point(event: Fields) -> Iterator[str]:
    """A point is of a thread, a process or everything."""
    if event.get("s") not in ("t", "p", "g"):
        yield f"s is {brief(event.get('s'))}"


def of_counter(event: Fields) -> Iterator[str]:
    """A counter holds numbers and nothing else."""
    values = event.get("args")
    if not isinstance(values, dict) or not values:
        yield "no series in args"
        return
    for name, value in values.items():
        if not isinstance(value, int | float) or isinstance(value, bool):
            yield f"series {brief(name)} is {brief(value)}"


def of_metadata(event: Fields) -> Iterator[str]:
    """Metadata has a known name and says what the name promises."""
    name = event.get("name")
    wanted = NAMED.get(name) if isinstance(name, str) else None
    said = event.get("args")
    if wanted is None:
        yield f"unknown metadata {brief(event.get('name'))}"
    elif not isinstance(said, dict) or said.get(wanted) in (None, ""):
        yield f"args say no {wanted}"


CHECKS: dict[str, Callable[[Fields], Iterator[str]]] = {
    "X": of_slice,
    "i": of_point,
    "C": of_counter,
    "M": of_metadata,
}

Lane = tuple[int, int]
Slice = tuple[int, int]


def nanoseconds(time: float) -> int:
    """A time in whole nanoseconds, so that sums are exact."""
    return round(time * 1000)


def of_names(events: list[Fields]) -> Iterator[str]:
    """Every process and every lane that holds slices has a name."""
    named = {
        (event["name"], event["pid"], event.get("tid") if "thread" in event["name"] else None)
        for event in events
        if event["ph"] == "M"
    }
    for pid in sorted({event["pid"] for event in events if event["ph"] != "M"}):
        if ("process_name", pid, None) not in named:
            yield f"process {pid} has no name."
    for pid, tid in sorted({(e["pid"], e["tid"]) for e in events if e["ph"] in "XBEi"}):
        if ("thread_name", pid, tid) not in named:
            yield f"thread {tid} of process {pid} has no name."


def lanes_of(events: list[Fields], found: list[str]) -> dict[Lane, list[Slice]]:
    """The slices of every lane by time, outer ones first; begins and ends that have no partner."""
    lanes: dict[Lane, list[Slice]] = {}
    begun: dict[Lane, list[int]] = {}
    timed = [event for event in events if event["ph"] in "XBE"]
    for event in sorted(timed, key=lambda event: nanoseconds(event["ts"])):
        lane, start = (event["pid"], event["tid"]), nanoseconds(event["ts"])
        slices, open_ = lanes.setdefault(lane, []), begun.setdefault(lane, [])
        if event["ph"] == "X":
            slices.append((start, start + nanoseconds(event["dur"])))
        elif event["ph"] == "B":
            open_.append(start)
        elif open_:
            slices.append((open_.pop(), start))
        else:
            found.append(f"{of_thread(lane)}: an end at {start} ns without a begin.")
    found += [f"{of_thread(lane)}: a begin without an end." for lane in begun if begun[lane]]
    return {lane: sorted(slices, key=lambda x: (x[0], -x[1])) for lane, slices in lanes.items()}


def of_thread(lane: Lane) -> str:
    """A lane in words."""
    return f"thread {lane[1]} of process {lane[0]}"


def of_lane(lane: Lane, slices: list[Slice]) -> Iterator[str]:
    """Slices nest, or follow one another."""
    inside: list[int] = []
    for start, end in slices:
        while inside and inside[-1] <= start:
            inside.pop()
        if inside and inside[-1] < end:
            yield f"{of_thread(lane)}: the slice at {start} ns outlives the one it lies in."
        inside.append(end)


def of_flows(events: list[Fields], lanes: dict[Lane, list[Slice]]) -> Iterator[str]:
    """An arrow has one start, then its ends, each within a slice."""
    flows: dict[tuple[str, str, int | str], list[Fields]] = {}
    for event in events:
        if event["ph"] in "stf":
            flows.setdefault((event["cat"], event["name"], event["id"]), []).append(event)
    outer = {lane: outermost(slices) for lane, slices in lanes.items()}
    for key, parts in flows.items():
        name = f"flow {key[1]} {key[2]}"
        letters = "".join(part["ph"] for part in sorted(parts, key=lambda part: part["ts"]))
        # at one moment the file's order decides, which sorting keeps
        if not FLOW.fullmatch(letters):
            yield f"{name}: its parts are {letters}, not one s, then t, then one f."
        for part in parts:
            ends = outer.get((part["pid"], part["tid"]), [])
            time = nanoseconds(part["ts"])
            place = bisect_right(ends, (time, inf))
            if not place or ends[place - 1][1] < time:
                yield f"{name}: {part['ph']} at {time} ns lies in no slice."


def outermost(slices: list[Slice]) -> list[Slice]:
    """The slices that lie in no other."""
    outer: list[Slice] = []
    for start, end in slices:
        if not outer or start >= outer[-1][1]:
            outer.append((start, end))
    return outer
