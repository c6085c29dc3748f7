"""The schedule of a profiler, with PyTorch's names: which steps to record, and when to save.

session.py records.
"""

from __future__ import annotations

import gzip
import os
import socket
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import ArgumentError
from gnomon.profiler.chrome import chrome
from gnomon.runtime.files import publish

if TYPE_CHECKING:
    from gnomon.profiler.session import profile

__all__ = ["ProfilerAction", "ProfilerActivity", "schedule", "tensorboard_trace_handler"]


class ProfilerAction(Enum):
    """The profiler's action during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """The activity to record; only the CPU is supported."""

    CPU = 0
    CUDA = 1
    XPU = 2


Schedule = Callable[[int], ProfilerAction]


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Schedule:
    """Make a schedule: skip, then repeat waiting, warming up and recording; repeat 0 is endless.

    >>> chosen = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [chosen(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ArgumentError(
            f"schedule: wait, warmup, repeat and skip_first are not negative, active is 1 or more: "
            f"got {wait}, {warmup}, {repeat}, {skip_first} and {active}."
        )

    def chosen(step: int) -> ProfilerAction:
        place, pause = step - skip_first, wait
        if skip_first_wait and place >= 0:  # the first round does not wait
            place += wait
        cycle, place = divmod(place, pause + warmup + active)
        if cycle < 0 or (repeat and cycle >= repeat) or place < pause:
            return ProfilerAction.NONE
        if place < pause + warmup:
            return ProfilerAction.WARMUP
        last = place == pause + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return chosen


def tensorboard_trace_handler(
    dir_name: str | os.PathLike,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """Make an `on_trace_ready` that writes each Chrome trace to a new file in a folder.

    use_python_export: accepted; the trace is written in Python in any case.
    """
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
    ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"

    def write(made: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        text = chrome(made.data)
        content = gzip.compress(text) if use_gzip else text
        publish(folder / f"{worker}.{time.time_ns()}{ending}", content)

    return write
