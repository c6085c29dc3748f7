"""Variances, deviations, norms and logsumexp.

Variances take two passes: the mean first, then the squares of the deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import DType, bool_, dtype_of, promote
from gnomon.errors import DtypeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import Axes, floating, floats_only, kept_sizes, many_axes, wide
from gnomon.ops.canonical import ROWS, leaves
from gnomon.ops.diagonals import diagonal_of
from gnomon.ops.primitives import contract, expand, reshape, unsqueeze
from gnomon.ops.reductions import fold, mean_of, np_axis, refuse_empty
from gnomon.ops.registry import Op, Reference, op
from gnomon.ops.scalars import where

Correction = int | float
LANES = 64
"""The virtual lanes of a fold along the last axis (docs/concepts.md, "Canonical order")."""


def moments(x: Node, axes: tuple[int, ...], correction: Correction, keepdims: bool):
    """The mean and the variance over axes, in the accumulator's dtype."""
    x = wide(x)
    middle = mean_of(x, axes, True)
    away = x - middle
    count = math.prod(x.shape[k] for k in axes) - correction
    squares = fold("add", away * away, axes, keepdims)
    variance = squares / (count if count > 0 else 0)
    shape = variance.shape
    return reshape(middle, shape), variance


def axes_and_correction(
    axis: Axes | bool, unbiased: bool | None, correction: Correction | None
) -> tuple[Axes, Correction]:
    """The axes and the correction, from any of PyTorch's spellings."""
    if isinstance(axis, bool):
        axis, unbiased = None, axis
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return axis, correction


def np_var(
    x: np.ndarray,
    axis: Any = None,
    unbiased: Any = None,
    keepdims: bool = False,
    *,
    correction: Any = None,
):
    """Compute the variance with numpy."""
    axis, ddof = axes_and_correction(axis, unbiased, correction)
    return np.var(x, np_axis(axis), ddof=ddof, keepdims=keepdims)


def of_variance(
    name: str,
    sentence: str,
    finish: Callable[[Node, Node, DType], Any],
    reference: Reference,
    **said: Any,
) -> Op:
    """Create an operation on the variance and the mean over axes."""

    def function(
        x: Node,
        axis: Axes | bool = None,
        unbiased: bool | None = None,
        keepdims: bool = False,
        *,
        correction: Correction | None = None,
    ) -> Node | tuple[Node, Node]:
        floats_only(name, x)
        axis, correction = axes_and_correction(axis, unbiased, correction)
        middle, variance = moments(x, many_axes(name, axis, x.rank), correction, keepdims)
        return finish(variance, middle, x.dtype)

    function.__name__ = name
    function.__doc__ = sentence
    return op(function, reference=reference, none_is_all=True, **said)


def deviation(variance: Node) -> Node:
    """The square root of a variance; at 0 its gradient is 0, as in PyTorch."""
    flat = elementwise("eq", variance, 0.0)
    return where(flat, 0.0, elementwise("sqrt", where(flat, 1.0, variance)))


def np_std(x: np.ndarray, *rest: Any, **named: Any) -> Any:
    """Compute the square root of the variance with numpy."""
    return np.sqrt(np_var(x, *rest, **named))


def beside_mean(spread: Callable[..., Any]) -> Reference:
    """A function that computes a statistic and the mean with numpy."""

    def both(x: np.ndarray, axis: Any = None, *rest: Any, **named: Any) -> tuple[Any, Any]:
        axes = None if isinstance(axis, bool) else np_axis(axis)
        middle = np.mean(x, axes, keepdims=named.get("keepdims", False))
        return spread(x, axis, *rest, **named), middle

    return both


