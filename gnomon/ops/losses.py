"""Losses between predictions and targets: of numbers, and of probabilities.

They are per element or row, reduced by "mean", "sum" or "none"; means divide by a count or by the
sum of weights.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.activations import logsigmoid, xlogy
from gnomon.ops.arguments import broadcast, choice, floats_only
from gnomon.ops.loss_checks import above, check_target
from gnomon.ops.primitives import unsqueeze
from gnomon.ops.reductions import fold, mean_of
from gnomon.ops.registry import op
from gnomon.ops.scalars import where

REDUCTIONS = ("mean", "sum", "none")


def reduced(name: str, terms: Node, reduction: str) -> Node:
    """Reduce the terms of a loss: "none", "sum" or "mean"."""
    choice(name, "reduction", reduction, REDUCTIONS)
    axes = tuple(range(terms.rank))
    if reduction == "none":
        return terms
    if reduction == "sum":
        return fold("add", terms, axes, False)
    return cast(mean_of(terms, axes, False), terms.dtype)


def weighed(
    name: str, terms: Node, weight: Node | None, x: Node, reduction: str, by_weights: bool = True
) -> Node:
    """Reduce terms times their weights; a mean divides by the weights' sum, or by the count."""
    if weight is None:
        return reduced(name, terms, reduction)
    if weight.shape != x.shape:
        raise ShapeError(
            f"{name}: weight must have the shape of x {x.shape}: got {weight.shape}. Use expand()."
        )
    terms = terms * weight
    if reduction != "mean" or not by_weights:
        return reduced(name, terms, reduction)
    return reduced(name, terms, "sum") / reduced(name, weight, "sum")


def np_reduced(terms: np.ndarray, reduction: str = "mean") -> Any:
    """Compute the reduction of a loss's terms with numpy."""
    return terms if reduction == "none" else {"mean": np.mean, "sum": np.sum}[reduction](terms)


def pair(name: str, x: Node, target: Node) -> tuple[Node, Node]:
    """A prediction and its target, broadcast to one dtype and shape; raises for integers."""
    x, target = broadcast(name, x, target)
    floats_only(name, x)
    return x, target


# numbers


@op(
    reference=lambda x, target, reduction="mean": np_reduced((x - target) ** 2, reduction),
    autocast="wide",
    functional=True,
    order="size_average reduce reduction weight",
)
def mse_loss(x: Node, target: Node, *, reduction: str = "mean", weight: Node | None = None) -> Node:
    """The squared difference times the weight; the mean divides by the sum of weights.

    >>> mse_loss(tensor([1.0, 2.0]), tensor([1.0, 5.0]))
    Tensor(4.5)
    >>> mse_loss(ones(1), ones(1), reduction="none of them")
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: mse_loss: reduction must be one of mean, sum, none: got 'none of
    them'.
    """
    first, target = pair("mse_loss", x, target)
    away = first - target
    return weighed("mse_loss", away * away, weight, x, reduction)


@op(
    reference=lambda x, target, reduction="mean": np_reduced(np.abs(x - target), reduction),
    autocast="wide",
    functional=True,
    complex="formula",
    order="size_average reduce reduction weight",
)
def l1_loss(x: Node, target: Node, *, reduction: str = "mean", weight: Node | None = None) -> Node:
    """The absolute difference times the weight; the mean divides by the sum of weights.

    >>> l1_loss(tensor([1.0, 2.0]), tensor([1.0, 5.0]))
    Tensor(1.5)
    """
    first, target = pair("l1_loss", x, target)
    return weighed("l1_loss", elementwise("abs", first - target), weight, x, reduction)


def np_huber(x: np.ndarray, target: np.ndarray, delta: Any):
    """Compute the Huber function of a difference with numpy."""
    away = np.abs(x - target)
    return np.where(away < delta, 0.5 * away**2, delta * (away - 0.5 * delta))


def huber(x: Node, target: Node, delta: float) -> Node:
    """The Huber function of a difference: half the square near 0, linear beyond delta."""
    away = x - target
    size = elementwise("abs", away)
    line = (size - 0.5 * delta) * delta
    return where(elementwise("lt", size, delta), away * away * 0.5, line)


