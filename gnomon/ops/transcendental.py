"""Roots, exponentials, logarithms and angles: each one row of the scalar table.

Integers become float32. Accuracy and bits are those of gnomon/codegen/math.py (docs/accuracy.md).
Arithmetic and powers are in elementwise.py, rounding in rounding.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.ir.node import Node
from gnomon.ops import scalars
from gnomon.ops.arguments import floating
from gnomon.ops.documentation import illustrated
from gnomon.ops.registry import Op, Reference, op


def unary(name: str, sentence: str, reference: Reference, *, shows: str, **said: Any) -> Op:
    """Create an operation on floats from a row of the scalar table; `shows`: an example."""

    def function(x: Node) -> Node:
        x = floating(x)
        return x.arena.node("map", (x,), f=name)

    function.__name__ = name
    function.__doc__ = illustrated(sentence, shows)
    return op(function, inline=True, reference=reference, **said)


sqrt = unary(
    "sqrt",
    "The square root.",
    np.sqrt,
    shows="sqrt(tensor([4.0, 2.0])) -> Tensor([2.    , 1.4142])",
    complex="formula",
)
rsqrt = unary(
    "rsqrt",
    "One over the square root.",
    lambda x: 1 / np.sqrt(x),
    shows="rsqrt(tensor([4.0, 0.25])) -> Tensor([0.5, 2. ])",
    complex="formula",
)
exp = unary(
    "exp",
    "e to the power x.",
    np.exp,
    autocast="wide",
    shows="exp(tensor([0.0, 1.0])) -> Tensor([1.    , 2.7183])",
    complex="formula",
)
exp2 = unary(
    "exp2",
    "2 to the power x.",
    np.exp2,
    special=True,
    shows="exp2(tensor([3.0, -1.0])) -> Tensor([8. , 0.5])",
    complex="formula",
)
expm1 = unary(
    "expm1",
    "exp(x) − 1, exact near 0.",
    np.expm1,
    special=True,
    shows="expm1(tensor([1e-10])) -> Tensor([1.e-10])",
    complex="formula",
)
log = unary(
    "log",
    "The natural logarithm.",
    np.log,
    autocast="wide",
    shows="log(tensor([1.0, 2.718281828])) -> Tensor([0., 1.])",
    complex="formula",
)
log2 = unary(
    "log2",
    "The logarithm to base 2.",
    np.log2,
    shows="log2(tensor([8.0, 0.5])) -> Tensor([ 3., -1.])",
    complex="formula",
)
log10 = unary(
    "log10",
    "The logarithm to base 10.",
    np.log10,
    shows="log10(tensor([1000.0, 0.1])) -> Tensor([ 3., -1.])",
    complex="formula",
)
log1p = unary(
    "log1p",
    "log(1 + x), exact near 0.",
    np.log1p,
    special=True,
    shows="log1p(tensor([1e-10])) -> Tensor([1.e-10])",
    complex="formula",
)
erf = unary(
    "erf",
    "The error function.",
    scalars.SCALARS["erf"].value,
    special=True,
    shows="erf(tensor([0.0, 1.0])) -> Tensor([0.    , 0.8427])",
)
sin = unary(
    "sin",
    "The sine of an angle in radians.",
    np.sin,
    shows="sin(tensor([0.0, 1.5707964])) -> Tensor([0., 1.])",
    complex="formula",
)
cos = unary(
    "cos",
    "The cosine of an angle in radians.",
    np.cos,
    shows="cos(tensor([0.0, 3.1415927])) -> Tensor([ 1., -1.])",
    complex="formula",
)
tan = unary(
    "tan",
    "The tangent of an angle in radians.",
    np.tan,
    shows="tan(tensor([0.0, 0.7853982])) -> Tensor([0., 1.])",
    complex="formula",
)
asin = unary(
    "asin",
    "The angle of a sine.",
    np.arcsin,
    aliases=("arcsin",),
    shows="asin(tensor([0.0, 1.0])) -> Tensor([0.    , 1.5708])",
    complex="formula",
)
acos = unary(
    "acos",
    "The angle of a cosine.",
    np.arccos,
    aliases=("arccos",),
    shows="acos(tensor([1.0, 0.0])) -> Tensor([0.    , 1.5708])",
    complex="formula",
)
atan = unary(
    "atan",
    "The angle of a tangent.",
    np.arctan,
    aliases=("arctan",),
    shows="atan(tensor([1.0, inf])) -> Tensor([0.7854, 1.5708])",
    complex="formula",
)
sinh = unary(
    "sinh",
    "The hyperbolic sine.",
    np.sinh,
    shows="sinh(tensor([0.0, 1.0])) -> Tensor([0.    , 1.1752])",
    complex="formula",
)
cosh = unary(
    "cosh",
    "The hyperbolic cosine.",
    np.cosh,
    shows="cosh(tensor([0.0, 1.0])) -> Tensor([1.    , 1.5431])",
    complex="formula",
)
tanh = unary(
    "tanh",
    "The hyperbolic tangent.",
    np.tanh,
    functional=True,
    shows="tanh(tensor([-100.0, 0.0, 1.0])) -> Tensor([-1.    ,  0.    ,  0.7616])",
    complex="formula",
)
asinh = unary(
    "asinh",
    "The inverse of sinh.",
    np.arcsinh,
    aliases=("arcsinh",),
    shows="asinh(tensor([0.0, 1.0])) -> Tensor([0.    , 0.8814])",
    complex="formula",
)
acosh = unary(
    "acosh",
    "The inverse of cosh.",
    np.arccosh,
    aliases=("arccosh",),
    shows="acosh(tensor([1.0, 2.0])) -> Tensor([0.   , 1.317])",
    complex="formula",
)
atanh = unary(
    "atanh",
    "The inverse of tanh.",
    np.arctanh,
    aliases=("arctanh",),
    shows="atanh(tensor([0.0, 0.5])) -> Tensor([0.    , 0.5493])",
    complex="formula",
)
sigmoid = unary(
    "sigmoid",
    "1 / (1 + exp(−x)).",
    scalars.SCALARS["sigmoid"].value,
    aliases=("expit",),
    special=("expit",),
    shows="sigmoid(tensor([-2.0, 0.0, 2.0])) -> Tensor([0.1192, 0.5   , 0.8808])",
    functional=True,
    complex="formula",
)