var = of_variance(
    "var",
    """The mean square distance from the mean; the count is lowered by the correction.

By default the function's is 0, as in the array API, and the method's is 1, as in PyTorch.

>>> var(tensor([1.0, 2.0, 3.0]))
Tensor(0.6667)
>>> tensor([1.0, 2.0, 3.0]).var()
Tensor(1.)
""",
    lambda variance, middle, kind: cast(variance, kind),
    np_var,
    standard=(("correction", 0),),
    complex="formula",
)
std = of_variance(
    "std",
    """The square root of the variance.

By default the function's correction is 0, as in the array API, and the method's 1, as in PyTorch.

>>> std(tensor([1.0, 3.0]))
Tensor(1.)
>>> tensor([1.0, 3.0]).std()
Tensor(1.4142)
""",
    lambda variance, middle, kind: cast(deviation(variance), kind),
    np_std,
    standard=(("correction", 0),),
    complex="formula",
)
var_mean = of_variance(
    "var_mean",
    """The variance and the mean.

>>> var_mean(tensor([1.0, 2.0, 3.0]))
(Tensor(1.), Tensor(2.))
""",
    lambda variance, middle, kind: (cast(variance, kind), cast(middle, kind)),
    beside_mean(np_var),
    complex="formula",
)
std_mean = of_variance(
    "std_mean",
    """The square root of the variance, and the mean.

>>> std_mean(tensor([2.0, 4.0]), correction=0)
(Tensor(1.), Tensor(3.))
""",
    lambda variance, middle, kind: (cast(deviation(variance), kind), cast(middle, kind)),
    beside_mean(np_std),
    complex="formula",
)


# norms


def norm_gradient(
    g: Node,
    y: Node,
    x: Node,
    ord: float = 2,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: object = None,
):
    """The gradient of a p-norm, 0 where the norm is 0."""
    if dtype is not None:
        made = norm_gradient(g, y, cast(x, dtype_of(dtype)), ord, axis, keepdims)
        return (None,) if isinstance(made, tuple) else cast(made, x.dtype)
    axes = many_axes("norm", axis, x.rank)
    g, y = (reshape(v, kept_sizes(x.shape, axes)) for v in (g, y))
    if ord == 0:
        return (None,)
    flat = elementwise("eq", y, 0.0)
    if math.isinf(ord):
        won = elementwise("eq", elementwise("abs", x), y)
        ties = fold("add", cast(won, x.dtype), axes, True)
        return where(won, elementwise("sign", x) * (g / ties), 0.0)
    safe = where(flat, 1.0, y)
    if ord == 1:
        return elementwise("sign", x) * expand(g, x.shape)
    if ord == 2:
        return x * where(flat, 0.0, g / safe)
    size = elementwise("abs", x)
    empty = elementwise("eq", size, 0.0)
    power = elementwise("pow", where(empty, 1.0, size) / safe, ord - 1.0)
    return where(empty, 0.0, elementwise("sign", x) * power * where(flat, 0.0, g))


def np_norm(x: np.ndarray, ord: Any = 2, axis: Any = None, keepdims: bool = False):
    """Compute a p-norm over any axes with numpy."""
    axis, x = np_axis(axis), np.abs(x)
    if ord == 0:
        return np.sum(x != 0, axis, keepdims=keepdims).astype(x.dtype)
    if np.isinf(ord):
        return (np.max if ord > 0 else np.min)(x, axis, keepdims=keepdims)
    return np.sum(x**ord, axis, keepdims=keepdims) ** (1 / ord)