@op(
    reference=lambda x, target, reduction="mean", beta=1.0: np_reduced(
        np_huber(x, target, beta) / beta, reduction
    ),
    autocast="wide",
    functional=True,
    order="size_average reduce reduction beta",
)
def smooth_l1_loss(x: Node, target: Node, *, reduction: str = "mean", beta: float = 1.0) -> Node:
    """The absolute difference, quadratic where it is below beta.

    d² / (2 · beta) where d = |x − target| < beta, else d − beta / 2 (Girshick 2015,
    arXiv:1504.08083, eq. 3, with beta 1).

    >>> smooth_l1_loss(tensor([0.5, 3.0]), zeros(2), reduction="none")
    Tensor([0.125, 2.5  ])
    """
    x, target = pair("smooth_l1_loss", x, target)
    above("smooth_l1_loss", "beta", beta, 0, False)
    if beta == 0:
        return l1_loss(x, target, reduction=reduction)
    terms = huber(x, target, beta)
    return reduced("smooth_l1_loss", terms if beta == 1 else terms / beta, reduction)


@op(
    reference=lambda x, target, reduction="mean", delta=1.0: np_reduced(
        np_huber(x, target, delta), reduction
    ),
    functional=True,
    order="reduction delta weight",
)
def huber_loss(
    x: Node,
    target: Node,
    *,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Node | None = None,
) -> Node:
    """Half the squared difference, linear beyond delta, times the weight.

    d² / 2 where d = |x − target| < delta, else delta · (d − delta / 2) (Huber 1964). The mean
    divides by the count, even with weights, as PyTorch's does.

    >>> huber_loss(tensor([0.5, 3.0]), zeros(2), reduction="none", delta=2.0)
    Tensor([0.125, 4.   ])
    """
    above("huber_loss", "delta", delta, 0, True)
    terms = huber(*pair("huber_loss", x, target), delta)
    return weighed("huber_loss", terms, weight, x, reduction, by_weights=False)


