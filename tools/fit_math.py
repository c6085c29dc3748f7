"""Fits the polynomials of gnomon/codegen/coefficients.py and coefficients_gamma.py, its output.

    python tools/fit_math.py > gnomon/codegen/coefficients.py
    python tools/fit_math.py gamma > gnomon/codegen/coefficients_gamma.py

Fits of the relative error, in 50 digits, by least squares at Chebyshev's points: nearly minimax.
Coefficients are rounded to their type one by one from the leading one, and those that follow are
fitted again to what is left.
Development only: needs mpmath, which the package does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mpmath as mp
import numpy as np

mp.mp.dps = 50
GRID = 120


@dataclass(frozen=True)
class Fit:
    """basis(x) · polynomial(variable(x)) approaches target(x); error relative to `scale`."""

    name: str
    comment: str
    target: Callable
    low: float
    high: float
    degrees: dict[str, int]
    basis: Callable = lambda x: mp.mpf(1)
    variable: Callable = lambda x: x
    scale: Callable | None = None
    fixed: tuple[float, ...] = ()
    """Coefficients of the lowest powers that are given."""


def rounded(number: mp.mpf, scalar: str) -> float:
    """The nearest number of the type."""
    return float(np.float32(number)) if scalar == "float" else float(number)


def nodes(low: mp.mpf, high: mp.mpf, count: int) -> list[mp.mpf]:
    """Chebyshev's points, ends included, in ascending order."""
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * mp.cos(mp.pi * k / (count - 1)) for k in range(count)]


class Sampled:
    """The functions of a fit at Chebyshev's points, where least squares are nearly minimax."""

    def __init__(self, fit: Fit) -> None:
        points = nodes(mp.mpf(fit.low), mp.mpf(fit.high), GRID)
        scale = [(fit.scale or fit.target)(x) for x in points]
        self.basis = [fit.basis(x) / s for x, s in zip(points, scale, strict=True)]
        self.target = [fit.target(x) / s for x, s in zip(points, scale, strict=True)]
        self.variable = [fit.variable(x) for x in points]

    def error(self, coefficients: Sequence) -> list[mp.mpf]:
        """The relative error of the polynomial at each point."""
        return [
            b * mp.polyval(list(coefficients)[::-1], v) - t
            for b, v, t in zip(self.basis, self.variable, self.target, strict=True)
        ]

    def powers(self, first: int, count: int) -> mp.matrix:
        """What each of `count` coefficients from the given one on is multiplied by."""
        rows = zip(self.basis, self.variable, strict=True)
        return mp.matrix([[b * v ** (first + j) for j in range(count)] for b, v in rows])


def following(sampled: Sampled, given: Sequence, count: int) -> list[mp.mpf]:
    """The `count` coefficients after the given ones that leave the least squares of error."""
    powers = sampled.powers(len(given), count)
    left = -mp.matrix(sampled.error(given or [0]))
    return list(mp.lu_solve(powers.T * powers, powers.T * left))


def polynomial(fit: Fit, scalar: str) -> tuple[list[float], float]:
    """Rounded coefficients and the largest relative error that is left."""
    sampled, chosen = Sampled(fit), [rounded(c, scalar) for c in fit.fixed]
    total = fit.degrees[scalar] + 1
    while len(chosen) < total:
        chosen.append(rounded(following(sampled, chosen, total - len(chosen))[0], scalar))
    return chosen, float(max(map(abs, sampled.error(chosen))))


def scaled_erfc(x: mp.mpf) -> mp.mpf:
    """exp(x²) · erfc(x) · (1 + 2x): between 1 and 1.13 for x ≥ 0, smooth at infinity."""
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def normal_tail(x: mp.mpf) -> mp.mpf:
    """x times what lies beyond x of a normal distribution, over its density's exponential."""
    return x / 2 * mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2))


def zero_between(low: mp.mpf, high: mp.mpf) -> mp.mpf:
    """Where lgamma(−x) falls through 0 from low to high, by halving."""
    for _ in range(220):
        middle = (low + high) / 2
        above = mp.loggamma(-middle).real > 0
        low, high = (middle, high) if above else (low, middle)
    return low


