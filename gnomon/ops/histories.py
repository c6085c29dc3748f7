"""Histories: a value that stands where another stood, whose gradient the other's history takes."""

from __future__ import annotations

from gnomon.ir.node import Node
from gnomon.ops.registry import internal

__all__ = ["has_other_history", "rewritten"]


def passed_to_the_old(g: Node | None, y: Node, old: Node, new: Node) -> tuple[Node | None, None]:
    """The gradient, unchanged, of what stood there before."""
    return g, None


@internal(gradient=passed_to_the_old)
def rewritten(old: Node, new: Node) -> Node:
    """The value of `new` with the history of `old`: a write that gradients do not see."""
    return new.arena.node("detach", (new,))


def has_other_history(node: Node) -> bool:
    """Whether a node is the result of such a write."""
    return node.op == "region" and node.params["name"] == rewritten.__name__
