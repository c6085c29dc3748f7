"""Graphs without their numbers, and with others in place of these.

The numbers are the sizes of inputs and all integers and floats among parameters, in the order of
nodes; what is left is the outline. Two graphs of one outline are one program at two shapes, where
they agree in the numbers that are no sizes: axes, and which of several results or arguments.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from itertools import chain, count
from typing import Any, NamedTuple, cast

from gnomon.ir.memo import Recent, hashlib, memo, typed
from gnomon.ir.node import PRIMITIVES, Arena, Graph, Node
from gnomon.ir.provenance import inherit
from gnomon.ir.sizes import SymInt
from gnomon.ir.substitution import Rules, names_of, substituted
from gnomon.ir.sym_float import FloatBits, SymFloat, real

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
    """An operation with its parameters, taken apart; its outline is a number.

    The numbers of graphs among parameters come after its own. One that stands inside of the
    operation several times counts once: graphs inside of graphs would double at each level.
    """

    outline: int
    numbers: Numbers
    leaves: tuple[int, ...]
    fixed: tuple[int, ...]
    graphs: tuple[str, ...]
    """The names of parameters with graphs inside."""


class NumberPlaces:
    """The numbers found so far, and which of them are leaf counts or fixed."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.leaves: list[int] = []
        self.fixed: list[int] = []
        self.rows: list[int] = []
        """Which of the graphs inside are the same."""

    def add(self, part: KindParts | NumberPlaces) -> None:
        """The numbers of a part."""
        if part.numbers:
            place = len(self.numbers)
            self.leaves += [place + k for k in part.leaves]
            self.fixed += [place + k for k in part.fixed]
            self.numbers += part.numbers

    def parts(self) -> tuple[Numbers, tuple[int, ...], tuple[int, ...]]:
        """The numbers, and which of them are leaf counts or fixed."""
        return tuple(self.numbers), tuple(self.leaves), tuple(self.fixed)


_kinds: dict[int, KindParts] = memo({})
_inside: Recent[tuple[Any, ...], list[NumberPlaces]] = memo(Recent())
"""What the graphs inside of results of one call add to a graph that is taken apart."""
_outlines: dict[Hashable, int] = memo({})
_next_outline = count()


def dissection(graph: Graph) -> Dissection:
    """A graph taken apart."""
    return dissection_of(graph.inputs, graph.nodes, graph.outputs)


def dissection_of(
    inputs: Sequence[Node], nodes: Sequence[Node], outputs: Sequence[Node]
) -> Dissection:
    """The graph of these nodes taken apart; any nodes may be its inputs, and count as leaves."""
    place = {x: k for k, x in enumerate(inputs)}
    nodes = [x for x in nodes if x not in place]
    found, calls = NumberPlaces(), dict[Hashable, list[Node]]()
    found.numbers += [n for x in inputs for n in x.shape]
    rows = [outline_number(("input", len(x.shape), x.dtype.name)) for x in inputs]
    for node in nodes:
        place[node] = len(place)
        parts = parts_of(node)
        rows += (parts.outline, len(node.inputs), *[place[x] for x in node.inputs])
        if parts.graphs:
            calls.setdefault(node.inputs or node, []).append(node)
    rows += [len(inputs), *[place[x] for x in outputs]]
    inside: dict[Node, NumberPlaces] = {}
    for results in calls.values():
        key = tuple([part for x in results for part in (x.kind, *[y.asked for y in graphs_of(x)])])
        inside.update(zip(results, _inside.found(key, partial(inside_of, results)), strict=True))
    for node in nodes:
        found.add(parts_of(node))
        if node in inside:
            found.add(inside[node])
            rows += inside[node].rows
    digest = hashlib.blake2b(array("q", rows).tobytes(), digest_size=16).digest()
    return Dissection(digest, *found.parts())


def graphs_of(node: Node) -> Iterator[Graph]:
    """The graphs among the parameters of a node."""
    return chain.from_iterable([graphs_in(node.params[k]) for k in parts_of(node).graphs])


def graphs_in(value: Any) -> Iterator[Graph]:
    """The graphs in a parameter."""
    stack = [value]
    while stack:
        x = stack.pop()
        if isinstance(x, Graph):
            yield x
        elif issubclass(type(x), tuple):
            stack += reversed(x)
        elif hasattr(x, "kwargs"):
            stack += (x.kwargs, x.args)


def identity_of(graph: Graph) -> Hashable:
    """The structure of a graph and the user's lines in it."""
    return graph, graph.asked


NestedGraphs = dict[Hashable, Any] | None
"""Graphs inside of one operation; None outside, where equal ones may be equal by chance.

Operations of the same operands share them: most are the results of one call.
"""


