"""Index primitives: those that only say where elements stand derive from one of these classes.

The primitives themselves are in view_primitives.py, lookup_primitives.py and primitives.py.
"""

from __future__ import annotations

from gnomon.ir.node import PRIMITIVES, Node, Primitive


class IndexPrimitive(Primitive):
    """A primitive without loops of its own: an index in, another out."""


class ViewPrimitive(IndexPrimitive):
    """A primitive that moves or repeats elements: shapes and parameters say where each stands."""


def is_index(node: Node) -> bool:
    """Whether a node has no loops of its own."""
    return isinstance(PRIMITIVES[node.op], IndexPrimitive)


def is_view(node: Node) -> bool:
    """Whether a node shows elements of its input, and nothing else."""
    return isinstance(PRIMITIVES[node.op], ViewPrimitive)
