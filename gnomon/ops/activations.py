"""Activations: relu and its relatives, gelu, softplus, gates.

Where a formula would overflow in the branch that is not taken, its argument is replaced first: the
gradient of `where` multiplies both branches, and 0 · inf is NaN.
"""

from __future__ import annotations

import numpy as np

from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import elementwise, rounded_once
from gnomon.ops.arguments import choice, floating, floats_only, in_float, one_axis, promoted
from gnomon.ops.elementwise import Operand
from gnomon.ops.logic import clip
from gnomon.ops.primitives import reshape
from gnomon.ops.registry import internal, op
from gnomon.ops.scalars import SCALARS, where
from gnomon.ops.view_primitives import slice_

np_sigmoid, np_where = SCALARS["sigmoid"].value, SCALARS["where"].value


@op(reference=lambda x: np.maximum(x, 0), inplace=True)
def relu(x: Node) -> Node:
    """The larger of x and 0.

    Shapes: x (...) -> (...)

    >>> relu(tensor([-2.0, 0.0, 3.0]))
    Tensor([0., 0., 3.])
    """
    return where(elementwise("le", x, 0), 0, x)


@op(reference=lambda x: np.clip(x, 0, 6), inplace=True)
def relu6(x: Node) -> Node:
    """x clamped to [0, 6].

    Shapes: x (...) -> (...)

    >>> relu6(tensor([-2.0, 3.0, 8.0]))
    Tensor([0., 3., 6.])
    """
    return clamp_between(x, 0, 6)


@op(reference=lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val), inplace=True)
def hardtanh(x: Node, min_val: float = -1.0, max_val: float = 1.0) -> Node:
    """x clamped to [min_val, max_val]; the gradient at the bounds is 0.

    Shapes: x (...) -> (...)

    >>> hardtanh(tensor([-2.0, 0.5, 3.0]))
    Tensor([-1. ,  0.5,  1. ])
    """
    return clamp_between(x, min_val, max_val)


def clamp_between(x: Node, low: float, high: float) -> Node:
    """x clamped to two bounds; the gradient on the bounds themselves is 0."""
    cut = where(elementwise("ge", x, high), high, x)
    return where(elementwise("le", x, low), low, cut)


@op(reference=lambda x, negative_slope=0.01: np_where(x > 0, x, x * negative_slope), inplace=True)
def leaky_relu(x: Node, negative_slope: float = 0.01) -> Node:
    """x where it is positive, negative_slope · x elsewhere.

    Shapes: x (...) -> (...)

    >>> leaky_relu(tensor([-2.0, 3.0]), 0.1)
    Tensor([-0.2,  3. ])
    """
    floats_only("leaky_relu", x)
    return where(elementwise("gt", x, 0), x, x * negative_slope)


@op(reference=lambda x, weight: np_where(x > 0, x, x * weight), functional=True)
def prelu(x: Node, weight: Node) -> Node:
    """leaky_relu with a learned slope: one for all elements, or one per channel (axis 1).

    Shapes: x (...), weight (n) -> (...)

    max(0, x) + weight · min(0, x) (He et al. 2015, arXiv:1502.01852, eq. 1).

    >>> prelu(tensor([[-1.0, -1.0]]), tensor([0.1, 0.5]))
    Tensor([[-0.1, -0.5]])
    >>> prelu(ones(2, 3), ones(2))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: prelu: weight must have 1 or 3 elements for x (2, 3): got (2,).
    """
    channels = x.shape[1] if x.rank > 1 else 1
    if weight.size not in (1, channels):
        raise ShapeError(
            f"prelu: weight must have 1 or {channels} elements for x {x.shape}: got {weight.shape}."
        )
    shape = tuple(weight.size if k == 1 else 1 for k in range(x.rank))
    return where(elementwise("gt", x, 0), x, x * reshape(weight, shape))


@op(
    reference=lambda x, alpha=1.0: np_where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    inplace=True,
)
def elu(x: Node, alpha: float = 1.0) -> Node:
    """x where it is positive, an exponential that tends to −alpha elsewhere.

    Shapes: x (...) -> (...)

    x where x > 0, else alpha · (exp(x) − 1) (Clevert, Unterthiner and Hochreiter 2015,
    arXiv:1511.07289).

    >>> elu(tensor([-100.0, 0.0, 2.0]))
    Tensor([-1.,  0.,  2.])
    """
    return scaled_elu(x, alpha, 1.0)


