"""Small programs as scripts write them, in eager mode: microseconds beside torch's.

Run by hand (python -m benchmarks.small_programs [--only NAME;...] [--json PATH]). Each program is
one source for both libraries and runs here and there in turn. What counts is the time of the
calling thread, the median and the least of the rounds: others' work on the machine counts less so.
The first call of each has a column of its own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
from collections.abc import Callable
from time import thread_time
from typing import Any

from benchmarks.small_cases import CASES

Step = Callable[[], Any]
ROUNDS = 15
LIBRARIES = ("gnomon", "torch")


def seconds(step: Step, calls: int) -> float:
    """The time of one call, of this thread."""
    began = thread_time()
    for _ in range(calls):
        step()
    return (thread_time() - began) / calls


def measure(make: Callable[[Any], Step], calls: int) -> dict[str, dict[str, float]]:
    """The times of a program in each library, in microseconds."""
    steps: dict[str, Step] = {}
    times: dict[str, list[float]] = {}
    first: dict[str, list[float]] = {}
    for name in LIBRARIES:
        library = importlib.import_module(name)
        library.manual_seed(0)
        library.set_num_threads(2)
        steps[name] = make(library)
        first[name] = [seconds(steps[name], 1) for _ in range(2)]
    for _ in range(ROUNDS):
        for name, step in steps.items():
            times.setdefault(name, []).append(seconds(step, calls))
    return {
        name: {
            "median": 1e6 * statistics.median(each),
            "least": 1e6 * min(each),
            "first": 1e6 * first[name][0],
            "second": 1e6 * first[name][1],
        }
        for name, each in times.items()
    }


def main() -> None:
    """Print a line for each program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=";".join(CASES))
    parser.add_argument("--json")
    asked = parser.parse_args()
    found = {}
    print(
        f"{'µs':<22}"
        + "".join(
            f"{x:>12}" for x in ("median", "least", "torch", "least", "ratio", "first", "second")
        )
    )
    for name in asked.only.split(";"):
        found[name] = measure(*CASES[name])
        ours, theirs = found[name]["gnomon"], found[name]["torch"]
        row = [ours["median"], ours["least"], theirs["median"], theirs["least"]]
        row += [theirs["least"] / ours["least"], ours["first"], ours["second"]]
        print(f"{name:<22}" + "".join(f"{x:>12.2f}" for x in row), flush=True)
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