def inside_of(results: Sequence[Node]) -> list[NumberPlaces]:
    """For each result of a call what graphs inside of it add to those of the results before."""
    within, made = dict[Hashable, Any](), [NumberPlaces() for _ in results]
    for node, found in zip(results, made, strict=True):
        walk(node, found, within)
    return made


def walk(node: Node, found: NumberPlaces, within: dict[Hashable, Any]) -> None:
    """Find the numbers of graphs inside of a node; `rows` says which of these are the same."""
    for graph in graphs_of(node):
        key, before = identity_of(graph), len(within)
        found.rows.append(within.setdefault(key, before))
        if len(within) > before:
            found.numbers += [n for x in graph.inputs for n in x.shape]
            for x in graph.nodes:
                if x not in graph.inputs:
                    found.add(parts_of(x))
                    walk(x, found, within)


def parts_of(node: Node) -> KindParts:
    """An operation with its parameters, taken apart."""
    known = _kinds.get(node.kind)
    if known is None:
        found = NumberPlaces()
        parts = [(k, x) for k, x in sorted(node.params.items()) if k != "serial"]
        outline = outline_number((node.op, *[(k, without(x, k, found)) for k, x in parts]))
        graphs = tuple([k for k, x in parts if any(graphs_in(x))])
        known = _kinds[node.kind] = KindParts(outline, *found.parts(), graphs)
    return known


def outline_number(outline: Hashable) -> int:
    """The number of an outline."""
    number = _outlines.get(outline)
    return _outlines.setdefault(outline, next(_next_outline)) if number is None else number


def without(x: Any, name: str, found: NumberPlaces) -> Hashable:
    """The shape-erased form of a parameter; `found` learns its numbers and which are fixed."""
    place = len(found.numbers)
    outline = apart(x, found)
    if name == "leaves":
        found.leaves += range(place, len(found.numbers))
    elif name in STRUCTURAL:
        found.fixed += range(place, len(found.numbers))
    return outline


def apart(x: Any, found: NumberPlaces) -> Hashable:
    """The shape-erased form of a parameter; its numbers are appended to `found`."""
    if type(x) in (int, SymInt):
        found.numbers.append(x)
        return int
    if type(x) in (float, SymFloat):
        found.numbers.append(FloatBits.of(x) if type(x) is float else x.bits)
        return float
    if issubclass(type(x), tuple):
        name = type(x).__name__
        return (name, *[without(part, name, found) for part in x])
    if isinstance(x, Graph):
        return dissection(x).outline
    kind = cast(Any, type(x))
    names = names_of(kind)
    if names:
        return (kind.__name__, *[without(getattr(x, name), name, found) for name in names])
    return typed(x)


def renumbered(
    graph: Graph, numbers: Iterator[Any], known: NestedGraphs = None, counts: Any = None
) -> Graph:
    """A graph with other numbers, in an arena of its own.

    counts: takes for each count of leaves that of canonical order, of these sizes, or None.
    """
    arena, made, calls = Arena(), dict[Node, Node](), dict[Any, dict[Hashable, Any]]()
    for x in graph.inputs:
        with inherit(x.sites):
            made[x] = arena.input(tuple([next(numbers) for _ in x.shape]), x.dtype)
    for node in graph.nodes:
        if node in made:
            continue
        within = calls.setdefault(node.inputs or node, {}) if known is None else known
        inputs = tuple([made[x] for x in node.inputs])
        if counts is not None and (unknown := [None] * len(parts_of(node).leaves)):
            counts += PRIMITIVES[node.op].leaves(inputs, node.params) or unknown
        params = renumbered_params(node, numbers, within, counts)
        with inherit(node.sites):
            made[node] = arena.node(node.op, inputs, **params)
    return Graph([made[x] for x in graph.inputs], [made[x] for x in graph.outputs])


def renumbered_params(
    node: Node, numbers: Iterator[Any], known: dict[Hashable, Any], counts: list[Any] | None = None
) -> dict[str, Any]:
    """The parameters of a node with other numbers: its own, then those of graphs inside."""
    parts = parts_of(node)
    own = iter([next(numbers) for _ in parts.numbers])
    for inner in graphs_of(node):
        if identity_of(inner) not in known:
            known[identity_of(inner)] = renumbered(inner, numbers, known, counts)
    rules: Rules = {
        **dict.fromkeys((int, SymInt), lambda _: next(own)),
        **dict.fromkeys((float, SymFloat), lambda _: real(next(own))),
        Graph: lambda x: known[identity_of(x)],
    }
    names = sorted(name for name in node.params if name != "serial")
    params = {name: substituted(node.params[name], rules) for name in names}
    return params | ({"serial": node.params["serial"]} if "serial" in node.params else {})
