"""A loader's workers, which are threads: their information and their start."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.tensor.random import fork_rng, manual_seed

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's index, the number of workers, its seed, and its dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


working: ContextVar[WorkerInfo | None] = ContextVar("gnomon_working", default=None)


def get_worker_info() -> WorkerInfo | None:
    """Information on the worker that runs the caller; None outside of a loader's workers.

    >>> get_worker_info() is None
    True
    """
    return working.get()


def begin(workers: Sequence[WorkerInfo], function: Callable[[int], Any] | None) -> None:
    """Call the user's worker_init_fn for each worker; the global random states are restored."""
    if function is None:
        return
    python, numpys = random.getstate(), np.random.get_state()
    try:
        for worker in workers:
            before = working.set(worker)
            with fork_rng():
                manual_seed(worker.seed)
                function(worker.id)
            working.reset(before)
    finally:
        random.setstate(python)
        np.random.set_state(numpys)


END = object()


def interleaved(
    workers: Sequence[WorkerInfo], read: Callable[[Any], Iterator[Any]], ahead: int
) -> Iterator[Any]:
    """Yield batches from all workers in turn until none has any more.

    Each worker reads its own dataset in its own thread, some batches ahead.
    """
    with ExitStack() as threads:
        queue = deque()
        for worker in workers:
            thread = ThreadPoolExecutor(1, initializer=working.set, initargs=(worker,))
            threads.callback(thread.shutdown, cancel_futures=True)
            batches = read(worker.dataset)
            waiting = deque(thread.submit(next, batches, END) for _ in range(ahead))
            queue.append((thread, batches, waiting))
        while queue:
            thread, batches, waiting = queue.popleft()
            batch = waiting.popleft().result()
            if batch is not END:
                waiting.append(thread.submit(next, batches, END))
                queue.append((thread, batches, waiting))
                yield batch
