"""Adam and AdamW: steps along the mean gradient, divided by the root mean squared gradient."""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import float64
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.optim.optimizer import (
    IGNORED,
    Groups,
    Nodes,
    Optimizer,
    check_range,
    filled,
    rule,
    update,
)
from gnomon.tensor.tensor import Tensor


@rule
def adam_numbers(count: Node, given: Nodes, *, decoupled: bool) -> Nodes:
    """The scalars of a step, in float64, from its count and hyperparameters."""
    rate, decay, beta1, beta2, eps = (cast(x, float64) for x in given)
    count = cast(count, float64)
    first, second = (1.0 - elementwise("pow", beta, count) for beta in (beta1, beta2))
    shrink = 1.0 - rate * decay if decoupled else decay
    root = elementwise("sqrt", second)
    return rate / first, root, 1.0 - beta1, beta2, 1.0 - beta2, eps, shrink


@update
def adam(x: Node, g: Node, kept: Nodes, numbers: Nodes, *, decoupled: bool, decays: bool) -> Nodes:
    """Update a parameter, its first and second moments, and the largest second moment if kept."""
    mean, square, *largest = kept
    size, root, rest1, beta2, rest2, eps, decay = (cast(v, x.dtype) for v in numbers)
    if decays and decoupled:
        x = x * decay
    elif decays:
        g = g + x * decay
    mean = mean + (g - mean) * rest1
    square = square * beta2 + g * g * rest2
    if largest:
        largest = [elementwise("maximum", largest[0], square)]
    spread = elementwise("sqrt", largest[0] if largest else square) / root + eps
    return x - size * (mean / spread), mean, square, *largest


class Adam(Optimizer):
    """Adam; weight_decay is added to gradients, or if decoupled shrinks parameters as in AdamW."""

    decoupled = False

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_range("learning rate", lr, 0.0)
        check_range("epsilon value", eps, 0.0)
        check_range("weight_decay value", weight_decay, 0.0)
        for place, beta in enumerate(betas):
            check_range(f"beta parameter at index {place}", beta, 0.0, 1.0)
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        switches = {"amsgrad": amsgrad, "maximize": maximize}
        given = {"foreach": foreach, "capturable": capturable, "fused": fused}
        kind = {"decoupled_weight_decay": True} if decoupled_weight_decay else {}
        super().__init__(params, {**options, **switches, **IGNORED, **given, **kind})

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        return {name: filled(p) for name in names}

    def _update(self, number: int, count: Node | None) -> tuple:
        """The rule of a group's step, and the names of its state, numbers and switches."""
        group = self.param_groups[number]
        places = [("lr", None), ("weight_decay", None), ("betas", 0), ("betas", 1), ("eps", None)]
        given = [self._number(number, *place) for place in places]
        decoupled = bool(group.get("decoupled_weight_decay", self.decoupled))
        numbers = adam_numbers(count, given, decoupled=decoupled)
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        switches = {
            "decoupled": decoupled,
            # shrinking by 1.0 changes nothing, and one rule for all groups is one kernel
            "decays": decoupled or group["weight_decay"] != 0,
            "maximize": group["maximize"],
        }
        return adam, names, list(numbers), switches


class AdamW(Adam):
    """Adam with decoupled weight decay, which shrinks parameters directly."""

    decoupled = True

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)
