"""The process of one contender: it takes steps when asked, and says how long each took.

Started by its path, in the contender's own environment, so it needs numpy and nothing of ours:

    python -P serve.py MODULE FUNCTION PROBLEM VARIANT THREADS

FUNCTION takes the problem (settings and arrays, from the folder PROBLEM, and which VARIANT of the
contender is meant) and gives a dictionary:
"step", which takes one finished step and gives its loss, "about", what the contender says of
itself, and perhaps "profile", which says where the time of a number of steps went. Questions and
answers are lines of JSON; whatever else is printed goes to standard error.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, TextIO

import numpy as np

__all__ = ["BenchProblem", "answer", "first_steps", "main", "memory", "times"]


class BenchProblem:
    """A problem as contenders are given it: settings, and arrays that are read when asked for."""

    def __init__(self, folder: Path, variant: str = "", threads: int = 1) -> None:
        self.variant, self.threads = variant, threads
        self.settings: dict[str, Any] = json.loads((folder / "settings.json").read_text())
        self.arrays = np.load(folder / "arrays.npz")

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    def array(self, name: str) -> np.ndarray:
        """An array of the problem."""
        return self.arrays[name]

    def weights(self) -> dict[str, np.ndarray]:
        """The first weights, by name."""
        names = (name for name in self.arrays.files if name.startswith("w:"))
        return {name.removeprefix("w:"): self.arrays[name] for name in names}


def memory() -> dict[str, int]:
    """Bytes of this process now, and the peak since the last reset; empty if unknown."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return {
        "now": 1024 * int(fields["VmRSS"].split()[0]),
        "peak": 1024 * int(fields["VmHWM"].split()[0]),
    }


def reset_peak() -> None:
    """Reset the process's peak of memory, on systems that can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:
        return


def times(step: Callable[[], float], budget: float) -> list[float]:
    """Seconds of steps, one after the other, until the budget is spent."""
    taken: list[float] = []
    while sum(taken) < budget or not taken:
        began = perf_counter()
        step()
        taken.append(perf_counter() - began)
    return taken


def first_steps(make: Callable, problem: BenchProblem, born: float) -> tuple[dict, dict]:
    """A contender, and what its first three steps were like."""
    began = perf_counter()
    contender = make(problem)
    ready, before = perf_counter(), memory()
    reset_peak()
    losses, seconds = [], []
    for _ in range(3):
        start = perf_counter()
        losses.append(float(contender["step"]()))
        seconds.append(perf_counter() - start)
    report = {
        "made": ready - began,
        "first": seconds[0],
        "second": seconds[1],
        "until_first": ready + seconds[0] - born,
        "losses": losses,
        "memory": {"before": before.get("now", 0), "peak": memory().get("peak", 0)},
        "about": contender.get("about", {}),
    }
    reset_peak()
    return contender, report


def answer(contender: dict, question: dict) -> dict:
    """The contender's answer to one question."""
    if "run" in question:
        busy = process_time()
        taken = times(contender["step"], question["run"])
        return {"seconds": taken, "busy": process_time() - busy, "memory": memory()}
    if "profile" in question and "profile" in contender:
        rows = contender["profile"](question["profile"])
        return {"rows": rows, "figures": contender.get("figures", dict)()}
    return {}


def hold(threads: int) -> None:
    """Keep this process on as many processors as it may have threads, where that can be said."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def main(words: list[str]) -> None:
    """Serve requests until standard input ends."""
    born = perf_counter()
    out: TextIO = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module, function, folder, variant, threads = words
    hold(int(threads))
    loaded = runpy.run_module(module)
    imported = perf_counter() - born
    problem = BenchProblem(Path(folder), variant, int(threads))
    contender, report = first_steps(loaded[function], problem, born)
    print(json.dumps({"imported": imported, **report}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(contender, json.loads(line))), file=out, flush=True)
    # threads of a peer's library may refuse to end
    out.close()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
