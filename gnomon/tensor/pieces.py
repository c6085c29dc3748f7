"""A pending graph run operation by operation: a structure that is new needs no program of its own.

Where a line has brought forth several structures, a further one is likely to come once. Its
operations were met before, each with its fused program, and are run one after another: any split of
a graph gives the same bits (docs/decisions/0086). A structure that comes again is compiled whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.dtypes import DType
from gnomon.errors import IndexOutOfBounds
from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import Arena, Graph, Node, Sites, leaf_kind, topological
from gnomon.ir.provenance import inherit, user_site, waited
from gnomon.lazy import build
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.registry import facts_of
from gnomon.ops.view_primitives import STEPS
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import Settings, current
from gnomon.tensor import nans
from gnomon.tensor.borrowing import BORROWERS, Survey, part_of

if TYPE_CHECKING:
    from gnomon.program.executable import Executable

__all__ = ["is_passing", "run"]

STRUCTURES = 4
"""Programs that were compiled at one line before a further structure is run in pieces there."""
PASSES = 3
"""Times that a structure is run in pieces before it is compiled whole."""
PASSED_ON = frozenset({"detach", "barrier"})
"""Operations whose value is their input's."""
CALLS = CONTROL | {"region", "external"}
"""Operations that may have several results."""
INLINE = STEPS | {"const", "iota"}
"""Operations that are computed inside of what reads them."""
VIEWS = INLINE | PASSED_ON | {"input"}
IN_THE_CODE = frozenset({-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0})
"""Numbers that rewrites look for; others are read, so that each serves with the same program."""

_outlines: Recent[int, int] = memo(Recent())
"""How often a structure was met, whatever its sizes are."""
_whole: Recent[int, bool] = memo(Recent())
"""Structures with their sizes that were compiled whole."""
_kinds: Recent[tuple, int] = memo(Recent())
"""Operations with what they compute inside, by number."""
_next_kind = count()
_programs: Recent[tuple, Executable] = memo(Recent())
"""Programs of one operation, by kind, lines and settings."""


def is_passing(seen: Survey) -> bool:
    """Whether a structure without a program is better run in pieces; it counts as met."""
    rows = [
        (node.op, node.params.get("f") or node.params.get("name"), *parts_of(node))
        for node in seen.order
    ]
    outline = hash(tuple(rows))
    sizes = hash((outline, *[node.shape for node in seen.order]))
    if sizes in _whole:  # positions or numbers vary, and no program serves them all
        outline = hash((outline, seen.key))
    met = (_outlines.get(outline) or 0) + 1
    passing = (
        met <= PASSES
        and not seen.over_ranks
        and not nans.looked_for()  # who looks for one wants the whole program's lines
        and waited.get(user_site(), (0, 0.0))[0] >= STRUCTURES
        and current().allows("pieces")
    )
    # of what is compiled whole, further sizes are served by that program
    _outlines[outline] = met if passing else PASSES
    if not passing:
        _whole[sizes] = True
    return passing


def parts_of(node: Node) -> tuple[int, ...]:
    """The counts that tell a node's structure: of inputs, and of nodes inside."""
    body = node.params.get("body")
    return (len(node.inputs),) if body is None else (len(node.inputs), len(body.nodes))


class Term:
    """A value of the walk, or what is computed of values by whoever reads it.

    `places` are the numbers of the values that are read, each as often as it is.
    """

    __slots__ = ("inputs", "kind", "node", "places")

    def __init__(
        self, kind: int, places: tuple[int, ...], node: Node, inputs: tuple[Term, ...] | None
    ) -> None:
        self.kind, self.places, self.node, self.inputs = kind, places, node, inputs

    def image(self, arena: Arena, leaves: list[Node]) -> Node:
        """The term as a node; what it reads becomes inputs."""
        node = self.node
        if self.inputs is None:
            leaves.append(arena.input(node.shape, node.dtype))
            return leaves[-1]
        inputs = tuple([x.image(arena, leaves) for x in self.inputs])
        return arena.intern(node.kind, node.op, inputs, node.params)


