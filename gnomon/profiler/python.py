"""Measure the time of capture in each of your Python functions.

It uses a tool number of its own in sys.monitoring, so that cProfile, coverage and debuggers work
beside it. Python 3.11 has one profiler at a time: if another one is active, nothing is recorded and
a warning names it. session.py measures kernels.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import get_ident
from time import perf_counter
from types import CodeType, FrameType
from typing import Any

from gnomon.ir.provenance import is_ours

__all__ = ["FunctionRow", "profile_compile"]

NAME = "gnomon"
TOOLS = (3, 4, 1, 2, 0, 5)
"""Tool numbers of sys.monitoring in order of preference, those without a fixed use first."""


@dataclass
class FunctionRow:
    """A function of the user's: calls, and seconds with and without the functions it calls."""

    file: str
    line: int
    function: str
    calls: int = 0
    whole: float = 0.0
    own: float = 0.0


@dataclass
class Open:
    """A call that has not returned yet."""

    row: FunctionRow
    start: float
    inner: float = 0.0


@dataclass
class Times:
    """The times of one thread's calls by function."""

    rows: dict[CodeType, FunctionRow] = field(default_factory=dict)
    stack: list[Open] = field(default_factory=list)
    thread: int = field(default_factory=get_ident)

    def enter(self, code: CodeType) -> None:
        """Note the begin of a call."""
        row = self.rows.get(code)
        if row is None:
            place = (code.co_filename, code.co_firstlineno, code.co_qualname)
            row = self.rows[code] = FunctionRow(*place)
        self.stack.append(Open(row, perf_counter()))

    def leave(self) -> None:
        """Note the end of the innermost call."""
        if self.stack:
            call = self.stack.pop()
            spent = perf_counter() - call.start
            call.row.calls += 1
            call.row.own += spent - call.inner
            if all(each.row is not call.row for each in self.stack):
                call.row.whole += spent
            if self.stack:
                self.stack[-1].inner += spent


class profile_compile:
    """Measure, inside a `with`, how long this thread spends in each of the user's functions.

    Around the first call of a compiled function it shows which functions are slow to capture:
    Gnomon's own work for a function counts as that function's.
    """

    def __init__(self) -> None:
        self._times = Times()
        self._stop: Callable[[], None] = lambda: None

    @property
    def rows(self) -> list[FunctionRow]:
        """The functions, in decreasing order of their own time."""
        return sorted(self._times.rows.values(), key=lambda row: -row.own)

    def __enter__(self) -> profile_compile:
        listens = by_monitoring if hasattr(sys, "monitoring") else by_profiler
        self._times = Times()
        self._stop = listens(self._times)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        while self._times.stack:
            self._times.leave()


def by_monitoring(times: Times) -> Callable[[], None]:
    """Start to listen through sys.monitoring; return the function that stops it."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    free = [k for k in TOOLS if monitoring.get_tool(k) is None]
    if not free:
        return warn_of_other_tool(", ".join(monitoring.get_tool(k) for k in range(6)))
    tool, events = free[0], monitoring.events

    def enter(code: CodeType, _: int) -> Any:
        if is_ours(code):
            return monitoring.DISABLE
        if get_ident() == times.thread:
            times.enter(code)
        return None

    def leave(code: CodeType, *_: object) -> Any:
        if not is_ours(code) and get_ident() == times.thread:
            times.leave()
        return None

    monitoring.use_tool_id(tool, NAME)
    wanted = {events.PY_START: enter, events.PY_RESUME: enter, events.PY_RETURN: leave}
    wanted |= {events.PY_YIELD: leave, events.PY_UNWIND: leave}
    for event, callback in wanted.items():
        monitoring.register_callback(tool, event, callback)
    monitoring.set_events(tool, sum(wanted))

    def stop() -> None:
        monitoring.set_events(tool, 0)
        for event in wanted:
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
        monitoring.restart_events()

    return stop


def by_profiler(times: Times) -> Callable[[], None]:
    """Start to listen as this thread's profiler; return the function that stops it."""
    owner = sys.getprofile()
    if owner is not None:
        return warn_of_other_tool(getattr(owner, "__qualname__", type(owner).__qualname__))

    def hear(frame: FrameType, event: str, _: object) -> None:
        if event in ("call", "return") and not is_ours(frame.f_code):
            if event == "call":
                times.enter(frame.f_code)
            else:
                times.leave()

    sys.setprofile(hear)
    return lambda: sys.setprofile(None)


def warn_of_other_tool(owner: str) -> Callable[[], None]:
    """Warn that another tool is active; return a function that does nothing."""
    warnings.warn(
        f"profile_compile: another profiling tool is active: {owner}. Nothing is recorded; end it "
        "first, or use Python 3.12, where both can run.",
        stacklevel=4,
    )
    return lambda: None
