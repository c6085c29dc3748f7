"""How fma.rn.ftz flushes, beside what x86 (MXCSR) and Arm (FPCR) do with denormals as zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.cuda.ceilings import HEAD, START
from benchmarks.cuda.driver import Driver

LEAST = 2.0**-126
RULES = ("after rounding", "before rounding", "result is denormal")
"""Which results count as tiny: x86's rule, Arm's, and a comparison of the rounded result."""

TEXT = f"""{HEAD}
.visible .entry fused(.param .u64 a, .param .u64 b, .param .u64 c) {{{START}
  ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b]; ld.param.u64 %rd4, [c];
  cvta.to.global.u64 %rd2, %rd2; cvta.to.global.u64 %rd3, %rd3; cvta.to.global.u64 %rd4, %rd4;
  shl.b64 %rd5, %rd0, 2;
  add.u64 %rd2, %rd2, %rd5; add.u64 %rd3, %rd3, %rd5; add.u64 %rd4, %rd4, %rd5;
  ld.global.f32 %f0, [%rd2]; ld.global.f32 %f1, [%rd3]; ld.global.f32 %f2, [%rd4];
  fma.rn.ftz.f32 %f2, %f0, %f1, %f2;
  st.global.f32 [%rd4], %f2;
  ret;
}}"""


def flushed(values: np.ndarray) -> np.ndarray:
    """Denormals as zeros of their sign."""
    return np.where(np.abs(values) < LEAST, np.copysign(np.float32(0), values), values)


def exact(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """A B + C in float64, rounded to odd; factors have few bits, so that products are exact."""
    product, start = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + start
    back = total - product
    lost = (product - (total - back)) + (start - back)
    bits = total.view(np.int64).copy()
    odd = (lost != 0) & ((bits & 1) == 0)
    bits[odd] += np.where((lost > 0)[odd] == (total > 0)[odd], 1, -1)
    return bits.view(np.float64)


def model(a: np.ndarray, b: np.ndarray, c: np.ndarray, rule: str) -> np.ndarray:
    """A B + C with denormals as zeros, where `rule` says which results are tiny."""
    total = exact(flushed(a), flushed(b), flushed(c))
    rounded = total.astype(np.float32)
    tiny = {
        "after rounding": np.abs((total * 2.0**64).astype(np.float32)) < LEAST * 2.0**64,
        "before rounding": np.abs(total) < LEAST,
        "result is denormal": np.abs(rounded) < LEAST,
    }[rule]
    return np.where(tiny, np.copysign(np.float32(0), rounded), rounded).astype(np.float32)


def drawn(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factors of bf16 around the least exponents; half of the sums end just below the least."""
    r = np.random.default_rng(1)

    def factors(low: int, high: int) -> np.ndarray:
        sign, power = r.choice([-1.0, 1.0], count), r.integers(low, high, count)
        return (sign * np.ldexp(r.integers(128, 256, count) / 128, power)).astype(np.float32)

    a, b = factors(-76, -60), factors(-80, -60)
    c = np.where(r.random(count) < 0.5, 1, -1) * np.ldexp(
        1 + r.random(count), r.integers(-130, -122, count)
    )
    edge = r.random(count) < 0.5
    c = np.where(edge, -np.sign(a * b.astype(np.float64)) * LEAST, c).astype(np.float32)
    b = np.where(edge, np.ldexp(b, -12).astype(np.float32), b)
    return a, b, c


def denormals(driver: Driver, count: int = 1 << 18) -> dict[str, Any]:
    """How many results of fma.rn.ftz differ from each rule."""
    arrays = drawn(count)
    places = [driver.allocate(x.nbytes) for x in arrays]
    for place, array in zip(places, arrays, strict=True):
        driver.put(place, array)
    kernel = driver.function(driver.load(TEXT), "fused")
    driver.launch(kernel, count // 256, 256, places)
    driver.synchronize()
    found = driver.get(places[2], arrays[2].nbytes).view(np.uint32)
    wanted = {rule: model(*arrays, rule).view(np.uint32) for rule in RULES}
    report: dict[str, Any] = {"results": count}
    report |= {rule: int((found != bits).sum()) for rule, bits in wanted.items()}
    first, second = wanted[RULES[0]], wanted[RULES[1]]
    return report | {"rules differ in": int((first != second).sum())}
