"""Functions of single elements whose values are steps: rounding, signs, decimals.

Their gradients are 0. Division with rounding is in elementwise.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.dtypes import DType, bfloat16, bool_, float16, float32, int32
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, constant, elementwise, rounded_once
from gnomon.ops.arguments import promoted
from gnomon.ops.documentation import illustrated
from gnomon.ops.elementwise import Operand, as_floats, is_not_float
from gnomon.ops.logic import clip
from gnomon.ops.primitives import expand
from gnomon.ops.registry import Op, Reference, op
from gnomon.ops.scalars import where


def flat(g: Node, y: Node, x: Node, **_: object) -> Node:
    """The gradient of a step function: zeros, in place of none."""
    return expand(constant(x.arena, 0, x.dtype), x.shape)


def rounding(name: str, sentence: str, reference: Reference, shows: str, **said: Any) -> Op:
    """Create a rounding operation, which leaves integers unchanged."""

    def function(x: Node) -> Node:
        return x if is_not_float(x) else elementwise(name, x)

    function.__name__ = name
    function.__doc__ = illustrated(sentence, shows)
    return op(function, reference=reference, gradient=flat, **said)


floor = rounding(
    "floor",
    "The nearest whole number below.",
    np.floor,
    shows="floor(tensor([1.5, -1.5])) -> Tensor([ 1., -2.])",
)
ceil = rounding(
    "ceil",
    "The nearest whole number above.",
    np.ceil,
    shows="ceil(tensor([1.5, -1.5])) -> Tensor([ 2., -1.])",
)
trunc = rounding(
    "trunc",
    "The whole part.",
    np.trunc,
    aliases=("fix",),
    shows="trunc(tensor([1.5, -1.5])) -> Tensor([ 1., -1.])",
)


@op(reference=np.sign, gradient=flat, aliases=("sgn",), complex="formula")
def sign(x: Node) -> Node:
    """-1, 0 or 1, as x is negative, zero or positive.

    Shapes: x (...) -> (...)

    >>> sign(tensor([-3.0, 0.0, 5.0]))
    Tensor([-1.,  0.,  1.])
    """
    if x.dtype is bool_:
        return x
    found = elementwise("sign", x)
    return found + 0.0 if x.dtype.is_floating_point else found  # of −0 too it is +0


@op(reference=np.round, gradient=flat, special=True)
def round(x: Node, *, decimals: int = 0) -> Node:
    """Round to a number of decimals; halves go to the even digit.

    Shapes: x (...) -> (...)

    >>> round(tensor([0.5, 1.5, 2.5]))
    Tensor([0., 2., 2.])
    >>> round(tensor([3.14159]), decimals=2)
    Tensor([3.14])
    """
    if is_not_float(x):
        return x
    if decimals == 0:
        return elementwise("round", x)
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)

    def of(x: Node) -> Node:
        if decimals > 0:
            return elementwise("round", x * scale) / scale
        return elementwise("round", x / scale) * scale

    return rounded_once(of, x)


@op(reference=lambda x: x - np.trunc(x))
def frac(x: Node) -> Node:
    """The fractional part of x, with the sign of x.

    Shapes: x (...) -> (...)

    >>> frac(tensor([1.25, -1.25]))
    Tensor([ 0.25, -0.25])
    """
    return x - elementwise("trunc", x)


# neighbours

NARROW = {float16: (2.0**-112, 65536.0, 0x2000), bfloat16: (1.0, np.inf, 0x10000)}
"""Narrow dtype -> the factor to float32 with the same leading bits, the number after its largest,
and the step between neighbours' bits there."""


@op(inline=True, reference=np.nextafter)
def nextafter(x: Operand, y: Operand) -> Node:
    """The next float after x in the direction of y.

    Shapes: x (...), y (...) -> (...)

    >>> nextafter(tensor([1.0]), tensor([2.0])).item()
    1.0000001192092896
    >>> nextafter(tensor([1.0], dtype=bfloat16), tensor([2.0], dtype=bfloat16)).item()
    1.0078125
    """
    a, b = as_floats("nextafter", x, y)
    return narrow_neighbour(a, b) if a.dtype in NARROW else elementwise("nextafter", a, b)


def narrow_neighbour(x: Node, y: Node) -> Node:
    """The next 16-bit float from x towards y, by the bits of float32."""
    scale, end, step = NARROW[x.dtype]
    a, b = (clip(cast(v, float32), -end, end) * scale for v in (x, y))
    rises = elementwise("and", elementwise("lt", 0.0 * a, a), elementwise("lt", a, b))
    falls = elementwise("and", elementwise("lt", a, 0.0 * a), elementwise("lt", b, a))
    outward = elementwise("or", rises, falls)
    moved = bits(bits(a, int32) + where(outward, constant(a.arena, step, int32), -step), float32)
    least = bits(expand(constant(a.arena, step, int32), a.shape), float32)
    moved = where(elementwise("eq", a, 0.0), elementwise("copysign", least, b), moved)
    moved = where(elementwise("eq", a, b), b, moved)
    unknown = elementwise("or", elementwise("isnan", a), elementwise("isnan", b))
    return cast(where(unknown, np.nan, moved) * (1 / scale), x.dtype)


def bits(x: Node, dtype: DType) -> Node:
    """Reinterpret the bits of x as another dtype."""
    return x.arena.node("map", (x,), f="bitcast", dtype=dtype)


@op(reference=np.heaviside)
def heaviside(x: Node, values: Operand) -> Node:
    """0 where x is negative, 1 where it is positive, the given values where it is 0.

    Shapes: x (...) -> (...)

    >>> heaviside(tensor([-2.0, 0.0, 2.0]), 0.5)
    Tensor([0. , 0.5, 1. ])
    """
    x, values = promoted("heaviside", x, values)
    step = cast(elementwise("gt", x, 0), x.dtype)
    return where(elementwise("eq", x, 0), values, step)
