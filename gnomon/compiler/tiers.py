"""Tiers: a program that runs at once, and a measured one that may replace it later.

Tier 0 is built from the cost model alone, so that the first call waits for no measurement. If
measuring is asked for, tier 1 is built meanwhile: a thread measures its parts between calls. Then
calls run both alternately, and the one with the shorter best time stays, put in place by one
assignment. Both give the same bits. Parts are measured by gnomon/compiler/autotuning.py.
"""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from threading import Condition, Lock, Thread
from time import monotonic_ns, perf_counter

from gnomon.compiler import target
from gnomon.compiler.build import build, is_built, refuse_measured
from gnomon.ir.node import Graph
from gnomon.ir.show import log
from gnomon.program.context import Moments
from gnomon.program.executable import Executable, Pairs
from gnomon.program.saved import Packed
from gnomon.runtime import events
from gnomon.runtime.buffer import DeviceBuffer

__all__ = ["MeasuringGate", "Tier", "Tiers"]

ROUNDS = 5
"""The calls that run each of two tiers before one of them is chosen."""
PATIENCE = 2.0
"""The seconds that the end of a process waits for a measurement to stop."""

Run = Callable[..., list[DeviceBuffer]]
KeptInputs = tuple[int, ...]


@dataclass(frozen=True)
class Tier:
    """An executable, the inputs that it may overwrite, and the function that runs it."""

    number: int
    executable: Executable
    over: Pairs
    run: Run

    @property
    def kept(self) -> Sequence[Packed]:
        """The prepacked inputs that the executable leaves for later calls."""
        return self.executable.kept


class MeasuringEnded(Exception):
    """Raised in a measurement when the process ends or the program is no longer held."""


class MeasuringGate(Moments):
    """Lock between a program's calls and measurements of its parts, which never run together.

    A waiting measurement runs after each call, and a waiting call after each measurement.
    """

    def __init__(self) -> None:
        self.change = Condition()
        self.calls = self.waiting = 0
        self.asked = self.measuring = self.due = self.closed = False
        self.lost = 0.0

    def clock(self) -> float:
        """The time in seconds, without time spent waiting for calls to end."""
        return perf_counter() - self.lost

    @contextmanager
    def call(self) -> Iterator[None]:
        """A context for one call; it waits for a measurement that has begun."""
        with self.change:
            self.waiting += 1
            self.change.wait_for(lambda: not (self.measuring or (self.asked and self.due)))
            self.waiting -= 1
            self.calls += 1
        try:
            yield
        finally:
            with self.change:
                self.calls, self.due = self.calls - 1, True
                self.change.notify_all()

    @contextmanager
    def measurement(self) -> Iterator[None]:
        """A context for one measurement; it waits for calls to end."""
        start = perf_counter()
        with self.change:
            self.asked = True
            self.change.wait_for(self._is_free)
            self.asked, self.measuring = False, not self.closed
        if self.closed:
            raise MeasuringEnded
        self.lost += perf_counter() - start
        try:
            yield
        finally:
            with self.change:
                self.measuring = self.due = False
                self.change.notify_all()

    def _is_free(self) -> bool:
        """Whether a measurement may begin: no call runs, and none waits whose turn it is."""
        return self.closed or (not self.calls and (self.due or not self.waiting))

    def close(self) -> None:
        """End all measurements."""
        with self.change:
            self.closed = True
            self.change.notify_all()


