"""The nodes between known values and wanted ones of a larger program."""

from __future__ import annotations

from collections.abc import Container, Sequence

from gnomon.ir.node import Node

__all__ = ["between"]


def between(gives: Sequence[Node], known: Container[Node]) -> list[Node]:
    """The nodes between known values and these, inputs first."""
    order: dict[Node, None] = {}
    stack = [(node, False) for node in reversed(gives)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order[node] = None
        elif node not in order and node not in known:
            stack.append((node, True))
            stack.extend((x, False) for x in reversed(node.inputs))
    return list(order)
