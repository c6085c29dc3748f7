"""Functions of floats as gnomon has them, in long double by numpy, and to any precision by mpmath.

Not a test. The references in long double have 64 bits of mantissa on x86: enough to find the worst
of a million results; where they lose digits (near the zeros of lgamma), mpmath has the last word.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import NamedTuple

import mpmath
import numpy as np

import gnomon as gn
from gnomon.nn import functional as F

Near = Callable[..., np.ndarray]


def longer(x: np.ndarray) -> np.ndarray:
    """Numbers of any float dtype as long doubles."""
    wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    return wide.astype(np.longdouble)


def as_drawn(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The second operand where nothing else is asked for."""
    return rng.permutation(x)[::-1]


class Judged(NamedTuple):
    """A function and its references; `hard` lists where it turns, `partner` draws its y for x.

    `size`: what last places are counted of where the result is a small difference of large terms.
    `dense`: the ends of a stretch where it has many turns, of which as many points come again.
    """

    ours: Callable[..., gn.Tensor]
    near: Near
    exact: Callable[..., mpmath.mpf]
    hard: tuple[float, ...] = ()
    arity: int = 1
    partner: Callable[[np.ndarray, np.random.Generator], np.ndarray] = as_drawn
    size: Near | None = None
    dense: tuple[float, float] | None = None


L = np.longdouble
QUARTERS = tuple(k * pi / 2 for k in (*range(-8, 9), 1e3, 1e6, 1e9, 1e15))
LGAMMA_HARD = (3.0, 8.0, -2.4570247382208, -2.7476826467274, -3.1435808883499, -3.9552942848585)
LGAMMA_HARD += (-1.5376493151343686, -1.57179044417495)
LGAMMA_HARD += (-4.039361839740536, -4.991544640560048, -5.008218168, -7.5, -1e5 - 0.5)
DIGAMMA_HARD = (1.4616321449683622, -0.5040830082644554, -1.5734984731623904, -2.6107208684441446)
DIGAMMA_HARD += (-3.6352933664369, 8.0, -20.7)
ROOT_2_OVER_PI = np.sqrt(L(2) / np.arccos(L(-1)))
PI = np.arccos(L(-1))


def tail_fraction(w: np.ndarray) -> np.ndarray:
    """e^(w²) · erfc(w) for w ≥ 2, by its continued fraction."""
    total = w
    for k in range(100, 0, -1):
        total = w + (L(k) / 2) / total
    return 1 / (np.sqrt(PI) * total)


def small_erf(w: np.ndarray) -> np.ndarray:
    """erf(w) for 0 ≤ w < 2, by a series without cancellation."""
    term = total = w
    for k in range(1, 60):
        term = term * 2 * w * w / (2 * k + 1)
        total = total + term
    return 2 / np.sqrt(PI) * np.exp(-w * w) * total


def tail(w: np.ndarray) -> np.ndarray:
    """erfc(w) for w ≥ 2."""
    far = np.minimum(w, 200)
    return np.exp(-far * far) * tail_fraction(far)


def near_erf(x: np.ndarray) -> np.ndarray:
    """erf by its series below 2, and by its tail above."""
    w, made = np.abs(x), x.copy()
    made[w < 2] = small_erf(w[w < 2])
    made[w >= 2] = 1 - tail(w[w >= 2])
    return np.where(np.isnan(x), x, np.copysign(made, x))


def near_erfc(x: np.ndarray) -> np.ndarray:
    """1 − erf, by its tail above 2."""
    made = x.copy()
    made[x > 2] = tail(x[x > 2])
    made[~(x > 2)] = 1 - near_erf(x[~(x > 2)])
    return made


def raised(x: np.ndarray, lower: Callable[[np.ndarray, np.ndarray], np.ndarray]):
    """A number from 1/2 raised past 25 by whole steps, and what `lower` collects on the way."""
    z, found = x.copy(), np.zeros_like(x)
    low = np.flatnonzero(z < 25)
    while low.size:
        found[low] = lower(found[low], z[low])
        z[low] += 1
        low = low[z[low] < 25]
    return z, found


LGAMMA = (L(1) / 12, -L(1) / 360, L(1) / 1260, -L(1) / 1680, L(1) / 1188, -L(691) / 360360)
DIGAMMA = (L(1) / 12, -L(1) / 120, L(1) / 252, -L(1) / 240, L(1) / 132, -L(691) / 32760)


