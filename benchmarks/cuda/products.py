"""Products on a card: bits against the model and the CPU's hashes, speed beside torch's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from benchmarks.cuda import float_product, peers, tensor_product
from benchmarks.cuda.bench import Bench, Sizes, expected, factors, laid
from benchmarks.cuda.driver import Driver, DriverError
from benchmarks.cuda.float_product import FloatShape
from benchmarks.cuda.programs import drawn
from benchmarks.cuda.tensor_core import LEAST, differing, rounded
from benchmarks.cuda.tensor_product import Shape
from benchmarks.cuda.warpgroup_product import GroupShape

TORCH = {"bf16": "bfloat16", "f16": "float16"}
LAYOUTS = {"nn": (True, False), "nt": (True, True), "tn": (False, False)}
"""Which operands have steps as neighbours."""
NN = LAYOUTS["nn"]
RAGGED: list[Sizes] = [(1, 1, 1), (17, 33, 511), (65, 130, 513), (127, 129, 1023), (40, 24, 72)]
WHOLE: list[Sizes] = [(128, 128, 64), (128, 128, 512), (128, 128, 1024), (128, 128, 4096)]
EDGES: list[Sizes] = [(200, 72, 1536), (17, 40, 520), (40, 72, 8192)]
"""Ragged sizes whose lines begin at multiples of 16 bytes, as the copy engine needs."""

SQUARE: dict[str, Any] = {
    "128 x 256, one leaf": Shape(128, 256, 64, (2, 4), 3, ""),
    "256 x 128, one leaf": Shape(256, 128, 64, (4, 2), 3, ""),
    "128 x 128, 4 warps, one leaf": Shape(128, 128, 64, (2, 2), 3, ""),
    "128 x 128, one leaf": Shape(128, 128, 64, (2, 4), 3, ""),
    "128 x 128": Shape(128, 128, 64, (2, 4), 3, "rss"),
    "128 x 128, global": Shape(128, 128, 64, (2, 4), 4, "rsg"),
    "128 x 192": Shape(128, 192, 64, (2, 4), 3, "rsg", LAYOUTS["nt"], careful=True),
    "128 x 256": Shape(128, 256, 32, (2, 4), 4, "sgg"),
}
GROUPS: dict[str, Any] = {
    "128 x 256, one leaf": GroupShape(128, 256, levels="", stages=4, steps_first=NN),
    "128 x 256 nt, one leaf": GroupShape(128, 256, levels="", stages=4),
    "256 x 128, one leaf": GroupShape(256, 128, levels="", stages=4, steps_first=NN),
    "128 x 128, one leaf": GroupShape(128, 128, levels="", stages=6, steps_first=NN),
    "128 x 128": GroupShape(128, 128, levels="rss", steps_first=NN),
    "128 x 128 nt": GroupShape(128, 128, levels="rss"),
    "128 x 192": GroupShape(128, 192, levels="rsg", steps_first=NN, careful=True),
    "128 x 256": GroupShape(128, 256, levels="ggg", stages=4, steps_first=NN),
    "256 x 128": GroupShape(256, 128, levels="ggg", stages=4, steps_first=NN),
    "128 x 256, shared": GroupShape(128, 256, levels="sgg", stages=2, steps_first=NN),
}
PAIRS: dict[str, Any] = {
    "128 x 256, one leaf": GroupShape(128, 256, levels="", stages=4, steps_first=NN, pair=True),
    "128 x 128": GroupShape(128, 128, levels="rss", steps_first=NN, pair=True),
    "128 x 192 nt": GroupShape(128, 192, levels="rsg", careful=True, pair=True),
    "128 x 256": GroupShape(128, 256, levels="ggg", stages=4, steps_first=NN, pair=True),
}
"""Two blocks share B's tiles."""
FEW: dict[str, Any] = {
    "16 x 64": Shape(16, 64, 64, (1, 4), 8, "rrr"),
    "16 x 64, 128 deep": Shape(16, 64, 128, (1, 4), 8, "rrr"),
}
SOME: dict[str, Any] = {
    "128 x 64": Shape(128, 64, 64, (4, 2), 4, "rss"),
    "64 x 64": Shape(64, 64, 64, (2, 2), 6, "rrr"),
    "wgmma 128 x 64": GroupShape(128, 64, levels="rrr", stages=6, steps_first=NN),
}
LARGE: dict[str, tuple[Sizes, dict[str, Any]]] = {
    "8192": ((8192, 8192, 8192), SQUARE),
    "4096": ((4096, 4096, 4096), SQUARE),
    "few rows": ((16, 8192, 8192), FEW),
    "128 rows": ((128, 8192, 8192), SOME),
}
GROUPED = {name: (sizes, GROUPS) for name, (sizes, _) in list(LARGE.items())[:2]}
PAIRED = {name: (sizes, PAIRS) for name, (sizes, _) in GROUPED.items()}


# stages