@op(
    reference=np_norm,
    gradient=norm_gradient,
    autocast="wide",
    linalg=True,
    complex="size",
    none_is_all=True,
)
def vector_norm(
    x: Node,
    ord: float = 2,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: object = None,
) -> Node:
    """The norm of vectors over axes: the ord-th root of the sum of |x|^ord.

    ord 0 counts nonzero elements; inf and −inf give the largest and smallest |x|.

    >>> vector_norm(tensor([3.0, 4.0]))
    Tensor(5.)
    >>> vector_norm(tensor([3.0, 4.0]), ord=inf)
    Tensor(4.)
    """
    x = x if dtype is None else cast(x, dtype_of(dtype))
    floats_only("norm", x)
    axes, kind = many_axes("norm", axis, x.rank), x.dtype
    if ord == 0:
        return fold("add", cast(elementwise("ne", x, 0), kind), axes, keepdims)
    size = wide(x) if ord == 2 else elementwise("abs", wide(x))
    if math.isinf(ord):
        refuse_empty("norm", x, axes)
        return cast(fold("max" if ord > 0 else "min", size, axes, keepdims), kind)
    if ord == 1:
        return cast(fold("add", size, axes, keepdims), kind)
    if ord == 2:
        return cast(elementwise("sqrt", fold("add", size * size, axes, keepdims)), kind)
    total = fold("add", elementwise("pow", size, float(ord)), axes, keepdims)
    return cast(elementwise("pow", total, 1.0 / ord), kind)


@op(reference=lambda xs, ord=2: np_norm(np.stack(xs), ord))
def norm_of_scalars(xs: Sequence[Node], ord: float = 2) -> Node:
    """vector_norm of scalars, bit for bit as if they were stacked, without stacking them.

    Shapes: xs () -> ()

    >>> norm_of_scalars([tensor(3.0), tensor(4.0)])
    Tensor(5.)
    """
    kind = xs[0].dtype
    for x in xs[1:]:
        kind = promote(kind, x.dtype)
    terms = [elementwise("abs", wide(cast(x, kind))) for x in xs]
    if math.isinf(ord):
        return cast(folded_in_tree("maximum" if ord > 0 else "minimum", terms), kind)
    if ord == 0:
        terms = [cast(elementwise("ne", x, 0), x.dtype) for x in terms]
    elif ord != 1:
        terms = [x * x if ord == 2 else elementwise("pow", x, float(ord)) for x in terms]
    total = sum_of_scalars(terms)
    if ord in (0, 1):
        return cast(total, kind)
    root = elementwise("sqrt", total) if ord == 2 else elementwise("pow", total, 1.0 / ord)
    return cast(root, kind)


def sum_of_scalars(xs: Sequence[Node]) -> Node:
    """The sum of scalars in the canonical order of a vector of them."""
    count = leaves(len(xs), ROWS)
    size = len(xs) // count
    return folded_in_tree("add", [sum_of_leaf(xs[k * size : (k + 1) * size]) for k in range(count)])


def sum_of_leaf(xs: Sequence[Node]) -> Node:
    """The sum of one leaf: element i in lane i mod 64, then lanes by halves."""
    lanes = list(xs[:LANES])
    for k, x in enumerate(xs[LANES:]):
        lanes[k % LANES] = lanes[k % LANES] + x
    width = LANES // 2
    while width:
        both = max(len(lanes) - width, 0)
        lanes = [lanes[k] + lanes[k + width] for k in range(both)] + lanes[both:width]
        width //= 2
    return lanes[0]


def folded_in_tree(row: str, xs: Sequence[Node]) -> Node:
    """Fold by a perfect binary tree, older with newer; `row` names the scalar function."""
    while len(xs) > 1:
        ends = [xs[-1]] if len(xs) % 2 else []
        xs = [elementwise(row, a, b) for a, b in zip(xs[::2], xs[1::2], strict=False)] + ends
    return xs[0]


@op(inline=True, reference=lambda x, y, p=2: np_norm(x - y, p), complex="formula")
def dist(x: Node, y: Node, p: float = 2) -> Node:
    """The p-norm of x − y.

    Shapes: x (...), y (...) -> ()

    >>> dist(tensor([0.0, 0.0]), tensor([3.0, 4.0]))
    Tensor(5.)
    """
    return vector_norm(x - y, p)


# exponentials


def largest(x: Node, axes: tuple[int, ...]) -> Node:
    """The largest elements over axes, kept as size 1, without gradient."""
    found = fold("max", x, axes, True)
    return found.arena.node("detach", (found,))