class Tiers:
    """The executables of one captured graph; `now` is the one that calls run.

    seconds: the time limit for measuring parts; 0 leaves all to the model. rewritten: outputs that
    replace an input's value, with that input. kept: inputs that products may keep as panels.
    dynamic: whether programs serve several sizes. made: the executable, if it exists already.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        rewritten: Pairs = (),
        seconds: float = 0.0,
        kept: KeptInputs = (),
        dynamic: bool | None = None,
        made: Executable | None = None,
    ) -> None:
        self.graph, self.name, self.rewritten = graph, name, rewritten
        self.context = target.context(seconds=seconds, kept=kept, dynamic=dynamic)
        self.lock, self.gate = Lock(), MeasuringGate()
        self.timer: Callable[[], float] = perf_counter
        self.times: tuple[list[float], list[float]] = ([], [])
        self.tried: list[Tier] = []
        self.thread: Thread | None = None
        self.remark = ""
        """Which tier runs and why; empty if nothing was measured."""
        known = not seconds or is_built(graph, self.context)
        if made is None:
            made = build(graph, name, self.context if known else self.context.by_model)
        if known:
            self.now = self._settled(int(seconds > 0), made)
            self.remark = ", measured before" if seconds else ""
            return
        self.now, self.remark = self._open(0, made), ", tier 0 while tier 1 is measured"
        measuring = replace(self.context, moments=self.gate)
        make = partial(build, graph, f"{name}, tier 1", measuring)
        tune = partial(copy_context().run, tuned, weakref.ref(self))
        self.thread = Thread(target=tune, args=(make,), daemon=True)
        weakref.finalize(self, self.gate.close)
        _live.add(self)

    def _start(self) -> None:
        """Start the measuring thread, if it has not been started."""
        with self.lock:
            if self.thread is not None and self.thread.ident is None:
                self.thread.start()

    def _settled(self, number: int, made: Executable) -> Tier:
        """A tier that is final: calls run the executable directly."""
        return Tier(number, made, made.overwriting(self.rewritten), made.run)

    def _open(self, number: int, made: Executable) -> Tier:
        """A tier under trial: its calls are timed, and wait for measurements."""
        return Tier(
            number, made, made.overwriting(self.rewritten), partial(self._timed, number, made.run)
        )

    def _timed(self, number: int, run: Run, *given: object) -> list[DeviceBuffer]:
        """Run one call with a tier, record its seconds, and select the tier of the next call."""
        with self.gate.call():
            start = self.timer()
            made = run(*given)
            spent = self.timer() - start
        self._start()
        with self.lock:
            if self.tried:
                self.times[number].append(spent)
                self._take_next()
        return made

    def _take_next(self) -> None:
        """Select the tier for the next call: the one that ran less often, or the winner."""
        first, second = map(len, self.times)
        if min(first, second) < ROUNDS:
            self.now = self.tried[second < first]
            return
        before, after = map(min, self.times)
        times = f"{1e3 * before:.3g} ms by the model, {1e3 * after:.3g} ms with what was measured"
        if after >= before:
            refuse_measured(self.graph, self.context)
        self._keep(int(after < before), times)

    def offer(self, made: Executable | str) -> None:
        """Try an executable beside the one that runs; a string is the reason why there is none."""
        with self.lock:
            if isinstance(made, str):
                self._keep(0, made)
            elif made.program.steps == self.now.executable.program.steps:
                self._keep(0, "tier 1 is the same")
            else:
                self.tried = [self.now, self._open(1, made)]
                self.now, self.remark = self.tried[1], ", tiers 0 and 1 alternate"

    def _keep(self, number: int, why: str) -> None:
        """Run one tier for all later calls, without locks or measurements."""
        made = self.tried[number].executable if self.tried else self.now.executable
        self.tried, self.remark = [], f", tier {number}: {why}"
        self.now = self._settled(number, made)
        self.gate.close()
        _live.discard(self)
        log(1, lambda: f"tune: {self.name}{self.remark}")
        if events.heard():
            at = monotonic_ns()
            events.announce("compile", name=f"{self.name}{self.remark}", start=at, end=at)

    def wait(self) -> Executable:
        """The executable to run after all measurements, which are waited for."""
        self._start()
        if self.thread is not None:
            self.thread.join()
        return (self.tried[1] if self.tried else self.now).executable


def tuned(found: weakref.ref[Tiers], make: Callable[[], Executable]) -> None:
    """Compile tier 1 while calls go on; an error leaves tier 0, with the reason."""
    made: Executable | str
    try:
        made = make()
    except MeasuringEnded:
        return
    except Exception as cause:
        made = f"tier 1 failed: {cause}"
    tiers = found()
    if tiers is not None:
        tiers.offer(made)


_live: weakref.WeakSet[Tiers] = weakref.WeakSet()


@atexit.register
def stop_all() -> None:
    """End all measurements, before the process ends."""
    for tiers in list(_live):
        tiers.gate.close()
        if tiers.thread is not None and tiers.thread.ident is not None:
            tiers.thread.join(PATIENCE)


def forget_all() -> None:
    """Keep the present tiers in a forked child, which has no measuring threads."""
    for tiers in list(_live):
        tiers.gate, tiers.lock, tiers.thread = MeasuringGate(), Lock(), None
        tiers.offer("in a child process nothing is measured")


os.register_at_fork(after_in_child=forget_all)
