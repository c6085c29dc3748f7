"""Sums of elements with weights: lerp, addcmul, addcdiv. Narrow floats are rounded once."""

from __future__ import annotations

import math

from gnomon.errors import DtypeError
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar, elementwise, rounded_once
from gnomon.ops.arguments import promoted
from gnomon.ops.elementwise import Operand, divide
from gnomon.ops.registry import op
from gnomon.ops.scalars import where


@op(reference=lambda x, end, weight: x + weight * (end - x), complex="formula")
def lerp(x: Node, end: Node, weight: Operand) -> Node:
    """Linear interpolation from x to end: x + weight · (end − x).

    Shapes: x (...), end (...) -> (...)

    >>> lerp(tensor([0.0, 10.0]), tensor([10.0, 20.0]), 0.25)
    Tensor([ 2.5, 12.5])
    """

    def of(x: Node, end: Node, weight: Operand) -> Node:
        if isinstance(weight, Node):
            near = elementwise("lt", elementwise("abs", weight), 0.5)
            return where(near, x + weight * (end - x), end - (end - x) * (1.0 - weight))
        if -0.5 < weight < 0.5:
            return x + weight * (end - x)
        return end - (end - x) * (1.0 - weight)

    return rounded_once(of, x, end, weight)


@op(
    inline=True,
    reference=lambda x, tensor1, tensor2, value=1: x + value * tensor1 * tensor2,
    complex="formula",
)
def addcmul(x: Node, tensor1: Node, tensor2: Node, *, value: float = 1) -> Node:
    """x + value · tensor1 · tensor2.

    Shapes: x (...), tensor1 (...), tensor2 (...) -> (...)

    >>> addcmul(tensor([1.0]), tensor([2.0]), tensor([3.0]), value=10)
    Tensor([61.])
    """

    def of(x: Node, a: Node, b: Node) -> Node:
        x, a, b = promoted("addcmul", x, a, b)
        return x + (a if value == 1 else a * value) * b

    return rounded_once(of, x, tensor1, tensor2)


@op(
    inline=True,
    reference=lambda x, tensor1, tensor2, value=1: x + value * tensor1 / tensor2,
    complex="formula",
)
def addcdiv(x: Node, tensor1: Node, tensor2: Node, *, value: float = 1) -> Node:
    """x + value · tensor1 / tensor2.

    Shapes: x (...), tensor1 (...), tensor2 (...) -> (...)

    >>> addcdiv(tensor([1.0]), tensor([6.0]), tensor([3.0]), value=10)
    Tensor([21.])
    """

    def of(x: Node, a: Node, b: Node) -> Node:
        x, a, b = promoted("addcdiv", x, a, b)
        return x + divide(a if value == 1 else a * value, b)

    return rounded_once(of, x, tensor1, tensor2)


def plus(start: Node, product: Node, beta: Scalar, alpha: Scalar, *, refusing: str = "") -> Node:
    """beta · start + alpha · product; of integers, a factor's fraction is cut off or refused."""
    if not any(x.dtype.is_floating_point or x.dtype.is_complex for x in (start, product)):
        fractions = [v for v in (beta, alpha) if isinstance(v, float)]
        if fractions and refusing:
            raise DtypeError(f"{refusing}: factors of integers are integers: got {fractions[0]}.")
        if not all(map(math.isfinite, fractions)):
            raise DtypeError(f"addmm: factors of integers are finite: got {fractions}.")
        beta, alpha = (int(v) if isinstance(v, float) else v for v in (beta, alpha))
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else (start if beta == 1 else start * beta) + product