TINY = 1e-4
NEARLY = -1 + mp.mpf(10) ** -40
BEFORE_THREE = zero_between(3 - mp.mpf(10) ** -40, mp.mpf("2.5"))
BOTH = ("float", "double")

POLYNOMIALS = [
    Fit("EXP", "e^x, |x| ≤ ln 2", mp.exp, -0.6935, 0.6935, {"float": 7, "double": 14},
        fixed=(1, 1)),
    Fit("EXP2", "2^x, |x| ≤ 1/2", lambda x: mp.mpf(2) ** x, -0.5, 0.5, {"float": 6, "double": 12},
        fixed=(1,)),
    Fit("EXPM1", "(e^x − 1) / x, |x| ≤ ln 2 / 2", mp.expm1, -0.34675, 0.34675,
        {"float": 5, "double": 11}, basis=lambda x: x, fixed=(1,)),
    Fit("LOG", "log(1 + x) / x, √½ ≤ 1 + x ≤ √2", mp.log1p, mp.sqrt(0.5) - 1, mp.sqrt(2) - 1,
        {"float": 9}, basis=lambda x: x, fixed=(1, -0.5)),
    Fit("LOG_RATIO", "(log((1 + x) / (1 − x)) − 2x) / x³ by x², |x| ≤ (√2 − 1) / (√2 + 1)",
        lambda x: 2 * (mp.atanh(x) - x), TINY, 0.1716, {"double": 6}, basis=lambda x: x**3,
        variable=lambda x: x * x, scale=lambda x: 2 * mp.atanh(x)),
    Fit("LOG_TAIL", "(log((1 + x) / (1 − x)) − 2x − 2x³ / 3) / x⁵ by x², x as above",
        lambda x: 2 * (mp.atanh(x) - x - x**3 / 3), TINY, 0.1716, {"double": 8},
        basis=lambda x: x**5, variable=lambda x: x * x, scale=lambda x: 2 * mp.atanh(x)),
    Fit("SIN", "sin(x) / x by x², |x| ≤ π / 4", mp.sin, TINY, 0.7854, {"float": 4, "double": 8},
        basis=lambda x: x, variable=lambda x: x * x, fixed=(1,)),
    Fit("COS", "cos(x) by x², |x| ≤ π / 4", mp.cos, TINY, 0.7854, {"float": 4, "double": 7},
        variable=lambda x: x * x, fixed=(1, -0.5)),
    Fit("ASIN", "asin(x) / x by x², |x| ≤ 1 / 2", mp.asin, TINY, 0.5, {"double": 13},
        basis=lambda x: x, variable=lambda x: x * x, fixed=(1,)),
    Fit("ATAN", "atan(x) / x by x², |x| ≤ tan(π / 8)", mp.atan, TINY, 0.41422, {"double": 12},
        basis=lambda x: x, variable=lambda x: x * x, fixed=(1,)),
    Fit("SINH", "sinh(x) / x by x², |x| ≤ 1", mp.sinh, TINY, 1, {"double": 8},
        basis=lambda x: x, variable=lambda x: x * x, fixed=(1,)),
    Fit("TANH", "tanh(x) / x by x², |x| ≤ 5/8", mp.tanh, TINY, 0.625, {"float": 5},
        basis=lambda x: x, variable=lambda x: x * x, fixed=(1,)),
    Fit("ERF", "erf(x) / x − 1 by x², |x| ≤ 1", lambda x: mp.erf(x) - x, TINY, 1,
        {"float": 6, "double": 13}, basis=lambda x: x, variable=lambda x: x * x, scale=mp.erf),
    Fit("ERF_LARGE", "erf(x) by x − 5/2, 1 ≤ x ≤ 3.93", mp.erf, 1, 3.93, {"float": 14},
        variable=lambda x: x - 2.5),
    Fit("ERFC", "e^(x²) · erfc(x) · (1 + 2x) by (x − 4) / (x + 4), 1/2 ≤ x ≤ 28",
        lambda q: scaled_erfc(4 * (1 + q) / (1 - q)), -3.5 / 4.5, 24 / 32, {"double": 22}),
    Fit("GELU_TAIL", "e^(x² / 2) · erfc(x / √2) · x / 2 by 1 / (x + 3/2), 1.06 ≤ x ≤ 15",
        lambda t: normal_tail(1 / t - 1.5), 1 / 16.6, 1 / 2.56, {"float": 10}),
]  # fmt: skip
GAMMA = [
    Fit("LGAMMA", "lgamma(2 + x) / (x · (x + 1)), |x| ≤ 1",
        lambda x: mp.loggamma(2 + x) / (x * (x + 1)), NEARLY, 1, {"double": 27}),
    Fit("LGAMMA_BELOW", "lgamma(−z − x) / x by 32 x, |x| ≤ 0.04, z its zero before 3",
        lambda x: mp.loggamma(-BEFORE_THREE - x).real, -0.04, 0.04, {"double": 17},
        basis=lambda x: x, variable=lambda x: 32 * x),
    Fit("DIGAMMA", "digamma(2 + x) / (2 + x − its zero), |x| ≤ 1",
        lambda x: mp.digamma(2 + x) / (2 + x - mp.findroot(mp.digamma, 1.46)), -1, 1,
        {"double": 29}),
]  # fmt: skip