@op(
    reference=lambda x, alpha=1.0: np_where(x > 0, x, alpha * np.expm1(np.minimum(x / alpha, 0))),
    inplace=True,
)
def celu(x: Node, alpha: float = 1.0) -> Node:
    """elu with a continuous derivative for every alpha (Barron 2017, arXiv:1704.07483).

    Shapes: x (...) -> (...)

    >>> celu(tensor([-100.0, 2.0]), alpha=0.5)
    Tensor([-0.5,  2. ])
    """
    return scaled_elu(x, alpha, 1 / alpha)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@op(
    reference=lambda x: SELU_SCALE * np_where(x > 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0))),
    inplace=True,
)
def selu(x: Node) -> Node:
    """elu scaled so that stacked layers keep mean 0 and variance 1.

    Shapes: x (...) -> (...)

    λ · x where x > 0, else λ · α · (exp(x) − 1), with α ≈ 1.6733 and λ ≈ 1.0507 (Klambauer et
    al. 2017, arXiv:1706.02515, eq. 2).

    >>> selu(tensor([-1.0, 1.0]))
    Tensor([-1.1113,  1.0507])
    """
    return scaled_elu(x, SELU_ALPHA, 1.0) * SELU_SCALE


def scaled_elu(x: Node, alpha: float, rate: float) -> Node:
    """x where it is positive, alpha · (exp(rate · x) − 1) elsewhere."""
    floats_only("elu", x)

    def of(x: Node) -> Node:
        above = elementwise("gt", x, 0)
        return where(above, x, elementwise("expm1", where(above, 0.0, x) * rate) * alpha)

    return rounded_once(of, x)


@op(
    reference=lambda x, approximate="none": SCALARS[
        "gelu" if approximate == "none" else "gelu_tanh"
    ].value(x),
    functional=True,
)
def gelu(x: Node, approximate: str = "none") -> Node:
    """x times the probability that a standard normal variable is below x.

    Shapes: x (...) -> (...)

    With approximate="tanh" a tanh stands in for the error function.

    x · Φ(x), Φ the normal distribution function; with "tanh", 0.5 · x · (1 + tanh(√(2/π) · (x +
    0.044715 · x³))) (Hendrycks and Gimpel 2016, arXiv:1606.08415).

    >>> gelu(tensor([-3.0, 0.0, 3.0]))
    Tensor([-0.004,  0.   ,  2.996])
    """
    floats_only("gelu", x)
    choice("gelu", "approximate", approximate, ("none", "tanh"))
    return elementwise("gelu" if approximate == "none" else "gelu_tanh", x)


@op(reference=lambda x: x * np_sigmoid(x), aliases=("swish",), inplace=True, complex="formula")
def silu(x: Node) -> Node:
    """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118).

    Shapes: x (...) -> (...)

    >>> silu(tensor([-5.0, 0.0, 5.0]))
    Tensor([-0.0335,  0.    ,  4.9665])
    """
    floats_only("silu", x)
    return elementwise("silu", x)


@op(reference=lambda x, beta=1.0, threshold=20.0: np.logaddexp(0, beta * x) / beta, functional=True)
def softplus(x: Node, beta: float = 1.0, threshold: float = 20.0) -> Node:
    """log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold.

    Shapes: x (...) -> (...)

    >>> softplus(tensor([-1.0, 0.0, 100.0]))
    Tensor([  0.3133,   0.6931, 100.    ])
    """
    floats_only("softplus", x)

    def of(x: Node) -> Node:
        scaled = x * beta
        straight = elementwise("gt", scaled, threshold)
        curve = elementwise("log1p", elementwise("exp", where(straight, 0.0, scaled)))
        return where(straight, x, curve / beta)

    return in_float(of, x)