def series(z: np.ndarray, factors: tuple) -> np.ndarray:
    """Σ factors[k] / z^(2k + 2)."""
    square, total = 1 / (z * z), np.zeros_like(z)
    for factor in reversed(factors):
        total = (total + factor) * square
    return total


def near_lgamma(x: np.ndarray) -> np.ndarray:
    """log |gamma| by Stirling's series; of negative numbers by reflection."""
    below = x < 0.5
    a = np.where(below, 1 - x, x)
    z, less = raised(a, lambda found, z: found + np.log(z))
    value = (z - L(0.5)) * np.log(z) - z + np.log(2 * PI) / 2 + series(z, LGAMMA) * z - less
    value = np.where(np.isinf(z), z, value)
    rest = x - np.rint(x)
    mirrored = np.log(PI) - np.log(np.abs(np.sin(PI * rest))) - value
    mirrored = np.where(np.isinf(x), np.inf, mirrored)
    return np.where(below, mirrored, value)


def near_digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of lgamma, likewise."""
    below = x < 0.5
    a = np.where(below, 1 - x, x)
    z, less = raised(a, lambda found, z: found + 1 / z)
    value = np.log(z) - 1 / (2 * z) - series(z, DIGAMMA) - less
    rest = x - np.rint(x)
    pole = np.where(rest == 0, np.nan, value - PI / np.tan(PI * rest))
    pole = np.where(x == 0, np.copysign(L(np.inf), -x), pole)
    return np.where(below, pole, value)


def larger_term(x: np.ndarray) -> np.ndarray:
    """Of the two whose difference digamma is below 0."""
    made, below = np.zeros_like(x), x[x < 0]
    above = near_digamma(1 - below)
    made[x < 0] = np.fmax(np.abs(above), np.abs(near_digamma(below) - above))
    return made


def exact_lgamma(x: mpmath.mpf) -> mpmath.mpf:
    """log |gamma|."""
    if x <= 0 and x == mpmath.floor(x):
        return mpmath.inf
    return mpmath.loggamma(x).real


def exact_digamma(x: mpmath.mpf) -> mpmath.mpf:
    """The derivative of lgamma; NaN at its poles."""
    if x == 0:
        return mpmath.mpf("-inf")
    if x < 0 and x == mpmath.floor(x):
        return mpmath.nan
    # of a tiny number mpmath takes what it adds to a pole for nothing
    return -1 / x - mpmath.euler if abs(x) < 1e-40 else mpmath.digamma(x)


def exact_erfc(x: mpmath.mpf) -> mpmath.mpf:
    """1 − erf, where mpmath can tell it from its ends."""
    return mpmath.erfc(x) if abs(x) < 100 else mpmath.mpf(0 if x > 0 else 2)


def at_the_end(value: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A share of x, which fades to −0; at −∞ it is infinitely much times nothing."""
    return np.where(x == -np.inf, L(np.nan), value)


def near_erfinv(x: np.ndarray) -> np.ndarray:
    """Newton's steps from a rough start, on erf below 1/2 and on its tail above."""
    w, inside = np.abs(x), np.abs(x) < 1
    w = np.where(inside, w, 0)
    rest = np.log1p(-w) + np.log1p(w)
    half = rest / 2 + 2 / (PI * L(0.147))
    y = np.sqrt(np.sqrt(half * half - rest / L(0.147)) - half)
    for _ in range(3):
        away = np.where(w > 0.5, (1 - w) - near_erfc(y), near_erf(y) - w)
        step = away / (2 / np.sqrt(PI) * np.exp(-y * y))
        y = y - step / (1 + y * step)
    edge = np.where(np.abs(x) == 1, np.inf, np.nan)
    return np.copysign(np.where(inside, y, edge), x)


def exact_erfinv(x: mpmath.mpf) -> mpmath.mpf:
    """The same steps: mpmath's own take seconds at the ends."""
    w = abs(x)
    if w == 1 or x == 0:
        return x * mpmath.inf if x else x
    rest = mpmath.log1p(-w) + mpmath.log1p(w)
    half = rest / 2 + 2 / (mpmath.pi * mpmath.mpf("0.147"))
    y = mpmath.sqrt(mpmath.sqrt(half * half - rest / mpmath.mpf("0.147")) - half)
    for _ in range(5):
        away = (1 - w) - mpmath.erfc(y) if w > 0.5 else mpmath.erf(y) - w
        step = away / (2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-y * y))
        y = y - step / (1 + y * step)
    return mpmath.sign(x) * y


