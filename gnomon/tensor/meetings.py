"""Collectives that give new tensors, and that gradients pass: each has another as its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.ir.node import Node
from gnomon.ops.collectives import After, all_reduce
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.tensor.autograd.function import Function
from gnomon.tensor.collectives import meet
from gnomon.tensor.state import grads, is_capturing
from gnomon.tensor.tensor import Tensor, wrap

__all__ = ["Do", "met", "passing", "summed"]

Do = Callable[[Tensor], Tensor]


class Meeting(Function):
    """An autograd function for collectives, whose gradient is another collective."""

    @staticmethod
    def forward(context: Any, x: Tensor, do: Do, back: Do) -> Tensor:
        """The collective."""
        context.back = back
        return do(x)

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        """The gradient, by the adjoint collective."""
        return context.back(gradients[0]), None, None


def passing(x: Tensor, do: Do, back: Do) -> Tensor:
    """The result of do(x); its gradients come from its nodes in a capture, from `back` outside."""
    return do(x) if is_capturing() else Meeting.apply(x, do, back)


def met(group: ProcessGroup, x: Tensor, build: Callable[[Node, str, After], Node]) -> Tensor:
    """A new tensor of a collective's result; differentiable in a capture."""
    tracked = is_capturing() and grads.get() and x.requires_grad
    return wrap(meet(group, x, build), tracked)


def summed(group: ProcessGroup, x: Tensor) -> Tensor:
    """The sum of every rank's tensor, whose gradient is that of the sum of all ranks' losses."""

    def build(node: Node, name: str, after: After) -> Node:
        return all_reduce(node, name, group.size(), after=after)

    def do(x: Tensor) -> Tensor:
        return met(group, x, build)

    return passing(x, do, do)
