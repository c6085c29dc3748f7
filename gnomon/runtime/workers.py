"""The processes that compile: started when there is enough to do, used again, gone when idle.

LLVM's Python binding holds one lock per process, so threads would take turns. Each process runs
worker.py by path and speaks over its pipes; the calling process compiles too, once it has written
all texts, and all take the next longest text as they become free. What is compiled, and whether it
must be, is decided in cpu.py.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from heapq import heappop, heappush
from threading import Condition, Lock, Thread

from gnomon.errors import CompileError
from gnomon.interrupts import Whole
from gnomon.runtime import worker

Request = tuple[str, str, str, str, int, int]
"""The arguments of worker.compile_text: text, triple, cpu, features, level, passes."""

CompilerAnswer = tuple[bytes, str]

ENOUGH = 200_000
"""Characters of IR (about 80 ms of work) that make one more process worth starting."""


OF_LAUNCHERS = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "PALS_", "MPI_LOCAL", "HYDRA_", "SLURM_")
"""Variables that begin so tell a rank its place: a process of its own must not take it."""


def unlaunched(given: Mapping[str, str]) -> dict[str, str]:
    """An environment without the variables that launchers set for ranks.

    >>> unlaunched({"PMI_RANK": "1", "HOME": "/"})
    {'HOME': '/'}
    """
    return {name: text for name, text in given.items() if not name.startswith(OF_LAUNCHERS)}


class CompileWorker:
    """A compiling process and its pipes."""

    def __init__(self) -> None:
        # -P: the folder of worker.py must not come before the standard library
        self.process = subprocess.Popen(
            [sys.executable, "-P", worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=unlaunched(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

        assert self.process.stdin is not None, "CompileWorker: a pipe was asked for."
        assert self.process.stdout is not None, "CompileWorker: a pipe was asked for."
        self.requests, self.answers = self.process.stdin, self.process.stdout

    def ask(self, request: Request) -> CompilerAnswer | None:
        """The answer to a request; None if the idle process has ended."""
        try:
            pickle.dump(request, self.requests)
            self.requests.flush()
            return pickle.load(self.answers)
        except (OSError, EOFError, pickle.UnpicklingError):
            status = self.stop()
        if status < 0:
            return b"", f"the code generator died of signal {-status}"
        return None

    def stop(self) -> int:
        """Close the pipes and wait for the process; returns its exit status."""
        self.close()
        return self.process.wait()

    def close(self) -> None:
        """Close this end of the pipes."""
        for pipe in (self.requests, self.answers):
            # what cannot be flushed has no reader any more
            with suppress(OSError):
                pipe.close()


_idle: list[CompileWorker] = []
_change = Lock()


class RequestQueue:
    """A queue of requests, compiled while more are added: the longest first.

    Up to `processes` processes work on them, this one among them once it has nothing else to do.
    """

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self.requests: list[Request] = []
        self.answers: list[CompilerAnswer | None] = []
        self.threads: list[Thread] = []
        self._waiting: list[tuple[int, int]] = []
        self._characters, self._open = 0, True
        self._change = Condition()

    def add(self, request: Request) -> None:
        """Add a request; answers are in the order of requests."""
        with self._change:
            self.requests.append(request)
            self.answers.append(None)
            heappush(self._waiting, (-len(request[0]), len(self.requests) - 1))
            self._characters += len(request[0])
            self._change.notify()
        if len(self.threads) < self._worth_asking():
            self._call_another()

    def prepare(self) -> None:
        """Start another process in advance, since many requests will follow."""
        if self.processes > 1 and not self.threads:
            self._call_another()

    def _call_another(self) -> None:
        """Start a thread that hands requests to one more process."""
        self.threads.append(Thread(target=self._delegate, daemon=True))
        self.threads[-1].start()

    def finish(self) -> list[bytes]:
        """The object code of every request, in order."""
        try:
            while (k := self._take()) is not None:
                self.answers[k] = compile_here(self.requests[k])
        finally:
            self.close()
        for thread in self.threads:
            thread.join()
        return [
            content(given or compile_here(asked))
            for asked, given in zip(self.requests, self.answers, strict=True)
        ]

    def close(self) -> None:
        """Stop: waiting requests are not started any more."""
        with self._change:
            self._open = False
            self._waiting.clear()
            self._change.notify_all()

    def _worth_asking(self) -> int:
        """The number of further processes that are worth their start."""
        others = min(self.processes, len(self.requests)) - 1
        return min(others, max(self._characters // ENOUGH, len(_idle) + len(self.threads)))

    def _take(self, wait: bool = False) -> int | None:
        """The number of a request that is not started yet; None if there are no more."""
        with self._change:
            while wait and self._open and not self._waiting:
                self._change.wait()
            return heappop(self._waiting)[1] if self._waiting else None

    def _delegate(self) -> None:
        """Send waiting requests to one process; the caller computes what it leaves unanswered."""
        asked = acquire()
        if asked is None:
            return
        while (k := self._take(wait=True)) is not None:
            self.answers[k] = asked.ask(self.requests[k])
            if asked.process.returncode is not None:
                return
        release(asked)


def compile_here(request: Request) -> CompilerAnswer:
    """Compile in this process; Ctrl-C is deferred, so that LLVM is left in a consistent state."""
    with Whole():
        return worker.answer(request)


def content(answer: CompilerAnswer) -> bytes:
    """The object code of an answer; raises its error."""
    code, complaint = answer
    if complaint:
        raise CompileError(f"compile: LLVM refuses the code that was generated: {complaint}")
    return code


def acquire() -> CompileWorker | None:
    """An idle process, or a new one; None if none can be started."""
    with _change:
        if _idle:
            return _idle.pop()
    try:
        return CompileWorker()
    except (OSError, ValueError):
        return None


def release(used: CompileWorker) -> None:
    """Return a process to the idle ones."""
    with _change:
        _idle.append(used)


@atexit.register
def stop_all() -> None:
    """End the idle processes."""
    while _idle:
        _idle.pop().stop()


def forget_all() -> None:
    """Drop the processes in a fork's child: they belong to the parent."""
    global _change
    _change = Lock()
    while _idle:
        inherited = _idle.pop()
        inherited.close()
        # not ours to wait for
        inherited.process.returncode = 0


os.register_at_fork(after_in_child=forget_all)
