"""Values that take their gradients' path from another value, or none."""

from __future__ import annotations

from gnomon.ir.node import Node
from gnomon.ir.operators import constant
from gnomon.ops.primitives import expand
from gnomon.ops.registry import internal

__all__ = ["has_other_history", "rewritten", "unmoved"]


def passed_to_the_old(g: Node | None, y: Node, old: Node, new: Node) -> tuple[Node | None, None]:
    """The gradient of `rewritten`: it passes to the old value unchanged."""
    return g, None


@internal(gradient=passed_to_the_old)
def rewritten(old: Node, new: Node) -> Node:
    """The value of `new` with the history of `old`: a write that gradients do not see."""
    return new.arena.node("detach", (new,))


def zero_to_the_other(g: Node, _: Node, value: Node, x: Node) -> tuple[Node, Node]:
    """The gradient of `follows_no_more`: 0 for x, in place of none."""
    return g, expand(constant(x.arena, 0, x.dtype), x.shape)


@internal(gradient=zero_to_the_other)
def follows_no_more(value: Node, x: Node) -> Node:
    """The value as a result that depends on x with gradient 0."""
    return value.arena.node("detach", (value,))


def unmoved(value: Node, *of: object) -> Node:
    """The value as a result that depends on all floats of `of` with gradient 0."""
    for x in of:
        if isinstance(x, Node) and x.dtype.is_floating_point:
            value = follows_no_more(value, x)
    return value


def has_other_history(node: Node) -> bool:
    """Whether a node is the result of `rewritten`."""
    return node.op == "region" and node.params["name"] == rewritten.__name__
