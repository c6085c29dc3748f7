"""gn.profiler.profile, which records a part of a program or some steps of a loop, as PyTorch's.

The recording is in `data`, a Profile (model.py); reports and exports are functions of it.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from functools import partial, wraps
from io import StringIO
from pathlib import Path
from time import monotonic_ns
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from gnomon.errors import ArgumentError
from gnomon.profiler import reports
from gnomon.profiler.chrome import write_chrome
from gnomon.profiler.collect import Collector
from gnomon.profiler.memory import Memory, memory_timeline
from gnomon.profiler.model import Event, Profile
from gnomon.profiler.page import page, write_page
from gnomon.profiler.perfetto import write_perfetto
from gnomon.profiler.schedule import ProfilerAction, Schedule
from gnomon.profiler.store import write_profile
from gnomon.profiler.tables import kernel_table, line_table, module_table
from gnomon.runtime import events

__all__ = ["Rows", "profile", "record_function"]

IGNORED = frozenset(
    {"record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules"}
    | {"experimental_config", "acc_events", "use_cuda", "execution_trace_observer"}
)
"""PyTorch's options that are accepted without effect, since they are always on or not needed."""
Row = TypeVar("Row")
RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class Rows(list[Row]):
    """The rows of a report, a list that prints as a table."""

    def __init__(self, rows: list[Row], drawn: Callable[[int], Table]) -> None:
        super().__init__(rows)
        self._drawn = drawn

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The rows as text, always ordered by time."""
        console = Console(file=StringIO(), width=160)
        console.print(self._drawn(row_limit))
        return console.file.getvalue()  # type: ignore[attr-defined]

    __str__ = table


class profile:
    """Record every kernel, memory and compilation inside a `with`.

    With a schedule, call step() after each step. on_trace_ready is called with this object when a
    recording is complete, and can read `data` or export it.
    """

    def __init__(
        self,
        activities: object = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        *,
        rank: int = 0,
        world: int = 1,
        **options: Any,
    ) -> None:
        for name in options:
            if name not in IGNORED:
                known = ", ".join(("activities", "schedule", "on_trace_ready", *sorted(IGNORED)))
                raise ArgumentError(f"profile: no option {name!r}. It takes {known}.")
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.rank, self.world = rank, world
        self.step_num = 0
        self._collector: Collector | None = None
        self._made: Collector | None = None
        self._data: Profile | None = None
        self._mark = 0

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # when

    def start(self) -> None:
        """Start the profiler; it records at once unless the schedule waits."""
        self.step_num = 0
        if self._action() in RECORDS:
            self._begin()

    def stop(self) -> None:
        """Stop the profiler, and finish a recording that is in progress."""
        if self._collector is not None:
            self._note_step()
            self._finish()

    def step(self) -> None:
        """Mark the end of a step and the begin of the next."""
        before = self._action()
        if self._collector is not None:
            self._note_step()
        self.step_num += 1
        now = self._action()
        if self._collector is not None and (
            before is ProfilerAction.RECORD_AND_SAVE or now not in RECORDS
        ):
            self._finish()
        if self._collector is None and now in RECORDS:
            self._begin()

    def _action(self) -> ProfilerAction:
        """The scheduled action of the current step."""
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def _begin(self) -> None:
        """Start recording."""
        self._collector = Collector()
        self._collector.start()
        self._mark = monotonic_ns()

    def _note_step(self) -> None:
        """Record a step's span, from the last mark to now."""
        now = monotonic_ns()
        name = f"ProfilerStep#{self.step_num}"
        if self.schedule is not None or self.step_num:
            events.announce("step", name=name, start=self._mark, end=now)
        self._mark = now

    def _finish(self) -> None:
        """Stop recording and call on_trace_ready."""
        self._collector.stop()
        self._made, self._data, self._collector = self._collector, None, None
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # what

    @property
    def data(self) -> Profile:
        """The last recording; ArgumentError if there is none."""
        if self._made is None:
            raise ArgumentError(
                "profile: nothing is recorded yet. Ask after the `with`, or in on_trace_ready."
            )
        if self._data is None:
            self._data = self._made.profile(self.rank, self.world)
        return self._data

    @property
    def began(self) -> int:
        """The time at which the last recording began, in nanoseconds of this process's clock."""
        assert self._made is not None, "profile: nothing is recorded yet."
        return self._made.began

    def events(self) -> list[Event]:
        """All recorded events, in order of their start."""
        return self.data.events

    def key_averages(self, *_: object, **options: object) -> Rows[reports.KernelRow]:
        """The cost of each call site, under PyTorch's name for it."""
        return self.by_kernel()

    def by_source_line(self) -> Rows[reports.LineRow]:
        """The cost of each line of user code, the costliest first; prints as a table."""
        return Rows(reports.by_source_line(self.data), partial(line_table, self.data))

    def by_module(self) -> Rows[reports.ModuleRow]:
        """The cost of each module, in the model's order; prints as a table."""
        return Rows(reports.by_module(self.data), partial(module_table, self.data))

    def by_kernel(self) -> Rows[reports.KernelRow]:
        """The cost of each call site, the costliest first; prints as a table."""
        return Rows(reports.by_kernel(self.data), partial(kernel_table, self.data))

    def why_recompiled(self) -> list[str]:
        """The reason of each recompilation, one text per further capture of a function."""
        return reports.why_recompiled(self.data)

    def memory_timeline(self) -> Memory:
        """The live bytes over time, and the buffers alive at the peak."""
        return memory_timeline(self.data)

    def export_chrome_trace(self, path: str | os.PathLike) -> None:
        """Write a trace for chrome://tracing and Perfetto."""
        write_chrome(self.data, Path(path))

    def export_perfetto(self, path: str | os.PathLike) -> None:
        """Write a trace in Perfetto's format, with the source line of each slice."""
        write_perfetto(self.data, Path(path))

    def export_page(self, path: str | os.PathLike, title: str = "profile") -> None:
        """Write an HTML page with lines, graph, code, timeline and memory in one file."""
        write_page(self.data, Path(path), title)

    def _repr_html_(self) -> str:
        """The page as a notebook shows it."""
        text = html.escape(page(self.data))
        return f'<iframe srcdoc="{text}" width="100%" height="860" style="border:0"></iframe>'

    def save(self, path: str | os.PathLike) -> None:
        """Write the profile to a file, to be read or compared later."""
        write_profile(self.data, Path(path))


class record_function:
    """Name a part of a program in profiles, in a `with` or as a decorator.

    >>> with record_function("prepare"):
    ...     pass
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._began: list[int] = []

    def __enter__(self) -> record_function:
        self._began.append(monotonic_ns())
        return self

    def __exit__(self, *_: object) -> None:
        start = self._began.pop()
        if events.heard():
            events.announce("span", name=self.name, start=start, end=monotonic_ns())

    def __call__(self, function: Callable) -> Callable:
        """Wrap a function so that each of its calls is recorded."""

        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return inside
