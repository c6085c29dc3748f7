"""Invariants of passes, checked after each one if the setting `verify` is on.

An error found here is a bug of the library, never the user's.
"""

from __future__ import annotations

from collections.abc import Hashable

from gnomon.dtypes import DType
from gnomon.ir.memo import typed
from gnomon.ir.node import PRIMITIVES, Graph, Node

__all__ = ["verify"]


def verify(name: str, before: Graph, after: Graph, divides: bool = False) -> None:
    """Check that a pass gave a closed graph whose inputs and outputs have the same types.

    divides: whether the result is one rank's program, whose inputs and outputs are parts.
    """
    for what in () if divides else ("inputs", "outputs"):
        was, now = ([typed_shape(x) for x in getattr(g, what)] for g in (before, after))
        assert was == now, f"{name}: {what} were {was} and became {now}."
    arenas = {x.arena for x in (*after.inputs, *after.nodes)}
    assert len(arenas) <= 1, f"{name}: the graph mixes {len(arenas)} arenas."
    loose = [x for x in after.nodes if x.op == "input" and x not in after.inputs]
    assert not loose, f"{name}: {loose} are read and not given."
    lost = [] if silent(before) else silent(after)
    pairs = zip(before.inputs, after.inputs, strict=not divides)
    lost += [y for x, y in pairs if x.sites and not y.sites]
    assert not lost, f"{name}: {lost} lost their lines."
    # kernels and gradients are kept by kinds of nodes: more than that no shape may depend on
    foreign = [x for x in after.nodes if not follows(x)]
    assert not foreign, f"{name}: {foreign} have shapes or dtypes of other operations."


def silent(graph: Graph) -> list[Node]:
    """The nodes without a source line, constants and inputs excluded."""
    return [x for x in graph.nodes if not x.sites and x.op not in ("const", "input")]


def follows(node: Node) -> bool:
    """Whether a node's shape and dtype follow from its kind and its inputs."""
    shape, dtype = PRIMITIVES[node.op].infer(node.inputs, node.params)
    return (typed(shape), dtype) == typed_shape(node)


def typed_shape(node: Node) -> tuple[Hashable, DType]:
    """A node's shape as a key, with symbols unresolved, and its dtype."""
    return typed(node.shape), node.dtype