def near_sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + e^−x)."""
    return np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))


def near_softplus(x: np.ndarray) -> np.ndarray:
    """log(1 + e^x)."""
    return np.where(x > 0, x + np.log1p(np.exp(-np.abs(x))), np.log1p(np.exp(x)))


def near_gelu(x: np.ndarray) -> np.ndarray:
    """x · (1 + erf(x / √2)) / 2."""
    return at_the_end(x / 2 * near_erfc(-x / np.sqrt(L(2))), x)


def near_gelu_tanh(x: np.ndarray) -> np.ndarray:
    """gelu by a tanh, which is a sigmoid."""
    inner = x + L(44715) / L(10**6) * x**3
    return at_the_end(x * near_sigmoid(2 * ROOT_2_OVER_PI * inner), x)


def near_tanhshrink(x: np.ndarray) -> np.ndarray:
    """x − tanh(x), near 0 by its series."""
    z = np.minimum(np.abs(x), L(0.1)) ** 2
    near = x * z * (L(1) / 3 - z * (L(2) / 15 - z * (L(17) / 315 - z * (L(62) / 2835))))
    return np.where(np.abs(x) < 0.01, near, x - np.tanh(x))


def exact_tanhshrink(x: mpmath.mpf) -> mpmath.mpf:
    """x − tanh(x), which two digits lost for each of x's zeros."""
    return x**3 / 3 - 2 * x**5 / 15 if abs(x) < 1e-10 else x - mpmath.tanh(x)


def exact_sigmoid(x: mpmath.mpf) -> mpmath.mpf:
    """1 / (1 + e^−x)."""
    return 1 / (1 + mpmath.exp(-x)) if x > 0 else mpmath.exp(x) / (1 + mpmath.exp(x))


def exact_softplus(x: mpmath.mpf) -> mpmath.mpf:
    """log(1 + e^x)."""
    return x + mpmath.log1p(mpmath.exp(-x)) if x > 0 else mpmath.log1p(mpmath.exp(x))


def exact_gelu_tanh(x: mpmath.mpf) -> mpmath.mpf:
    """gelu by a tanh, its constant as users write it."""
    inner = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)
    return x * exact_sigmoid(2 * inner)


def defined(low: float, high: float, of: Callable) -> Callable:
    """A function that is NaN outside an interval."""
    return lambda x: of(x) if low <= x <= high else mpmath.nan


