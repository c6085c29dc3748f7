"""Base classes of primitives that only map indices of elements.

The primitives themselves are in view_primitives.py, lookup_primitives.py and primitives.py.
"""

from __future__ import annotations

from gnomon.ir.node import PRIMITIVES, Node, Primitive


class IndexPrimitive(Primitive):
    """Base of primitives without loops of their own, which map an index to another."""


class ViewPrimitive(IndexPrimitive):
    """Base of primitives that move or repeat elements, as shapes and parameters say."""


def is_index(node: Node) -> bool:
    """Whether a node only maps indices, and has no loops of its own."""
    return isinstance(PRIMITIVES[node.op], IndexPrimitive)


def is_view(node: Node) -> bool:
    """Whether a node only shows elements of its input."""
    return isinstance(PRIMITIVES[node.op], ViewPrimitive)
