"""Run a Python script as many ranks that are threads of this process: to try out, and to debug.

Each thread has the script's own globals; modules that it imports are shared by all.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

from gnomon.distributed.ending import as_rank
from gnomon.runtime.comm import groups
from gnomon.runtime.comm.environment import Environment, thread_place
from gnomon.runtime.comm.threads import World
from gnomon.settings import override
from gnomon.tensor.random import own_stream

__all__ = ["run_threads"]

SOURCE = "gnomon launch --backend threads"


def run_threads(words: Sequence[str], ranks: int, threads: int, patience: float | None) -> int:
    """Run a script, or a module after -m, with its arguments; the exit code."""
    program = program_of(words)
    world = World(ranks, patience)

    def one(rank: int) -> None:
        backend = world.backend(rank)
        place = Environment(rank, ranks, rank, ranks, SOURCE)
        threads_of = override(num_threads=threads)
        with (
            thread_place(place),
            groups.of_rank(backend),
            threads_of,
            own_stream(),
            as_rank(),
        ):
            program()

    with ThreadPoolExecutor(ranks, "rank") as pool:
        futures = [pool.submit(copy_context().run, one, rank) for rank in range(ranks)]
        # who fails ends the process, so what is left here went well
        for future in futures:
            wrong = future.exception()
            assert wrong is None or isinstance(wrong, SystemExit), wrong
    return 0


def program_of(words: Sequence[str]) -> Callable[[], object]:
    """A callable that runs the program, several times if need be."""
    if words[0] == "-m":
        sys.argv = list(words[1:])
        return lambda: runpy.run_module(words[1], run_name="__main__")
    sys.argv = list(words)
    sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
    code = compile(Path(words[0]).read_bytes(), words[0], "exec")
    return lambda: exec(code, {"__name__": "__main__", "__file__": words[0]})
