"""Muon: steps along the orthogonalized mean gradient of a matrix."""

from __future__ import annotations

from math import sqrt
from typing import Any

from gnomon.dtypes import bfloat16, float32, float64
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import choice
from gnomon.ops.primitives import contract, reduce
from gnomon.ops.view_primitives import permute
from gnomon.optim.optimizer import (
    Groups,
    Nodes,
    Optimizer,
    check_range,
    filled,
    rule,
    update,
)
from gnomon.tensor.tensor import Tensor

ADJUSTMENTS = ("original", "match_rms_adamw")
"""The ways to adjust the learning rate to a matrix's sizes."""


@rule
def muon_numbers(given: Nodes) -> Nodes:
    """The scalars of a step in float64, with the weight decay as a factor."""
    rate, decay, *rest = (cast(x, float64) for x in given)
    return rate, 1.0 - rate * decay, *rest


def orthogonal(matrix: Node, eps: Node, coefficients: Nodes, steps: int) -> Node:
    """A matrix in bfloat16 with singular values near 1, by Newton-Schulz iteration."""
    x = cast(matrix, bfloat16)
    tall = x.shape[0] > x.shape[1]
    x = permute(x, (1, 0)) if tall else x
    wide = cast(x, float32)
    length = cast(elementwise("sqrt", reduce("add", wide * wide, (0, 1), float32)), bfloat16)
    x = x / elementwise("maximum", length, cast(eps, bfloat16))
    a, b, c = (cast(v, float32) for v in coefficients)
    for _ in range(steps):
        gram = cast(contract("ik,jk->ij", x, x, float32), bfloat16)
        square = contract("ik,kj->ij", gram, gram, float32)
        factor = cast(b * cast(gram, float32) + c * square, bfloat16)
        x = cast(a * cast(x, float32) + contract("ik,kj->ij", factor, x, float32), bfloat16)
    return permute(x, (1, 0)) if tall else x


def size_factor(how: str, rows: int, columns: int) -> float:
    """The factor of the learning rate for a matrix of these sizes."""
    if how == "match_rms_adamw":
        return 0.2 * sqrt(max(rows, columns))
    return sqrt(max(1.0, rows / columns))


@update
def muon(
    x: Node, g: Node, kept: Nodes, numbers: Nodes, *, nesterov: bool, steps: int, adjust: str
) -> Nodes:
    """Update a matrix and the mean of its gradients."""
    rate, keeps, momentum, eps, *coefficients = numbers
    mean = kept[0] + (g - kept[0]) * cast(1.0 - momentum, x.dtype)
    ahead = g + (mean - g) * cast(momentum, x.dtype) if nesterov else mean
    direction = cast(orthogonal(ahead, eps, coefficients, steps), x.dtype)
    size = cast(rate * size_factor(adjust, *x.shape), x.dtype)
    return x * cast(keeps, x.dtype) - size * direction, mean


class Muon(Optimizer):
    """Muon, for the matrices of hidden layers: steps have singular values near 1.

    Other parameters need an optimizer of their own, such as AdamW.

    >>> import gnomon as gn
    >>> p = gn.zeros(2, 2, requires_grad=True)
    >>> optimizer = Muon([p], lr=0.5, weight_decay=0.0)
    >>> p.trace().backward()
    >>> optimizer.step()
    >>> bool((p.diagonal() < -0.3).all())
    True
    """

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        numbers = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum}
        for name, value in numbers.items():
            check_range(f"{name} value", value, 0.0)
        if len(ns_coefficients) != 3 or not 0 <= ns_steps < 100:
            raise ArgumentError(
                "Muon: needs 3 ns_coefficients and fewer than 100 ns_steps: got "
                f"{ns_coefficients} and {ns_steps}."
            )
        if adjust_lr_fn is not None:
            choice("Muon", "adjust_lr_fn", adjust_lr_fn, ADJUSTMENTS)
        switches = {"nesterov": nesterov, "ns_coefficients": tuple(ns_coefficients), "eps": eps}
        given = {"ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn}
        super().__init__(params, {**numbers, **switches, **given})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of matrices."""
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if p.ndim != 2:
                self.param_groups.pop()
                raise ArgumentError(
                    f"Muon: needs parameters of 2 axes: got shape {tuple(p.shape)}. Give the "
                    "others to AdamW."
                )

    def _counts(self, group: dict[str, Any]) -> bool:
        return False

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        return {"momentum_buffer": filled(p)}

    def _update(self, number: int, count: Node | None) -> tuple:
        """The rule of a group's step, and the names of its state, numbers and switches."""
        group = self.param_groups[number]
        names = ("lr", "weight_decay", "momentum", "eps")
        places = [(name, None) for name in names] + [("ns_coefficients", k) for k in range(3)]
        given = [self._number(number, *place) for place in places]
        switches = {
            "nesterov": group["nesterov"],
            "steps": group["ns_steps"],
            "adjust": group["adjust_lr_fn"] or ADJUSTMENTS[0],
            "maximize": False,
        }
        return muon, ["momentum_buffer"], list(muon_numbers(given)), switches
