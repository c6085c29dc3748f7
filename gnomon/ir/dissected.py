"""Graphs without their numbers, and with others in place of these.

The numbers are the sizes of inputs and all integers and floats among parameters, in the order of
nodes; what is left is the outline. Two graphs of one outline are one program at two shapes, where
they agree in the numbers that are no sizes: axes, and which of several results or arguments.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator
from itertools import count
from typing import Any, NamedTuple

from gnomon.ir.memo import memo
from gnomon.ir.node import Arena, Graph, Node, hashlib, typed
from gnomon.ir.provenance import inherit
from gnomon.ir.sym_float import FloatBits, real

__all__ = ["Dissection", "Numbers", "dissection", "renumbered"]

Numbers = tuple[int, ...]
"""Integers, and floats by their bits."""


STRUCTURAL = frozenset({"axis", "order", "index", "Leaf"})
"""Parameters, and the class of parts of these, whose numbers are no sizes."""


class Dissection(NamedTuple):
    """A graph taken apart: a digest of its outline in this process, and the numbers in order."""

    outline: bytes
    numbers: Numbers
    leaves: tuple[int, ...]
    """The places of counts of leaves: these divide sizes."""
    fixed: tuple[int, ...]
    """The places of numbers that are no sizes."""

    @property
    def structure(self) -> Numbers:
        """The numbers that are no sizes."""
        return tuple([self.numbers[k] for k in self.fixed])


class KindParts(NamedTuple):
    """An operation with its parameters, taken apart; its outline is a number."""

    outline: int
    numbers: Numbers
    leaves: tuple[int, ...]
    fixed: tuple[int, ...]


class NumberPlaces:
    """The numbers found so far, and the places of those that mean something of their own."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.leaves: list[int] = []
        self.fixed: list[int] = []

    def add(self, part: KindParts | Dissection) -> None:
        """The numbers of a part."""
        place = len(self.numbers)
        self.leaves += [place + k for k in part.leaves]
        self.fixed += [place + k for k in part.fixed]
        self.numbers += part.numbers

    def told(self) -> tuple[Numbers, tuple[int, ...], tuple[int, ...]]:
        """All of it."""
        return tuple(self.numbers), tuple(self.leaves), tuple(self.fixed)


_kinds: dict[int, KindParts] = memo({})
_outlines: dict[Hashable, int] = memo({})
_next_outline = count()


def dissection(graph: Graph) -> Dissection:
    """A graph taken apart."""
    place = {x: k for k, x in enumerate(graph.inputs)}
    rows = [len(graph.inputs), *[parts_of(x).outline for x in graph.inputs]]
    found = NumberPlaces()
    found.numbers += [n for x in graph.inputs for n in x.shape]
    for node in graph.nodes:
        if node in place:
            continue
        place[node] = len(place)
        parts = parts_of(node)
        rows += (parts.outline, len(node.inputs), *[place[x] for x in node.inputs])
        if parts.numbers:
            found.add(parts)
    rows += [place[x] for x in graph.outputs]
    shown = hashlib.blake2b(array("q", rows).tobytes(), digest_size=16).digest()
    return Dissection(shown, *found.told())


def parts_of(node: Node) -> KindParts:
    """An operation with its parameters, taken apart."""
    known = _kinds.get(node.kind)
    if known is None:
        found = NumberPlaces()
        if node.op == "input":
            outline: Hashable = ("input", node.rank, node.dtype.name)
        else:
            parts = [(k, x) for k, x in sorted(node.params.items()) if k != "serial"]
            outline = (node.op, *[(k, without(x, k, found)) for k, x in parts])
        number = _outlines.get(outline)
        if number is None:
            number = _outlines.setdefault(outline, next(_next_outline))
        known = _kinds[node.kind] = KindParts(number, *found.told())
    return known


def without(x: Any, name: str, found: NumberPlaces) -> Hashable:
    """A parameter, or a part of one, without its numbers, which are found."""
    place = len(found.numbers)
    outline = apart(x, found)
    if name == "leaves":
        found.leaves += range(place, len(found.numbers))
    elif name in STRUCTURAL:
        found.fixed += range(place, len(found.numbers))
    return outline


def apart(x: Any, found: NumberPlaces) -> Hashable:
    """The same of a part of a parameter."""
    if type(x) is int:
        found.numbers.append(x)
        return int
    if type(x) is float:
        found.numbers.append(FloatBits.of(x))
        return float
    if issubclass(type(x), tuple):
        name = type(x).__name__
        return (name, *[without(part, name, found) for part in x])
    if isinstance(x, Graph):
        inner = dissection(x)
        found.add(inner)
        return inner.outline
    if hasattr(x, "kwargs"):
        args = apart(x.args, found)
        return (type(x).__name__, args, apart(x.kwargs, found))
    return typed(x)


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
