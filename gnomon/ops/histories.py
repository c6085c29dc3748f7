"""Histories: values with the history of others, whose gradient these take, or none of it."""

from __future__ import annotations

from gnomon.ir.node import Node
from gnomon.ir.operators import constant
from gnomon.ops.primitives import expand
from gnomon.ops.registry import internal

__all__ = ["has_other_history", "rewritten", "unmoved"]


def passed_to_the_old(g: Node | None, y: Node, old: Node, new: Node) -> tuple[Node | None, None]:
    """The gradient, unchanged, of what stood there before."""
    return g, None


@internal(gradient=passed_to_the_old)
def rewritten(old: Node, new: Node) -> Node:
    """The value of `new` with the history of `old`: a write that gradients do not see."""
    return new.arena.node("detach", (new,))


def zero_to_the_other(g: Node, _: Node, value: Node, x: Node) -> tuple[Node, Node]:
    """The gradient of a value that does not follow x: for x 0, not nothing."""
    return g, expand(constant(x.arena, 0, x.dtype), x.shape)


@internal(gradient=zero_to_the_other)
def follows_no_more(value: Node, x: Node) -> Node:
    """The value, which was made of x and moves with it nowhere."""
    return value.arena.node("detach", (value,))


def unmoved(value: Node, *of: object) -> Node:
    """A value that was made of floats and moves with none of them: their gradients are 0."""
    for x in of:
        if isinstance(x, Node) and x.dtype.is_floating_point:
            value = follows_no_more(value, x)
    return value


def has_other_history(node: Node) -> bool:
    """Whether a node is the result of such a write."""
    return node.op == "region" and node.params["name"] == rewritten.__name__
