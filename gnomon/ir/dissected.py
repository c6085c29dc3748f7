"""Split graphs into an outline without numbers and the numbers, and replace the numbers.

The numbers are the sizes of inputs and all integers and floats among parameters, in the order of
nodes; the rest is the outline. Two graphs of one outline are one program at two shapes, if they
agree in the numbers that are no sizes: axes, and indices of results or arguments.
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
"""Parameters, and classes of parts of them, whose numbers are not sizes."""


class Dissection(NamedTuple):
    """A graph split into a digest of its outline, valid in this process, and its numbers."""

    outline: bytes
    numbers: Numbers
    leaves: tuple[int, ...]
    """The positions of counts of leaves, which divide sizes."""
    fixed: tuple[int, ...]
    """The positions of numbers that are not sizes."""

    @property
    def structure(self) -> Numbers:
        """The numbers that are not sizes."""
        return tuple([self.numbers[k] for k in self.fixed])


class KindParts(NamedTuple):
    """An operation and its parameters, split into the outline's number and the numbers.

    The numbers of graphs among parameters come after its own. A graph that occurs several times in
    the operation counts once; otherwise nested graphs would double the numbers at each level.
    """

    outline: int
    numbers: Numbers
    leaves: tuple[int, ...]
    fixed: tuple[int, ...]
    graphs: tuple[str, ...]
    """The names of parameters that contain graphs."""


class NumberPlaces:
    """The numbers found so far, and which of them are leaf counts or fixed."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.leaves: list[int] = []
        self.fixed: list[int] = []
        self.rows: list[int] = []
        """Per nested graph, a number that equal graphs share."""

    def add(self, part: KindParts | NumberPlaces) -> None:
        """Append the numbers of a part."""
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
"""Cache of the numbers that graphs nested in the results of one call add to a dissection."""
_outlines: dict[Hashable, int] = memo({})
_next_outline = count()


def dissection(graph: Graph) -> Dissection:
    """Split a graph into its outline and its numbers."""
    return dissection_of(graph.inputs, graph.nodes, graph.outputs)


def dissection_of(
    inputs: Sequence[Node], nodes: Sequence[Node], outputs: Sequence[Node]
) -> Dissection:
    """Split the graph of these nodes; any nodes may be `inputs`, and count as leaves."""
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
    """Yield the graphs in a parameter, at any depth of tuples and calls."""
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
    """A key of a graph: its structure, and the user's lines in it."""
    return graph, graph.asked


NestedGraphs = dict[Hashable, Any] | None
"""Graphs nested in one operation, by key; None outside, where equal ones may differ by size.

Most operations of the same operands are the results of one call, and share them."""


def inside_of(results: Sequence[Node]) -> list[NumberPlaces]:
    """For each result of a call, the numbers of its graphs that earlier results do not have."""
    within, made = dict[Hashable, Any](), [NumberPlaces() for _ in results]
    for node, found in zip(results, made, strict=True):
        walk(node, found, within)
    return made


def walk(node: Node, found: NumberPlaces, within: dict[Hashable, Any]) -> None:
    """Find the numbers of graphs nested in a node; `rows` records which graphs are the same."""
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
    """Split an operation and its parameters into outline and numbers."""
    known = _kinds.get(node.kind)
    if known is None:
        found = NumberPlaces()
        parts = [(k, x) for k, x in sorted(node.params.items()) if k != "serial"]
        outline = outline_number((node.op, *[(k, erase_sizes(x, k, found)) for k, x in parts]))
        graphs = tuple([k for k, x in parts if any(graphs_in(x))])
        known = _kinds[node.kind] = KindParts(outline, *found.parts(), graphs)
    return known


def outline_number(outline: Hashable) -> int:
    """The number that stands for an outline in this process."""
    number = _outlines.get(outline)
    return _outlines.setdefault(outline, next(_next_outline)) if number is None else number


def erase_sizes(x: Any, name: str, found: NumberPlaces) -> Hashable:
    """The shape-erased form of a parameter; its numbers, and which are fixed, go to `found`."""
    place = len(found.numbers)
    outline = without_sizes(x, found)
    if name == "leaves":
        found.leaves += range(place, len(found.numbers))
    elif name in STRUCTURAL:
        found.fixed += range(place, len(found.numbers))
    return outline


def without_sizes(x: Any, found: NumberPlaces) -> Hashable:
    """The shape-erased form of a parameter; its numbers are appended to `found`."""
    if type(x) in (int, SymInt):
        found.numbers.append(x)
        return int
    if type(x) in (float, SymFloat):
        found.numbers.append(FloatBits.of(x) if type(x) is float else x.bits)
        return float
    if issubclass(type(x), tuple):
        name = type(x).__name__
        return (name, *[erase_sizes(part, name, found) for part in x])
    if isinstance(x, Graph):
        return dissection(x).outline
    kind = cast(Any, type(x))
    names = names_of(kind)
    if names:
        return (kind.__name__, *[erase_sizes(getattr(x, name), name, found) for name in names])
    return typed(x)


def renumbered(
    graph: Graph, numbers: Iterator[Any], known: NestedGraphs = None, counts: Any = None
) -> Graph:
    """A copy of a graph with other numbers, in an arena of its own.

    counts: receives the canonical number of leaves for each count of leaves, or None.
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
    """A node's parameters with other numbers: its own first, then those of nested graphs."""
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
