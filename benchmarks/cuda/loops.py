"""Loops on a card: the CPU's bits, and the share of what a copy reaches, beside torch's."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.cuda import moves, peers
from benchmarks.cuda.bench import Bench
from benchmarks.cuda.ceilings import COPY
from benchmarks.cuda.driver import Driver
from benchmarks.cuda.programs import drawn

LOOPS = (8192, 4096)
"""Rows and columns; files of both sides have these (bundle.py)."""
THREADS = 256


def texts() -> dict[str, str]:
    """Kernels whose text needs nothing of the project."""
    return {
        "sum of columns": moves.sum_of_columns(*LOOPS),
        "transpose": moves.transpose(*LOOPS),
    }


def grids(rows: int, columns: int) -> dict[str, tuple[int, int, int]]:
    """Blocks, their threads and shared memory."""
    return {
        "silu": (rows * columns // 4096, THREADS, 0),
        "softmax": (rows, THREADS, 0),
        "layer_norm": (rows, THREADS, 0),
        "sum of columns": (columns // moves.WIDE, 512, moves.SUM_BYTES),
        "transpose": (rows * columns // moves.SIDE**2, 256, moves.TILE_BYTES),
    }


def loops(driver: Driver, folder: Path) -> dict[str, Any]:
    """Each loop's bits, bytes a second and share of a copy of as many bytes."""
    content = json.loads((folder / "loops.json").read_text())
    bench, torch = Bench(driver), peers.torch()
    rows, columns = LOOPS
    nbytes = 4 * rows * columns
    x, y, w = (bench.put(a) for a in drawn([[rows, columns], [rows, columns], [columns]]))
    goal = bench.room(nbytes)
    inputs = {"silu": [x, y], "layer_norm": [x, w, w]}
    sizes = {"sum of columns": 4 * columns}
    works: dict[str, Callable[[], object]] = {
        "memcpy": partial(driver.copy, goal, x, nbytes),
        "copy": copy_of(driver, bench.count, (x, goal, nbytes)),
    }
    found: dict[str, Any] = {}
    for name, text in (content["kernels"] | texts()).items():
        kernel = driver.function(driver.load(text), name.replace(" ", "_"))
        grid, threads, shared = grids(rows, columns)[name]
        given = [*inputs.get(name, [x]), goal]
        works[name] = partial(driver.launch, kernel, grid, threads, given, shared)
        size = sizes.get(name, nbytes)
        driver.fill(goal, 0x7D, nbytes)
        works[name]()
        driver.synchronize()
        digest = sha256(driver.get(goal, size).tobytes()).hexdigest()
        found[name] = {
            "equal to the CPU": digest == content["hashes"][name],
            "registers": kernel.registers,
            "local bytes": kernel.local_bytes,
            "bytes": size + nbytes * (2 if name == "silu" else 1),
        }
    compare(bench, works, found, nbytes)
    if torch:
        for name, seconds in bench.seconds(torch.loops(rows, columns)).items():
            found[name]["of torch"] = round(seconds / found[name]["seconds"], 3)
    bench.free()
    return found


def copy_of(driver: Driver, count: int, given: tuple[int, int, int]) -> Callable[[], object]:
    """A copy by a kernel, 16 bytes a thread."""
    kernel = driver.function(driver.load(COPY), "copy")
    source, goal, nbytes = given
    return partial(driver.launch, kernel, 8 * count, 256, [source, goal, nbytes // 16])


def compare(bench: Bench, works: dict[str, Any], found: dict[str, Any], nbytes: int) -> None:
    """Seconds of all, in turns, and their bytes a second as a share of the better copy's."""
    times = bench.seconds(works)
    best = max(2 * nbytes / times[name] for name in ("memcpy", "copy"))
    for name, seconds in times.items():
        row = found.setdefault(name, {"bytes": 2 * nbytes})
        rate = row["bytes"] / seconds
        row |= {
            "seconds": seconds,
            "TB/s": round(rate / 1e12, 3),
            "of a copy": round(rate / best, 3),
        }
