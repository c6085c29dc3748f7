"""The model of Hopper's tensor cores, and a test of it on hardware.

One instruction (mma.sync.m16n8k16) of bf16 or fp16 factors with an fp32 sum: 16 exact products and
the running sum are cut towards zero at 25 bits below the largest exponent, added exactly, and cut
towards zero to fp32 (MMA-Sim, arXiv 2511.10909). Ampere takes 8 + 8 products at 24 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cuda.ceilings import HEAD, START
from benchmarks.cuda.driver import Driver

ROWS, COLUMNS, STEPS, LANES = 16, 8, 16, 32
LEAST = {"bf16": -126, "f16": -14}
"""The exponent of denormals."""
FRACTION = 25
NO_EXPONENT = -(1 << 20)
"""Stands for the exponent of a zero: below all others."""


def mma_text(kind: str) -> str:
    """D = A B + C, a tile a warp; each lane's registers lie side by side in memory."""
    return f"""{HEAD}
.visible .entry tile(.param .u64 a, .param .u64 b, .param .u64 c) {{{START}
  ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b]; ld.param.u64 %rd4, [c];
  cvta.to.global.u64 %rd2, %rd2; cvta.to.global.u64 %rd3, %rd3; cvta.to.global.u64 %rd4, %rd4;
  shl.b64 %rd5, %rd0, 4; shl.b64 %rd6, %rd0, 3;
  add.u64 %rd2, %rd2, %rd5; add.u64 %rd3, %rd3, %rd6; add.u64 %rd4, %rd4, %rd5;
  ld.global.v4.b32 {{%r8, %r9, %r10, %r11}}, [%rd2];
  ld.global.v2.b32 {{%r12, %r13}}, [%rd3];
  ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%rd4];
  mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 {{%f0, %f1, %f2, %f3}},
    {{%r8, %r9, %r10, %r11}}, {{%r12, %r13}}, {{%f0, %f1, %f2, %f3}};
  st.global.v4.f32 [%rd4], {{%f0, %f1, %f2, %f3}};
  ret;
}}"""


