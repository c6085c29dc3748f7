"""How far the functions of floats are from the exact value, in units of the last place (ULP).

Not a test. Points are every number of a 16-bit dtype, and for float32 and float64 as many as asked
for: any bit patterns, subnormals, moderate numbers, and the neighbours of a function's own hard
places. A cheap reference in 64 bits of mantissa (tests/precise.py) picks the worst, overall and in
every stretch of the axis; those are judged against mpmath.

    python -m tests.ulp            # writes docs/accuracy.md: some minutes
"""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import mpmath
import numpy as np

import gnomon as gn
from tests.house import ROOT
from tests.precise import FUNCTIONS, Judged, longer

PAGE = ROOT / "docs" / "accuracy.md"
DTYPES = ("float32", "float64", "bfloat16", "float16")
WORST, EACH = 64, 3
"""The points judged: so many of all, and of each of as many stretches the worst three."""
COUNT, SAMPLE = 1_000_000, 4_000
DIGITS = 50
"""Of mpmath; its circular functions take more where an angle is large."""


class Format(NamedTuple):
    """What a dtype can hold: the digits of its significand, its least and largest exponents."""

    digits: int
    least: int
    most: int


FORMATS = {
    "float32": Format(24, -149, 128),
    "float64": Format(53, -1074, 1024),
    "bfloat16": Format(8, -133, 128),
    "float16": Format(11, -24, 16),
}


def kind(name: str) -> np.dtype:
    """numpy's dtype of a name."""
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def patterns(dtype: str) -> np.ndarray:
    """Every number of a dtype of 16 bits."""
    return np.arange(2**16, dtype=np.uint16).view(kind(dtype))


def neighbours(places: np.ndarray, dtype: str, reach: int) -> np.ndarray:
    """Numbers of a dtype beside the places, up to so many steps away and at doubling distances."""
    steps = np.arange(-reach, reach + 1)
    far = 2 ** np.arange(reach.bit_length(), FORMATS[dtype].digits)
    steps = np.concatenate([steps, far, -far])
    words = np.int32 if dtype == "float32" else np.int64
    near = places.astype(dtype).view(words)[:, None] + steps.astype(words)
    return near.view(dtype).ravel()