HEADER = '''"""Coefficients of the polynomials of vector math, lowest power first, by type.

Written by tools/fit_math.py, which says how; not by hand. The error noted is the polynomial's own,
relative to the function, before any rounding of the arithmetic.
"""

from __future__ import annotations'''


def listed(name: str, values: Sequence[float], note: str) -> str:
    """An entry of a table, one number a line."""
    lines = "".join(f"        {value!r},\n" for value in values)
    return f'    "{name}": (  # {note}\n{lines}    ),'


def table(name: str, comment: str, entries: Sequence[str]) -> str:
    """A table of coefficients as Python."""
    return "\n".join([f"# {comment}", f"{name} = {{", *entries, "}"])


def fitted(fit: Fit) -> str:
    """The table of a polynomial."""
    entries = []
    for scalar in (s for s in BOTH if s in fit.degrees):
        values, error = polynomial(fit, scalar)
        entries.append(listed(scalar, values, f"error 2^{np.log2(error):.1f}"))
    return table(fit.name, fit.comment, entries)


def digits(number: mp.mpf, parts: int, size: int = 53) -> list[mp.mpf]:
    """A number below 1 cut into parts of so many bits."""
    with mp.workprec(parts * size + 60):
        rest, found = +number(), []
        for k in range(1, parts + 1):
            unit = mp.mpf(2) ** (-size * k)
            found.append(mp.floor(rest / unit) * unit)
            rest -= found[-1]
    return found


def turns() -> str:
    """The digits of 2 / π."""
    parts = [float(mp.ldexp(part, 200)) for part in digits(lambda: 2 / mp.pi, 22)]
    comment = "2 / π times 2^200 in parts of 53 bits: angles up to 2^1024 need so many"
    return table("TWO_OVER_PI", comment, [listed("double", parts, "exact")])


def zeros() -> str:
    """Both zeros of lgamma(−x) between neighbouring whole numbers."""
    rows = []
    with mp.workdps(80):
        for whole in range(2, 25):
            for end in (whole + NEARLY + 1, whole - NEARLY):
                zero = zero_between(end, whole + mp.mpf("0.5"))
                high = float(zero)
                rows.append((high, float(zero - high), float(mp.cot(mp.pi * zero)), float(whole)))
    comment = "zeros of lgamma(−x) in two parts, cot(πx) there, and the whole number below"
    return table("LGAMMA_ZEROS", comment, [listed("double", rows, "exact")])


def main(which: str = "") -> None:
    """Write a module."""
    fits = GAMMA if which else POLYNOMIALS
    text = "\n\n".join([HEADER, *map(fitted, fits), zeros() if which else turns()])
    print(text.replace("e+", "e"))


if __name__ == "__main__":
    main(*sys.argv[1:])
