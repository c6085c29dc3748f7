"""Graphs without their numbers, and with others in place of these.

The numbers are the sizes of inputs and all integers and floats among parameters, in the order of
nodes; what is left is the outline. Two graphs of one outline are one program at two shapes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from gnomon.ir.memo import memo
from gnomon.ir.node import Arena, Graph, Node, typed
from gnomon.ir.provenance import inherit
from gnomon.ir.sym_float import FloatBits, real

__all__ = ["Dissection", "Numbers", "dissection", "leaf_counts", "renumbered"]

Numbers = tuple[int, ...]
"""Integers, and floats by their bits."""
Dissection = tuple[int, Numbers]
"""The number of an outline in this process, and numbers."""

_of_kinds: dict[int, Dissection] = memo({})
_outlines: dict[Hashable, int] = memo({})


def dissection(graph: Graph) -> Dissection:
    """A graph taken apart."""
    place = {x: k for k, x in enumerate(graph.inputs)}
    rows: list[Hashable] = [of_kind(x)[0] for x in graph.inputs]
    numbers = [n for x in graph.inputs for n in x.shape]
    for node in graph.nodes:
        if node in place:
            continue
        place[node] = len(place)
        outline, own = of_kind(node)
        rows.append((outline, *[place[x] for x in node.inputs]))
        numbers += own
    shown = (tuple(rows), tuple([place[x] for x in graph.outputs]))
    return _outlines.setdefault(shown, len(_outlines)), tuple(numbers)


def of_kind(node: Node) -> Dissection:
    """The same of an operation with its parameters."""
    found = _of_kinds.get(node.kind)
    if found is None:
        numbers: list[int] = []
        if node.op == "input":
            outline: Hashable = ("input", node.rank, node.dtype.name)
        else:
            parts = sorted(node.params.items())
            outline = (node.op, *[(k, apart(x, numbers)) for k, x in parts if k != "serial"])
        number = _outlines.setdefault(outline, len(_outlines))
        found = _of_kinds[node.kind] = number, tuple(numbers)
    return found


def apart(x: Any, numbers: list[int]) -> Hashable:
    """A parameter without its numbers, which go to the end of the list."""
    if type(x) is int:
        numbers.append(x)
        return int
    if type(x) is float:
        numbers.append(FloatBits.of(x))
        return float
    if issubclass(type(x), tuple):
        return (type(x).__name__, *[apart(part, numbers) for part in x])
    if isinstance(x, Graph):
        outline, own = dissection(x)
        numbers += own
        return outline
    if hasattr(x, "kwargs"):
        return (type(x).__name__, apart(x.args, numbers), apart(x.kwargs, numbers))
    return typed(x)


def leaf_counts(graph: Graph) -> list[int]:
    """The places, among a graph's numbers, of counts of leaves: they divide sizes."""
    found: list[int] = []
    place = sum(x.rank for x in graph.inputs)
    given = set(graph.inputs)
    for node in graph.nodes:
        if node in given:
            continue
        for name, x in sorted(node.params.items()):
            own: list[int] = []
            if name != "serial":
                apart(x, own)
            if name == "leaves":
                found += range(place, place + len(own))
            elif isinstance(x, Graph):
                found += [place + k for k in leaf_counts(x)]
            place += len(own)
    return found


def renumbered(graph: Graph, numbers: Iterator[Any]) -> Graph:
    """A graph with other numbers, in an arena of its own."""
    arena, known = Arena(), dict[Node, Node]()
    for x in graph.inputs:
        with inherit(x.sites):
            known[x] = arena.input(tuple([next(numbers) for _ in x.shape]), x.dtype)
    for node in graph.nodes:
        if node in known:
            continue
        names = sorted(name for name in node.params if name != "serial")
        params = {name: together(node.params[name], numbers) for name in names}
        if "serial" in node.params:
            params["serial"] = node.params["serial"]
        with inherit(node.sites):
            known[node] = arena.node(node.op, tuple([known[x] for x in node.inputs]), **params)
    return Graph([known[x] for x in graph.inputs], [known[x] for x in graph.outputs])


def together(x: Any, numbers: Iterator[Any]) -> Any:
    """A parameter with other numbers."""
    if type(x) is int:
        return next(numbers)
    if type(x) is float:
        return real(next(numbers))
    if issubclass(type(x), tuple):
        made = [together(part, numbers) for part in x]
        return x._make(made) if hasattr(x, "_make") else tuple(made)
    if isinstance(x, Graph):
        return renumbered(x, numbers)
    if hasattr(x, "kwargs"):
        return type(x)(together(x.args, numbers), together(x.kwargs, numbers))
    return x
