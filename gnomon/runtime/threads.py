"""The threads that run programs: how many, where they wait, who may use them now.

The threads are the system's, not Python's: they live in native.py's `worker` and never see the
interpreter. The caller is thread 0 of every run. One run at a time has the pool; another that comes
meanwhile runs by itself on its caller, with the same bits, since no result depends on their number.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from threading import Lock, Thread
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.interrupts import Whole
from gnomon.runtime import cpu, device, linking, native, system
from gnomon.runtime.buffer import DeviceBuffer, size_class
from gnomon.runtime.linking import Library
from gnomon.settings import current

IDLE_LOOKS = 2_500
"""The number of polls before a worker sleeps: about a millisecond, since it yields mostly.

That is longer than Python needs between two steps of a small model, 0.2 to 0.4 milliseconds: a
worker that slept there would be woken, for 0.1 milliseconds, in every step.
"""


@dataclass(frozen=True)
class Entries:
    """The native functions that Python calls, and the workers' entry."""

    run: Any
    post: Any
    worker: int
    library: Library


@cache
def entries() -> Entries:
    """The native functions of this process, compiled when first needed."""
    code = cpu.compile_kernels([native.text_for(device.host())], device.host())
    library = linking.link(code, ["run", "post", "worker"])
    found = library.addresses
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(found["run"])
    post = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(found["post"])
    return Entries(run, post, found["worker"], library)


class Alone:
    """A run by the caller alone, with scratch memory that later runs use again."""

    __slots__ = ("_buffer", "scratch", "stride", "threads", "words")

    def __init__(self, scratch: int) -> None:
        self._buffer = DeviceBuffer(scratch)
        self.threads, self.scratch, self.stride = 1, self._buffer.address, scratch
        self.words = (1, 0, self.scratch, scratch)
        """What a run's block says of the team: threads, control, scratch, stride."""

    def release(self) -> None:
        """Return this block to the pool of spare ones."""
        _spare.append(self)


_spare: list[Alone] = []


def acquire_alone(scratch: int) -> Alone:
    """A block for a run by the caller alone, with at least this much scratch memory."""
    try:
        team = _spare.pop()
    except IndexError:
        return Alone(scratch)
    return team if team.stride >= scratch else Alone(scratch)


class Pool:
    """The caller and `threads` - 1 workers, or as many as can be started; they share a block."""

    def __init__(self, threads: int) -> None:
        self.stride, self.scratch = 0, 0
        self.lock = Lock()
        self._scratch: DeviceBuffer | None = None
        self._block = DeviceBuffer(native.CONTROL_BYTES)
        self.control = self._block.address
        prepare(self._block, oversubscribed=threads > system.usable_cores())
        self._starts = ((ctypes.c_int64 * 2) * threads)()
        self._handles: list[ctypes.c_void_p] = []
        failed = 0
        while len(self._handles) < threads - 1 and not failed:
            failed = self._spawn(len(self._handles) + 1)
        self.threads = len(self._handles) + 1
        self.words = (self.threads, self.control, 0, 0)
        if failed:
            warnings.warn(
                f"threads: {threads} were wanted, {self.threads} run: {os.strerror(failed)}. "
                "Results are the same. Allow more with ulimit -u, or ask for fewer with "
                "gn.set_num_threads.",
                RuntimeWarning,
                stacklevel=2,
            )

    def _spawn(self, thread: int) -> int:
        """Start a worker; gives the system's error. Signals stay with Python's threads."""
        start, handle = self._starts[thread], ctypes.c_void_p()
        start[0], start[1] = self.control, thread
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            failed = libc().pthread_create(
                ctypes.byref(handle), None, ctypes.c_void_p(entries().worker), start
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if not failed:
            self._handles.append(handle)
        return failed

    def grow(self, scratch: int) -> None:
        """Grow each thread's scratch memory to at least this size; only while holding the lock."""
        if scratch > self.stride:
            self._scratch = DeviceBuffer(size_class(scratch) * self.threads)
            self.stride, self.scratch = size_class(scratch), self._scratch.address
            self.words = (self.threads, self.control, self.scratch, self.stride)

    def release(self) -> None:
        """Release the pool for another run."""
        self.lock.release()

    def stop(self, patience: float = -1) -> None:
        """End the workers, once the current run is over; no later run gets the pool."""
        if self.lock.acquire(timeout=patience):
            entries().post(self.control, None)
            for handle in self._handles:
                libc().pthread_join(handle, None)


def prepare(block: DeviceBuffer, oversubscribed: bool) -> None:
    """Initialize a control block, before any worker reads it."""
    words = block.numpy("int64")
    words[:] = 0
    words[native.IDLE_LOOKS // 8] = 0 if oversubscribed else IDLE_LOOKS
    words[native.YIELD_AFTER // 8] = 0 if oversubscribed else native.BRIEF
    libc().pthread_mutex_init(ctypes.c_void_p(block.address + native.MUTEX), None)
    libc().pthread_cond_init(ctypes.c_void_p(block.address + native.CONDITION), None)


@cache
def libc() -> ctypes.CDLL:
    """The C library of this process."""
    return ctypes.CDLL(None)


_pool: Pool | None = None
_wanted = 0
_change = Lock()


def acquire(scratch: int, alone: bool = False) -> Pool | Alone:
    """The threads for one run, each with `scratch` bytes; to be released after it."""
    pool = _pool or start_pool()
    if alone or pool.threads == 1 or not pool.lock.acquire(blocking=False):
        return acquire_alone(scratch)
    try:
        pool.grow(scratch)
    except BaseException:
        pool.release()
        raise
    return pool


@contextmanager
def by_one_core(core: int) -> Iterator[None]:
    """A context in which programs run on the calling thread alone, pinned to a core if possible."""
    pool = _pool or start_pool()
    # who finds the pool taken runs alone; another thread that has it may wait for this one
    held = pool.lock.acquire(blocking=False)
    before = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    try:
        if before:
            os.sched_setaffinity(0, {core})
        yield
    finally:
        if before:
            os.sched_setaffinity(0, before)
        if held:
            pool.release()


def prepare_pool() -> None:
    """Start the pool in the background, unless it was started."""
    if _pool is None:
        # where no thread can be started, the run itself will say so
        with suppress(RuntimeError):
            Thread(target=copy_context().run, args=(start_pool,), name="gnomon pool").start()


def start_pool() -> Pool:
    """The pool, started if it was not.

    Ctrl-C is deferred: an interrupted start would leave workers in memory that is freed.
    """
    global _pool
    with Whole(), _change:
        if _pool is None:
            _pool = Pool(get_num_threads())
        return _pool


def get_num_threads() -> int:
    """The number of threads of a run: as set before the first run, or one per usable core."""
    return _wanted or current().num_threads or system.usable_cores()


def set_num_threads(threads: int) -> None:
    """Use this many threads from now on; results do not depend on it."""
    global _pool, _wanted
    if threads < 1:
        raise ArgumentError(f"set_num_threads: at least one thread is needed: got {threads}.")
    with Whole():
        with _change:
            old, _pool, _wanted = _pool, None, threads
        if old:
            old.stop()


@atexit.register
def stop_pool() -> None:
    """End the workers before the code in which they wait is unloaded."""
    if _pool:
        _pool.stop(patience=1)


def forget_pool() -> None:
    """Drop the pool in a fork's child, which has no workers; the next run starts new ones."""
    global _pool, _change
    _pool, _change = None, Lock()


os.register_at_fork(after_in_child=forget_pool)