def small_shapes(sizes: Sizes, kind: str) -> Iterator[tuple[str, Shape]]:
    """Several tilings of one small product."""
    base = Shape(64, 64, 64, (2, 2), 3, "rrr", kind=kind, wide=True)
    if sizes not in WHOLE:
        aligned = all(x % 8 == 0 for x in sizes)
        for name, first in LAYOUTS.items():
            fits = aligned and (first[0] or sizes[0] % 8 == 0)
            yield f"{name} 64 x 64", replace(base, careful=True, aligned=fits, steps_first=first)
        return
    for name, first in LAYOUTS.items():
        for rows, columns, warps, levels, depth in (
            (128, 128, (2, 4), "rss", 64),
            (128, 64, (4, 2), "rsg", 64),
            (64, 64, (2, 2), "rrr", 64),
            (16, 64, (1, 4), "rrr", 64),
            (128, 128, (2, 4), "sgg", 32),
        ):
            if rows == 16 and not first[0]:
                continue
            shape = Shape(rows, columns, depth, warps, 3, levels, first, kind=kind, wide=True)
            yield f"{name} {rows} x {columns} {levels}", shape


def small_groups(sizes: Sizes, kind: str) -> Iterator[tuple[str, GroupShape]]:
    """Several tilings of one small product by warpgroups."""
    careful = sizes not in WHOLE
    for name in ("nn", "nt"):
        for rows, columns, levels in ((128, 128, "rss"), (128, 64, "rsg"), (256, 64, "rsg")):
            base = GroupShape(rows, columns, levels=levels, steps_first=LAYOUTS[name])
            shape = replace(base, kind=kind, careful=careful or rows == 256, wide=True)
            yield f"{name} {rows} x {columns} {levels}", shape


def bits(
    driver: Driver,
    until: float,
    some: list[Sizes],
    shapes: Callable[[Sizes, str], Iterator[tuple[str, Any]]],
) -> dict[str, Any]:
    """How many sums of small products differ from the model, for each tiling."""
    bench, found = Bench(driver), {}
    for kind in LEAST:
        for sizes in some:
            a, b = factors(sizes, kind)
            leaves = tensor_product.leaves_of(sizes[2])
            wanted = expected(a, b, leaves, kind)
            for name, shape in shapes(sizes, kind):
                if time.monotonic() > until:
                    return found | {"left": "no time"}
                places = [bench.put(x) for x in laid(a, b, shape.steps_first)]
                goal = bench.room(wanted.nbytes)
                bench.run(shape, sizes, leaves, [*places, goal])()
                driver.synchronize()
                got = driver.get(goal, wanted.nbytes).view(np.float32).reshape(wanted.shape)
                bench.free()
                row = {"sums": wanted.size, "differ": int(differing(got, wanted).sum())}
                found[f"{kind} {' x '.join(map(str, sizes))} {name}"] = row | {"leaves": leaves}
    return found


def tensor_bits(driver: Driver, until: float) -> dict[str, Any]:
    """Products by mma.sync."""
    return bits(driver, until, RAGGED + WHOLE + EDGES, small_shapes)


def group_bits(driver: Driver, until: float) -> dict[str, Any]:
    """Products by wgmma."""
    return bits(driver, until, WHOLE + EDGES, small_groups)


def tensor_speed(
    driver: Driver, until: float, which: dict[str, tuple[Sizes, dict[str, Any]]]
) -> dict[str, Any]:
    """Large products: seconds of each tiling and of torch, bits by samples and by hashes."""
    bench, torch, found = Bench(driver), peers.torch(), {}
    for kind in LEAST:
        for name, (sizes, shapes) in which.items():
            if kind == "f16" and name != "4096":
                continue
            if time.monotonic() > until:
                return found | {"left": "no time"}
            found[f"{kind} {name}"] = large(bench, torch, sizes, kind, shapes)
            bench.free()
    return found


def large(
    bench: Bench, torch: peers.Torch | None, sizes: Sizes, kind: str, shapes: dict[str, Any]
) -> dict[str, Any]:
    """One large product by several tilings."""
    a, b = factors(sizes, kind)
    leaves = tensor_product.leaves_of(sizes[2])
    nbytes = 2 * sizes[0] * sizes[1]
    rows: dict[str, Any] = {}
    runs: dict[str, Callable[[], object]] = {}
    goal = bench.room(nbytes)
    places = {
        first: [bench.put(x) for x in laid(a, b, first)] for first in list(LAYOUTS.values())[:2]
    }
    for name, shape in shapes.items():
        shape = replace(shape, kind=kind)
        many = leaves if shape.levels else 1
        bench.driver.fill(goal, 0x7D, nbytes)
        try:
            run = bench.run(shape, sizes, many, [*places[shape.steps_first], goal])
            run()
            bench.driver.synchronize()
        except DriverError as cause:
            rows[name] = {"error": str(cause)}
            continue
        runs[name] = run
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
        runs["torch nt"] = torch.product(*sizes, TORCH[kind], is_transposed=True)
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
    "1024": (
        (1024, 1024, 1024),
        {
            "128 x 128": FloatShape(),
            "64 x 128": FloatShape(64, 128, 16, (1, 4), 3),
            "64 x 64": FloatShape(64, 64, 16, (1, 2), 3),
        },
    ),
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
            runs[title] = bench.run(shape, sizes, leaves, [*places, goal])
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
        found[name] = timed(bench, runs, rows, 2.0 * m * n * k)
        bench.free()
    return found
