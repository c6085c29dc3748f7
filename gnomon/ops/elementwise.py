"""Functions of single elements: arithmetic, powers, exponentials, angles, rounding.

Each broadcasts; dtypes are promoted, Python numbers are weak (gnomon/ir/operators.py). Comparisons
are in logic.py, what networks apply between layers in activations.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.dtypes import bool_, float64, int64
from gnomon.errors import ArgumentError, DtypeError
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar, cast, constant, elementwise
from gnomon.ops import scalars
from gnomon.ops.arguments import floating, is_number, promoted
from gnomon.ops.primitives import expand
from gnomon.ops.registry import Op, Reference, op

Operand = Node | Scalar


def unary(
    name: str, sentence: str, reference: Reference, *, floats: bool = True, **also: Any
) -> Op:
    """An operation that is one row of the scalar table; floats says: integers become float32."""

    def function(x: Node) -> Node:
        x = floating(x) if floats else x
        return x.arena.node("map", (x,), f=name)

    function.__name__ = name
    function.__doc__ = f"{sentence}\n\nShapes: x (...) -> (...)"
    function.__module__ = __name__
    return op(function, inline=True, reference=reference, aliases=also.get("aliases", ()))


def binary(name: str, sentence: str, reference: Reference, *, row: str, **also: Any) -> Op:
    """An operation on two operands that is one row of the scalar table."""

    def function(x: Operand, y: Operand) -> Node:
        return elementwise(row, *also.get("prepare", same)(name, x, y))

    function.__name__ = name
    function.__doc__ = f"{sentence}\n\nShapes: x (...), y (...) -> (...)"
    function.__module__ = __name__
    return op(function, inline=True, reference=reference, aliases=also.get("aliases", ()))


def same(name: str, *xs: Operand) -> tuple[Operand, ...]:
    """The operands as they are."""
    return xs


def as_floats(name: str, *xs: Operand) -> list[Node]:
    """The operands promoted, integers to float32."""
    return [floating(x) for x in promoted(name, *xs)]


def whole(x: Node) -> bool:
    """Whether rounding would change nothing."""
    return not x.dtype.is_floating_point


# arithmetic


def is_truth(x: Operand) -> bool:
    """Whether an operand is made of truth values."""
    return x.dtype is bool_ if isinstance(x, Node) else isinstance(x, bool)


def on_truth_values(row: str, x: Operand, y: Operand, logic: str) -> Node:
    """A row of the table, or its counterpart in logic when both operands are truth values."""
    return elementwise(logic if is_truth(x) and is_truth(y) else row, x, y)


def is_float(x: Operand) -> bool:
    """Whether an operand is made of floats."""
    return x.dtype.is_floating_point if isinstance(x, Node) else isinstance(x, float)


@op(inline=True, reference=lambda x, y, alpha=1: np.add(x, y if alpha == 1 else alpha * y))
def add(x: Operand, y: Operand, *, alpha: Scalar = 1) -> Node:
    """x + alpha · y.

    Shapes: x (...), y (...) -> (...)
    """
    return on_truth_values("add", x, y if alpha == 1 else y * alpha, "or")


@op(
    inline=True,
    reference=lambda x, y, alpha=1: np.subtract(x, y if alpha == 1 else alpha * y),
    aliases=("sub",),
)
def subtract(x: Operand, y: Operand, *, alpha: Scalar = 1) -> Node:
    """x − alpha · y.

    Shapes: x (...), y (...) -> (...)
    """
    y = y if alpha == 1 else y * alpha
    if is_truth(x) and is_truth(y):
        raise DtypeError("subtract: truth values cannot be subtracted. Use logical_xor.")
    return elementwise("sub", x, y)


@op(inline=True, reference=np.multiply, aliases=("mul",))
def multiply(x: Operand, y: Operand) -> Node:
    """x · y.

    Shapes: x (...), y (...) -> (...)
    """
    return on_truth_values("mul", x, y, "and")


def divided(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    """Division by numpy."""
    quotient = np.true_divide(x, y)
    if rounding_mode is None:
        return quotient
    rounded = {"floor": np.floor, "trunc": np.trunc}[rounding_mode](quotient)
    exact = np.result_type(x, y).kind in "iu"
    return rounded.astype(np.result_type(x, y)) if exact else rounded


@op(inline=True, reference=divided, aliases=("div", "true_divide"))
def divide(x: Operand, y: Operand, *, rounding_mode: str | None = None) -> Node:
    """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers.

    Shapes: x (...), y (...) -> (...)
    """
    if rounding_mode is None:
        floats = is_float(x) or is_float(y)
        return elementwise("div", *((x, y) if floats else as_floats("divide", x, y)))
    if rounding_mode == "floor":
        return elementwise("floor_divide", x, y)
    x, y = promoted("divide", x, y)
    if rounding_mode != "trunc":
        raise ArgumentError(
            f'divide: rounding_mode is None, "floor" or "trunc": got {rounding_mode!r}.'
        )
    if x.dtype.is_floating_point:
        return elementwise("trunc", elementwise("div", x, y))
    quotient = elementwise("floor_divide", x, y)
    uneven = elementwise("ne", quotient * y, x)
    return quotient + cast(elementwise("and", uneven, elementwise("lt", quotient, 0)), x.dtype)


floor_divide = binary("floor_divide", "x / y rounded down.", np.floor_divide, row="floor_divide")
remainder = binary(
    "remainder",
    "What floor division leaves: it has y's sign.",
    np.remainder,
    row="remainder",
    aliases=("mod",),
)


@op(inline=True, reference=np.fmod)
def fmod(x: Operand, y: Operand) -> Node:
    """What truncated division leaves: it has x's sign.

    Shapes: x (...), y (...) -> (...)
    """
    x, y = promoted("fmod", x, y)
    if x.dtype.is_floating_point:
        return elementwise("fmod", x, y)
    rest = elementwise("remainder", x, y)
    turned = elementwise("ne", elementwise("lt", x, 0), elementwise("lt", rest, 0))
    uneven = elementwise("and", turned, elementwise("ne", rest, 0))
    return scalars.where(uneven, rest - y, rest)


maximum = binary("maximum", "The larger; NaN wins.", np.maximum, row="maximum")
minimum = binary("minimum", "The smaller; NaN wins.", np.minimum, row="minimum")
copysign = binary("copysign", "|x| with y's sign.", np.copysign, row="copysign", prepare=as_floats)
nextafter = binary(
    "nextafter", "The float next to x towards y.", np.nextafter, row="nextafter", prepare=as_floats
)
atan2 = binary(
    "atan2",
    "The angle whose sine goes with x and whose cosine goes with y, in (−π, π].",
    np.arctan2,
    row="atan2",
    prepare=as_floats,
    aliases=("arctan2",),
)


@op(inline=True, reference=np.negative, aliases=("neg",))
def negative(x: Node) -> Node:
    """−x.

    Shapes: x (...) -> (...)
    """
    if x.dtype is bool_:
        raise DtypeError("negative: a truth value has no negative. Use logical_not.")
    return -x


@op(inline=True, reference=lambda x: x, aliases=("pos",))
def positive(x: Node) -> Node:
    """x.

    Shapes: x (...) -> (...)
    """
    return x


@op(inline=True, reference=np.absolute, aliases=("absolute",))
def abs(x: Node) -> Node:
    """|x|.

    Shapes: x (...) -> (...)
    """
    return x if x.dtype.kind in ("bool", "uint") else elementwise("abs", x)


@op(inline=True, reference=np.square)
def square(x: Node) -> Node:
    """x · x.

    Shapes: x (...) -> (...)
    """
    return x * x


@op(inline=True, reference=lambda x: 1 / x)
def reciprocal(x: Node) -> Node:
    """1 / x.

    Shapes: x (...) -> (...)
    """
    return 1.0 / floating(x)


# powers

LONGEST_CHAIN = 8
"""Float bases are multiplied for exponents up to this; |error| ≤ (exponent − 1) ulp / 2."""


@op(inline=True, reference=np.power)
def pow(x: Operand, y: Operand) -> Node:
    """x to the power y.

    Shapes: x (...), y (...) -> (...)

    Integers stay exact and wrap. A negative exponent that is a Python number is an error on
    integers; in a tensor it gives 1 for base 1, ±1 for base −1, and 0 otherwise.

    >>> pow(tensor([2, 3]), 3)
    Tensor([ 8, 27])
    """
    if not isinstance(x, Node) or not is_number(y):
        return elementwise("pow", *promoted("pow", x, y))
    if whole(x) and isinstance(y, int):
        return power_of_integer(x, int(y))
    return power_of_float(floating(x), float(y))


def power_of_integer(x: Node, exponent: int) -> Node:
    """An exact power by repeated squaring."""
    if exponent < 0:
        raise ArgumentError(
            f"pow: integers have no power {exponent}. Use x.astype(float32) for a float."
        )
    x = cast(x, int64) if x.dtype is bool_ else x
    return chain(x, exponent) if exponent else ones_of(x)


def power_of_float(x: Node, exponent: float) -> Node:
    """A power by a constant, with as few steps as its exponent allows."""
    if exponent == 0:
        return ones_of(x)
    if exponent in (0.5, -0.5):
        return elementwise("sqrt" if exponent > 0 else "rsqrt", x)
    steps = -exponent if exponent < 0 else exponent
    if steps.is_integer() and steps <= LONGEST_CHAIN:
        product = chain(x, int(steps))
        return product if exponent > 0 else 1.0 / product
    return elementwise("pow", x, exponent)


def chain(x: Node, exponent: int) -> Node:
    """x · x · ... by squaring: as many products as the exponent has bits, and bits that are set."""
    product, square_ = None, x
    while True:
        if exponent & 1:
            product = square_ if product is None else product * square_
        exponent >>= 1
        if not exponent:
            return product
        square_ = square_ * square_


def ones_of(x: Node) -> Node:
    """One in the shape and dtype of x, whatever x holds."""
    return expand(constant(x.arena, 1, x.dtype), x.shape)


@op(reference=lambda x, y: np.power(np.float64(x), y))
def float_power(x: Operand, y: Operand) -> Node:
    """x to the power y in float64.

    Shapes: x (...), y (...) -> (...)
    """
    return elementwise("pow", *[cast(v, float64) for v in promoted("float_power", x, y)])


# exponentials, circles: rows of the table

sqrt = unary("sqrt", "The square root.", np.sqrt)
rsqrt = unary("rsqrt", "One over the square root.", lambda x: 1 / np.sqrt(x))
exp = unary("exp", "e to the power x.", np.exp)
exp2 = unary("exp2", "2 to the power x.", np.exp2)
expm1 = unary("expm1", "exp(x) − 1, exact near 0.", np.expm1)
log = unary("log", "The natural logarithm.", np.log)
log2 = unary("log2", "The logarithm to base 2.", np.log2)
log10 = unary("log10", "The logarithm to base 10.", np.log10)
log1p = unary("log1p", "log(1 + x), exact near 0.", np.log1p)
erf = unary("erf", "The error function.", scalars.SCALARS["erf"].value)
sin = unary("sin", "The sine of an angle in radians.", np.sin)
cos = unary("cos", "The cosine of an angle in radians.", np.cos)
tan = unary("tan", "The tangent of an angle in radians.", np.tan)
asin = unary("asin", "The angle of a sine.", np.arcsin, aliases=("arcsin",))
acos = unary("acos", "The angle of a cosine.", np.arccos, aliases=("arccos",))
atan = unary("atan", "The angle of a tangent.", np.arctan, aliases=("arctan",))
sinh = unary("sinh", "The hyperbolic sine.", np.sinh)
cosh = unary("cosh", "The hyperbolic cosine.", np.cosh)
tanh = unary("tanh", "The hyperbolic tangent.", np.tanh)
asinh = unary("asinh", "The inverse of sinh.", np.arcsinh, aliases=("arcsinh",))
acosh = unary("acosh", "The inverse of cosh.", np.arccosh, aliases=("arccosh",))
atanh = unary("atanh", "The inverse of tanh.", np.arctanh, aliases=("arctanh",))
sigmoid = unary(
    "sigmoid", "1 / (1 + exp(−x)).", scalars.SCALARS["sigmoid"].value, aliases=("expit",)
)


def flat(g: Node, y: Node, x: Node, **_: object) -> Node:
    """The gradient of what moves in steps: 0, not nothing."""
    return expand(constant(x.arena, 0, x.dtype), x.shape)


def rounding(name: str, sentence: str, reference: Reference) -> Op:
    """An operation that makes floats whole, and leaves integers as they are."""

    def function(x: Node) -> Node:
        return x if whole(x) else elementwise(name, x)

    function.__name__ = name
    function.__doc__ = f"{sentence}\n\nShapes: x (...) -> (...)"
    function.__module__ = __name__
    return op(function, reference=reference, gradient=flat)


floor = rounding("floor", "The nearest whole number below.", np.floor)
ceil = rounding("ceil", "The nearest whole number above.", np.ceil)
trunc = rounding("trunc", "The whole part.", np.trunc)


@op(reference=np.sign, gradient=flat)
def sign(x: Node) -> Node:
    """-1, 0 or 1, as x is negative, zero or positive.

    Shapes: x (...) -> (...)
    """
    if x.dtype is bool_:
        return x
    found = elementwise("sign", x)
    return found + 0.0 if x.dtype.is_floating_point else found  # of −0 too it is +0


@op(reference=lambda x, decimals=0: np.round(x, decimals), gradient=flat)
def round(x: Node, *, decimals: int = 0) -> Node:
    """The nearest number with so many decimals; halves go to the even one.

    Shapes: x (...) -> (...)
    """
    if whole(x):
        return x
    if decimals == 0:
        return elementwise("round", x)
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    if decimals > 0:
        return elementwise("round", x * scale) / scale
    return elementwise("round", x / scale) * scale


@op(reference=lambda x: x - np.trunc(x))
def frac(x: Node) -> Node:
    """What truncation leaves.

    Shapes: x (...) -> (...)
    """
    return x - elementwise("trunc", x)