@op(
    reference=lambda x: -np.logaddexp(0, -x),
    gradient=lambda g, y, x: g * elementwise("sigmoid", -x),  # the other sign has all digits
    functional=True,
)
def logsigmoid(x: Node) -> Node:
    """log(sigmoid(x)).

    Shapes: x (...) -> (...)

    >>> logsigmoid(tensor([-100.0, 0.0]))
    Tensor([-100.    ,   -0.6931])
    """
    floats_only("logsigmoid", x)
    return in_float(lambda x: elementwise("minimum", x, 0.0) - log1p_exp(x), x)


def log1p_exp(x: Node) -> Node:
    """log(1 + exp(−|x|))."""
    return elementwise("log1p", elementwise("exp", -elementwise("abs", x)))


@op(reference=lambda x: x * np.tanh(np.logaddexp(0, x)), inplace=True)
def mish(x: Node) -> Node:
    """x · tanh(softplus(x)) (Misra 2019, arXiv:1908.08681).

    Shapes: x (...) -> (...)

    >>> mish(tensor([-1.0, 0.0, 5.0]))
    Tensor([-0.3034,  0.    ,  4.9996])
    """
    floats_only("mish", x)
    return elementwise("mish", x)


def slope_of_log_odds(g: Node, _: Node, x: Node) -> tuple[Node]:
    """The gradient 1 / (x · (1 − x)): infinite at 0 and 1, where the quotient's parts are not."""
    return (g / (x * (1.0 - x)),)


@internal(gradient=slope_of_log_odds)
def log_odds(x: Node) -> Node:
    """log(x / (1 − x)) of a float32 or float64."""
    # near 1/2 the ratio is near 1, where its logarithm would have lost what x lacks of 1/2
    away = x * 2.0 - 1.0
    near = elementwise("lt", elementwise("abs", away), 0.5)
    middle = elementwise("atanh", where(near, away, 0.0)) * 2.0
    return where(near, middle, elementwise("log", x / (1.0 - x)))


@op(reference=lambda x, eps=None: np.log(x / (1 - x)), special=True)
def logit(x: Node, eps: float | None = None) -> Node:
    """log(x / (1 − x)); with eps, x is first clamped to [eps, 1 − eps].

    Shapes: x (...) -> (...)

    >>> logit(sigmoid(tensor([-2.0, 3.0])))
    Tensor([-2.,  3.])
    """
    x = floating(x)
    x = x if eps is None else clip(x, eps, 1 - eps)

    return in_float(log_odds, x)


@op(reference=lambda x: x / (1 + np.abs(x)), functional=True)
def softsign(x: Node) -> Node:
    """x / (1 + |x|).

    Shapes: x (...) -> (...)

    >>> softsign(tensor([-1.0, 0.0, 3.0]))
    Tensor([-0.5 ,  0.  ,  0.75])
    """
    return in_float(lambda x: x / (elementwise("abs", x) + 1.0), floating(x))


@op(reference=lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0), functional=True)
def softshrink(x: Node, lambd: float = 0.5) -> Node:
    """x moved towards 0 by lambd; 0 where |x| ≤ lambd.

    Shapes: x (...) -> (...)

    >>> softshrink(tensor([-2.0, 0.3, 2.0]))
    Tensor([-1.5,  0. ,  1.5])
    """

    def of(x: Node) -> Node:
        below = where(elementwise("lt", x, -lambd), x + lambd, 0.0 * x)
        return where(elementwise("gt", x, lambd), x - lambd, below)

    return rounded_once(of, x)


@op(reference=lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0), functional=True)
def hardshrink(x: Node, lambd: float = 0.5) -> Node:
    """x, but 0 where |x| ≤ lambd.

    Shapes: x (...) -> (...)

    >>> hardshrink(tensor([-2.0, 0.3, 2.0]))
    Tensor([-2.,  0.,  2.])
    """
    return where(elementwise("le", elementwise("abs", x), lambd), 0.0, x)


@op(reference=lambda x, threshold, value: np_where(x > threshold, x, value), inplace=True)
def threshold(x: Node, threshold: float, value: float) -> Node:
    """x where it is above the threshold, the value elsewhere.

    Shapes: x (...) -> (...)

    >>> threshold(tensor([-1.0, 0.5, 2.0]), 1.0, -7.0)
    Tensor([-7., -7.,  2.])
    """

    def of(x: Node) -> Node:
        return where(elementwise("le", x, threshold), value, x)

    return rounded_once(of, x)


