"""Products on a card: bits against the model and the CPU's hashes, speed beside torch's."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from statistics import median
from typing import Any

import numpy as np

from benchmarks.cuda import float_product, peers, tensor_product
from benchmarks.cuda.driver import Driver, DriverError, Kernel
from benchmarks.cuda.float_product import FloatShape
from benchmarks.cuda.programs import drawn
from benchmarks.cuda.tensor_core import (
    COLUMNS,
    LEAST,
    ROWS,
    STEPS,
    differing,
    model,
    numbers,
    rounded,
)
from benchmarks.cuda.tensor_product import Shape
from benchmarks.cuda.tiles import Tiling

Sizes = tuple[int, int, int]
"""Rows, columns and steps."""
TORCH = {"bf16": "bfloat16", "f16": "float16"}
ROUNDS, REPEATS = 3, 8
MOST_SHARED, MOST_REGISTERS = 233472, 65536
"""Of a multiprocessor."""

RAGGED: list[Sizes] = [(1, 1, 1), (17, 33, 511), (65, 130, 513), (127, 129, 1023), (40, 24, 72)]
WHOLE: list[Sizes] = [(128, 128, 64), (128, 128, 512), (128, 128, 1024), (128, 128, 4096)]
LAYOUTS = {"nn": (True, False), "nt": (True, True), "tn": (False, False)}
"""Which operands have steps as neighbours."""

LARGE: dict[str, tuple[Sizes, dict[str, Shape]]] = {
    "8192": (
        (8192, 8192, 8192),
        {
            "128 x 256, one leaf": Shape(128, 256, 64, (2, 4), 3, ""),
            "256 x 128, one leaf": Shape(256, 128, 64, (4, 2), 3, ""),
            "128 x 128, 4 warps, one leaf": Shape(128, 128, 64, (2, 2), 3, ""),
            "128 x 128, one leaf": Shape(128, 128, 64, (2, 4), 3, ""),
            "128 x 128": Shape(128, 128, 64, (2, 4), 3, "rss"),
            "128 x 128, global": Shape(128, 128, 64, (2, 4), 4, "rsg"),
            "128 x 256": Shape(128, 256, 32, (2, 4), 4, "sgg"),
        },
    ),
    "few rows": (
        (16, 8192, 8192),
        {
            "16 x 64": Shape(16, 64, 64, (1, 4), 8, "rrr"),
            "16 x 64, 128 deep": Shape(16, 64, 128, (1, 4), 8, "rrr"),
        },
    ),
    "128 rows": (
        (128, 8192, 8192),
        {
            "128 x 64": Shape(128, 64, 64, (4, 2), 4, "rss"),
            "64 x 64": Shape(64, 64, 64, (2, 2), 6, "rrr"),
        },
    ),
}
LARGE["4096"] = ((4096, 4096, 4096), LARGE["8192"][1])


@dataclass
class Run:
    """One product on the card."""

    driver: Driver
    shape: Tiling
    kernel: Kernel
    sizes: Sizes
    leaves: int
    places: Sequence[int]
    """A, B, C and memory of waiting sums."""
    blocks: int

    def launch(self) -> None:
        """Start it."""
        m, n, k = self.sizes
        near, far = self.shape.steps_first
        lines = (k if near else m, k if far else n, n)
        given = [*self.places, m, n, k, *lines, self.leaves]
        self.driver.launch(self.kernel, self.blocks, self.shape.threads, given, self.shape.shared)


class Bench:
    """Kernels, and memory that is given back together."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.count = int(driver.describe()["multiprocessors"])  # type: ignore[call-overload]
        self.kernels: dict[Tiling, Kernel] = {}
        self.held: list[int] = []

    def put(self, array: np.ndarray) -> int:
        """An array on the card."""
        self.held.append(self.driver.allocate(array.nbytes))
        self.driver.put(self.held[-1], array)
        return self.held[-1]

    def room(self, nbytes: int) -> int:
        """Memory on the card, poisoned."""
        self.held.append(self.driver.allocate(nbytes))
        self.driver.fill(self.held[-1], 0x7D, nbytes)
        return self.held[-1]

    def free(self) -> None:
        """Give all memory back."""
        for place in self.held:
            self.driver.free(place)
        self.held.clear()

    def kernel(self, shape: Any) -> Kernel:
        """A shape's kernel, assembled once."""
        if shape not in self.kernels:
            found = self.driver.function(self.driver.load(shape.text()), "product")
            self.driver.allow(found, shape.shared)
            self.kernels[shape] = found
        return self.kernels[shape]

    def run(self, shape: Any, sizes: Sizes, leaves: int, places: Sequence[int]) -> Run:
        """A product ready to start; as many blocks as run at once take all tiles in turn."""
        tiles = -(-sizes[0] // shape.rows) * -(-sizes[1] // shape.columns)
        kernel = self.kernel(shape)
        registers = shape.threads * -(-kernel.registers // 8) * 8
        most = min(MOST_SHARED // (shape.shared + 1024), MOST_REGISTERS // registers)
        blocks = min(tiles, self.count * max(1, most))
        held = self.room(max(16, shape.work * blocks))
        return Run(self.driver, shape, kernel, sizes, leaves, [*places, held], blocks)

    def seconds(self, works: dict[str, Any]) -> dict[str, float]:
        """The card's time of each, the median of rounds in turns."""
        times: dict[str, list[float]] = {name: [] for name in works}
        for work in works.values():
            work()
        for _ in range(ROUNDS):
            for name, work in works.items():
                times[name].append(self.driver.seconds(work, REPEATS))
        return {name: median(each) for name, each in times.items()}


# the model of a whole product


def expected(a: np.ndarray, b: np.ndarray, leaves: int, kind: str) -> np.ndarray:
    """A [m, k] B [k, n] of 16 bits in the canonical order, as float32."""
    rows, columns = a.shape[0], b.shape[1]
    parts = []
    for first in range(0, a.shape[1], a.shape[1] // leaves):
        x = padded(numbers(a[:, first : first + a.shape[1] // leaves], kind), ROWS, STEPS)
        y = padded(numbers(b[first : first + a.shape[1] // leaves], kind), STEPS, COLUMNS)
        down, across = x.shape[0] // ROWS, y.shape[1] // COLUMNS
        sums = np.zeros((down * across, ROWS, COLUMNS), np.float32)
        for k in range(0, x.shape[1], STEPS):
            left = np.repeat(x[:, k : k + STEPS].reshape(down, ROWS, STEPS), across, 0)
            right = y[k : k + STEPS].reshape(STEPS, across, COLUMNS).swapaxes(0, 1)
            sums = model(left, np.tile(right, (down, 1, 1)), sums, kind)
        whole = sums.reshape(down, across, ROWS, COLUMNS).swapaxes(1, 2)
        parts.append(whole.reshape(down * ROWS, across * COLUMNS)[:rows, :columns])
    while len(parts) > 1:
        parts = [x + y for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def padded(x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Zeros behind, up to whole tiles."""
    return np.pad(x, ((0, -x.shape[0] % rows), (0, -x.shape[1] % columns)))


def factors(sizes: Sizes, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Normal numbers of 16 bits."""
    r, (m, n, k) = np.random.default_rng(0), sizes
    a, b = (r.standard_normal(shape, np.float32) for shape in ((m, k), (k, n)))
    return rounded(a, kind), rounded(b, kind)


def laid(a: np.ndarray, b: np.ndarray, steps_first: tuple[bool, bool]) -> list[np.ndarray]:
    """Factors as they lie in memory."""
    left, right = (a if steps_first[0] else a.T), (b.T if steps_first[1] else b)
    return [np.ascontiguousarray(left), np.ascontiguousarray(right)]


# stages


def small_shapes(sizes: Sizes, kind: str) -> Iterator[tuple[str, Shape]]:
    """Several tilings of one small product."""
    base = Shape(64, 64, 64, (2, 2), 3, "rrr", kind=kind, wide=True)
    if sizes in RAGGED:
        aligned = all(x % 8 == 0 for x in sizes)
        for name, first in LAYOUTS.items():
            yield f"{name} 64 x 64", replace(base, careful=True, aligned=aligned, steps_first=first)
        return
    for name, first in LAYOUTS.items():
        for wide, warps, levels, depth in (
            ((128, 128), (2, 4), "rss", 64),
            ((128, 64), (4, 2), "rsg", 64),
            ((64, 64), (2, 2), "rrr", 64),
            ((16, 64), (1, 4), "rrr", 64),
            ((128, 128), (2, 4), "sgg", 32),
        ):
            if wide[0] == 16 and not first[0]:
                continue
            yield (
                f"{name} {wide[0]} x {wide[1]} {levels}",
                Shape(*wide, depth, warps, 3, levels, first, kind=kind, wide=True),
            )


def tensor_bits(driver: Driver, until: float) -> dict[str, Any]:
    """How many sums of small products differ from the model, for each tiling."""
    bench, found = Bench(driver), {}
    for kind in LEAST:
        for sizes in RAGGED + WHOLE:
            a, b = factors(sizes, kind)
            leaves = tensor_product.leaves_of(sizes[2])
            wanted = expected(a, b, leaves, kind)
            for name, shape in small_shapes(sizes, kind):
                if time.monotonic() > until:
                    return found | {"left": "no time"}
                places = [bench.put(x) for x in laid(a, b, shape.steps_first)]
                goal = bench.room(wanted.nbytes)
                bench.run(shape, sizes, leaves, [*places, goal]).launch()
                driver.synchronize()
                got = driver.get(goal, wanted.nbytes).view(np.float32).reshape(wanted.shape)
                bench.free()
                row = {"sums": wanted.size, "differ": int(differing(got, wanted).sum())}
                found[f"{kind} {' x '.join(map(str, sizes))} {name}"] = row | {"leaves": leaves}
    return found


def tensor_speed(driver: Driver, until: float) -> dict[str, Any]:
    """Large products: seconds of each tiling and of torch, bits by samples and by hashes."""
    bench, torch, found = Bench(driver), peers.torch(), {}
    for kind in LEAST:
        for name, (sizes, shapes) in LARGE.items():
            if kind == "f16" and name != "4096":
                continue
            if time.monotonic() > until:
                return found | {"left": "no time"}
            found[f"{kind} {name}"] = large(bench, torch, sizes, kind, shapes)
            bench.free()
    return found


def large(
    bench: Bench, torch: peers.Torch | None, sizes: Sizes, kind: str, shapes: dict[str, Shape]
) -> dict[str, Any]:
    """One large product by several tilings."""
    a, b = factors(sizes, kind)
    leaves = tensor_product.leaves_of(sizes[2])
    places, nbytes = [bench.put(a), bench.put(b)], 2 * sizes[0] * sizes[1]
    rows, runs = {}, {}
    goal = bench.room(nbytes)
    for name, shape in shapes.items():
        shape = replace(shape, kind=kind)
        many = leaves if shape.levels else 1
        bench.driver.fill(goal, 0x7D, nbytes)
        try:
            runs[name] = bench.run(shape, sizes, many, [*places, goal]).launch
            runs[name]()
            bench.driver.synchronize()
        except DriverError as cause:
            rows[name] = {"error": str(cause)}
            runs.pop(name, None)
            continue
        got = bench.driver.get(goal, nbytes)
        kernel = bench.kernel(shape)
        rows[name] = {
            "leaves": many,
            "sampled differ": sampled(got.view(np.uint16).reshape(sizes[:2]), a, b, many, kind),
            "hash": sha256(got.tobytes()).hexdigest()[:16],
            "registers": kernel.registers,
            "local bytes": kernel.local_bytes,
        }
    if torch:
        runs["torch"] = torch.product(*sizes, TORCH[kind])
    return timed(bench, runs, rows, 2.0 * sizes[0] * sizes[1] * sizes[2])


def timed(
    bench: Bench, runs: dict[str, Any], rows: dict[str, Any], operations: float
) -> dict[str, Any]:
    """Rows with seconds, operations a second and the share of torch's."""
    times = bench.seconds(runs)
    for name, seconds in times.items():
        row = rows.setdefault(name, {})
        row |= {"seconds": seconds, "TFLOP/s": round(operations / seconds / 1e12, 1)}
        if "torch" in times:
            row["of torch"] = round(times["torch"] / seconds, 3)
    return rows


def sampled(got: np.ndarray, a: np.ndarray, b: np.ndarray, leaves: int, kind: str) -> int:
    """How many of some tiles' results differ from the model."""
    r, wrong = np.random.default_rng(1), 0
    downs = np.sort(r.choice(a.shape[0], 16, replace=False))
    acrosses = np.sort(r.choice(b.shape[1], 32, replace=False))
    wanted = expected(a[downs], b[:, acrosses], leaves, kind)
    wrong += int((got[np.ix_(downs, acrosses)] != rounded(wanted, kind)).sum())
    return wrong


FLOATS: dict[str, tuple[Sizes, dict[str, FloatShape]]] = {
    "4096": (
        (4096, 4096, 4096),
        {
            "rsss": FloatShape(),
            "rssg": FloatShape(levels="rssg", stages=4),
            "rsgg": FloatShape(levels="rsgg", stages=4),
            "one leaf": FloatShape(levels="", stages=4),
        },
    ),
    "1024": ((1024, 1024, 1024), {"rsss": FloatShape()}),
    "384": ((64, 96, 384), {"careful": FloatShape(levels="rrss", careful=True)}),
    "ragged": ((33, 19, 511), {"careful": FloatShape(levels="rsss", careful=True, aligned=False)}),
}
"""Products whose hashes the CPU makes (bundle.py)."""


def float_products(driver: Driver, hashes: dict[str, str], until: float) -> dict[str, Any]:
    """Products of float32: hashes against the CPU's, seconds beside torch's."""
    bench, torch, found = Bench(driver), peers.torch(), {}
    for name, (sizes, shapes) in FLOATS.items():
        if time.monotonic() > until:
            return found | {"left": "no time"}
        m, n, k = sizes
        places = [bench.put(x) for x in drawn([[m, k], [k, n]])]
        goal, rows, runs = bench.room(4 * m * n), {}, {}
        for title, shape in shapes.items():
            leaves = float_product.leaves_of(k) if shape.levels else 1
            driver.fill(goal, 0x7D, 4 * m * n)
            runs[title] = bench.run(shape, sizes, leaves, [*places, goal]).launch
            runs[title]()
            driver.synchronize()
            digest = sha256(driver.get(goal, 4 * m * n).tobytes()).hexdigest()
            kernel = bench.kernel(shape)
            rows[title] = {
                "leaves": leaves,
                "equal to the CPU": digest == hashes[name] if shape.levels else None,
                "registers": kernel.registers,
                "local bytes": kernel.local_bytes,
            }
        if torch:
            runs["torch"] = torch.product(m, n, k, "float32")
        found[name] = timed(bench, {k: partial(v) for k, v in runs.items()}, rows, 2.0 * m * n * k)
        bench.free()
    return found
