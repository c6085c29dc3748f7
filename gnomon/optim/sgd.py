"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.ops.arguments import wide
from gnomon.optim.optimizer import IGNORED, Groups, Optimizer, check_range, rule
from gnomon.tensor.tensor import Tensor

NAMES = ("lr", "weight_decay", "momentum", "dampening")


@rule
def sgd(
    p: Node,
    gradient: Node,
    kept: Sequence[Node],
    numbers: Sequence[Node],
    *,
    decays: bool,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> tuple[Node, ...]:
    """A parameter and its velocity, if it has one; a first step takes the gradient for that."""
    x, g = wide(p), wide(-gradient if maximize else gradient)
    rate, decay, momentum = (cast(v, x.dtype) for v in numbers[:3])
    if decays:
        g = g + x * decay
    if not kept:
        return (cast(x - rate * g, p.dtype),)
    rest = cast(1.0 - numbers[3], x.dtype)
    velocity = g if first else wide(kept[0]) * momentum + g * rest
    g = g + velocity * momentum if nesterov else velocity
    return cast(x - rate * g, p.dtype), cast(velocity, kept[0].dtype)


class SGD(Optimizer):
    """Steps against the gradient, or a running sum of gradients."""

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
