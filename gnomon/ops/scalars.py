"""The scalar functions, one row each: value, derivative, algebra.

Passes ask this table and never list functions by name. Values are numpy's and define the function
to rounding; the exact bits of the transcendental ones are gnomon/codegen/math.py's.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.threefry import STEPS, threefry

Slope = (
    Callable[[Node, Node, Node], Node]
    | Callable[[Node, Node, Node, Node], Node]
    | Callable[[Node, Node, Node, Node, Node], Node]
)
Gradient = Slope | None
Value = Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any] | np.ufunc


class Scalar(NamedTuple):
    """A row of the table."""

    name: str
    value: Callable[..., Any]
    gradients: tuple[Gradient, ...]
    """Per argument: (g, y, *arguments) -> gradient; None where the derivative is zero."""
    result: str = "same"
    """"same": the arguments' dtype; "bool"; "cast": a parameter says."""
    commutative: bool = False
    associative: bool = False
    identity: float | None = None
    costly: bool = False
    """More than a few instructions: worth storing rather than computing twice."""
    others: int = 0
    """How many of the first arguments have dtypes of their own; the rest have one."""
    steps: int = 1
    """About how many plain functions it is worth."""
    passes_sum: bool = False
    """f(a + b) equals f(a) + f(b) to the bit, so a pending sum may pass."""

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return len(self.gradients)


SCALARS: dict[str, Scalar] = {}


def row(name: str, value: Value, *gradients: Gradient, **algebra: Any) -> None:
    """Add a function to the table."""
    SCALARS[name] = Scalar(name, value, gradients, **algebra)


def where(condition: Node, yes: Node | float, no: Node | float) -> Node:
    """yes where the condition holds, else no."""
    arena = condition.arena
    dtype = next(x.dtype for x in (yes, no) if isinstance(x, Node))
    yes, no = (
        x if isinstance(x, Node) else cast(arena.node("const", (), value=x, dtype=dtype), dtype)
        for x in (yes, no)
    )
    rank = max(condition.rank, yes.rank, no.rank)
    parts = [
        x
        if x.rank in (0, rank)
        else arena.node("reshape", (x,), shape=(1,) * (rank - x.rank) + x.shape)
        for x in (condition, yes, no)
    ]
    return arena.node("map", tuple(parts), f="where")


def f(name: str) -> Callable[..., Node]:
    """A scalar function on nodes."""
    return lambda *xs: elementwise(name, *xs)


exp, log, sqrt_, sin, cos, tanh, power = (
    f(n) for n in ("exp", "log", "sqrt", "sin", "cos", "tanh", "pow")
)
less, greater, equal, sign, sinh, cosh, rsqrt = (
    f(n) for n in ("lt", "gt", "eq", "sign", "sinh", "cosh", "rsqrt")
)
trunc, floor = f("trunc"), f("floor")


def _chooses(better: Callable[..., Any]) -> tuple[Gradient, Gradient]:
    """Gradients of minimum and maximum: the winner takes all, equals share."""

    def of(first: bool) -> Callable[..., Any]:
        def gradient(g: Node, y: Node, a: Node, b: Node) -> Node:
            mine, other = (a, b) if first else (b, a)
            return where(equal(a, b), g * 0.5, where(better(mine, other), g, g * 0.0))

        return gradient

    return of(True), of(False)


def _numpy_power(a: np.ndarray, b: np.ndarray):
    """Powers that wrap on integers; 0 for negative exponents of bases other than 1 and -1."""
    if not np.issubdtype(a.dtype, np.integer):
        return np.power(a, b)
    result = np.power(a, np.where(b < 0, 0, b))
    if np.issubdtype(a.dtype, np.unsignedinteger):
        return result
    odd = np.where(b % 2 == 0, 1, a)
    return np.where(b < 0, np.where(a == 1, 1, np.where(a == -1, odd, 0)), result).astype(a.dtype)


