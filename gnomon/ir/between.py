"""The nodes between known values and wanted ones of a larger program."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from gnomon.ir.node import Node

__all__ = ["nearest", "nodes_between"]


def nodes_between(gives: Sequence[Node], known: Container[Node]) -> list[Node]:
    """The nodes on which these depend and that are not known, operands first."""
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


def nearest(outputs: Iterable[Node], stops: Container[Node]) -> list[Node]:
    """The nodes among `stops` that outputs reach first, without passing another one."""
    found: dict[Node, None] = {}
    seen: set[Node] = set()
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in stops:
            found[node] = None
        else:
            stack.extend(node.inputs)
    return list(found)