# factors: 16 bits each, as numbers of float64

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def rounded(values: np.ndarray, kind: str) -> np.ndarray:
    """The 16 bits of the nearest factor."""
    if kind == "f16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).view(np.uint16)
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def numbers(bits: np.ndarray, kind: str) -> np.ndarray:
    """The numbers that 16 bits stand for."""
    if kind == "f16":
        return bits.view(np.float16).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def any_bits(r: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Bits of any kind: infinities, NaN and denormals among them."""
    return r.integers(0, 1 << 16, shape, np.uint16)


def exponents(values: np.ndarray, least: int) -> np.ndarray:
    """The exponents of finite numbers, of denormals the least, of zeros none."""
    found = np.maximum(np.frexp(values)[1] - 1, least)
    return np.where(values == 0, NO_EXPONENT, found)


def cut(values: np.ndarray) -> np.ndarray:
    """Numbers of float64 towards zero to float32; what is too large is infinite."""
    quantum = np.maximum(np.frexp(values)[1] - 1, -126) - 23
    whole = np.ldexp(np.trunc(np.ldexp(values, -quantum)), quantum)
    with np.errstate(over="ignore"):
        return whole.astype(np.float32)


def model(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, kind: str, fraction: int = FRACTION
) -> np.ndarray:
    """C + A B for tiles [tiles, 16, 16], [tiles, 16, 8], [tiles, 16, 8], as the card adds.

    Source: MMA-Sim, arXiv 2511.10909, section on Hopper.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        products = a[:, :, None, :] * np.swapaxes(b, 1, 2)[:, None]
        plain = products.sum(-1) + c
    odd = ~np.isfinite(plain)
    products, start = np.where(np.isfinite(products), products, 0), np.where(np.isfinite(c), c, 0)
    start = start.astype(np.float64)
    least = LEAST[kind]
    known = exponents(np.where(np.isfinite(a), a, 0), least)[:, :, None, :]
    factor = exponents(np.where(np.isfinite(b), b, 0), least)
    top = (known + np.swapaxes(factor, 1, 2)[:, None]).max(-1)
    top = np.maximum(top, exponents(start, -126))
    scale = np.where(top < NO_EXPONENT // 2, 0, fraction - top)
    terms = np.trunc(np.ldexp(products, scale[..., None])).sum(-1) + np.trunc(
        np.ldexp(start, scale)
    )
    found = cut(np.ldexp(terms, -scale))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(odd, plain.astype(np.float32), found)


# tiles <-> lanes


def fragments(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, ...]:
    """The registers of each lane, from the bits of tiles (PTX ISA, mma.m16n8k16)."""
    lane = np.arange(LANES)
    group, place = lane >> 2, 2 * (lane & 3)
    rows = np.stack([group, group, group + 8, group + 8, group, group, group + 8, group + 8], 1)
    steps = np.stack([place + k for k in (0, 1, 0, 1, 8, 9, 8, 9)], 1)
    columns = np.stack([place + k for k in (0, 1, 0, 1)], 1)
    deep = np.stack([place + k for k in (0, 1, 8, 9)], 1)
    return (
        np.ascontiguousarray(a[:, rows, steps]),
        np.ascontiguousarray(b[:, deep, group[:, None]]),
        np.ascontiguousarray(c[:, rows[:, :4], columns]),
    )


def tiles_of(lanes: np.ndarray) -> np.ndarray:
    """The tiles of sums whose parts the lanes hold."""
    lane = np.arange(LANES)
    group, place = lane >> 2, 2 * (lane & 3)
    found = np.empty((len(lanes), ROWS, COLUMNS), lanes.dtype)
    for k in range(4):
        found[:, group + 8 * (k >> 1), place + (k & 1)] = lanes[:, :, k]
    return found


# cases: bits of A and B, and C


def cases(kind: str, tiles: int) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Tiles of each class of numbers."""
    shapes = (tiles, ROWS, STEPS), (tiles, STEPS, COLUMNS), (tiles, ROWS, COLUMNS)
    r = np.random.default_rng(0)
    spread = 8 if kind == "bf16" else 3

    def wide(shape: tuple[int, ...], by: float) -> np.ndarray:
        return r.standard_normal(shape) * np.exp2(np.rint(by * r.standard_normal(shape)))

    def sparse(shape: tuple[int, ...]) -> np.ndarray:
        return np.where(r.random(shape) < 0.7, 0.0, wide(shape, spread))

    def drawn(draw: Callable[[tuple[int, ...]], np.ndarray], by: float) -> tuple[np.ndarray, ...]:
        return draw(shapes[0]), draw(shapes[1]), wide(shapes[2], by)

    tiny = 2.0 ** (-63 if kind == "bf16" else -12)
    classes = {
        "normal": drawn(r.standard_normal, 0),
        "wide": drawn(lambda shape: wide(shape, spread), spread),
        "sparse": drawn(sparse, spread),
        "large sums": drawn(lambda shape: wide(shape, 1), 20),
        "small": drawn(lambda shape: tiny * wide(shape, 2), 0),
    }
    found = {}
    for name, (a, b, c) in classes.items():
        c = c * (tiny * tiny if name == "small" else 1.0)
        found[name] = rounded(a, kind), rounded(b, kind), c.astype(np.float32)
    a, b, c = found["normal"]
    opposite = -model(numbers(a, kind), numbers(b, kind), np.zeros(shapes[2], np.float32), kind)
    found["cancelled"] = a, b, opposite
    anything = r.integers(0, 1 << 32, shapes[2], np.uint32).view(np.float32)
    found["any bits"] = any_bits(r, shapes[0]), any_bits(r, shapes[1]), anything
    # few specials a row, since any NaN hides the rest
    rare = r.random(shapes[0]) < 0.02
    found["few specials"] = np.where(rare, any_bits(r, shapes[0]), a), b, c
    return found


def differing(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where the bits differ; NaN are alike."""
    same = found.view(np.uint32) == wanted.view(np.uint32)
    return ~(same | (np.isnan(found) & np.isnan(wanted)))


def tensor_cores(driver: Driver, tiles: int = 1024) -> dict[str, Any]:
    """How many of 128 sums a tile differ from the model, in each class of numbers."""
    report: dict[str, Any] = {}
    for kind in LEAST:
        kernel = driver.function(driver.load(mma_text(kind)), "tile")
        for name, (a, b, c) in cases(kind, tiles).items():
            parts = fragments(a, b, c)
            places = [driver.allocate(x.nbytes) for x in parts]
            for place, part in zip(places, parts, strict=True):
                driver.put(place, part)
            driver.launch(kernel, tiles, LANES, places)
            driver.synchronize()
            raw = driver.get(places[2], parts[2].nbytes)
            found = tiles_of(raw.view(np.float32).reshape(tiles, LANES, 4))
            for place in places:
                driver.free(place)
            report[f"{kind} {name}"] = compared(found, (a, b, c), kind)
    return report


def compared(
    found: np.ndarray, given: tuple[np.ndarray, np.ndarray, np.ndarray], kind: str
) -> dict[str, Any]:
    """The sums that differ, by model; of the first that differ from ours, all numbers."""
    a, b, c = numbers(given[0], kind), numbers(given[1], kind), given[2]
    counts = {k: int(differing(found, model(a, b, c, kind, k)).sum()) for k in (24, 25, 26)}
    wanted = model(a, b, c, kind)
    row: dict[str, Any] = {"sums": found.size, "differ": counts[FRACTION], "by fraction": counts}
    examples = []
    for t, m, n in np.argwhere(differing(found, wanted))[:3]:
        sums = [hex(int(x[t, m, n].view(np.uint32))) for x in (c, found, wanted)]
        pairs = [
            [hex(x) for x in given[0][t, m].tolist()],
            [hex(x) for x in given[1][t, :, n].tolist()],
        ]
        examples.append({"c, card, model": sums, "a, b": pairs})
    nans = found[np.isnan(found)].view(np.uint32)
    row["nans"] = sorted({hex(int(x)) for x in nans})[:4]
    return row | {"examples": examples}