def drawn(dtype: str, size: int, hard: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """So many numbers of float32 or float64: where a function is hard, and anywhere."""
    width, part = kind(dtype).itemsize, size // 8
    # numpy's exp2 has other bits on other processors, and the page is of these points
    scales = np.ldexp(rng.uniform(1, 2, 2 * part), rng.integers(-8, 7, 2 * part))
    moderate = rng.standard_normal(2 * part) * scales
    with np.errstate(all="ignore"):
        tiny = np.ldexp(rng.uniform(-1, 1, part // 8), FORMATS[dtype].least + 25).astype(dtype)
        parts = [
            neighbours(hard, dtype, 8),
            rng.integers(0, 256, 3 * part * width, np.uint8).view(dtype),
            tiny,
            moderate.astype(dtype),
            rng.uniform(-1.5, 3.5, part).astype(dtype),
            np.arange(-part // 16, part // 16).astype(dtype) / 2,
        ]
        few = np.concatenate(parts)
        rest = rng.uniform(-200, 200, max(0, size - few.size)).astype(dtype)
    return np.concatenate([few, rest])


def points(f: Judged, dtype: str, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """The arguments at which a function is judged."""
    if dtype in ("float32", "float64"):
        x = drawn(dtype, size, np.array([*EDGES, *f.hard]), rng)
        x = x if f.dense is None else np.append(x, rng.uniform(*f.dense, size).astype(dtype))
    else:
        x = patterns(dtype)
    if f.arity == 1:
        return [x]
    y = rng.permutation(x)
    with np.errstate(all="ignore"):
        partner = f.partner(x, rng).astype(x.dtype)
    return [np.concatenate([x, x]), np.concatenate([y, partner])]


EDGES = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-30, 1e30, 3e38, -3e38, 88.7, -87.3, -103.9, 709.7)
EDGES += (-708.4, -745.1, 1e-40, 5e-324)


def computed(f: Judged, values: list[np.ndarray]) -> np.ndarray:
    """What gnomon makes of the points."""
    return f.ours(*map(gn.from_numpy, values)).numpy()


def unit(size: np.ndarray, dtype: str) -> np.ndarray:
    """The last place of numbers of these sizes, in long double."""
    form = FORMATS[dtype]
    _, exponents = np.frexp(size)
    exponents = np.clip(exponents, form.least + form.digits, form.most)
    return np.ldexp(np.longdouble(1), exponents - form.digits)


def distance(made: np.ndarray, near: np.ndarray, size: np.ndarray, dtype: str) -> np.ndarray:
    """How many last places of `size` lie between results and what they should be, about."""
    top = np.ldexp(np.longdouble(1), FORMATS[dtype].most)
    found, wanted = (np.clip(longer(x), -top, top) for x in (made, near))
    # a NaN on one side alone is infinitely far
    far = np.where(np.isnan(found) & np.isnan(wanted), 0, np.inf)
    return np.where(
        np.isnan(found) | np.isnan(wanted), far, np.abs(found - wanted) / unit(size, dtype)
    )


def candidates(error: np.ndarray, x: np.ndarray, count: int) -> np.ndarray:
    """The places of so many of the largest errors of all, and of some of each stretch."""
    with np.errstate(all="ignore"):
        order = np.argsort(longer(x), kind="stable")
    found = [np.argsort(error)[-count:]]
    for stretch in np.array_split(order, count):
        found.append(stretch[np.argsort(error[stretch])[-EACH:]])
    return np.unique(np.concatenate(found))


def judged(f: Judged, made: float, size: float, dtype: str, *values: float) -> float:
    """The error of one result in last places of it, or of a larger `size`, exactly."""
    form = FORMATS[dtype]
    with mpmath.workdps(DIGITS):
        exact = f.exact(*map(mpmath.mpf, values))
        if isinstance(exact, mpmath.mpc) or mpmath.isnan(exact):
            return 0.0 if np.isnan(made) else np.inf
        if np.isnan(made):
            return np.inf
        top = mpmath.mpf(2) ** form.most
        exact, found = (max(-top, min(top, mpmath.mpf(v))) for v in (exact, made))
        large = max(abs(exact), mpmath.mpf(size))
        exponent = mpmath.frexp(large)[1] if large else form.least
        exponent = min(max(exponent, form.least + form.digits), form.most)
        return float(abs(found - exact) * mpmath.mpf(2) ** (form.digits - exponent))


class Worst(NamedTuple):
    """The largest error of a function, and where it is."""

    error: float
    at: tuple[float, ...]


def measured(name: str, dtype: str, count: int, judges: int = WORST) -> Worst:
    """The largest error of a function over so many points; `judges` scales mpmath's part."""
    f, rng = FUNCTIONS[name], np.random.default_rng(count)
    values = points(f, dtype, count, rng)
    made = computed(f, values)
    with np.errstate(all="ignore"):
        near = f.near(*map(longer, values))
        size = np.abs(near)
        size = np.fmax(size, f.size(*map(longer, values))) if f.size else size
        error = distance(made, near, size, dtype)
    places = candidates(error, values[0], judges)
    worst = Worst(0.0, ())
    for k in places:
        at = tuple(float(v[k]) for v in values)
        if not all(map(np.isfinite, at)):
            assert error[k] <= 0.5, f"{name} of {at} is {made[k]}, not {near[k]}"
            continue
        larger = float(size[k]) if f.size else 0.0
        found = judged(f, float(made[k]), larger, dtype, *at)
        worst = max(worst, Worst(found, at))
    return worst


def figures(name: str) -> tuple[float, ...]:
    """A function's row of the page: the largest error on each dtype, rounded up to hundredths."""
    sizes = ((COUNT, WORST), (SAMPLE, 6))
    found = (max(measured(name, dtype, *size).error for size in sizes) for dtype in DTYPES)
    return tuple(float(np.ceil(error * 100) / 100) for error in found)


HEADER = """# How exact the functions are

The largest error of each function of floats that was found, in units of the last place (ULP) of
the exact result: 0.5 is correct rounding. float32 and float64: a million points each, among them
any bit patterns, subnormals, the extremes, and the neighbours of each function's zeros, poles and
seams; functions of two operands take two million pairs, `lgamma` a second million between −5 and
−1. bfloat16 and float16 are computed in float32 and rounded once: all 65,536 numbers.

The bits are the same on every instruction set and in every place of a vector, and so are these
figures. A reference in long double picks the worst of all points and of 64 stretches of the axis;
mpmath judges those in 50 digits. Additions, products, quotients, roots, `fma`, comparisons,
rounding, remainders and neighbours are exact or correctly rounded and are not listed.

| function | float32 | float64 | bfloat16 | float16 |
|---|---|---|---|---|
"""
FOOTER = """
Two count in last places of their larger term, since the result may be a small difference:
`logaddexp` of the larger operand, `digamma` below 0 of digamma(1 - x) or π / tan(πx). In float32
and narrower `digamma` needs no such excuse.

Written by `python -m tests.ulp`; checked by `tests/test_accuracy.py`, a sample in each run of the
tests and the whole in `pytest -m proof`.
"""


def main() -> None:
    """Write the page."""
    rows = []
    for name in FUNCTIONS:
        rows.append(f"| `{name}` | {' | '.join(f'{x:.2f}' for x in figures(name))} |")
        print(rows[-1], flush=True)
    PAGE.write_text(HEADER + "\n".join(rows) + "\n" + FOOTER, encoding="utf-8")


if __name__ == "__main__":
    main()