class CallPiece:
    """One operation to run: nodes of its results, terms of its inputs, and places of values."""

    __slots__ = ("inputs", "kind", "nodes", "reads", "sites", "writes")

    def __init__(
        self, nodes: Sequence[Node], inputs: Sequence[Term], writes: Sequence[int], sites: Sites
    ) -> None:
        self.nodes, self.inputs, self.writes, self.sites = nodes, inputs, writes, sites
        self.kind = kind_of_call(nodes, inputs)
        self.reads = [place for term in inputs for place in term.places]

    def program(self, settings: Settings) -> Executable:
        """The program that computes it, under the lines that asked for it."""
        key = (self.kind, self.sites, settings)
        made = _programs.get(key)
        if made is None:
            arena, leaves = Arena(), []
            with inherit(()):  # a value's line is no part of the program that reads it
                images = tuple([term.image(arena, leaves) for term in self.inputs])
            with inherit(self.sites):
                results = [arena.intern(x.kind, x.op, images, x.params) for x in self.nodes]
            made = _programs[key] = build.build(Graph(leaves, results))
        return made

    def run(self, inputs: Sequence[DeviceBuffer], settings: Settings) -> list[DeviceBuffer]:
        """Run the piece's program; gives its results."""
        return self.program(settings).run(inputs)


class SlicePiece:
    """A slice of a value whose elements are neighbours: the same memory."""

    __slots__ = ("node", "reads", "writes")

    def __init__(self, node: Node, read: int, write: int) -> None:
        self.node, self.reads, self.writes = node, (read,), (write,)

    def run(self, inputs: Sequence[DeviceBuffer], _: Settings) -> list[DeviceBuffer]:
        """Cut the part; gives its value."""
        return [part_of(inputs[0], self.node)]


class JoinPiece:
    """Values one after another along an axis, by copies.

    A program for each count of them would be one more structure.
    """

    __slots__ = ("axis", "node", "reads", "writes")

    def __init__(self, node: Node, axis: int, reads: Sequence[int], write: int) -> None:
        self.node, self.axis, self.reads, self.writes = node, axis, reads, (write,)

    def run(self, inputs: Sequence[DeviceBuffer], _: Settings) -> list[DeviceBuffer]:
        """Concatenate the inputs; gives the value."""
        node, kind = self.node, self.node.dtype.numpy
        made = DeviceBuffer(node.size * node.dtype.itemsize)
        parts = [x.numpy(kind, y.shape) for x, y in zip(inputs, node.inputs, strict=True)]
        np.concatenate(parts, self.axis, out=made.numpy(kind, node.shape))
        return [made]


class PieceWalk:
    """The pieces of a graph, in order, and the values that are known."""

    def __init__(self, leaves: Iterable[Node]) -> None:
        self.values: list[DeviceBuffer | None] = []
        self.pieces: list[CallPiece | SlicePiece | JoinPiece] = []
        self.terms = {x: self.value(x, x.value) for x in leaves if x.value is not None}

    def value(self, node: Node, value: DeviceBuffer | None = None) -> Term:
        """A value that is known, or that a piece will give."""
        self.values.append(value)
        return known_at(len(self.values) - 1, node)

    def shown(self, node: Node, inputs: tuple[Term, ...]) -> Term:
        """The term of a view: memory that is there, or what its readers compute."""
        if inputs and inputs[0].inputs is None:
            (at,) = inputs[0].places
            if node.op == "slice" and are_neighbours(node):
                made = self.value(node)
                self.pieces.append(SlicePiece(node, at, *made.places))
                return made
            if node.op in BORROWERS - {"slice"}:
                return known_at(at, node)
        places = tuple([place for x in inputs for place in x.places])
        return Term(kind_of_call([node], inputs), places, node, inputs)

    def follow(self, roots: Iterable[Node], terms: dict[Node, Term]) -> None:
        """Add the pieces behind the roots, and the terms of all nodes on the way."""
        order = topological(roots, terms)
        calls: dict[tuple, list[Node]] = {}
        for node in order:
            if node.op in CALLS:
                calls.setdefault(call_of(node), []).append(node)
        for node in order:
            inputs = tuple([terms[x] for x in node.inputs])
            if node.op in PASSED_ON:
                terms[node] = inputs[0]
            elif node.op in CALLS:
                results = calls[call_of(node)]
                if results[0] is node:
                    terms.update(zip(results, self.called(results, inputs), strict=True))
            elif is_read(node):
                terms[node] = self.value(node, number(node.params["value"], node.dtype))
            elif node.op in INLINE:
                terms[node] = self.shown(node, inputs)
            else:
                (terms[node],) = self.piece([node], inputs, node.sites)

    def piece(self, nodes: Sequence[Node], inputs: Sequence[Term], sites: Sites) -> list[Term]:
        """Add a piece; its results."""
        made = list(map(self.value, nodes))
        writes = [place for term in made for place in term.places]
        self.pieces.append(CallPiece(nodes, inputs, writes, sites))
        return made

    def called(self, results: Sequence[Node], inputs: Sequence[Term]) -> list[Term]:
        """The results of a call; one is opened that is a structure of its own, or views alone."""
        params = results[0].params
        axis = axis_of_join(results[0])
        if axis is not None:
            made = self.value(results[0])
            reads = [self.stored(x) for x in inputs]
            self.pieces.append(JoinPiece(results[0], axis, reads, *made.places))
            return [made]
        body: Graph | None = params.get("body") if results[0].op == "region" else None
        if body is None or not (params["name"] == "backward" or is_views(body)):
            return self.piece(results, inputs, results[0].sites)
        terms = dict(zip(body.inputs, inputs, strict=True))
        wanted = [body.outputs[x.params["index"]] for x in results]
        self.follow(wanted, terms)
        return [terms[x] for x in wanted]

    def stored(self, term: Term) -> int:
        """The place of a term's value; a piece makes it where readers would compute it."""
        if term.inputs is not None:
            (term,) = self.piece([term.node], term.inputs, term.node.sites)
        return term.places[0]


