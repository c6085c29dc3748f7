"""Processes that run one function each, and the error of one that fails: what `spawn` starts.

A process that raised leaves its traceback in a file; the others are ended.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing import connection
from pathlib import Path
from time import monotonic
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

PATIENCE = 30.0
"""Seconds that processes have to end when they are asked to."""
END_WITH_PARENT = 1
"""prctl's number for the signal that comes when a parent is gone."""


class ProcessException(Exception):
    """A process of several failed: which one, by its place and by its number in the system."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process raised an error; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """A process was ended by a signal, or left with an exit code other than 0."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple:
        kind, given = super().__reduce__()
        return kind, (*given, self.exit_code, self.signal_name)


def begin(fn: Callable, index: int, args: Sequence, error_file: str) -> None:
    """Run one of several processes; what it raises is written to a file."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGINT)
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        return
    except Exception:
        Path(error_file).write_bytes(pickle.dumps(traceback.format_exc()))
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: k for k, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers of the processes in the system."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one ends or time is over: whether all have ended.

        Where one failed, the others are ended, after a grace period if there is one, and the
        failure is raised.
        """
        ended = connection.wait([*self.sentinels], timeout) if self.sentinels else []
        for sentinel in ended:
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode:
                self._end_all(grace_period)
                failure = self._failure(index)
                for path in self.error_files:  # others may have failed too
                    Path(path).unlink(missing_ok=True)
                raise failure
        return not self.sentinels

    def _end_all(self, grace_period: float | None) -> None:
        """End the processes that still run: by a request, then without one."""
        if grace_period is not None:
            self._wait_for_all(grace_period)
        for process in self.processes:
            process.terminate()
        self._wait_for_all(PATIENCE if grace_period is None else grace_period)
        for process in self.processes:
            process.kill()
            process.join()

    def _wait_for_all(self, seconds: float) -> None:
        """Wait until all have ended, or time is over."""
        end = monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - monotonic()))

    def _failure(self, index: int) -> ProcessException:
        """The error of a process that ended badly."""
        process, error_file = self.processes[index], Path(self.error_files[index])
        if error_file.exists():
            text = pickle.loads(error_file.read_bytes())
            said = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            return ProcessRaisedException(said, index, process.pid)
        code, name = process.exitcode, None
        how = f"exit code {code}"
        if code < 0:
            known = -code in {*signal.Signals}
            name = signal.Signals(-code).name if known else f"<Unknown signal {-code}>"
            how = f"signal {name}"
        said = f"process {index} terminated with {how}"
        return ProcessExitedException(said, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """The older name of ProcessContext."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable,
    args: Sequence = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Start processes that call fn(k, *args), k from 0 on; wait for them, or give them."""
    start: Any = multiprocessing.get_context(start_method)
    processes, files = [], []
    for k in range(nprocs):
        file, path = tempfile.mkstemp(prefix="gnomon-error-", suffix=".pickle")
        os.close(file)
        os.unlink(path)  # a file that is there tells that the process failed
        process = start.Process(target=begin, args=(fn, k, args, path), daemon=daemon)
        process.start()
        processes.append(process)
        files.append(path)
    context = ProcessContext(processes, files)
    if not join:
        return context
    while not context.join():
        pass
    return None


def spawn(
    fn: Callable,
    args: Sequence = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Start new interpreters that call fn(k, *args), k from 0 on; wait for them, or give them.

    fn is defined at the top of a module, where the processes find it. If one fails, the others are
    ended and its error is raised.
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon)
