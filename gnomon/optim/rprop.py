"""Rprop: steps by the signs of gradients, longer while a sign stays and shorter when it turns."""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import float64
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.scalars import where
from gnomon.optim.optimizer import Groups, Nodes, filled, rule, update
from gnomon.optim.variants import Variant, apply_decay
from gnomon.tensor.tensor import Tensor


@rule
def rprop_numbers(count: Node, given: Nodes) -> Nodes:
    """The factors that shorten and lengthen a step, and the least and largest length."""
    return tuple(cast(x, float64) for x in given)


@update
def rprop(x: Node, g: Node, kept: Nodes, numbers: Nodes, **switches: bool) -> Nodes:
    """Update a parameter, its last gradient, and its step lengths."""
    x, g, numbers = apply_decay(x, g, numbers, **switches)
    shorter, longer, low, high = (cast(v, x.dtype) for v in numbers)
    before, length = kept
    product = g * before
    turned, stayed = elementwise("lt", product, 0.0), elementwise("gt", product, 0.0)
    length = length * where(turned, shorter, where(stayed, longer, 1.0))
    length = elementwise("minimum", elementwise("maximum", length, low), high)
    g = where(turned, 0.0, g)
    return x - elementwise("sign", g) * length, g, length


class Rprop(Variant):
    """Rprop, with a step length per element; for gradients of all data.

    >>> import gnomon as gn
    >>> p = gn.tensor([1.0], requires_grad=True)
    >>> optimizer = Rprop([p], lr=0.25)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    Tensor([0.75], requires_grad=True)
    """

    rule, prepare = rprop, rprop_numbers
    names = ("prev", "step_size")
    hyperparameters = (("etas", 0), ("etas", 1), ("step_sizes", 0), ("step_sizes", 1))

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        **options: Any,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ArgumentError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        numbers = {"lr": lr, "etas": etas, "step_sizes": step_sizes}
        super().__init__(params, numbers, options)

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        return {"prev": filled(p), "step_size": filled(p, float(group["lr"]))}
