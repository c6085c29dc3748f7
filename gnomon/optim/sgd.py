"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from typing import Any

from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.scalars import where
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
def rest_of(dampening: Node, count: Node) -> Node:
    """The weight of a gradient in the velocity: 1 - dampening, or 1 at the first step."""
    return 1.0 - where(elementwise("gt", count, 1.0), dampening, 0.0)


@update
def sgd(x: Node, g: Node, kept: Nodes, numbers: Nodes, *, decays: bool, nesterov: bool) -> Nodes:
    """Update a parameter, and its velocity if it has one."""
    rate, decay, momentum, *rest = (cast(v, x.dtype) for v in numbers)
    if decays:
        g = g + x * decay
    if not kept:
        return (x - rate * g,)
    velocity = kept[0] * momentum + (g * rest[0] if rest else g)
    g = g + velocity * momentum if nesterov else velocity
    return x - rate * g, velocity


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and Nesterov momentum."""

    hidden = ("step",)

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_range("learning rate", lr, 0.0)
        check_range("momentum value", momentum, 0.0)
        check_range("weight_decay value", weight_decay, 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError("Nesterov momentum requires a momentum and zero dampening")
        numbers = {"lr": lr, "momentum": momentum, "dampening": dampening}
        switches = {"nesterov": nesterov, "maximize": maximize, "weight_decay": weight_decay}
        ignored = {**IGNORED, "foreach": foreach, "fused": fused}
        del ignored["capturable"]
        super().__init__(params, {**numbers, **switches, **ignored})

    def _counts(self, group: dict[str, Any]) -> bool:
        return group["momentum"] != 0 and group["dampening"] != 0

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        return {"momentum_buffer": filled(p)} if group["momentum"] != 0 else {}

    def _update(self, number: int, count: Node | None) -> tuple:
        """The rule of a group's step, and the names of its state, numbers and switches."""
        group = self.param_groups[number]
        numbers = [self._number(number, name) for name in ("lr", "weight_decay", "momentum")]
        if count is not None:
            numbers.append(rest_of(self._number(number, "dampening"), count))
        switches = {
            "decays": group["weight_decay"] != 0,
            "nesterov": group["nesterov"],
            "maximize": group["maximize"],
        }
        return sgd, ["momentum_buffer"] * (group["momentum"] != 0), numbers, switches
