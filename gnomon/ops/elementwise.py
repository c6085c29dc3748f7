"""Functions of single elements: arithmetic, powers.

Each broadcasts; dtypes are promoted, Python numbers are weak (gnomon/ir/operators.py). Comparisons
are in logic.py, exponentials and angles in transcendental.py, rounding in rounding.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnomon.dtypes import bool_, float64, int64
from gnomon.errors import ArgumentError, DtypeError
from gnomon.ir.node import Node
from gnomon.ir.operators import (
    Scalar,
    cast,
    constant,
    elementwise,
    is_narrow,
    rounded,
    rounded_once,
)
from gnomon.ops import scalars
from gnomon.ops.arguments import floating, is_number, promoted
from gnomon.ops.documentation import illustrated
from gnomon.ops.histories import unmoved
from gnomon.ops.primitives import expand
from gnomon.ops.registry import Op, Reference, op, view

Operand = Node | Scalar


def binary(
    name: str,
    sentence: str,
    reference: Reference,
    *,
    shows: str,
    row: str = "",
    prepare: Callable[..., Any] | None = None,
    **said: Any,
) -> Op:
    """Create an operation on two operands from a row of the scalar table; `shows`: an example."""
    row, prepared = row or name, prepare or same

    def function(x: Operand, y: Operand) -> Node:
        return elementwise(row, *prepared(name, x, y))

    function.__name__ = name
    function.__doc__ = illustrated(sentence, shows)
    return op(function, inline=True, reference=reference, **said)


def same(name: str, *xs: Operand) -> tuple[Operand, ...]:
    """Return the operands unchanged."""
    return xs


def as_floats(name: str, *xs: Operand) -> list[Node]:
    """The operands promoted, as floats; integers beside a number are cast before promotion."""
    early = any(map(is_number, xs))
    given = [floating(x) if early and isinstance(x, Node) else x for x in xs]
    return [floating(x) for x in promoted(name, *given)]


def is_not_float(x: Node) -> bool:
    """Whether x is not a float, so that rounding changes nothing."""
    return not x.dtype.is_floating_point


# arithmetic


def is_truth(x: Operand) -> bool:
    """Whether an operand is boolean."""
    return x.dtype is bool_ if isinstance(x, Node) else isinstance(x, bool)


def on_truth_values(row: str, x: Operand, y: Operand, logic: str) -> Node:
    """Apply a scalar function, or its counterpart in logic if both operands are boolean."""
    return elementwise(logic if is_truth(x) and is_truth(y) else row, x, y)


def is_float(x: Operand) -> bool:
    """Whether an operand is a float."""
    return x.dtype.is_floating_point if isinstance(x, Node) else isinstance(x, float)


@op(
    inline=True,
    reference=lambda x, y, alpha=1: np.add(x, y if alpha == 1 else alpha * y),
    operator="__add__",
    complex="formula",
)
def add(x: Operand, y: Operand, *, alpha: Scalar = 1) -> Node:
    """x + alpha · y.

    Shapes: x (...), y (...) -> (...)

    >>> add(tensor([1, 2]), tensor([10, 20]), alpha=2)
    Tensor([21, 42])
    >>> add(ones(2), ones(3))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: add: shapes do not broadcast: (2,) and (3,) differ in axis -1.
    """
    if alpha == 1:
        return on_truth_values("add", x, y, "or")
    return add_times("add", x, y, alpha)


@op(
    inline=True,
    reference=lambda x, y, alpha=1: np.subtract(x, y if alpha == 1 else alpha * y),
    aliases=("sub",),
    operator="__sub__",
    complex="formula",
)
def subtract(x: Operand, y: Operand, *, alpha: Scalar = 1) -> Node:
    """x − alpha · y.

    Shapes: x (...), y (...) -> (...)

    >>> subtract(tensor([10, 20]), tensor([1, 2]))
    Tensor([ 9, 18])
    >>> subtract(tensor([True]), tensor([False]))
    Traceback (most recent call last):
    gnomon.errors.DtypeError: subtract: truth values cannot be subtracted. Use logical_xor.
    """
    if is_truth(x) and is_truth(y):
        raise DtypeError("subtract: truth values cannot be subtracted. Use logical_xor.")
    return elementwise("sub", x, y) if alpha == 1 else add_times("sub", x, y, alpha)


def add_times(row: str, x: Operand, y: Operand, alpha: Scalar) -> Node:
    """The sum or difference x ± alpha · y, in the dtype of the result."""
    x, y = promoted(row, x, y)
    if isinstance(alpha, float) and not x.dtype.is_floating_point:
        raise DtypeError(f"{row}: alpha must be an integer for {x.dtype.name}: got {alpha}.")
    if x.dtype is bool_:
        return elementwise("or", x, elementwise("and", y, bool(alpha)))
    if is_narrow(x.dtype):
        alpha = rounded(row, alpha, x.dtype)

    def of(x: Node, y: Node) -> Node:
        return elementwise(row, x, y * alpha)

    return rounded_once(of, x, y)


@op(inline=True, reference=np.multiply, aliases=("mul",), operator="__mul__", complex="formula")
def multiply(x: Operand, y: Operand) -> Node:
    """x · y.

    Shapes: x (...), y (...) -> (...)

    >>> multiply(tensor([[1], [2]]), tensor([3, 4]))
    Tensor([[3, 4],
            [6, 8]])
    """
    return on_truth_values("mul", x, y, "and")


def divided(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    """Compute division with numpy."""
    quotient = np.true_divide(x, y)
    if rounding_mode is None:
        return quotient
    rounded = {"floor": np.floor, "trunc": np.trunc}[rounding_mode](quotient)
    exact = np.result_type(x, y).kind in "iu"
    return rounded.astype(np.result_type(x, y)) if exact else rounded


@op(
    inline=True,
    reference=divided,
    aliases=("div", "true_divide"),
    operator="__truediv__",
    complex="formula",
)
def divide(x: Operand, y: Operand, *, rounding_mode: str | None = None) -> Node:
    """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers.

    Shapes: x (...), y (...) -> (...)

    >>> divide(tensor([7, -7]), 2)
    Tensor([ 3.5, -3.5])
    >>> divide(tensor([7, -7]), 2, rounding_mode="floor")
    Tensor([ 3, -4])
    >>> divide(tensor([1]), 2, rounding_mode="up")
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: divide: rounding_mode is None, "floor" or "trunc": got 'up'.
    """
    if rounding_mode is None:
        floats = is_float(x) or is_float(y)
        return elementwise("div", *((x, y) if floats else as_floats("divide", x, y)))
    if rounding_mode == "floor":
        return elementwise("floor_divide", x, y)
    if rounding_mode != "trunc":
        raise ArgumentError(
            f'divide: rounding_mode is None, "floor" or "trunc": got {rounding_mode!r}.'
        )
    if is_float(x) or is_float(y):
        return unmoved(rounded_once(truncated_quotient, x, y), x, y)
    x, y = promoted("divide", x, y)
    quotient = elementwise("floor_divide", x, y)
    uneven = elementwise("ne", quotient * y, x)
    return quotient + cast(elementwise("and", uneven, elementwise("lt", quotient, 0)), x.dtype)


def truncated_quotient(x: Operand, y: Operand) -> Node:
    """The quotient x / y, truncated towards 0."""
    return elementwise("trunc", elementwise("div", x, y))


floor_divide = binary(
    "floor_divide",
    "x / y rounded down.",
    np.floor_divide,
    operator="__floordiv__",
    shows="floor_divide(tensor([7, -7]), tensor([2, 2])) -> Tensor([ 3, -4])",
)
remainder = binary(
    "remainder",
    "What floor division leaves: it has y's sign.",
    np.remainder,
    aliases=("mod",),
    operator="__mod__",
    shows="remainder(tensor([7, -7]), tensor([3, 3])) -> Tensor([1, 2])",
)


@op(inline=True, reference=np.fmod)
def fmod(x: Operand, y: Operand) -> Node:
    """The remainder of truncated division: it has x's sign.

    Shapes: x (...), y (...) -> (...)

    >>> fmod(tensor([7, -7]), 3)
    Tensor([ 1, -1])
    """
    x, y = promoted("fmod", x, y)
    if x.dtype.is_floating_point:
        return elementwise("fmod", x, y)
    rest = elementwise("remainder", x, y)
    turned = elementwise("ne", elementwise("lt", x, 0), elementwise("lt", rest, 0))
    uneven = elementwise("and", turned, elementwise("ne", rest, 0))
    return scalars.where(uneven, rest - y, rest)


maximum = binary(
    "maximum",
    "The larger; NaN wins.",
    np.maximum,
    shows="maximum(tensor([1.0, 5.0]), tensor([3.0, nan])) -> Tensor([ 3., nan])",
)
minimum = binary(
    "minimum",
    "The smaller; NaN wins.",
    np.minimum,
    shows="minimum(tensor([1.0, 5.0]), tensor([3.0, 2.0])) -> Tensor([1., 2.])",
)
copysign = binary(
    "copysign",
    "|x| with y's sign.",
    np.copysign,
    prepare=as_floats,
    shows="copysign(tensor([1.0, 2.0]), tensor([-0.0, 5.0])) -> Tensor([-1.,  2.])",
)
atan2 = binary(
    "atan2",
    "The angle whose sine goes with x and whose cosine goes with y, in (−π, π].",
    np.arctan2,
    prepare=as_floats,
    aliases=("arctan2",),
    shows="atan2(tensor([1.0, 1.0]), tensor([1.0, -1.0])) -> Tensor([0.7854, 2.3562])",
)


@op(inline=True, reference=np.negative, aliases=("neg",), operator="__neg__", complex="parts")
def negative(x: Node) -> Node:
    """−x.

    Shapes: x (...) -> (...)

    >>> negative(tensor([1, -2]))
    Tensor([-1,  2])
    >>> negative(tensor([True]))
    Traceback (most recent call last):
    gnomon.errors.DtypeError: negative: a truth value has no negative. Use logical_not.
    """
    if x.dtype is bool_:
        raise DtypeError("negative: a truth value has no negative. Use logical_not.")
    return -x


@view(reference=lambda x: x, aliases=("pos",))
def positive(x: Node) -> Node:
    """x.

    Shapes: x (...) -> (...)

    >>> positive(tensor([1, -2]))
    Tensor([ 1, -2])
    """
    return x


@op(
    inline=True, reference=np.absolute, aliases=("absolute",), operator="__abs__", complex="formula"
)
def abs(x: Node) -> Node:
    """|x|.

    Shapes: x (...) -> (...)

    >>> abs(tensor([1, -2]))
    Tensor([1, 2])
    """
    return x if x.dtype.kind in ("bool", "uint") else elementwise("abs", x)


@op(inline=True, reference=np.square, complex="formula")
def square(x: Node) -> Node:
    """x · x.

    Shapes: x (...) -> (...)

    >>> square(tensor([3, -4]))
    Tensor([ 9, 16])
    """
    x = cast(x, int64) if x.dtype is bool_ else x
    return x * x


@op(inline=True, reference=lambda x: 1 / x, complex="formula")
def reciprocal(x: Node) -> Node:
    """1 / x.

    Shapes: x (...) -> (...)

    >>> reciprocal(tensor([2.0, 4.0]))
    Tensor([0.5 , 0.25])
    """
    return 1.0 / floating(x)


# powers

LONGEST_CHAIN = 8
"""The largest exponent by which floats are multiplied; |error| ≤ (exponent − 1) ulp / 2."""


@op(inline=True, reference=np.power, autocast="wide", operator="__pow__", complex="formula")
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
    if is_not_float(x) and isinstance(y, int):
        return power_of_integer(x, int(y))
    return power_of_float(floating(x), float(y))


def power_of_integer(x: Node, exponent: int) -> Node:
    """The exact power of an integer, by repeated squaring."""
    if exponent < 0:
        raise ArgumentError(
            f"pow: integers have no power {exponent}. Use x.astype(float32) for a float."
        )
    x = cast(x, int64) if x.dtype is bool_ else x
    return chain(x, exponent) if exponent else ones_of(x)


def power_of_float(x: Node, exponent: float) -> Node:
    """The power of a float by a constant, by as few operations as the exponent allows."""
    if exponent == 0:
        return unmoved(ones_of(x), x)
    if exponent in (0.5, -0.5):
        return elementwise("sqrt" if exponent > 0 else "rsqrt", x)
    steps = -exponent if exponent < 0 else exponent

    def by_products(x: Node) -> Node:
        product = chain(x, int(steps))
        return product if exponent > 0 else 1.0 / product

    if steps.is_integer() and steps <= LONGEST_CHAIN:
        return rounded_once(by_products, x)
    return elementwise("pow", x, exponent)


def chain(x: Node, exponent: int) -> Node:
    """The power of x by repeated squaring, for an exponent of at least 1."""
    product, square_ = None, x
    while exponent > 1:
        if exponent & 1:
            product = square_ if product is None else product * square_
        exponent >>= 1
        square_ = square_ * square_
    return square_ if product is None else product * square_


def ones_of(x: Node) -> Node:
    """A tensor of ones in the shape and dtype of x."""
    return expand(constant(x.arena, 1, x.dtype), x.shape)


@op(reference=lambda x, y: np.power(np.float64(x), y), complex="formula")
def float_power(x: Operand, y: Operand) -> Node:
    """x to the power y in float64.

    Shapes: x (...), y (...) -> (...)

    >>> float_power(tensor([2, 3]), 0.5).dtype
    gnomon.float64
    """
    wide = [cast(v, float64) if isinstance(v, Node) else float(v) for v in (x, y)]
    return pow(*wide)
