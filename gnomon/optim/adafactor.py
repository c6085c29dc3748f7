"""Adafactor: Adam-like steps with factored second moments, relative to the parameters' scale."""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import bfloat16, float16, float32, float64
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.reductions import mean_of
from gnomon.optim.optimizer import Groups, Nodes, Optimizer, check_range, filled, rule, update
from gnomon.tensor.layouts import layout_of
from gnomon.tensor.tensor import Tensor

FACTORED = ("row_var", "col_var")
SPACING = {float64: 2.0**-52, float32: 2.0**-23, float16: 2.0**-10, bfloat16: 2.0**-7}
"""The gap between 1 and the next larger number, by dtype."""


@rule
def adafactor_numbers(count: Node, given: Nodes) -> Nodes:
    """The decay factor, weight of new squares, relative rate, eps2, d, and eps1 if given."""
    rate, fall, least, most, decay, *floor = (cast(x, float64) for x in given)
    count = cast(count, float64)
    relative = elementwise("minimum", rate, 1.0 / elementwise("sqrt", count))
    return 1.0 - rate * decay, elementwise("pow", count, fall), relative, least, most, *floor


def root_mean_square(x: Node) -> Node:
    """The root mean square of all elements."""
    return elementwise("sqrt", mean_of(x * x, tuple(range(x.rank)), False))


def factored(g: Node, kept: Nodes, share: Node, floor: Node | float) -> tuple[Node, Nodes]:
    """Update the row and column means of squares; return their outer product and the means."""
    new = (mean_of(g * g, (g.rank - 1,), True), mean_of(g * g, (g.rank - 2,), True))
    rows, columns = (old + (now - old) * share for old, now in zip(kept, new, strict=True))
    largest = elementwise("maximum", mean_of(rows, (g.rank - 2,), True), floor)
    return rows * columns / largest, (rows, columns)


@update
def adafactor(
    x: Node, g: Node, kept: Nodes, numbers: Nodes, *, decays: bool, smallest: float
) -> Nodes:
    """Update a parameter and its second moments, by rows and columns or by element."""
    keeps, share, relative, least, most, *given = (cast(v, x.dtype) for v in numbers)
    floor = given[0] if given else smallest
    length = elementwise("maximum", root_mean_square(x), least) * relative
    if decays:
        x = x * keeps
    if len(kept) == len(FACTORED):
        square, kept = factored(g, kept, share, floor)
    else:
        square = kept[0] + (g * g - kept[0]) * share
        kept = (square,)
    step = g / elementwise("sqrt", elementwise("maximum", square, floor * floor))
    shrunk = elementwise("maximum", root_mean_square(step) / most, 1.0)
    return x - length / shrunk * step, *kept


class Adafactor(Optimizer):
    """Adafactor: Adam with one second moment for each row and each column of a matrix.

    >>> import gnomon as gn
    >>> p = gn.ones(2, 3, requires_grad=True)
    >>> optimizer = Adafactor([p], lr=0.5)
    >>> p.sum().backward()
    >>> optimizer.step()
    >>> p
    Tensor([[0.5, 0.5, 0.5],
            [0.5, 0.5, 0.5]], requires_grad=True)
    """

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_range("learning rate", lr, 0.0)
        check_range("negated beta2_decay", -beta2_decay, 0.0)
        for place, value in enumerate(eps):
            check_range(f"epsilon{place + 1}", 0.0 if value is None else value, 0.0)
        check_range("clipping threshold d", d, 1.0)
        check_range("weight_decay value", weight_decay, 0.0)
        numbers = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d}
        options = {"weight_decay": weight_decay, "foreach": foreach, "maximize": maximize}
        super().__init__(params, {**numbers, **options})

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        """Create the factored second moments of a parameter."""
        if layout_of(p):
            raise ArgumentError(
                "Adafactor: a parameter that is sharded over ranks has its rows and columns on "
                "several of them: got one. Use AdamW."
            )
        shape = tuple(p.shape)
        if len(shape) < 2:
            return {"variance": filled(p)}
        shapes = (*shape[:-1], 1), (*shape[:-2], 1, shape[-1])
        return {name: filled(p, shape=s) for name, s in zip(FACTORED, shapes, strict=True)}

    def _update(self, number: int, count: Node | None) -> tuple:
        """The rule of a group's step, and the names of its state, numbers and switches."""
        group = self.param_groups[number]
        places = [("lr", None), ("beta2_decay", None), ("eps", 1), ("d", None)]
        places += [("weight_decay", None)] + [("eps", 0)] * (group["eps"][0] is not None)
        numbers = adafactor_numbers(count, [self._number(number, *p) for p in places])
        switches = {
            "decays": group["weight_decay"] != 0,
            "smallest": SPACING[group["params"][0].dtype],
            "maximize": group["maximize"],
        }
        return adafactor, [*FACTORED, "variance"], list(numbers), switches