def _numpy_erf(x: np.ndarray):
    """erf from numpy's own pieces: the series below 3, one minus the continued fraction above."""
    x64 = np.asarray(x, np.float64)
    small, k, term = np.clip(x64, -3, 3), 0, None
    term = total = small * 2 / sqrt(pi)
    for k in range(1, 60):
        term = -term * small * small / k
        total = total + term / (2 * k + 1)
    large = np.maximum(np.abs(x64), 3)
    fraction = np.zeros_like(large)
    for k in range(60, 0, -1):
        fraction = (k / 2) / (large + fraction)
    tail = 1 - np.exp(-large * large) / sqrt(pi) / (large + fraction)
    return np.where(np.abs(x64) < 3, total, np.copysign(tail, x64)).astype(np.asarray(x).dtype)


def _numpy_sigmoid(x: np.ndarray):
    """1 / (1 + exp(-x)) without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)


def _numpy_floor_divide(a: np.ndarray, b: np.ndarray):
    """Floor division; 0 for integers divided by 0."""
    if np.issubdtype(a.dtype, np.integer):
        return np.where(b == 0, 0, a // np.where(b == 0, 1, b)).astype(a.dtype)
    return np.floor_divide(a, b)


def _numpy_remainder(a: np.ndarray, b: np.ndarray):
    """Remainder with the divisor's sign; 0 for integers divided by 0."""
    if np.issubdtype(a.dtype, np.integer):
        return np.where(b == 0, 0, a % np.where(b == 0, 1, b)).astype(a.dtype)
    return np.remainder(a, b)


def _numpy_div(a: np.ndarray, b: np.ndarray):
    assert np.issubdtype(a.dtype, np.floating) or a.dtype.kind == "V", (
        "div is for floats; cast first"
    )
    return np.divide(a, b)


# arithmetic
row(
    "add",
    np.add,
    lambda g, y, a, b: g,
    lambda g, y, a, b: g,
    commutative=True,
    associative=True,
    identity=-0.0,
)
row("sub", np.subtract, lambda g, y, a, b: g, lambda g, y, a, b: -g)
row(
    "mul",
    np.multiply,
    lambda g, y, a, b: g * b,
    lambda g, y, a, b: g * a,
    commutative=True,
    associative=True,
    identity=1.0,
)
row(
    "fma",
    lambda a, b, c: a * b + c,
    lambda g, y, a, b, c: g * b,
    lambda g, y, a, b, c: g * a,
    lambda g, y, a, b, c: g,
)
row("div", _numpy_div, lambda g, y, a, b: g / b, lambda g, y, a, b: -(g * y) / b)
row("neg", np.negative, lambda g, y, a: -g, passes_sum=True)
row("abs", np.abs, lambda g, y, a: g * sign(a))
row("sign", np.sign, None)
row(
    "minimum",
    np.minimum,
    *_chooses(less),
    commutative=True,
    associative=True,
    identity=float("inf"),
)
row(
    "maximum",
    np.maximum,
    *_chooses(greater),
    commutative=True,
    associative=True,
    identity=float("-inf"),
)
row("floor_divide", _numpy_floor_divide, None, None, costly=True)
row(
    "remainder",
    _numpy_remainder,
    lambda g, y, a, b: g,
    lambda g, y, a, b: -g * floor(a / b),
    costly=True,
)
row("fmod", np.fmod, lambda g, y, a, b: g, lambda g, y, a, b: -g * trunc(a / b), costly=True)
row(
    "pow",
    _numpy_power,
    lambda g, y, a, b: where(equal(b, 0.0), g * 0.0, g * b * power(a, b - 1.0)),
    lambda g, y, a, b: where(equal(a, 0.0), g * 0.0, g * y * log(a)),
    costly=True,
)
row("sqrt", np.sqrt, lambda g, y, a: g / (y * 2.0))
row("rsqrt", lambda a: (1 / np.sqrt(a)).astype(a.dtype), lambda g, y, a: g * -0.5 * (y * y * y))
row("floor", np.floor, None)
row("ceil", np.ceil, None)
row("trunc", np.trunc, None)
row("round", np.rint, None)
row("copysign", np.copysign, lambda g, y, a, b: g * sign(a) * sign(y), None)
row("nextafter", np.nextafter, None, None)

