"""Scalar functions in ONNX: one node of it, or a formula, for each row of gnomon/ops/scalars.py.

Halves are computed in float32 and narrow integers in int64, and rounded or wrapped at the end, as
the IR defines them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, sqrt

import numpy as np

from gnomon.dtypes import DType, bool_, float32, int64
from gnomon.errors import TraceError
from gnomon.ir.node import Node
from gnomon.onnx.writer import CARRIED, OnnxWriter, carried, type_of

__all__ = ["map_rule"]

PLAIN = {
    **{"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "abs": "Abs"},
    **{"sign": "Sign", "minimum": "Min", "maximum": "Max", "pow": "Pow", "sqrt": "Sqrt"},
    **{"floor": "Floor", "ceil": "Ceil", "round": "Round", "exp": "Exp", "log": "Log"},
    **{"sigmoid": "Sigmoid", "tanh": "Tanh", "erf": "Erf", "sin": "Sin", "cos": "Cos"},
    **{"tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh"},
    **{"cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "eq": "Equal"},
    **{"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"},
    **{"isnan": "IsNaN", "isinf": "IsInf", "where": "Where"},
}
"""Rows that are one node."""
LOGIC = {"and": "And", "or": "Or", "xor": "Xor", "not": "Not"}
OF_BITS = {"and": "BitwiseAnd", "or": "BitwiseOr", "xor": "BitwiseXor", "not": "BitwiseNot"}


class Scalars:
    """Writes formulas of values of one dtype."""

    def __init__(self, writer: OnnxWriter, dtype: DType) -> None:
        self.writer, self.dtype = writer, dtype

    def __call__(self, op: str, *inputs: str | float) -> str:
        """Add an ONNX node, numbers among its inputs as constants; the name of its result."""
        return self.writer.add(op, *(x if isinstance(x, str) else self.number(x) for x in inputs))

    def number(self, value: float) -> str:
        """A constant of the dtype."""
        return self.writer.constant(value, self.dtype)

    def remainder(self, a: str, b: str) -> str:
        """The remainder with the divisor's sign; 0 of integers divided by 0."""
        if not self.dtype.is_floating_point:
            zero = self("Equal", b, 0)
            rest = self("Mod", a, self("Where", zero, 1, b))
            return self("Where", zero, 0, rest)
        rest = self.writer.add("Mod", a, b, fmod=1)
        other = self("Xor", self("Less", rest, 0), self("Less", b, 0))
        moved = self("And", other, self("Not", self("Equal", rest, 0)))
        return self("Where", moved, self("Add", rest, b), rest)

    def signbit(self, x: str) -> str:
        """Whether a sign is set, of -0 too."""
        if not self.dtype.is_floating_point:
            return self("Less", x, 0)
        zero = self("And", self("Equal", x, 0), self("Less", self("Reciprocal", x), 0))
        return self("Or", self("Less", x, 0), zero)


def floor_divide(f: Scalars, a: str, b: str) -> str:
    """The quotient rounded down; 0 of integers divided by 0."""
    if f.dtype.is_floating_point:
        quotient = f("Div", f("Sub", a, f.remainder(a, b)), b)
        plain = f("Floor", f("Div", a, b))
        usual = f("LessOrEqual", f("Abs", quotient), f.number(float(np.finfo(np.float32).max)))
        return f("Where", usual, f("Round", quotient), plain)
    zero = f("Equal", b, 0)
    by = f("Where", zero, 1, b)
    return f("Where", zero, 0, f("Div", f("Sub", a, f("Mod", a, by)), by))


def log1p(f: Scalars, x: str) -> str:
    """log(1 + x), where 1 + x is rounded: by Kahan's quotient, near 0."""
    u = f("Add", x, 1)
    moved = f("Sub", u, 1)
    near = f("Mul", f("Log", u), f("Div", x, f("Where", f("Equal", moved, 0), 1, moved)))
    near = f("Where", f("Equal", moved, 0), x, near)
    return f("Where", f("Less", f("Abs", x), 0.5), near, f("Log", u))


def gelu_tanh(f: Scalars, x: str) -> str:
    """GELU by a hyperbolic tangent."""
    cube = f("Mul", f("Mul", x, x), x)
    inner = f("Mul", f("Add", x, f("Mul", cube, 0.044715)), sqrt(2 / pi))
    return f("Mul", f("Mul", x, 0.5), f("Add", f("Tanh", inner), 1))


