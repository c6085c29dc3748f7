"""Runs functions of tests as ranks that MPI connects, many in one launch. Not a test.

Ranks take seconds to start, so the first test that asks for one function has all of the list run.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import gnomon.distributed as dist
from gnomon.distributed.launcher import Launch
from tests.children import ROOT, environment
from tests.once import once

LISTED = {
    2: (
        "test_all_to_all.traded",
        "test_conformance.narrow",
        "test_eager_order.looking",
        "test_experts_on_layouts.divided",
        "test_folds.folds",
        "test_functional.gradients",
        "test_groups.hundreds",
        "test_objects.exchanged",
        "test_objects.passed_on",
        "test_point_to_point.beyond_windows",
        "test_point_to_point.both_ways",
        "test_point_to_point.by_tags",
        "test_point_to_point.into_parts",
        "test_static.traded",
        "test_works.dropped",
        "test_works.known_and_new",
        "test_works.together",
    ),
    3: (
        "test_captured_messages.both",
        "test_folds.folds",
        "test_groups.halves",
        "test_point_to_point.some_traffic",
    ),
}
"""Ranks -> functions of (rank, ranks) in a folder of tests, whose results JSON holds."""
FOLDERS = {
    "test_all_to_all": "tests.distributed.token_dispatch",
    "test_experts_on_layouts": "tests.train",
    "test_static": "tests.distributed.token_dispatch",
    "test_works": "tests.tensor",
}
"""Modules that are not in this folder."""


def on_mpi(function: Callable[[int, int], Any], ranks: int) -> list[Any]:
    """function(rank, ranks) on every rank: what it gives, in rank order."""
    return [found[name_of(function)] for found in every(ranks)]


def name_of(function: Callable) -> str:
    """The name of a function in the list."""
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


@cache
def every(ranks: int) -> list[dict[str, Any]]:
    """What all listed functions give, of each rank."""
    return once(f"mpi-{ranks}", partial(launched, ranks))


def launched(ranks: int) -> list[dict[str, Any]]:
    """What a launch of all listed functions gives, of each rank."""
    launch = Launch((sys.executable, "-m", "tests.distributed.on_mpi"), ranks)
    done = subprocess.run(
        launch.arguments(),
        env=launch.environment() | environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("[")]
    return json.loads(told)


def main() -> None:
    """Run as a rank; the first one says what all have."""
    dist.init_process_group()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    found = {}
    for name in LISTED[ranks]:
        module, _, function = name.partition(".")
        folder = FOLDERS.get(module, "tests.distributed")
        work = getattr(importlib.import_module(f"{folder}.{module}"), function)
        found[name] = work(rank, ranks)
    made: list[Any] = [None] * ranks
    dist.all_gather_object(made, found)
    if rank == 0:
        print(json.dumps(made), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
