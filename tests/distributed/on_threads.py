"""Runs a function as ranks that are threads, connected as a process group. Not a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import gnomon.distributed as dist
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks

T = TypeVar("T")


def on_threads(function: Callable[[int, int], T], ranks: int, patience: float = 60.0) -> list[T]:
    """function(rank, ranks) on every rank: what it gives, in rank order."""

    def one(rank: int) -> T:
        dist.init_process_group("threads")
        try:
            return function(rank, ranks)
        finally:
            dist.destroy_process_group()

    return run_ranks(DeviceMesh.of({"all": ranks}), one, patience)
