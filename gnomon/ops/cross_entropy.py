"""Cross entropy: −log of the probability of a class, or of each class by its share.

The target class is picked by index, so that the gradient is softmax minus a comparison, without a
one-hot tensor or a scatter. The classes lie along axis 1 as in PyTorch, unless `axis` says
otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import floats_only, one_axis, positions_only, wide
from gnomon.ops.lookup_primitives import gather, within
from gnomon.ops.loss_checks import weights_of_classes
from gnomon.ops.losses import reduced
from gnomon.ops.primitives import reshape
from gnomon.ops.reductions import fold, pick
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS
from gnomon.ops.statistics import top
from gnomon.ops.view_primitives import pad


def class_axis(name: str, x: Node, target: Node, axis: int | None) -> int:
    """The axis of classes of x; raises ShapeError if the target lacks one of the other axes."""
    if not x.rank:
        raise ShapeError(f"{name}: x needs an axis of classes: got {x.shape}.")
    axis = min(1, x.rank - 1) if axis is None else one_axis(name, axis, x.rank)
    rows = x.shape[:axis] + x.shape[axis + 1 :]
    if target.shape != rows:
        raise ShapeError(
            f"{name}: target must be {rows}, x {x.shape} without its classes (axis {axis}): "
            f"got {target.shape}."
        )
    return axis


def per_class(weight: Node | None, x: Node, axis: int) -> Node | None:
    """The weights of classes, reshaped to broadcast along the axis of classes; None without."""
    if weight is None:
        return None
    if weight.shape != (x.shape[axis],):
        raise ShapeError(f"cross_entropy: weight must be ({x.shape[axis]},): got {weight.shape}.")
    weight = cast(weight, wide(x).dtype)
    return reshape(weight, tuple(n if k == axis else 1 for k, n in enumerate(x.shape)))


def averaged(terms: Node, shares: Node, reduction: str) -> Node:
    """Reduce the terms; a mean divides by the sum of shares, which integers keep exact."""
    if reduction != "mean":
        return reduced("cross_entropy", terms, reduction)
    axes = tuple(range(terms.rank))
    total, count = (fold("add", v, axes, False) for v in (terms, shares))
    return total / cast(count, total.dtype)


def share_of(valid: Node, target: Node, weight: Node | None, x: Node) -> Node:
    """The weight of each row in a mean: its class's, or 1; 0 for ignored rows."""
    if weight is None:
        return cast(valid, target.dtype)
    names = LETTERS[: target.rank]
    looked_up = gather(f"z,{names}->{names}", cast(weight, wide(x).dtype), target)
    return where(valid, looked_up, 0.0)


LIGHTER = "nn.functional.linear_cross_entropy, which never stores all logits"


def np_cross_entropy(
    x: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None, **settings: Any
):
    """Compute cross_entropy with numpy, for a target of class numbers."""
    top = x.max(1, keepdims=True)
    log_chance = x - top - np.log(np.exp(x - top).sum(1, keepdims=True))
    valid = target != settings.get("ignore_index", -100)
    safe = np.where(valid, target, 0)
    share = valid * (1.0 if weight is None else weight[safe])
    smoothing = settings.get("label_smoothing", 0.0)
    right = np.take_along_axis(log_chance, safe[:, None], 1)[:, 0]
    every = (log_chance * (1.0 if weight is None else weight)).mean(1) * valid
    terms = -(1 - smoothing) * right * share - smoothing * every
    reduction = settings.get("reduction", "mean")
    return (
        terms if reduction == "none" else terms.sum() / (share.sum() if reduction == "mean" else 1)
    )


