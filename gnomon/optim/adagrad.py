"""Adagrad: steps divided by the root of the sum of all squared gradients."""

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
def falling(rate: Node, lr_decay: Node, count: Node) -> Node:
    """The learning rate of a step, in float64: rate / (1 + (count - 1) * lr_decay)."""
    return rate / (1.0 + (cast(count, float64) - 1.0) * lr_decay)


@update
def adagrad(x: Node, g: Node, kept: Nodes, numbers: Nodes, *, decays: bool) -> Nodes:
    """Update a parameter and the sum of its squared gradients."""
    rate, decay, eps = (cast(v, x.dtype) for v in numbers)
    if decays:
        g = g + x * decay
    total = kept[0] + g * g
    return x - rate * (g / (elementwise("sqrt", total) + eps)), total


class Adagrad(Optimizer):
    """Adagrad, whose steps become shorter where gradients were large."""

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        numbers = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        numbers["initial_accumulator_value"] = initial_accumulator_value
        for name, value in numbers.items():
            check_range(f"{name} value", value, 0.0)
        ignored = {**IGNORED, "foreach": foreach, "fused": fused}
        del ignored["capturable"]
        super().__init__(params, {**numbers, "maximize": maximize, **ignored})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, whose state is made at once."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        self._begin_all(group, group["params"])

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        return {"sum": filled(p, group["initial_accumulator_value"])}

    def _update(self, number: int, count: Node | None) -> tuple:
        """The rule of a group's step, and the names of its state, numbers and switches."""
        group = self.param_groups[number]
        given = [self._number(number, "lr"), self._number(number, "lr_decay"), count]
        rest = [self._number(number, name) for name in ("weight_decay", "eps")]
        switches = {"decays": group["weight_decay"] != 0, "maximize": group["maximize"]}
        return adagrad, ["sum"], [falling(*given), *rest], switches
