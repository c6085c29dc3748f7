"""Ranks as processes that we start ourselves: on this machine, where they need no MPI to meet.

When one ends badly, the others have a moment to say where they were, and are then ended too.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Mapping, Sequence
from time import monotonic, sleep

from gnomon.runtime.comm.environment import BACKEND

__all__ = ["free_port", "run_processes"]

GRACE = 2.0
"""Seconds that ranks have to end by themselves once one has ended badly."""
LOOK = 0.02


def run_processes(words: Sequence[str], ranks: int, backend: str, given: Mapping[str, str]) -> int:
    """Run a command as so many ranks, connected by a backend; the first nonzero exit code, or 0."""
    started: list[subprocess.Popen] = []
    try:
        for variables in of_ranks(ranks, backend):
            started.append(subprocess.Popen(words, env={**given, **variables}))
        return wait_for_ranks(started)
    finally:
        for rank in started:
            rank.kill()
            rank.wait()


def of_ranks(ranks: int, backend: str) -> list[dict[str, str]]:
    """The variables of each rank with its place, and the address at which all connect."""
    size, where = str(ranks), {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    sizes = {"WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, BACKEND: backend}
    return [{**where, **sizes, "RANK": str(k), "LOCAL_RANK": str(k)} for k in range(ranks)]


def free_port() -> int:
    """A free TCP port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def wait_for_ranks(started: Sequence[subprocess.Popen]) -> int:
    """Wait for all ranks, or a grace period after the first failure; returns its exit code."""
    code, end = 0, float("inf")
    while monotonic() < end:
        codes = [rank.poll() for rank in started]
        if not code and any(codes):
            code, end = next(filter(None, codes)), monotonic() + GRACE
        if None not in codes:
            break
        sleep(LOOK)
    # as a shell says that a signal ended something
    return code if code >= 0 else 128 - code
