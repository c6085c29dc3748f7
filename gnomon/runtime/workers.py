"""The processes that compile: started when there is enough to do, used again, gone when idle.

LLVM's Python binding holds one lock per process, so threads would take turns. Each process runs
worker.py by path and speaks over its pipes; the calling process compiles too, and all take the next
longest text as they become free. What is compiled, and whether it must be, is decided in cpu.py.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Lock, Thread

from gnomon.errors import CompileError
from gnomon.runtime import worker

Request = tuple[str, str, str, str, int, int]
"""What worker.compile_text takes: text, triple, cpu, features, level, passes."""

Answer = tuple[bytes, str]

ENOUGH = 200_000
"""Characters of IR (about 80 ms of work) that make one more process worth starting."""


class Worker:
    """One process that compiles, and its pipes."""

    def __init__(self) -> None:
        # -P: the folder of worker.py must not come before the standard library
        self.process = subprocess.Popen(
            [sys.executable, "-P", worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

        assert self.process.stdin is not None, "Worker: a pipe was asked for."
        assert self.process.stdout is not None, "Worker: a pipe was asked for."
        self.requests, self.answers = self.process.stdin, self.process.stdout

    def ask(self, request: Request) -> Answer | None:
        """The answer to a request; None when the process had already left, idle."""
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
        """Close the pipes and wait for the end; gives the exit status."""
        self.close()
        return self.process.wait()

    def close(self) -> None:
        """Close this end of the pipes."""
        for pipe in (self.requests, self.answers):
            # what cannot be flushed has no reader any more
            with suppress(OSError):
                pipe.close()


_idle: list[Worker] = []
_change = Lock()


def compile_all(requests: Sequence[Request], processes: int) -> list[bytes]:
    """Object code of each request, made by up to `processes` processes, this one among them."""
    answers: list[Answer | None] = [None] * len(requests)
    waiting = deque(sorted(range(len(requests)), key=lambda k: -len(requests[k][0])))
    threads = [
        Thread(target=delegate, args=(requests, waiting, answers), daemon=True)
        for _ in range(worth_asking(requests, processes))
    ]
    for thread in threads:
        thread.start()
    try:
        for k in drain(waiting):
            answers[k] = worker.answer(requests[k])
    finally:
        # after Ctrl-C, nobody starts on another
        waiting.clear()
    for thread in threads:
        thread.join()
    return [
        content(given or worker.answer(asked))
        for asked, given in zip(requests, answers, strict=True)
    ]


def content(answer: Answer) -> bytes:
    """The object code of an answer; an error when there is none."""
    code, complaint = answer
    if complaint:
        raise CompileError(f"compile: LLVM refuses the code that was generated: {complaint}")
    return code


def worth_asking(requests: Sequence[Request], processes: int) -> int:
    """How many processes besides this one are worth their start."""
    characters = sum(len(request[0]) for request in requests)
    useful = max(characters // ENOUGH, min(len(_idle), len(requests) - 1))
    return max(0, min(processes - 1, useful, len(requests) - 1))


def drain(waiting: deque[int]) -> Iterator[int]:
    """Take from the queue, which others take from too, until it is empty."""
    while True:
        try:
            yield waiting.popleft()
        except IndexError:
            return


def delegate(
    requests: Sequence[Request], waiting: deque[int], answers: list[Answer | None]
) -> None:
    """Have one process answer what waits; what it leaves unanswered falls to the caller."""
    asked = acquire()
    if asked is None:
        return
    for k in drain(waiting):
        answers[k] = asked.ask(requests[k])
        if asked.process.returncode is not None:
            return
    release(asked)


def acquire() -> Worker | None:
    """An idle process, or a new one; None where none can be started."""
    with _change:
        if _idle:
            return _idle.pop()
    try:
        return Worker()
    except (OSError, ValueError):
        return None


def release(used: Worker) -> None:
    """Keep a process for the next time."""
    with _change:
        _idle.append(used)


@atexit.register
def stop_all() -> None:
    """End the idle processes."""
    while _idle:
        _idle.pop().stop()


def forget_all() -> None:
    """After a fork, in the child: the processes belong to the parent."""
    global _change
    _change = Lock()
    while _idle:
        inherited = _idle.pop()
        inherited.close()
        # not ours to wait for
        inherited.process.returncode = 0


os.register_at_fork(after_in_child=forget_all)