@op(
    reference=np_cross_entropy,
    autocast="wide",
    functional=True,
    order="size_average ignore_index reduce reduction label_smoothing",
    lighter=LIGHTER,
)
def cross_entropy(
    x: Node,
    target: Node,
    weight: Node | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    axis: int | None = None,
) -> Node:
    """−log of the probability that softmax(x) gives to the target class, or the mean over shares.

    Shapes: x (*a, c, *b), target (*a, *b) -> (*a, *b) if reduction == "none" else (); x (*s),
    target (*s) -> ()

    target holds class indices or, as floats, a share per class. Rows whose target is ignore_index
    are left out.

    −log(softmax(x)[target]); label_smoothing mixes in a uniform share (Szegedy et al. 2015,
    arXiv:1512.00567, section 7).

    >>> cross_entropy(tensor([[0.0, 0.0], [5.0, 0.0]]), tensor([0, 0]), reduction="none")
    Tensor([0.6931, 0.0067])
    >>> cross_entropy(zeros(1, 2), tensor([0]), label_smoothing=2.0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: cross_entropy: label_smoothing is in [0, 1]: got 2.0.
    """
    floats_only("cross_entropy", x)
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"cross_entropy: label_smoothing is in [0, 1]: got {label_smoothing}.")
    if target.dtype.is_floating_point:
        if ignore_index >= 0:
            raise ArgumentError("cross_entropy: ignore_index is for class numbers, not for shares.")
        terms = by_shares(x, target, weight, label_smoothing, axis)
        return cast(reduced("cross_entropy", terms, reduction), x.dtype)
    positions_only("cross_entropy", target)
    axis = class_axis("cross_entropy", x, target, axis)
    valid = elementwise("ne", target, ignore_index)
    weights_of_classes("cross_entropy", weight, x, axis)
    x, weight, safe = with_classes(x, weight, axis, valid, target)
    share = share_of(valid, safe, weight, x)
    surprise = log_sum(x, axis) - pick(wide(x), safe, axis)
    terms = surprise if weight is None else surprise * share
    if label_smoothing:
        spread = spread_out(x, axis, per_class(weight, x, axis))
        terms = terms * (1 - label_smoothing) + spread * label_smoothing
    return cast(averaged(where(valid, terms, 0.0), share, reduction), x.dtype)


def with_classes(
    x: Node, weight: Node | None, axis: int, valid: Node, target: Node
) -> tuple[Node, Node | None, Node]:
    """x, weights and each row's class; without classes, one is added for rows that are ignored."""
    if x.shape[axis]:
        return x, weight, within(where(valid, target, 0), x.shape[axis])
    x = pad(x, (0,) * x.rank, tuple(int(k == axis) for k in range(x.rank)))
    if weight is not None and weight.shape == (0,):
        weight = pad(weight, (0,), (1,))
    return x, weight, within(cast(valid, target.dtype), 1)


def log_sum(x: Node, axis: int, keepdims: bool = False) -> Node:
    """The logarithm of the sum of exponentials along an axis."""
    highest = top(wide(x), (axis,))
    total = fold("add", elementwise("exp", wide(x) - highest), (axis,), keepdims)
    return elementwise("log", total) + reshape(highest, total.shape)


def spread_out(x: Node, axis: int, weight: Node | None) -> Node:
    """The mean over classes of −log of their probabilities, weighted by class."""
    surprise = log_sum(x, axis, True) - wide(x)
    surprise = surprise if weight is None else surprise * weight
    return fold("add", surprise, (axis,), False) / x.shape[axis]


def by_shares(
    x: Node, target: Node, weight: Node | None, smoothing: float, axis: int | None
) -> Node:
    """The sum over classes of −log of their probabilities times their shares."""
    if target.shape != x.shape:
        raise ShapeError(
            f"cross_entropy: shares per class must be shaped like x {x.shape}: got {target.shape}."
        )
    axis = min(1, x.rank - 1) if axis is None else one_axis("cross_entropy", axis, x.rank)
    share = wide(target)
    if smoothing:
        share = share * (1 - smoothing) + smoothing / x.shape[axis]
    weight = per_class(weight, x, axis)
    share = share if weight is None else share * weight
    return fold("add", share * (log_sum(x, axis, True) - wide(x)), (axis,), False)


@op(
    reference=lambda x, target: -np.take_along_axis(x, target[:, None], 1).mean(),
    autocast="wide",
    functional=True,
    order="size_average ignore_index reduce reduction",
)
def nll_loss(
    x: Node,
    target: Node,
    weight: Node | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    axis: int | None = None,
) -> Node:
    """−x at the target class, where x holds log-probabilities.

    Shapes: x (*a, c, *b), target (*a, *b) -> (*a, *b) if reduction == "none" else ()

    >>> nll_loss(tensor([[0.5, 0.5], [1.0, 0.0]]).log(), tensor([1, 0]))
    Tensor(0.3466)
    """
    floats_only("nll_loss", x)
    positions_only("nll_loss", target)
    axis = class_axis("nll_loss", x, target, axis)
    valid = elementwise("ne", target, ignore_index)
    weights_of_classes("cross_entropy", weight, x, axis)
    x, weight, safe = with_classes(x, weight, axis, valid, target)
    share = share_of(valid, safe, weight, x)
    terms = -pick(wide(x), safe, axis)
    terms = where(valid, terms if weight is None else terms * share, 0.0)
    return cast(averaged(terms, share, reduction), x.dtype)
