"""Recomputation: values inside of a checkpointed function are computed anew for gradients.

A checkpointed function's arguments and results pass through marks (`marked`). Values between the
marks are not stored for the backward pass: readers outside read a copy, recomputed from the
arguments behind a barrier, which keeps interning from merging it with the original. A copy consists
of the same operations, so no bit changes. Indices (of a sort, or the experts of a token) are
stored, not recomputed. When copies are computed follows from the memory that orders of kernels
need: gnomon/schedule/arrange.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.ir.node import Arena, Graph, Node, topological
from gnomon.ir.provenance import inherit

__all__ = ["is_marked", "marked", "recompute"]

BEGIN, END = "begin", "end"


def marked(x: Node, ends: bool) -> Node:
    """Create the mark of a value that enters a checkpointed function, or leaves it."""
    return x.arena.node("barrier", (x,), checkpoint=END if ends else BEGIN)


def mark_of(node: Node) -> str:
    """The mark of a node, "begin" or "end"; "" if it is no mark."""
    return node.params.get("checkpoint", "") if node.op == "barrier" else ""


def is_marked(graph: Graph) -> bool:
    """Whether a program has checkpointed functions."""
    return any(map(mark_of, graph))


def recompute(graph: Graph) -> Graph:
    """The graph without marks, in which gradients read copies of what is between them."""
    inner = between_marks([x.inputs[0] for x in graph if mark_of(x) == END])
    twice = Twice(inner)
    with inherit(()):
        for node in topological([*graph.inputs, *graph.outputs]):
            twice.add(node)
    known = twice.known
    return Graph([known[x] for x in graph.inputs], [known[x] for x in graph.outputs])


def between_marks(given: Sequence[Node]) -> set[Node]:
    """The nodes between the marks of checkpointed functions, which gradients recompute."""
    inner, stack = set[Node](), list(given)
    while stack:
        node = stack.pop()
        if node in inner or node.op in ("input", "const") or mark_of(node):
            continue
        inner.add(node)
        stack.extend(node.inputs)
    return inner


class Twice:
    """Rebuilder of a graph: the image of each node, and its copy for gradients."""

    def __init__(self, inner: set[Node]) -> None:
        self.arena, self.inner = Arena(), inner
        self.known: dict[Node, Node] = {}
        self.recomputed: dict[Node, Node] = {}

    def add(self, node: Node) -> None:
        """Rebuild a node whose inputs are rebuilt."""
        with inherit(node.sites):
            self.known[node] = self.image(node)
            if mark_of(node) == BEGIN:
                self.recomputed[node] = self.arena.unique("barrier", self.known[node])
            elif node in self.inner and node.dtype.is_floating_point:
                inputs = tuple(self.recomputed.get(x, self.known[x]) for x in node.inputs)
                self.recomputed[node] = self.arena.with_inputs(node, inputs)

    def image(self, node: Node) -> Node:
        """A node's image, reading images inside of checkpointed functions and copies outside."""
        if node.op == "input":
            return self.arena.input(node.shape, node.dtype, node.params["name"])
        if mark_of(node):
            return self.known[node.inputs[0]]
        first = node in self.inner
        inputs = (
            self.known[x] if first else self.recomputed.get(x, self.known[x]) for x in node.inputs
        )
        return self.arena.with_inputs(node, tuple(inputs))
