"""RMSprop: steps divided by the root mean squared gradient."""

from __future__ import annotations

from typing import Any

from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.optim.optimizer import (
    IGNORED,
    Groups,
    Nodes,
    Optimizer,
    check_range,
    filled,
    update,
)
from gnomon.tensor.tensor import Tensor

NUMBERS = ("lr", "weight_decay", "alpha", "eps", "momentum")


@update
def rmsprop(
    x: Node, g: Node, kept: Nodes, numbers: Nodes, *, decays: bool, centered: bool
) -> Nodes:
    """Update a parameter, the mean of squared gradients, and if kept mean gradient and velocity."""
    rate, decay, alpha, eps, momentum = (cast(v, x.dtype) for v in numbers)
    rest = cast(1.0 - numbers[2], x.dtype)
    if decays:
        g = g + x * decay
    square, *others = kept
    square = square * alpha + g * g * rest
    made, spread = [square], square
    if centered:
        mean = others.pop(0)
        mean = mean + (g - mean) * rest
        made, spread = [square, mean], square - mean * mean
    change = g / (elementwise("sqrt", spread) + eps)
    if others:
        change = others[0] * momentum + change
        made.append(change)
    return x - rate * change, *made


class RMSprop(Optimizer):
    """RMSprop, whose step lengths do not depend on the gradients' scale."""

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        numbers = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps}
        numbers["weight_decay"] = weight_decay
        for name, value in numbers.items():
            check_range(f"{name} value", value, 0.0)
        ignored = {**IGNORED, "foreach": foreach, "capturable": capturable}
        del ignored["fused"]
        switches = {"centered": centered, "maximize": maximize}
        super().__init__(params, {**numbers, **switches, **ignored})

    def _kept(self, group: dict[str, Any]) -> list[str]:
        """The names of a parameter's state entries, in the rule's order."""
        names = ["square_avg"] + ["grad_avg"] * group["centered"]
        return names + ["momentum_buffer"] * (group["momentum"] > 0)

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        return {name: filled(p) for name in self._kept(group)}

    def _update(self, number: int, count: Node | None) -> tuple:
        """The rule of a group's step, and the names of its state, numbers and switches."""
        group = self.param_groups[number]
        numbers = [self._number(number, name) for name in NUMBERS]
        switches = {
            "decays": group["weight_decay"] != 0,
            "centered": group["centered"],
            "maximize": group["maximize"],
        }
        return rmsprop, self._kept(group), numbers, switches
