"""Gradients of one node, and a function with a gradient of its own. Not a test."""

from __future__ import annotations

from collections.abc import Sequence

import gnomon as gn
from gnomon.ir.node import Node
from gnomon.passes.grad import pull_back


def gradients(root: Node, seed: Node, wanted: Sequence[Node]) -> list[Node | None]:
    """The gradient of <seed, root> by each wanted node; None where root does not depend on it."""
    return pull_back({root: seed}, wanted)


class Square(gn.autograd.Function):
    """x², by a gradient that a user wrote."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        return gradient * 2 * x