@op(
    reference=lambda x: np.clip(x / 6 + 0.5, 0, 1),
    gradient=lambda g, y, x: where(elementwise("lt", elementwise("abs", x), 3.0), g / 6.0, 0.0),
    inplace=True,
)
def hardsigmoid(x: Node) -> Node:
    """A piecewise linear approximation of the sigmoid.

    Shapes: x (...) -> (...)

    >>> hardsigmoid(tensor([-4.0, 0.0, 4.0]))
    Tensor([0. , 0.5, 1. ])
    """
    return clamp_between(x + 3.0, 0, 6) / 6.0


@op(reference=lambda x: x * np.clip(x / 6 + 0.5, 0, 1), inplace=True)
def hardswish(x: Node) -> Node:
    """x times a piecewise linear approximation of its sigmoid.

    Shapes: x (...) -> (...)

    x · min(max(x + 3, 0), 6) / 6 (Howard et al. 2019, arXiv:1905.02244).

    >>> hardswish(tensor([-4.0, 1.0, 4.0]))
    Tensor([-0.    ,  0.6667,  4.    ])
    """
    return in_float(lambda x: x * clamp_between(x + 3.0, 0, 6) / 6.0, x)


@op(
    reference=lambda x, axis=-1: np.split(x, 2, axis)[0] * np_sigmoid(np.split(x, 2, axis)[1]),
    functional=True,
)
def glu(x: Node, axis: int = -1) -> Node:
    """The first half along an axis times the sigmoid of the second half.

    Shapes: x (*a, n, *b) -> (*a, n // 2, *b)

    a · sigmoid(b), a and b the halves (Dauphin et al. 2016, arXiv:1612.08083, eq. 1).

    >>> glu(tensor([1.0, 2.0, 0.0, 100.0]))
    Tensor([0.5, 2. ])
    >>> glu(ones(3))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: glu: axis 0 must have an even size: got (3,).
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

    >>> logaddexp(tensor([1000.0]), tensor([1000.0]))
    Tensor([1000.6932])
    """
    x, y = (floating(v) for v in promoted("logaddexp", x, y))

    def of(x: Node, y: Node) -> Node:
        apart = where(elementwise("eq", x, y), 0.0, x - y)
        return elementwise("maximum", x, y) + log1p_exp(apart)

    return in_float(of, x, y)


@op(reference=np.hypot)
def hypot(x: Operand, y: Operand) -> Node:
    """sqrt(x² + y²), without overflow.

    Shapes: x (...), y (...) -> (...)

    >>> hypot(tensor([3.0]), tensor([4.0]))
    Tensor([5.])
    """
    return in_float(length, *(floating(v) for v in promoted("hypot", x, y)))


def length(x: Node, y: Node) -> Node:
    """sqrt(x² + y²) of floats, from the ratio of the smaller to the larger."""
    x, y = elementwise("abs", x), elementwise("abs", y)
    long, short = elementwise("maximum", x, y), elementwise("minimum", x, y)
    safe = where(elementwise("eq", long, 0.0), 1.0, long)
    found = long * elementwise("sqrt", (short / safe) * (short / safe) + 1.0)
    endless = elementwise("or", elementwise("isinf", x), elementwise("isinf", y))
    return where(endless, float("inf"), found)


@op(reference=lambda x, y: np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y))), special=True)
def xlogy(x: Operand, y: Operand) -> Node:
    """x · log(y), and 0 where x is 0.

    Shapes: x (...), y (...) -> (...)

    >>> xlogy(tensor([0.0, 2.0]), tensor([0.0, 1.0]))
    Tensor([0., 0.])
    """
    x, y = (floating(v) for v in promoted("xlogy", x, y))

    def of(x: Node, y: Node) -> Node:
        outside = elementwise("or", elementwise("le", y, 0.0), elementwise("eq", y, float("inf")))
        nothing = elementwise("and", elementwise("eq", x, 0.0), outside)
        product = x * elementwise("log", where(nothing, 1.0, y))
        return where(nothing, 0.0, product)

    return in_float(of, x, y)
