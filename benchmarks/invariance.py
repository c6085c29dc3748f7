"""The cost of invariance: a step with the bits of every layout beside one without order (`fast`).

Run by hand (python -m benchmarks.invariance [--steps 20] [--out FILE]). On each layout both steps
are taken in turns, by ranks that are threads of this process; a row gives the medians of the time
until all ranks are done, their ratio, and what it may be.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.overlap import SIZES, step_of
from gnomon import settings
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks
from gnomon.runtime.files import publish
from gnomon.train.recipes import configure

LAYOUTS = {(): 1.05, (("data", 4),): 1.10, (("shard", 4),): 1.10, (("tensor", 4),): 1.20}
"""Axes of a mesh, and invariant over fast, at most."""
WAYS = ("invariant", "fast")


def in_turns(mesh: DeviceMesh, steps: int) -> dict[str, float]:
    """The median seconds of a step under each of the two, when all ranks are done."""
    config = configure("tiny", SIZES)
    shape = (config.train.batch_size, config.train.sequence_length + 1)
    window = np.random.default_rng(0).integers(0, config.model.vocab_size, shape, np.int64)

    def work(rank: int) -> list[list[float]]:
        made = {}
        for numerics in WAYS:
            with settings.override(numerics=numerics):
                made[numerics] = step_of(config, mesh)
        seconds: list[list[float]] = []
        for _ in range(steps + 2):
            row = []
            for numerics, step in made.items():
                with settings.override(numerics=numerics):
                    began = perf_counter()
                    step(window, 1e-3)
                    row.append(perf_counter() - began)
            seconds.append(row)
        return seconds[2:]

    ranks = np.array(run_ranks(mesh, work, 600.0))
    return dict(zip(WAYS, map(median, ranks.max(0).T.tolist()), strict=True))


def main() -> None:
    """Print a row for each layout, and write them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    rows = []
    for axes, most in LAYOUTS.items():
        name = ",".join(f"{axis}={n}" for axis, n in axes) or "one process"
        taken = in_turns(DeviceMesh.of(axes), asked.steps)
        ratio = taken["invariant"] / taken["fast"]
        rows.append({"layout": name, "ratio": ratio, "most": most, **taken})
        times = "  ".join(f"{way} {1e3 * taken[way]:7.1f} ms" for way in WAYS)
        print(f"{name:12s} {times}  {ratio:.3f}, at most {most}", flush=True)
    if asked.out:
        publish(asked.out, json.dumps(rows, indent=1).encode())


if __name__ == "__main__":
    main()