def atan2(f: Scalars, y: str, x: str) -> str:
    """The angle of a point, by the arc tangent of the quotient and the half plane."""
    angle = f("Atan", f("Div", y, x))
    angle = f("Where", f("And", f("Equal", x, 0), f("Equal", y, 0)), 0, angle)
    half = f("Where", f.signbit(y), -pi, pi)
    turned = f("Where", f("Equal", y, 0), half, f("Add", angle, half))
    return f("Where", f.signbit(x), turned, f("Where", f("Equal", y, 0), y, angle))


FORMULAS: dict[str, Callable[..., str]] = {
    "ne": lambda f, a, b: f("Not", f("Equal", a, b)),
    "fma": lambda f, a, b, c: f("Add", f("Mul", a, b), c),
    "remainder": lambda f, a, b: f.remainder(a, b),
    "floor_divide": floor_divide,
    "fmod": lambda f, a, b: f.writer.add("Mod", a, b, fmod=1),
    "rsqrt": lambda f, x: f("Reciprocal", f("Sqrt", x)),
    "trunc": lambda f, x: f("Where", f("Less", x, 0), f("Ceil", x), f("Floor", x)),
    "signbit": lambda f, x: f.signbit(x),
    "copysign": lambda f, a, b: f("Where", f.signbit(b), f("Neg", f("Abs", a)), f("Abs", a)),
    "exp2": lambda f, x: f("Pow", 2, x),
    "expm1": lambda f, x: f("Mul", f("Tanh", f("Mul", x, 0.5)), f("Add", f("Exp", x), 1)),
    "log2": lambda f, x: f("Div", f("Log", x), log(2)),
    "log10": lambda f, x: f("Div", f("Log", x), log(10)),
    "log1p": log1p,
    "erfc": lambda f, x: f("Sub", 1, f("Erf", x)),
    "gelu": lambda f, x: f("Mul", f("Mul", x, 0.5), f("Add", f("Erf", f("Mul", x, sqrt(0.5))), 1)),
    "gelu_tanh": gelu_tanh,
    "silu": lambda f, x: f("Mul", x, f("Sigmoid", x)),
    "mish": lambda f, x: f("Mul", x, f("Tanh", f("Softplus", x))),
    "atan2": atan2,
    "isfinite": lambda f, x: f("Not", f("Or", f("IsNaN", x), f("IsInf", x))),
}
"""Rows that are several."""
OF_FLOATS = frozenset({"isnan", "isinf", "isfinite"})


def map_rule(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """A scalar function of values that broadcast."""
    name, kinds = node.params["f"], [x.dtype for x in node.inputs]
    if name == "cast":
        return cast(writer, given[0], kinds[0], node.dtype)
    own = kinds[-1]
    if name in OF_FLOATS and not own.is_floating_point:
        equal = writer.add("Equal", given[0], given[0])  # integers are finite numbers
        return equal if name == "isfinite" else writer.add("Not", equal)
    wide = wide_of(own, name)
    places = range(1, len(given)) if name == "where" else range(len(given))
    for k in places:
        given[k] = cast(writer, given[k], own, wide)
    made = computed(writer, name, wide, given)
    result = bool_ if node.dtype is bool_ and own is not bool_ else wide
    return cast(writer, made, result, node.dtype)


def computed(writer: OnnxWriter, name: str, dtype: DType, given: list[str]) -> str:
    """The value of a function, of values of a dtype that runtimes compute with."""
    if name in LOGIC:
        return writer.add((LOGIC if dtype is bool_ else OF_BITS)[name], *given)
    if name == "where" and dtype is bool_:
        condition, yes, no = given
        other = writer.add("And", writer.add("Not", condition), no)
        return writer.add("Or", writer.add("And", condition, yes), other)
    if name in PLAIN:
        return writer.add(PLAIN[name], *given)
    if name not in FORMULAS:
        raise TraceError(f"onnx: {name} has no counterpart in ONNX.   [{writer.site}]")
    return FORMULAS[name](Scalars(writer, dtype), *given)


def wide_of(dtype: DType, name: str) -> DType:
    """The dtype in which a function is computed."""
    if name == "where" or (name in LOGIC and dtype is bool_):
        return dtype
    if dtype.is_floating_point:
        return float32 if dtype.itemsize < float32.itemsize else dtype
    if dtype is bool_:
        return dtype if name in ("eq", "ne") else int64
    return int64 if dtype.itemsize < float32.itemsize or dtype.name == "uint32" else dtype


def cast(writer: OnnxWriter, name: str, before: DType, after: DType) -> str:
    """A value in another dtype."""
    if before is after:
        return name
    if after is CARRIED:
        return carried(writer, writer.add("Cast", name, to=type_of(after)), after)
    if before is CARRIED and after is float32:
        return name
    return writer.add("Cast", name, to=type_of(after))
