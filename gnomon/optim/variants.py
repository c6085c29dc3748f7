"""Adam's variants NAdam, RAdam and Adamax, and Adadelta.

The scalars of a step are computed once, in float64; the rules below use them.
"""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import float64
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.registry import Op
from gnomon.ops.scalars import where
from gnomon.optim.optimizer import (
    IGNORED,
    Groups,
    Nodes,
    Optimizer,
    check_range,
    count_of,
    filled,
    rule,
    update,
)
from gnomon.tensor.tensor import Tensor

BETAS = (("betas", 0), ("betas", 1))


def bias(beta: Node, count: Node) -> Node:
    """Adam's bias correction, 1 − beta^count."""
    return 1.0 - elementwise("pow", beta, count)


class Variant(Optimizer):
    """The base of optimizers defined by a rule, its state's names and its hyperparameters."""

    rule: Op
    prepare: Op
    names: tuple[str, ...] = ("exp_avg", "exp_avg_sq")
    hyperparameters: tuple[tuple[str, int | None], ...]

    def __init__(self, params: Groups, numbers: dict[str, Any], options: dict[str, Any]) -> None:
        for name, value in numbers.items():
            for part in value if isinstance(value, tuple) else (value,):
                high = 1.0 if name in ("betas", "rho") else float("inf")
                check_range(f"{name} value", part, 0.0, high)
        given = {k: v for k, v in IGNORED.items() if k != "fused"}
        super().__init__(params, {**numbers, "maximize": False, **given, **options})

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        return {name: filled(p) for name in self.names}

    def _update(self, number: int, count: Node | None) -> tuple:
        """The rule of a group's step, and the names of its state, numbers and switches."""
        group = self.param_groups[number]
        given = [self._number(number, *place) for place in self.hyperparameters]
        numbers = [*self.prepare(count, given)]
        decays = group.get("weight_decay", 0) != 0
        if decays:
            numbers.append(self._number(number, "weight_decay"))
        switches = {
            "decays": decays,
            "decoupled": bool(group.get("decoupled_weight_decay", False)),
            "maximize": group["maximize"],
        }
        return self.rule, list(self.names), numbers, switches


def apply_decay(
    x: Node, g: Node, numbers: Nodes, decays: bool, decoupled: bool
) -> tuple[Node, Node, Nodes]:
    """Apply weight decay to the parameter or to its gradient; return also the other numbers.

    The first number must be the learning rate.
    """
    if not decays:
        return x, g, numbers
    *rest, decay = numbers
    if decoupled:
        return x * cast(1.0 - rest[0] * cast(decay, float64), x.dtype), g, rest
    return x, g + x * cast(decay, x.dtype), rest


@rule
def nadam_numbers(count: Node, given: Nodes) -> Nodes:
    """The rate, betas, eps, second bias correction, and momentum of this step and the next."""
    rate, beta1, beta2, eps, fall = (cast(x, float64) for x in given)
    count = cast(count, float64)
    now, following = (
        beta1 * (1.0 - 0.5 * elementwise("pow", 0.96, (count + step) * fall)) for step in (0.0, 1.0)
    )
    return rate, beta1, beta2, eps, bias(beta2, count), now, following


@update
def nadam(x: Node, g: Node, kept: Nodes, numbers: Nodes, **switches: bool) -> Nodes:
    """Update a parameter, the product of momenta, and the first and second moments."""
    x, g, numbers = apply_decay(x, g, numbers, **switches)
    rate, beta1, beta2, eps, correction, now, following = numbers
    product = kept[0] * cast(now, kept[0].dtype)
    total = cast(product, float64)
    mean, square = kept[1:]
    mean = mean + (g - mean) * cast(1.0 - beta1, x.dtype)
    square = square * cast(beta2, x.dtype) + g * g * cast(1.0 - beta2, x.dtype)
    spread = elementwise("sqrt", square / cast(correction, x.dtype)) + cast(eps, x.dtype)
    x = x - cast(rate * (1.0 - now) / (1.0 - total), x.dtype) * (g / spread)
    x = x - cast(rate * following / (1.0 - total * following), x.dtype) * (mean / spread)
    return x, product, mean, square


