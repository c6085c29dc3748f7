"""Graphs without their numbers, and with others in place of these.

The numbers are the sizes of inputs and all integers and floats among parameters, in the order of
nodes; what is left is the outline. Two graphs of one outline are one program at two shapes.
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


class Dissection(NamedTuple):
    """A graph taken apart: a digest of its outline in this process, and the numbers in order."""

    outline: bytes
    numbers: Numbers
    leaves: tuple[int, ...]
    """The places of counts of leaves: these divide sizes."""


class KindParts(NamedTuple):
    """An operation with its parameters, taken apart; its outline is a number."""

    outline: int
    numbers: Numbers
    leaves: tuple[int, ...]


_kinds: dict[int, KindParts] = memo({})
_outlines: dict[Hashable, int] = memo({})
_next_outline = count()


def dissection(graph: Graph) -> Dissection:
    """A graph taken apart."""
    place = {x: k for k, x in enumerate(graph.inputs)}
    rows = [len(graph.inputs), *[parts_of(x).outline for x in graph.inputs]]
    numbers = [n for x in graph.inputs for n in x.shape]
    leaves: list[int] = []
    for node in graph.nodes:
        if node in place:
            continue
        place[node] = len(place)
        outline, own, divided = parts_of(node)
        rows += (outline, len(node.inputs), *[place[x] for x in node.inputs])
        leaves += [len(numbers) + k for k in divided]
        numbers += own
    rows += [place[x] for x in graph.outputs]
    shown = hashlib.blake2b(array("q", rows).tobytes(), digest_size=16).digest()
    return Dissection(shown, tuple(numbers), tuple(leaves))


def parts_of(node: Node) -> KindParts:
    """An operation with its parameters, taken apart."""
    found = _kinds.get(node.kind)
    if found is None:
        numbers: list[int] = []
        leaves: list[int] = []
        if node.op == "input":
            outline: Hashable = ("input", node.rank, node.dtype.name)
        else:
            parts = [(k, x) for k, x in sorted(node.params.items()) if k != "serial"]
            outline = (node.op, *[(k, without(x, k, numbers, leaves)) for k, x in parts])
        number = _outlines.get(outline)
        if number is None:
            number = _outlines.setdefault(outline, next(_next_outline))
        found = _kinds[node.kind] = KindParts(number, tuple(numbers), tuple(leaves))
    return found


def without(x: Any, name: str, numbers: list[int], leaves: list[int]) -> Hashable:
    """A parameter without its numbers, which go to the end of the list."""
    place = len(numbers)
    outline = apart(x, numbers, leaves)
    if name == "leaves":
        leaves += range(place, len(numbers))
    return outline


def apart(x: Any, numbers: list[int], leaves: list[int]) -> Hashable:
    """The same of a part of a parameter."""
    if type(x) is int:
        numbers.append(x)
        return int
    if type(x) is float:
        numbers.append(FloatBits.of(x))
        return float
    if issubclass(type(x), tuple):
        return (type(x).__name__, *[apart(part, numbers, leaves) for part in x])
    if isinstance(x, Graph):
        found = dissection(x)
        leaves += [len(numbers) + k for k in found.leaves]
        numbers += found.numbers
        return found.outline
    if hasattr(x, "kwargs"):
        args = apart(x.args, numbers, leaves)
        return (type(x).__name__, args, apart(x.kwargs, numbers, leaves))
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
