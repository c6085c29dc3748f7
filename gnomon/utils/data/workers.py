"""Workers of a loader, which are threads: what one knows of itself, and how each begins."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.tensor.random import fork_rng, manual_seed

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's number, how many there are, its seed, and the dataset that it reads."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


working: ContextVar[WorkerInfo | None] = ContextVar("gnomon_working", default=None)


def get_worker_info() -> WorkerInfo | None:
    """The worker that runs this; None outside of a loader's workers.

    >>> get_worker_info() is None
    True
    """
    return working.get()


def begin(workers: Sequence[WorkerInfo], function: Callable[[int], Any] | None) -> None:
    """Call a user's function for every worker, in order; what it seeds is left as it was here."""
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