def run(roots: Sequence[Node], leaves: Iterable[Node]) -> list[DeviceBuffer] | None:
    """The values of the roots, computed from those of the leaves.

    None where a position is outside of its axis: the whole program knows the axis that a user sees.
    """
    walk, settings = PieceWalk(leaves), current()
    walk.follow(roots, walk.terms)
    places = [walk.stored(walk.terms[root]) for root in roots]
    values = walk.values
    left = Counter(place for piece in walk.pieces for place in piece.reads)
    left.update(places)
    for piece in walk.pieces:
        try:
            outputs = piece.run([values[place] for place in piece.reads], settings)
        except IndexOutOfBounds:
            return None
        for place, made in zip(piece.writes, outputs, strict=True):
            values[place] = made
        for place in piece.reads:
            left[place] -= 1
            if not left[place]:  # nobody reads it any more
                values[place] = None
    return [values[place] for place in places]


def known_at(place: int, node: Node) -> Term:
    """The value at a place, with the shape of a node."""
    return Term(-1 - leaf_kind(node.shape, node.dtype)[0], (place,), node, None)


def axis_of_join(node: Node) -> int | None:
    """The axis along which a call joins values as they are; None of another call."""
    if not facts_of(node).joins:
        return None
    call = node.params["call"]
    axis = dict(call.kwargs).get("axis", call.args[1] if len(call.args) > 1 else 0)
    shape = node.shape
    plain = type(axis) is int and all(
        [x.dtype is node.dtype and x.size and len(x.shape) == len(shape) for x in node.inputs]
    )
    return axis if plain else None


def is_views(body: Graph) -> bool:
    """Whether a graph computes nothing but what its readers would."""
    return all([x.op in VIEWS for x in body])


def are_neighbours(node: Node) -> bool:
    """Whether the elements of a slice lie one after another."""
    whole = True
    for (_, _, step), n, size in zip(
        reversed(node.params["bounds"]),
        reversed(node.shape),
        reversed(node.inputs[0].shape),
        strict=True,
    ):
        if n > 1 and (step != 1 or not whole):
            return False
        whole = whole and n == size
    return True


def kind_of_call(nodes: Sequence[Node], inputs: Sequence[Term]) -> int:
    """The number that calls of these nodes on such inputs share: equal kinds, equal number."""
    key = (*[x.kind for x in nodes], *[x.kind for x in inputs])
    found = _kinds.get(key)
    if found is None:
        found = _kinds[key] = next(_next_kind)
    return found


def call_of(node: Node) -> tuple[Any, ...]:
    """The key that results of one call have in common."""
    params = node.params
    graphs = [id(params[name]) for name in sorted(params) if name not in ("index", "serial")]
    return (node.op, node.inputs, params.get("serial"), *graphs)


def is_read(node: Node) -> bool:
    """Whether a constant is a value for whoever reads it, and not built into programs."""
    if node.op != "const" or node.dtype.kind != "float":
        return False
    value = node.params["value"]
    return type(value) is float and isfinite(value) and value not in IN_THE_CODE


def number(value: float, dtype: DType) -> DeviceBuffer:
    """A number in memory."""
    return DeviceBuffer.of(np.asarray(value, dtype.numpy))