def exact_power(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
    """x^y with C's special cases."""
    if x == 0 and y < 0:
        return mpmath.inf
    return mpmath.power(x, y)


def full_range(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Exponents that use the whole range of powers of x."""
    with np.errstate(all="ignore"):
        return rng.uniform(-100, 100, x.size) / np.log(np.abs(x.astype(np.float64)))


def close_by(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers near −x and near x."""
    return x.astype(np.float64) * (1 + np.exp2(rng.uniform(-50, 2, x.size)))


def one_of(name: str, mp: str = "", hard: tuple[float, ...] = (), **also) -> Judged:
    """A function that gnomon, numpy and mpmath have."""
    near = also.get("near") or getattr(np, also.get("np", name))
    return Judged(getattr(gn, name), near, also.get("exact") or getattr(mpmath, mp or name), hard)


FUNCTIONS: dict[str, Judged] = {
    "sqrt": one_of("sqrt", exact=lambda x: mpmath.sqrt(x) if x >= 0 else mpmath.nan),
    "rsqrt": one_of(
        "rsqrt",
        near=lambda x: 1 / np.sqrt(x),
        exact=lambda x: mpmath.inf if x == 0 else 1 / mpmath.sqrt(x) if x > 0 else mpmath.nan,
    ),
    "reciprocal": one_of(
        "reciprocal", near=lambda x: 1 / x, exact=lambda x: 1 / x if x else mpmath.inf
    ),
    "exp": one_of("exp"),
    "exp2": one_of("exp2", exact=lambda x: mpmath.power(2, x)),
    "expm1": one_of("expm1"),
    "log": one_of("log", exact=lambda x: mpmath.log(x) if x > 0 else mpmath.nan),
    "log2": one_of("log2", exact=lambda x: mpmath.log(x, 2) if x > 0 else mpmath.nan),
    "log10": one_of("log10", exact=lambda x: mpmath.log10(x) if x > 0 else mpmath.nan),
    "log1p": one_of("log1p", exact=lambda x: mpmath.log1p(x) if x > -1 else mpmath.nan),
    "sin": one_of("sin", hard=QUARTERS),
    "cos": one_of("cos", hard=QUARTERS),
    "tan": one_of("tan", hard=QUARTERS),
    "asin": one_of("asin", np="arcsin", exact=defined(-1, 1, mpmath.asin)),
    "acos": one_of("acos", np="arccos", exact=defined(-1, 1, mpmath.acos)),
    "atan": one_of("atan", np="arctan", hard=(0.4142, -0.4142)),
    "sinh": one_of("sinh"),
    "cosh": one_of("cosh"),
    "tanh": one_of("tanh", hard=(0.625, -0.625)),
    "asinh": one_of("asinh", np="arcsinh", hard=(2.0**28, -(2.0**28))),
    "acosh": one_of("acosh", np="arccosh", exact=defined(1, 1e400, mpmath.acosh)),
    "atanh": one_of("atanh", np="arctanh", exact=defined(-1, 1, mpmath.atanh)),
    "erf": one_of("erf", near=near_erf, hard=(3.93, -3.93)),
    "erfc": one_of("erfc", near=near_erfc, exact=exact_erfc, hard=(10.05, 26.5, 27.2)),
    "erfinv": one_of("erfinv", near=near_erfinv, exact=defined(-1, 1, exact_erfinv)),
    "lgamma": one_of(
        "lgamma",
        near=near_lgamma,
        exact=exact_lgamma,
        hard=LGAMMA_HARD,
    )._replace(dense=(-5.0, -1.0)),
    "digamma": one_of(
        "digamma",
        near=near_digamma,
        exact=exact_digamma,
        hard=DIGAMMA_HARD,
    )._replace(size=larger_term),
    "sigmoid": one_of("sigmoid", near=near_sigmoid, exact=exact_sigmoid),
    "softplus": Judged(
        gn.softplus,
        lambda x: np.where(x > 20, x, near_softplus(x)),
        lambda x: x if x > 20 else exact_softplus(x),
        (20.0,),
    ),
    "logsigmoid": Judged(F.logsigmoid, lambda x: -near_softplus(-x), lambda x: -exact_softplus(-x)),
    "gelu": one_of("gelu", near=near_gelu, exact=lambda x: x / 2 * exact_erfc(-x / mpmath.sqrt(2))),
    "gelu tanh": Judged(
        lambda x: F.gelu(x, approximate="tanh"), near_gelu_tanh, exact_gelu_tanh, (-5.0, -10.0)
    ),
    "silu": one_of(
        "silu",
        near=lambda x: at_the_end(x * near_sigmoid(x), x),
        exact=lambda x: x * exact_sigmoid(x),
    ),
    "mish": one_of(
        "mish",
        near=lambda x: at_the_end(x * np.tanh(near_softplus(x)), x),
        exact=lambda x: x * mpmath.tanh(exact_softplus(x)),
    ),
    "elu": Judged(
        F.elu, lambda x: np.where(x > 0, x, np.expm1(x)), lambda x: x if x > 0 else mpmath.expm1(x)
    ),
    "logit": one_of(
        "logit",
        near=lambda x: np.log(x) - np.log1p(-x),
        exact=defined(0, 1, lambda x: mpmath.log(x) - mpmath.log1p(-x) if 0 < x < 1 else x),
    ),
    "softsign": Judged(F.softsign, lambda x: x / (1 + np.abs(x)), lambda x: x / (1 + abs(x))),
    "tanhshrink": Judged(F.tanhshrink, near_tanhshrink, exact_tanhshrink, (2.0, -2.0)),
    "sinc": one_of("sinc", near=np.sinc, exact=mpmath.sincpi, hard=(1.0, 2.0, 3.0, 100.0)),
    "pow": Judged(gn.pow, np.power, exact_power, (), 2, full_range),
    "atan2": Judged(gn.atan2, np.arctan2, mpmath.atan2, (), 2, close_by),
    "hypot": Judged(gn.hypot, np.hypot, mpmath.hypot, (), 2, close_by),
    "logaddexp": Judged(
        gn.logaddexp,
        np.logaddexp,
        lambda x, y: max(x, y) + exact_softplus(-abs(x - y)),
        arity=2,
        size=lambda x, y: np.maximum(np.abs(x), np.abs(y)),
    ),
    "xlogy": Judged(
        gn.xlogy,
        lambda x, y: np.where((x == 0) & ~np.isnan(y), 0, x * np.log(y)),
        lambda x, y: x * mpmath.log(y) if y > 0 else mpmath.nan,
        (),
        2,
    ),
}
