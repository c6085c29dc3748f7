"""Follow one axis through a graph, to a result that has it or to a node that mixes it.

The axis is followed by the letters of signatures. A node mixes the axis if it folds the letter,
needs the whole axis at once or has no letter for it; so does a node where the letter also occurs in
a value that did not come from the axis. A region is followed through its body.
"""

from __future__ import annotations

from collections.abc import Mapping

from gnomon.ir.node import PRIMITIVES, Node, topological
from gnomon.ops.control_primitives import CONTROL

__all__ = ["MixedAxis", "axis_in"]

FIXED = -1
"""The axis of values made of constants alone, which are equal everywhere along it."""


class MixedAxis(Exception):
    """Raised for a node that mixes an axis; its name is the argument."""


def axis_in(root: Node, places: Mapping[Node, int]) -> int | None:
    """The axis of a result that given axes of some nodes become; None if it has no such axis.

    Raises MixedAxis if a node on the way mixes the axis.
    """
    found: dict[Node, int | None] = dict(places)
    for node in topological([root], found):
        found[node] = after(node, [found[x] for x in node.inputs])
    return None if found[root] == FIXED else found[root]


def after(node: Node, at: list[int | None]) -> int | None:
    """The axis of a node's result that the axes `at` of its inputs become; MixedAxis if mixed."""
    if not at:
        return None if node.op == "input" else FIXED
    if all(place in (None, FIXED) for place in at):
        return None if None in at else FIXED
    if node.op in CONTROL:
        raise MixedAxis(node.op)
    if node.op == "region":
        return after_region(node, at)
    signature = PRIMITIVES[node.op].signature(node)
    rows = list(zip(signature.inputs, at, strict=True))
    letters = {row[place] for row, place in rows if place not in (None, FIXED)}
    (letter, *others) = letters
    mixed = others or letter is None or letter in signature.reduced or letter in signature.whole
    if mixed or letter not in signature.output or any(letter in r for r, p in rows if p is None):
        raise MixedAxis(node.op)
    axis = signature.output.index(letter)
    sizes = {x.shape[p] for x, p in zip(node.inputs, at, strict=True) if p not in (None, FIXED)}
    if sizes != {node.shape[axis]}:
        raise MixedAxis(node.op)  # it is one axis with another now
    return axis


def after_region(node: Node, at: list[int | None]) -> int | None:
    """The axis of a region's result, found by following its body."""
    body = node.params["body"]
    known = {leaf: p for leaf, p in zip(body.inputs, at, strict=True) if p not in (None, FIXED)}
    try:
        return axis_in(body.outputs[node.params["index"]], known)
    except MixedAxis:
        raise MixedAxis(node.params["name"]) from None