class NAdam(Variant):
    """Adam with Nesterov momentum."""

    rule, prepare = nadam, nadam_numbers
    names = ("mu_product", "exp_avg", "exp_avg_sq")
    hyperparameters = (("lr", None), *BETAS, ("eps", None), ("momentum_decay", None))

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        **options: Any,
    ) -> None:
        numbers = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        numbers["momentum_decay"] = momentum_decay
        kind = {"decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(params, numbers, {**kind, **options})

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        return {"mu_product": count_of(1.0), **{n: filled(p) for n in self.names[1:]}}


@rule
def radam_numbers(count: Node, given: Nodes) -> Nodes:
    """The rate, betas, eps, bias corrections, and rectification of the variance or 0."""
    rate, beta1, beta2, eps = (cast(x, float64) for x in given)
    count = cast(count, float64)
    first, second = bias(beta1, count), bias(beta2, count)
    most = 2.0 / (1.0 - beta2) - 1.0
    length = most - 2.0 * count * (1.0 - second) / second
    sure = elementwise("gt", length, 5.0)
    safe = where(sure, length, 6.0)
    up = (safe - 4.0) * (safe - 2.0) * most
    rectified = elementwise("sqrt", up / ((most - 4.0) * (most - 2.0) * safe))
    return rate, beta1, beta2, eps, first, second, where(sure, rectified, 0.0)


@update
def radam(x: Node, g: Node, kept: Nodes, numbers: Nodes, **switches: bool) -> Nodes:
    """Update a parameter and its first and second moments."""
    x, g, numbers = apply_decay(x, g, numbers, **switches)
    rate, beta1, beta2, eps, first, second, rectified = numbers
    mean, square = kept
    mean = mean + (g - mean) * cast(1.0 - beta1, x.dtype)
    square = square * cast(beta2, x.dtype) + g * g * cast(1.0 - beta2, x.dtype)
    step = mean * cast(rate / first, x.dtype)
    spread = elementwise("sqrt", square) + cast(eps, x.dtype)
    adapted = step * (cast(elementwise("sqrt", second) * rectified, x.dtype) / spread)
    x = x - where(elementwise("gt", rectified, 0.0), adapted, step)
    return x, mean, square


class RAdam(Variant):
    """Adam that rectifies the variance of its adaptive rate in early steps."""

    rule, prepare = radam, radam_numbers
    hyperparameters = (("lr", None), *BETAS, ("eps", None))

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        **options: Any,
    ) -> None:
        numbers = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        kind = {"decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(params, numbers, {**kind, **options})


@rule
def adamax_numbers(count: Node, given: Nodes) -> Nodes:
    """Adamax's numbers for a step: lr / (1 − beta1^count), 1 − beta1, beta2, eps."""
    rate, beta1, beta2, eps = (cast(x, float64) for x in given)
    return rate / bias(beta1, cast(count, float64)), 1.0 - beta1, beta2, eps


@update
def adamax(x: Node, g: Node, kept: Nodes, numbers: Nodes, **switches: bool) -> Nodes:
    """Update a parameter, its first moment, and the decayed maximum of its gradients."""
    x, g, numbers = apply_decay(x, g, numbers, **switches)
    rate, rest1, beta2, eps = (cast(v, x.dtype) for v in numbers)
    mean, largest = kept
    mean = mean + (g - mean) * rest1
    largest = elementwise("maximum", largest * beta2, elementwise("abs", g) + eps)
    return x - rate * (mean / largest), mean, largest


class Adamax(Variant):
    """Adam with a decayed maximum of gradients in place of the second moment."""

    rule, prepare = adamax, adamax_numbers
    names = ("exp_avg", "exp_inf")
    hyperparameters = (("lr", None), *BETAS, ("eps", None))

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        **options: Any,
    ) -> None:
        numbers = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, numbers, options)


@rule
def adadelta_numbers(count: Node, given: Nodes) -> Nodes:
    """The rate, rho, 1 - rho, and eps."""
    rate, rho, eps = (cast(x, float64) for x in given)
    return rate, rho, 1.0 - rho, eps


@update
def adadelta(x: Node, g: Node, kept: Nodes, numbers: Nodes, **switches: bool) -> Nodes:
    """Update a parameter and the means of squared gradients and of squared steps."""
    x, g, numbers = apply_decay(x, g, numbers, **switches)
    rate, rho, rest, eps = (cast(v, x.dtype) for v in numbers)
    square, moved = kept
    square = square * rho + g * g * rest
    step = elementwise("sqrt", moved + eps) / elementwise("sqrt", square + eps) * g
    moved = moved * rho + step * step * rest
    return x - rate * step, square, moved


class Adadelta(Variant):
    """Adadelta, whose steps are scaled by the root mean square of earlier steps."""

    rule, prepare = adadelta, adadelta_numbers
    names = ("square_avg", "acc_delta")
    hyperparameters = (("lr", None), ("rho", None), ("eps", None))

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        **options: Any,
    ) -> None:
        numbers = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, numbers, options)
