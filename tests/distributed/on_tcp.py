"""Runs functions of tests as processes that find each other by sockets. Not a test.

They are started as by torchrun; data moves through the sockets too, or through shared memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from gnomon.distributed.processes import free_port
from tests.children import ROOT, environment
from tests.distributed.on_mpi import name_of
from tests.once import once


def started(words: Sequence[str], ranks: int, **more: str) -> list[subprocess.Popen]:
    """A command as several processes, with torchrun's variables."""
    given = environment(GNOMON_NUM_THREADS="1", **more)
    given |= {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1"}
    given |= {"MASTER_PORT": str(free_port())}
    return [
        subprocess.Popen(
            words,
            env=given | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]


def on_tcp(function: Callable[[int, int], Any], ranks: int, backend: str = "tcp") -> list[Any]:
    """function(rank, ranks) on every rank: what it gives, in rank order."""
    return [found[name_of(function)] for found in every(ranks, backend)]


@cache
def every(ranks: int, backend: str) -> list[dict[str, Any]]:
    """What all listed functions give, of each rank."""
    return once(f"{backend}-{ranks}", partial(connected, ranks, backend))


def connected(ranks: int, backend: str) -> list[dict[str, Any]]:
    """What all listed functions give to processes that find each other, of each rank."""
    words = (sys.executable, "-m", "tests.distributed.on_mpi")
    jobs = started(words, ranks, GNOMON_BACKEND=backend)
    found = [p.communicate(timeout=300) for p in jobs]
    lines = [line for line in found[0][0].splitlines() if line.startswith("[")]
    assert lines, "".join(errors for _, errors in found)
    return json.loads(lines[0])
