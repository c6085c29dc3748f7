"""ASGD: stochastic gradient descent with a falling rate and an average of the parameters."""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import float64
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.scalars import where
from gnomon.optim.optimizer import Groups, Nodes, count_of, filled, rule, update
from gnomon.optim.variants import Variant, apply_decay
from gnomon.tensor.tensor import Tensor


@rule
def asgd_numbers(count: Node, given: Nodes) -> Nodes:
    """The factor lambd, and the next step's learning rate and weight in the average."""
    rate, lambd, alpha, begin = (cast(x, float64) for x in given)
    count = cast(count, float64)
    following = rate / elementwise("pow", 1.0 + lambd * rate * count, alpha)
    return lambd, following, 1.0 / elementwise("maximum", count - begin, 1.0)


@update
def asgd(x: Node, g: Node, kept: Nodes, numbers: Nodes, **switches: bool) -> Nodes:
    """Update a parameter, its next rate and weight, and the average of the parameter."""
    x, g, (lambd, following, next_share) = apply_decay(x, g, numbers, **switches)
    rate, share, mean = kept
    x = x * cast(1.0 - lambd * cast(rate, float64), x.dtype) - cast(rate, x.dtype) * g
    moved = mean + (x - mean) * cast(share, x.dtype)
    return x, following, next_share, where(elementwise("eq", share, 1.0), x, moved)


class ASGD(Variant):
    """Averaged SGD: the rate falls, and state["ax"] averages the parameter from step t0 on.

    >>> import gnomon as gn
    >>> p = gn.tensor([1.0], requires_grad=True)
    >>> optimizer = ASGD([p], lr=0.5, lambd=0.0)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    Tensor([0.], requires_grad=True)
    """

    rule, prepare = asgd, asgd_numbers
    names = ("eta", "mu", "ax")
    hyperparameters = (("lr", None), ("lambd", None), ("alpha", None), ("t0", None))

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        **options: Any,
    ) -> None:
        numbers = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        super().__init__(params, numbers, {"foreach": foreach, **options})

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        return {"eta": count_of(float(group["lr"])), "mu": count_of(1.0), "ax": filled(p)}
