"""The table of scalar functions: value, gradients and algebraic properties of each.

Passes read this table and never list functions by name. Values are numpy's and define the function
up to rounding; the exact bits of the transcendental ones are gnomon/codegen/math.py's.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from gnomon.dtypes import float32
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, constant, elementwise
from gnomon.ops import special_values as special
from gnomon.ops.threefry import STEPS, threefry

Slope = (
    Callable[[Node, Node, Node], Node]
    | Callable[[Node, Node, Node, Node], Node]
    | Callable[[Node, Node, Node, Node, Node], Node]
)
Gradient = Slope | None
Value = Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any] | np.ufunc


class ScalarFunction(NamedTuple):
    """A scalar function: its value, gradients and properties."""

    name: str
    value: Callable[..., Any]
    gradients: tuple[Gradient, ...]
    """Per argument a function (g, y, *arguments) -> gradient, or None if the derivative is zero."""
    result: str = "same"
    """The result's dtype: "same" as the arguments', "bool", or "cast" to a parameter."""
    commutative: bool = False
    associative: bool = False
    identity: float | None = None
    costly: bool = False
    """Whether it takes many instructions, so that it is rather stored than computed twice."""
    others: int = 0
    """The number of first arguments with dtypes of their own; the others share a dtype."""
    steps: int = 1
    """The cost, as a number of plain functions."""
    passes_sum: bool = False
    """Whether f(a + b) equals f(a) + f(b) to the bit, so that a pending sum may pass."""

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.gradients)


SCALARS: dict[str, ScalarFunction] = {}


def row(name: str, value: Value, *gradients: Gradient, **algebra: Any) -> None:
    """Add a function to the table."""
    SCALARS[name] = ScalarFunction(name, value, gradients, **algebra)


def where(condition: Node, yes: Node | float, no: Node | float) -> Node:
    """Select yes where the condition holds, else no."""
    arena = condition.arena
    dtype = next(x.dtype for x in (yes, no) if isinstance(x, Node))
    yes, no = (x if isinstance(x, Node) else constant(arena, x, dtype, "where") for x in (yes, no))
    rank = max(condition.rank, yes.rank, no.rank)
    parts = [
        x
        if x.rank in (0, rank)
        else arena.node("reshape", (x,), shape=(1,) * (rank - x.rank) + x.shape)
        for x in (condition, yes, no)
    ]
    return arena.node("map", tuple(parts), f="where")


def f(name: str) -> Callable[..., Node]:
    """A scalar function as a function of nodes."""
    return lambda *xs: elementwise(name, *xs)


exp, log, sin, cos, tanh, power = (f(n) for n in ("exp", "log", "sin", "cos", "tanh", "pow"))
less, greater, equal, sign, sinh, cosh, rsqrt = (
    f(n) for n in ("lt", "gt", "eq", "sign", "sinh", "cosh", "rsqrt")
)
trunc, floor = f("trunc"), f("floor")


def _flat(g: Node, y: Node, *_: Node) -> Node:
    """The gradient of a step function: zeros, in place of none."""
    zero = y.arena.node("reshape", (constant(y.arena, 0, y.dtype),), shape=(1,) * y.rank)
    return y.arena.node("expand", (zero,), shape=y.shape)


def _chooses(better: Callable[..., Any]) -> tuple[Gradient, Gradient]:
    """The gradients of minimum and maximum: all to the chosen one; equal operands share it."""

    def of(first: bool) -> Callable[..., Any]:
        def gradient(g: Node, y: Node, a: Node, b: Node) -> Node:
            mine, other = (a, b) if first else (b, a)
            return where(equal(a, b), g * 0.5, where(better(other, mine), g * 0.0, g))

        return gradient

    return of(True), of(False)


def _numpy_power(a: np.ndarray, b: np.ndarray):
    """Compute integer powers that wrap; 0 for negative exponents of bases other than 1 and -1."""
    if not np.issubdtype(a.dtype, np.integer):
        return np.power(a, b)
    result = np.power(a, np.where(b < 0, 0, b))
    if np.issubdtype(a.dtype, np.unsignedinteger):
        return result
    odd = np.where(b % 2 == 0, 1, a)
    return np.where(b < 0, np.where(a == 1, 1, np.where(a == -1, odd, 0)), result).astype(a.dtype)


def _numpy_rsqrt(a: np.ndarray) -> np.ndarray:
    """Compute 1 / √a with numpy."""
    return (1 / np.sqrt(a)).astype(a.dtype)


def _numpy_silu(a: np.ndarray) -> np.ndarray:
    """Compute a · sigmoid(a) with numpy."""
    return a * special.sigmoid(a)


def _numpy_same(a: np.ndarray) -> np.ndarray:
    """Return the value, whose dtype the caller changes."""
    return a


def trigamma(x: Node) -> Node:
    """The derivative of digamma: steps up and a series; below 1/2, by reflection."""
    below = less(x, 0.5)
    z = where(below, 1.0 - x, x)
    total = 1.0 / (z * z)
    for _ in range(1, special.SERIES_FROM):
        z = z + 1.0
        total = total + 1.0 / (z * z)
    z = z + 1.0
    square, tail = 1.0 / (z * z), 0.0
    for k, factor in reversed([*enumerate(special.DIGAMMA_SERIES, 1)]):
        tail = (2 * k * factor + tail) * square
    total = total + 1.0 / z + square * 0.5 + tail / z
    sine = sin(where(below, x - f("round")(x), 0.5) * pi)
    return where(below, pi * pi / (sine * sine) - total, total)


def in_32(x: Node) -> Node:
    """A narrow float as float32, for formulas of several steps; others unchanged."""
    return cast(x, float32) if x.dtype.itemsize < float32.itemsize else x


def _gelu_slope(g: Node, y: Node, a: Node) -> Node:
    """The gradient of gelu: the probability below a, plus a times its density."""
    kind, a, g = a.dtype, in_32(a), in_32(g)
    density = exp(a * a * -0.5) * (1 / sqrt(2 * pi))
    return cast(g * ((f("erf")(a * sqrt(0.5)) + 1.0) * 0.5 + a * density), kind)


def _gelu_tanh_slope(g: Node, y: Node, a: Node) -> Node:
    """The gradient of gelu_tanh: a times the sigmoid s of u, by the product rule."""
    slope = 2 * sqrt(2 / pi)
    kind, a, g = a.dtype, in_32(a), in_32(g)
    square = a * a * (slope * 0.044715)
    s = f("sigmoid")(a * (square + slope))
    return cast(g * (s + s * (1.0 - s) * (a * (square * 3.0 + slope))), kind)


def _silu_slope(g: Node, y: Node, a: Node) -> Node:
    """The gradient of silu: a times its sigmoid s, by the product rule."""
    kind, a, g = a.dtype, in_32(a), in_32(g)
    s = f("sigmoid")(a)
    return cast(g * (s * (a * (1.0 - s) + 1.0)), kind)


def _mish_slope(g: Node, y: Node, a: Node) -> Node:
    """The gradient of mish: a times the tanh t of its softplus, by the product rule."""
    kind, a, g = a.dtype, in_32(a), in_32(g)
    t = tanh(f("log1p")(exp(f("minimum")(a, 40.0))))
    return cast(g * (t + a * f("sigmoid")(a) * (1.0 - t * t)), kind)


def _turning(g: Node, a: Node, b: Node) -> Node:
    """The quotient g / (a² + b²); 0 at the origin, where an angle has no derivative."""
    square = a * a + b * b
    return where(equal(square, 0.0), 0.0, g / square)


def _numpy_floor_divide(a: np.ndarray, b: np.ndarray):
    """Compute floor division with numpy; 0 for integers divided by 0."""
    if np.issubdtype(a.dtype, np.integer):
        return np.where(b == 0, 0, a // np.where(b == 0, 1, b)).astype(a.dtype)
    return np.floor_divide(a, b)


def _numpy_remainder(a: np.ndarray, b: np.ndarray):
    """Compute the remainder with the divisor's sign; 0 for integers divided by 0."""
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
row("floor_divide", _numpy_floor_divide, _flat, _flat, costly=True)
row(
    "remainder",
    _numpy_remainder,
    lambda g, y, a, b: g,
    lambda g, y, a, b: -g * f("floor_divide")(a, b),
    costly=True,
)
row("fmod", np.fmod, lambda g, y, a, b: g, lambda g, y, a, b: -g * trunc(a / b), costly=True)
row(
    "pow",
    _numpy_power,
    lambda g, y, a, b: where(equal(b, 0.0), g * 0.0, g * b * power(a, b - 1.0)),
    lambda g, y, a, b: where(f("and")(equal(a, 0.0), f("ge")(b, 0.0)), g * 0.0, g * y * log(a)),
    costly=True,
)
row("sqrt", np.sqrt, lambda g, y, a: g / (y * 2.0))
row("rsqrt", _numpy_rsqrt, lambda g, y, a: g * -0.5 * (y * y * y))
row("floor", np.floor, None)
row("ceil", np.ceil, None)
row("trunc", np.trunc, None)
row("round", np.rint, None)
row("copysign", np.copysign, lambda g, y, a, b: g * sign(a) * sign(y), _flat)
row("nextafter", np.nextafter, lambda g, y, a, b: g, _flat)

