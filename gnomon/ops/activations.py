"""What networks apply between layers: relu and its relatives, gelu, softplus, gates.

Where a formula would overflow on the side that is not taken, its argument is replaced there first:
the gradient of a choice multiplies both sides, and 0 · inf is NaN.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import elementwise
from gnomon.ops.arguments import choice, floating, floats_only, one_axis, promoted
from gnomon.ops.elementwise import Operand, divide
from gnomon.ops.logic import clip
from gnomon.ops.primitives import reshape
from gnomon.ops.registry import op
from gnomon.ops.scalars import SCALARS, where
from gnomon.ops.view_primitives import slice_


def np_sigmoid(x: np.ndarray):
    """sigmoid by numpy."""
    return SCALARS["sigmoid"].value(x)


@op(reference=lambda x: np.maximum(x, 0))
def relu(x: Node) -> Node:
    """x, but nothing below 0.

    Shapes: x (...) -> (...)
    """
    return where(elementwise("le", x, 0), 0, x)


@op(reference=lambda x: np.clip(x, 0, 6))
def relu6(x: Node) -> Node:
    """x between 0 and 6.

    Shapes: x (...) -> (...)
    """
    return between(x, 0, 6)


@op(reference=lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val))
def hardtanh(x: Node, min_val: float = -1.0, max_val: float = 1.0) -> Node:
    """x between two bounds; on the bounds the gradient is 0.

    Shapes: x (...) -> (...)
    """
    return between(x, min_val, max_val)


def between(x: Node, low: float, high: float) -> Node:
    """x cut off at two bounds, flat on the bounds themselves."""
    cut = where(elementwise("ge", x, high), high, x)
    return where(elementwise("le", x, low), low, cut)


@op(reference=lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope))
def leaky_relu(x: Node, negative_slope: float = 0.01) -> Node:
    """x, flattened below 0.

    Shapes: x (...) -> (...)
    """
    floats_only("leaky_relu", x)
    return where(elementwise("gt", x, 0), x, x * negative_slope)


@op(reference=lambda x, weight: np.where(x > 0, x, x * weight))
def prelu(x: Node, weight: Node) -> Node:
    """leaky_relu whose slope is learned, one for all or one per channel (axis 1).

    Shapes: x (...), weight (n) -> (...)
    """
    channels = x.shape[1] if x.rank > 1 else 1
    if weight.size not in (1, channels):
        raise ShapeError(
            f"prelu: weight must have 1 or {channels} elements for x {x.shape}: got {weight.shape}."
        )
    shape = tuple(weight.size if k == 1 else 1 for k in range(x.rank))
    return where(elementwise("gt", x, 0), x, x * reshape(weight, shape))


@op(reference=lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))))
def elu(x: Node, alpha: float = 1.0) -> Node:
    """x, bending to −alpha below 0.

    Shapes: x (...) -> (...)
    """
    return bent(x, alpha, 1.0)


@op(reference=lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x / alpha, 0))))
def celu(x: Node, alpha: float = 1.0) -> Node:
    """elu whose slope is continuous for every alpha.

    Shapes: x (...) -> (...)
    """
    return bent(x, alpha, 1 / alpha)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@op(reference=lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0))))
def selu(x: Node) -> Node:
    """elu scaled so that layers keep mean 0 and variance 1.

    Shapes: x (...) -> (...)
    """
    return bent(x, SELU_ALPHA, 1.0) * SELU_SCALE


def bent(x: Node, alpha: float, rate: float) -> Node:
    """x above 0, alpha · (exp(rate · x) − 1) below."""
    floats_only("elu", x)
    above = elementwise("gt", x, 0)
    return where(above, x, elementwise("expm1", where(above, 0.0, x) * rate) * alpha)


@op(
    reference=lambda x, approximate="none": (
        x * 0.5 * (1 + SCALARS["erf"].value(x / sqrt(2)))
        if approximate == "none"
        else x * 0.5 * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
    )
)
def gelu(x: Node, approximate: str = "none") -> Node:
    """x times the probability that a normal number lies below it.

    Shapes: x (...) -> (...)

    With approximate="tanh" a tanh stands in for the error function.
    """
    floats_only("gelu", x)
    choice("gelu", "approximate", approximate, ("none", "tanh"))
    if approximate == "none":
        return x * 0.5 * (elementwise("erf", x * sqrt(0.5)) + 1.0)
    inner = (x + x * x * x * 0.044715) * sqrt(2 / pi)
    return x * 0.5 * (elementwise("tanh", inner) + 1.0)


@op(reference=lambda x: x * np_sigmoid(x), aliases=("swish",))
def silu(x: Node) -> Node:
    """x · sigmoid(x).

    Shapes: x (...) -> (...)
    """
    floats_only("silu", x)
    return x * elementwise("sigmoid", x)


@op(reference=lambda x, beta=1.0, threshold=20.0: np.logaddexp(0, beta * x) / beta)
def softplus(x: Node, beta: float = 1.0, threshold: float = 20.0) -> Node:
    """log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold.

    Shapes: x (...) -> (...)
    """
    floats_only("softplus", x)
    scaled = x * beta
    straight = elementwise("gt", scaled, threshold)
    curve = elementwise("log1p", elementwise("exp", where(straight, 0.0, scaled)))
    return where(straight, x, curve / beta)


def logsigmoid_gradient(g: Node, y: Node, x: Node) -> Node:
    """sigmoid of the other sign, which has all digits."""
    return g * elementwise("sigmoid", -x)


@op(reference=lambda x: -np.logaddexp(0, -x), gradient=logsigmoid_gradient)
def logsigmoid(x: Node) -> Node:
    """log(sigmoid(x)).

    Shapes: x (...) -> (...)
    """
    floats_only("logsigmoid", x)
    tail = elementwise("log1p", elementwise("exp", -elementwise("abs", x)))
    return elementwise("minimum", x, 0.0) - tail


@op(reference=lambda x: x * np.tanh(np.logaddexp(0, x)))
def mish(x: Node) -> Node:
    """x · tanh(softplus(x)).

    Shapes: x (...) -> (...)
    """
    return x * elementwise("tanh", softplus(x))


@op(reference=lambda x, eps=None: np.log(x / (1 - x)))
def logit(x: Node, eps: float | None = None) -> Node:
    """log(x / (1 − x)); with eps, x is first brought between eps and 1 − eps.

    Shapes: x (...) -> (...)
    """
    x = floating(x)
    x = x if eps is None else clip(x, eps, 1 - eps)
    return elementwise("log", x / (1.0 - x))


@op(reference=lambda x: x / (1 + np.abs(x)))
def softsign(x: Node) -> Node:
    """x / (1 + |x|).

    Shapes: x (...) -> (...)
    """
    return x / (elementwise("abs", x) + 1.0)


@op(reference=lambda x: x - np.tanh(x))
def tanhshrink(x: Node) -> Node:
    """x − tanh(x).

    Shapes: x (...) -> (...)
    """
    return x - elementwise("tanh", x)


@op(reference=lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0))
def softshrink(x: Node, lambd: float = 0.5) -> Node:
    """x moved towards 0 by lambd, and 0 when it was nearer.

    Shapes: x (...) -> (...)
    """
    below = where(elementwise("lt", x, -lambd), x + lambd, 0.0 * x)
    return where(elementwise("gt", x, lambd), x - lambd, below)


@op(reference=lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0))
def hardshrink(x: Node, lambd: float = 0.5) -> Node:
    """x, and 0 where it is nearer to 0 than lambd.

    Shapes: x (...) -> (...)
    """
    return where(elementwise("le", elementwise("abs", x), lambd), 0.0, x)


@op(reference=lambda x, threshold, value: np.where(x > threshold, x, value))
def threshold(x: Node, threshold: float, value: float) -> Node:
    """x above a threshold, a value elsewhere.

    Shapes: x (...) -> (...)
    """
    return where(elementwise("le", x, threshold), value, x)


@op(reference=lambda x: np.clip(x / 6 + 0.5, 0, 1))
def hardsigmoid(x: Node) -> Node:
    """A sigmoid made of three lines.

    Shapes: x (...) -> (...)
    """
    return between(x + 3.0, 0, 6) / 6.0


@op(reference=lambda x: x * np.clip(x / 6 + 0.5, 0, 1))
def hardswish(x: Node) -> Node:
    """x times a sigmoid made of three lines.

    Shapes: x (...) -> (...)
    """
    return x * between(x + 3.0, 0, 6) / 6.0


@op(reference=lambda x, axis=-1: np.split(x, 2, axis)[0] * np_sigmoid(np.split(x, 2, axis)[1]))
def glu(x: Node, axis: int = -1) -> Node:
    """The first half of an axis, gated by the sigmoid of the second.

    Shapes: x (...) -> (?)
    """
    axis = one_axis("glu", axis, x.rank)
    half, odd = divmod(x.shape[axis], 2)
    if odd:
        raise ShapeError(f"glu: axis {axis} must have an even size: got {x.shape}.")
    bounds = [(0, n, 1) for n in x.shape]
    first, second = (
        slice_(x, (*bounds[:axis], cut, *bounds[axis + 1 :]))
        for cut in ((0, half, 1), (half, 2 * half, 1))
    )
    return first * elementwise("sigmoid", second)


# two and three operands


@op(reference=np.logaddexp)
def logaddexp(x: Operand, y: Operand) -> Node:
    """log(exp(x) + exp(y)), without overflow.

    Shapes: x (...), y (...) -> (...)
    """
    x, y = (floating(v) for v in promoted("logaddexp", x, y))
    apart = where(elementwise("eq", x, y), 0.0, x - y)
    tail = elementwise("log1p", elementwise("exp", -elementwise("abs", apart)))
    return elementwise("maximum", x, y) + tail


@op(reference=np.hypot)
def hypot(x: Operand, y: Operand) -> Node:
    """sqrt(x² + y²), without overflow.

    Shapes: x (...), y (...) -> (...)
    """
    x, y = (elementwise("abs", floating(v)) for v in promoted("hypot", x, y))
    long, short = elementwise("maximum", x, y), elementwise("minimum", x, y)
    safe = where(elementwise("eq", long, 0.0), 1.0, long)
    length = long * elementwise("sqrt", (short / safe) * (short / safe) + 1.0)
    endless = elementwise("or", elementwise("isinf", x), elementwise("isinf", y))
    return where(endless, float("inf"), length)


@op(reference=lambda x, y: np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y))))
def xlogy(x: Operand, y: Operand) -> Node:
    """x · log(y), and 0 where x is 0.

    Shapes: x (...), y (...) -> (...)
    """
    x, y = (floating(v) for v in promoted("xlogy", x, y))
    outside = elementwise("or", elementwise("le", y, 0.0), elementwise("eq", y, float("inf")))
    nothing = elementwise("and", elementwise("eq", x, 0.0), outside)
    product = x * elementwise("log", where(nothing, 1.0, y))
    return where(nothing, 0.0, product)


@op(reference=lambda x, end, weight: x + weight * (end - x))
def lerp(x: Node, end: Node, weight: Operand) -> Node:
    """From x towards end by a weight: x at 0, end at 1.

    Shapes: x (...), end (...) -> (...)
    """
    if isinstance(weight, Node):
        near = elementwise("lt", elementwise("abs", weight), 0.5)
        return where(near, x + weight * (end - x), end - (end - x) * (1.0 - weight))
    if -0.5 < weight < 0.5:
        return x + weight * (end - x)
    return end - (end - x) * (1.0 - weight)


@op(inline=True, reference=lambda x, tensor1, tensor2, value=1: x + value * tensor1 * tensor2)
def addcmul(x: Node, tensor1: Node, tensor2: Node, *, value: float = 1) -> Node:
    """x + value · tensor1 · tensor2.

    Shapes: x (...), tensor1 (...), tensor2 (...) -> (...)
    """
    return x + (tensor1 if value == 1 else tensor1 * value) * tensor2


@op(inline=True, reference=lambda x, tensor1, tensor2, value=1: x + value * tensor1 / tensor2)
def addcdiv(x: Node, tensor1: Node, tensor2: Node, *, value: float = 1) -> Node:
    """x + value · tensor1 / tensor2.

    Shapes: x (...), tensor1 (...), tensor2 (...) -> (...)
    """
    return x + divide(tensor1 if value == 1 else tensor1 * value, tensor2)