# exponentials
row("exp", np.exp, lambda g, y, a: g * y, costly=True)
row("exp2", np.exp2, lambda g, y, a: g * y * 0.6931471805599453, costly=True)
row("expm1", np.expm1, lambda g, y, a: g * (y + 1.0), costly=True)
row("log", np.log, lambda g, y, a: g / a, costly=True)
row("log2", np.log2, lambda g, y, a: g / (a * 0.6931471805599453), costly=True)
row("log10", np.log10, lambda g, y, a: g / (a * 2.302585092994046), costly=True)
row("log1p", np.log1p, lambda g, y, a: g / (a + 1.0), costly=True)
row("sigmoid", _numpy_sigmoid, lambda g, y, a: g * (y * (1.0 - y)), costly=True)
row("tanh", np.tanh, lambda g, y, a: g * (1.0 - y * y), costly=True)
row("erf", _numpy_erf, lambda g, y, a: g * (exp(-(a * a)) * (2 / sqrt(pi))), costly=True)

# circular and hyperbolic
row("sin", np.sin, lambda g, y, a: g * cos(a), costly=True)
row("cos", np.cos, lambda g, y, a: -(g * sin(a)), costly=True)
row("tan", np.tan, lambda g, y, a: g * (y * y + 1.0), costly=True)
row("asin", np.arcsin, lambda g, y, a: g * rsqrt(1.0 - a * a), costly=True)
row("acos", np.arccos, lambda g, y, a: -(g * rsqrt(1.0 - a * a)), costly=True)
row("atan", np.arctan, lambda g, y, a: g / (a * a + 1.0), costly=True)
row(
    "atan2",
    np.arctan2,
    lambda g, y, a, b: g * b / (a * a + b * b),
    lambda g, y, a, b: -(g * a) / (a * a + b * b),
    costly=True,
)
row("sinh", np.sinh, lambda g, y, a: g * cosh(a), costly=True)
row("cosh", np.cosh, lambda g, y, a: g * sinh(a), costly=True)
row("asinh", np.arcsinh, lambda g, y, a: g * rsqrt(a * a + 1.0), costly=True)
row("acosh", np.arccosh, lambda g, y, a: g * rsqrt(a * a - 1.0), costly=True)
row("atanh", np.arctanh, lambda g, y, a: g / (1.0 - a * a), costly=True)

# comparisons and choices
for _name, _value in (("eq", np.equal), ("ne", np.not_equal)):
    row(_name, _value, None, None, result="bool", commutative=True)
for _name, _value in (
    ("lt", np.less),
    ("le", np.less_equal),
    ("gt", np.greater),
    ("ge", np.greater_equal),
):
    row(_name, _value, None, None, result="bool")
for _name, _value in (
    ("isnan", np.isnan),
    ("isinf", np.isinf),
    ("isfinite", np.isfinite),
    ("signbit", np.signbit),
):
    row(_name, _value, None, result="bool")
row(
    "where",
    np.where,
    None,
    lambda g, y, c, a, b: where(c, g, 0.0),
    lambda g, y, c, a, b: where(c, 0.0, g),
    others=1,
)
row("cast", lambda a: a, lambda g, y, a: cast(g, a.dtype), result="cast")
row("bitcast", lambda a: a, None, result="cast")

# integers and truth values
row("and", np.bitwise_and, None, None, commutative=True, associative=True)
row("or", np.bitwise_or, None, None, commutative=True, associative=True)
row("xor", np.bitwise_xor, None, None, commutative=True, associative=True)
row("not", np.invert, None)
row("shift_left", np.left_shift, None, None)
row("shift_right", np.right_shift, None, None)
row(
    "mul_high",
    lambda a, b: ((a.astype(object) * b) >> (a.dtype.itemsize * 8)).astype(a.dtype),
    None,
    None,
    commutative=True,
)
row("threefry", threefry, None, None, None, costly=True, others=2, steps=STEPS)