# exponentials
row("exp", np.exp, lambda g, y, a: g * y, costly=True)
row("exp2", np.exp2, lambda g, y, a: g * y * 0.6931471805599453, costly=True)
row("expm1", np.expm1, lambda g, y, a: g * exp(a), costly=True)
row("log", np.log, lambda g, y, a: g / a, costly=True)
row("log2", np.log2, lambda g, y, a: g / (a * 0.6931471805599453), costly=True)
row("log10", np.log10, lambda g, y, a: g / (a * 2.302585092994046), costly=True)
row("log1p", np.log1p, lambda g, y, a: g / (a + 1.0), costly=True)
row("sigmoid", special.sigmoid, lambda g, y, a: g * (y * (1.0 - y)), costly=True)
row("tanh", np.tanh, lambda g, y, a: g * (1.0 - y * y), costly=True)
row("erf", special.erf, lambda g, y, a: g * (exp(-(a * a)) * (2 / sqrt(pi))), costly=True)
row("erfc", special.erfc, lambda g, y, a: -(g * (exp(-(a * a)) * (2 / sqrt(pi)))), costly=True)
row("lgamma", special.lgamma_of, lambda g, y, a: g * f("digamma")(a), costly=True)
row("digamma", special.digamma, lambda g, y, a: g * trigamma(a), costly=True)
row("gelu", special.gelu, _gelu_slope, costly=True)
row("gelu_tanh", special.gelu_tanh, _gelu_tanh_slope, costly=True)
row("silu", _numpy_silu, _silu_slope, costly=True)
row("mish", special.mish, _mish_slope, costly=True)

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
    lambda g, y, a, b: _turning(g * b, a, b),
    lambda g, y, a, b: _turning(-(g * a), a, b),
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
row("cast", _numpy_same, lambda g, y, a: cast(g, a.dtype), result="cast")
row("bitcast", _numpy_same, None, result="cast")

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