@op(functional=True, order="full eps reduction")
def gaussian_nll_loss(
    x: Node,
    target: Node,
    var: Node,
    *,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Node:
    """−log of the normal density with mean x and variance var, at target.

    (log(var) + (x − target)² / var) / 2, var at least eps; full adds log(2π) / 2 (Nix and
    Weigend 1994).

    >>> gaussian_nll_loss(tensor([1.0]), tensor([3.0]), tensor([4.0]))
    Tensor(1.1931)
    >>> gaussian_nll_loss(ones(2, 3), ones(2, 3), ones(3))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: gaussian_nll_loss: var must be (2, 3), or have one number for each
    row: got (3,).
    """
    x, target = pair("gaussian_nll_loss", x, target)
    if var.shape != x.shape and var.shape == x.shape[:-1]:  # one for each row
        var = unsqueeze(var, var.rank)
    if var.shape not in (x.shape, (*x.shape[:-1], 1)):
        raise ShapeError(
            f"gaussian_nll_loss: var must be {x.shape}, or have one number for each row: got "
            f"{var.shape}."
        )
    # the bound keeps the gradient of what it replaces, as PyTorch's does
    raised = elementwise("maximum", var, eps) - var
    spread = var + raised.arena.node("detach", (raised,))
    away = x - target
    terms = (elementwise("log", spread) + away * away / spread) * 0.5
    terms = terms + 0.5 * math.log(2 * math.pi) if full else terms
    return reduced("gaussian_nll_loss", terms, reduction)


@op(functional=True, order="log_input full size_average eps reduce reduction")
def poisson_nll_loss(
    x: Node,
    target: Node,
    *,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Node:
    """−log of the Poisson probability of target, where the mean is exp(x), or x.

    >>> poisson_nll_loss(tensor([0.0]), tensor([2.0]))
    Tensor(1.)
    """
    x, target = pair("poisson_nll_loss", x, target)
    if log_input:
        terms = elementwise("exp", x) - target * x
    else:
        terms = x - target * elementwise("log", x + eps)
    if full:
        safe = where(elementwise("gt", target, 1), target, 1.0)
        stirling = safe * elementwise("log", safe) - safe
        stirling = stirling + elementwise("log", safe * (2 * math.pi)) * 0.5
        terms = terms + where(elementwise("gt", target, 1), stirling, 0.0)
    return reduced("poisson_nll_loss", terms, reduction)


# chances


def chance_gradient(g: Node, y: Node, x: Node, target: Node):
    """The gradients of x and target; for x (x − target) / (x · (1 − x)), divisor at least 1e-12."""
    divisor = elementwise("maximum", x * (1.0 - x), 1e-12)
    return g * (x - target) / divisor, g * (bounded_log(1.0 - x) - bounded_log(x))


def bounded_log(x: Node) -> Node:
    """The logarithm of x, but at least −100."""
    return elementwise("maximum", elementwise("log", x), -100.0)


@op(
    reference=lambda x, target: (
        -target * np.maximum(np.log(x), -100) - (1 - target) * np.maximum(np.log1p(-x), -100)
    ),
    gradient=chance_gradient,
)
def surprise(x: Node, target: Node) -> Node:
    """The negative log-likelihood of a probability, with logarithms clamped to at least −100.

    Shapes: x (...), target (...) -> (...)

    >>> surprise(tensor([0.5, 0.0]), tensor([1.0, 1.0]))
    Tensor([  0.6931, 100.    ])
    """
    no = elementwise("maximum", elementwise("log1p", -x), -100.0)
    return (target - 1.0) * no - target * bounded_log(x)


@op(
    inline=True,
    reference=lambda x, target, reduction="mean": np_reduced(
        -target * np.log(x) - (1 - target) * np.log(1 - x), reduction
    ),
    functional=True,
    order="size_average reduce reduction",
)
def binary_cross_entropy(
    x: Node, target: Node, weight: Node | None = None, *, reduction: str = "mean"
) -> Node:
    """−log of the probability that x gives to a binary target.

    >>> binary_cross_entropy(tensor([0.5, 1.0]), tensor([1.0, 1.0]))
    Tensor(0.3466)
    """
    check_target("binary_cross_entropy", x, target)
    terms = surprise(*pair("binary_cross_entropy", x, target))
    return reduced("binary_cross_entropy", terms if weight is None else terms * weight, reduction)


@op(
    reference=lambda x, target, reduction="mean": np_reduced(
        np.logaddexp(0, x) - target * x, reduction
    ),
    autocast="wide",
    functional=True,
    order="size_average reduce reduction pos_weight",
)
def binary_cross_entropy_with_logits(
    x: Node,
    target: Node,
    weight: Node | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Node | None = None,
) -> Node:
    """binary_cross_entropy of sigmoid(x), without overflow.

    >>> binary_cross_entropy_with_logits(tensor([0.0, 1000.0]), tensor([1.0, 1.0]))
    Tensor(0.3466)
    """
    name = "binary_cross_entropy_with_logits"
    check_target(name, x, target)
    x, target = pair(name, x, target)
    yes = logsigmoid(x)
    yes = yes if pos_weight is None else yes * ((pos_weight - 1.0) * target + 1.0)
    terms = (1.0 - target) * x - yes
    return reduced(name, terms if weight is None else terms * weight, reduction)


@op(
    reference=lambda x, target, reduction="mean": np_reduced(
        target * (np.log(target) - x), reduction
    ),
    autocast="wide",
    functional=True,
    order="size_average reduce reduction log_target",
)
def kl_div(x: Node, target: Node, *, reduction: str = "mean", log_target: bool = False) -> Node:
    """The Kullback-Leibler divergence target · (log(target) − x), where x holds log-probabilities.

    reduction "batchmean" divides the sum by the first size.

    >>> kl_div(tensor([0.5, 0.5]).log(), tensor([1.0, 0.0]), reduction="sum")
    Tensor(0.6931)
    """
    floats_only("kl_div", x, target)
    x, target = pair("kl_div", x, target)
    if log_target:
        terms = elementwise("exp", target) * (target - x)
    else:
        terms = xlogy(target, target) - target * x
    if reduction == "batchmean":
        return reduced("kl_div", terms, "sum") / terms.shape[0]
    return reduced("kl_div", terms, reduction)