def top(x: Node, axes: tuple[int, ...]) -> Node:
    """The largest elements over axes if finite, else 0, without gradient."""
    found = largest(x, axes)
    return where(elementwise("isfinite", found), found, 0.0)


@op(
    special=True,
    reference=lambda x, axis, keepdims=False: np.logaddexp.reduce(
        x, np_axis(axis), keepdims=keepdims
    ),
    autocast="wide",
)
def logsumexp(x: Node, axis: Axes, keepdims: bool = False) -> Node:
    """log(sum(exp(x))) over axes, without overflow.

    m + log(sum(exp(x − m))), m the maximum.

    >>> logsumexp(tensor([1000.0, 1000.0]), 0)
    Tensor(1000.6932)
    """
    kind, axes = floating(x).dtype, many_axes("logsumexp", axis, x.rank)
    x = wide(x)
    highest = top(x, axes)
    total = fold("add", elementwise("exp", x - highest), axes, keepdims)
    return cast(elementwise("log", total) + reshape(highest, total.shape), kind)


# several variables together


@op(
    reference=lambda x, correction=1, fweights=None, aweights=None: np.asarray(
        np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)
    ),
    complex="formula",
)
def cov(
    x: Node,
    *,
    correction: Correction = 1,
    fweights: Node | None = None,
    aweights: Node | None = None,
) -> Node:
    """The covariance matrix of variables, which are the rows of x.

    Shapes: x (1, m) -> (); x (n, m) -> (n, n); x (n) -> ()

    sum((x − mean(x)) (x − mean(x))ᵀ) / (m − correction). fweights say how often each column was
    seen, aweights how much it counts.

    >>> cov(tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    Tensor([[ 1., -1.],
            [-1.,  1.]])
    >>> cov(tensor([True, False]))
    Traceback (most recent call last):
    gnomon.errors.DtypeError: cov: truth values have no covariances. Cast them to float32.
    """
    if x.dtype is bool_:
        raise DtypeError("cov: truth values have no covariances. Cast them to float32.")
    x = floating(x)
    if fweights is not None or aweights is not None:
        return weighted_cov(x, correction, fweights, aweights)
    if x.rank < 2 or x.shape[0] == 1:
        return cast(moments(x, tuple(range(x.rank)), correction, False)[1], x.dtype)
    count = x.shape[1] - correction
    away = wide(x) - mean_of(x, (1,), True)
    return cast(contract("an,bn->ab", away, away) / max(count, 0), x.dtype)


def weighted_cov(
    x: Node, correction: Correction, fweights: Node | None, aweights: Node | None
) -> Node:
    """The covariance of rows with weighted columns."""
    rows = wide(reshape(x, (1, x.size)) if x.rank < 2 else x)
    weights = [cast(w, rows.dtype) for w in (fweights, aweights) if w is not None]
    weight = weights[0] if len(weights) == 1 else weights[0] * weights[1]
    total = fold("add", weight, (0,), False)
    # without aweights each column that was seen is lost as a whole
    lost = total if aweights is None else fold("add", weight * weights[-1], (0,), False)
    count = total - correction * lost / total
    weights_row = unsqueeze(weight, 0)
    away = rows - fold("add", rows * weights_row, (1,), True) / total
    made = contract("an,bn->ab", away, away * weights_row) / elementwise("maximum", count, 0.0)
    return cast(reshape(made, ()) if rows.shape[0] == 1 else made, x.dtype)


@op(reference=lambda x: np.asarray(np.corrcoef(x)), complex="formula")
def corrcoef(x: Node) -> Node:
    """The correlation matrix of variables, which are the rows of x.

    Shapes: x (1, m) -> (); x (n, m) -> (n, n); x (n) -> ()

    >>> corrcoef(tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    Tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    both = cov(x)
    if both.rank < 2:
        return both / both
    size = elementwise("sqrt", diagonal_of(both))
    ratio = both / unsqueeze(size, 1) / unsqueeze(size, 0)
    return elementwise("minimum", elementwise("maximum", ratio, -1.0), 1.0)
