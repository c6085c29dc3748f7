"""The walk over a pending graph that takes it apart into pieces, in order.

A piece is one operation, or all results of one call that are asked for, with what it computes
inside of itself: views of what it reads, and constants. Who runs pieces is pieces.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import count
from math import isfinite
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from gnomon.dtypes import DType
from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import Arena, Graph, Node, Sites, leaf_kind, topological
from gnomon.ir.provenance import inherit
from gnomon.ir.specializations import MOST_CALLERS, LatestEntries
from gnomon.lazy import build
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.registry import facts_of
from gnomon.ops.view_primitives import STEPS
from gnomon.program.executable import Executable
from gnomon.runtime.buffer import DeviceBuffer, size_class
from gnomon.settings import Settings
from gnomon.tensor.borrowing import BORROWERS, are_neighbours
from gnomon.tensor.piece_stretches import PASSED_ON, Stretch, stretch_key, stretch_of, stretches

__all__ = ["Piece", "PieceWalk", "Term"]

CALLS = CONTROL | {"region", "external"}
"""Operations that may have several results."""
INLINE = STEPS | {"const", "iota"}
"""Operations that are computed inside of what reads them."""
VIEWS = INLINE | PASSED_ON | {"input"}
IN_THE_CODE = frozenset({-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0})
"""Numbers that rewrites look for; others are read, so that each serves with the same program."""
MANY = 16
"""Nodes that are looked through for what was met before."""
PIECE, PASSED, NUMBER, SHOWN, JOINED, SEVERAL, OPENED = range(1, 8)
"""Ways to run a node: an operation to run, its input's value, a number, something computed by
its readers, values one after another, one of a call's results, the result of a graph inside."""

Term: TypeAlias = "tuple[int, tuple[int, ...], Node, tuple[Any, ...] | None]"
"""A value, or what is computed of values by whoever reads it: the number of its kind, the places of
the values that are read, each as often as it is, its node, and the terms of its inputs: None of a
value."""
Piece: TypeAlias = (
    "tuple[PieceProgram | Stretch | int, list[int], int, Sequence[Node], Sequence[Term]]"
)
"""The program, or the axis of a join; the places that are read, the first that is written; nodes of
the results and terms of the inputs."""

_kinds: Recent[tuple, int] = memo(Recent())
"""Numbers of the kinds of nodes that readers compute."""
_next_kind = count()
_ways: Recent[int, int] = memo(Recent())
"""Ways to run nodes by their kind."""
_offsets: Recent[tuple, int] = memo(Recent())
"""The bytes before a slice of neighbours, by kind and what it is cut from; below 0 of others."""
_numbers: Recent[tuple, DeviceBuffer] = memo(Recent())
"""Numbers in memory."""
_programs: dict[Settings, Recent[tuple, PieceProgram]] = memo({})
"""The programs of pieces, by the kinds of what they compute and read."""
_stretches: dict[Settings, Recent[tuple, Stretch | bool]] = memo({})
"""Walked stretches by key: True after the first walk, False without table rows."""
by_serial = attrgetter("serial")


class PieceProgram:
    """The program of all pieces of a kind, and its rows of a longer table."""

    __slots__ = ("_by_lines", "blocks", "rows")

    def __init__(self, nodes: Sequence[Node], inputs: Sequence[Term]) -> None:
        made = program_of(nodes, inputs)
        self._by_lines, self.rows = LatestEntries[Sites, Executable](MOST_CALLERS), made.rows()
        self._by_lines[nodes[0].sites] = made
        self.blocks = tuple(map(size_class, made.plan.sizes))
        """The size classes of its results."""

    def under(self, nodes: Sequence[Node], inputs: Sequence[Term]) -> Executable:
        """The program under the source locations of a piece."""
        return self._by_lines.found(nodes[0].sites, lambda _: program_of(nodes, inputs))


class PieceWalk:
    """The pieces of a graph, in order, and the places of values.

    `owners` has for each place the one whose memory it views, from the byte in `shifts` on; `last`
    has for each owner the number of the last piece that reads it.
    """

    def __init__(self, leaves: Iterable[Node], settings: Settings, apart: bool = False) -> None:
        self.apart = apart
        self.owners: list[int] = []
        self.shifts: list[int] = []
        self.last: list[int] = []
        self.sizes: list[int] = []
        self.parts: dict[int, tuple[int, int]] = {}
        """Values that are parts of others, as they were read, and the bytes before."""
        self.known: dict[int, DeviceBuffer] = {}
        """Values that are there."""
        self.numbers: set[int] = set()
        """Those that other graphs have too."""
        self.pieces: list[Piece] = []
        programs = _programs.get(settings)
        self._programs = _programs.setdefault(settings, Recent()) if programs is None else programs
        known = _stretches.get(settings)
        self._stretches = _stretches.setdefault(settings, Recent()) if known is None else known
        self.terms = {x: self.given(x, x.value) for x in leaves if x.value is not None}

    def given(self, node: Node, value: DeviceBuffer) -> Term:
        """The term of a known value."""
        self.known[len(self.owners)] = value
        return self.value(node)

    def place(self, nbytes: int) -> int:
        """A new place for a value of so many bytes."""
        place = len(self.owners)
        self.owners.append(place)
        self.shifts.append(0)
        self.last.append(-1)
        self.sizes.append(nbytes)
        return place

    def value(self, node: Node) -> Term:
        """A new place for a piece's result."""
        place = self.place((node.size or 1) * node.dtype.itemsize)
        return -1 - leaf_kind(node.shape, node.dtype)[0], (place,), node, None

    def follow(self, order: Iterable[Node], terms: dict[Node, Term]) -> None:
        """Add the pieces of nodes, operands first, and the terms of all of them."""
        nodes = [x for x in order if x not in terms]
        if self.apart or len(nodes) < MANY:
            self.walk_through(nodes, terms)
            return
        known = self._stretches
        for part in stretches(nodes):
            key, reads = stretch_key(part, terms)
            found = known.get(key)
            if isinstance(found, Stretch):
                found.add_to(self, part, reads, terms)
                continue
            begin = len(self.pieces), len(self.owners)
            self.walk_through(part, terms)
            if found is None:
                known[key] = True
            elif found:
                known[key] = stretch_of(self, begin, reads, part, terms) or False

    def walk_through(self, order: Sequence[Node], terms: dict[Node, Term]) -> None:
        """Add the pieces of nodes one by one."""
        calls, ways = calls_among(order), _ways
        for node in order:
            if node in terms:
                continue
            way = ways.get(node.kind) or way_of(node)
            inputs = [terms[x] for x in node.inputs]
            if way == PIECE:
                (terms[node],) = self.piece((node,), inputs)
            elif way == PASSED:
                terms[node] = inputs[0]
            elif way == NUMBER:
                self.numbers.add(len(self.owners))
                terms[node] = self.given(node, number(node.params["value"], node.dtype))
            elif way == SHOWN:
                terms[node] = self.shown(node, inputs)
            elif way == JOINED:
                terms[node] = self.joined(node, inputs)
            else:
                results = calls[call_of(node)]
                made = (self.opened if way == OPENED else self.piece)(results, inputs)
                terms.update(zip(results, made, strict=True))

    def shown(self, node: Node, inputs: Sequence[Term]) -> Term:
        """The term of a view: existing memory, or an expression that readers compute."""
        if inputs and inputs[0][3] is None and node.op in BORROWERS:
            (at,) = inputs[0][1]
            if node.op != "slice":
                return -1 - leaf_kind(node.shape, node.dtype)[0], (at,), node, None
            offset = offset_of(node)
            if offset >= 0:
                term = self.value(node)
                (place,) = term[1]
                self.owners[place], self.shifts[place] = self.owners[at], self.shifts[at] + offset
                self.parts[place] = at, offset
                return term
        key = (node.kind, *[x[0] for x in inputs])
        kind = _kinds.found(key, partial(next, _next_kind))
        return kind, tuple([place for x in inputs for place in x[1]]), node, tuple(inputs)

    def piece(self, nodes: Sequence[Node], inputs: Sequence[Term]) -> list[Term]:
        """Add a piece; returns its results."""
        key = (*[x.kind for x in nodes], *[x[0] for x in inputs])
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = PieceProgram(nodes, inputs)
        reads = [place for x in inputs for place in x[1]]
        return self.add(program, reads, nodes, inputs)

    def add(
        self,
        program: PieceProgram | int,
        reads: list[int],
        nodes: Sequence[Node],
        inputs: Sequence[Term],
    ) -> list[Term]:
        """Add a piece with this program and these reads; returns its results."""
        number, owners, last = len(self.pieces), self.owners, self.last
        for place in reads:
            last[owners[place]] = number
        self.pieces.append((program, reads, len(owners), nodes, inputs))
        return [self.value(x) for x in nodes]

    def joined(self, node: Node, inputs: Sequence[Term]) -> Term:
        """The concatenation of values along an axis, without a program per count."""
        reads = [self.stored(x) for x in inputs]
        axis = axis_of_join(node)
        assert axis is not None, "a join has an axis"
        return self.add(axis, reads, [node], inputs)[0]

    def opened(self, results: Sequence[Node], inputs: Sequence[Term]) -> list[Term]:
        """The results of a graph that is a separate structure, or views alone."""
        body: Graph = results[0].params["body"]
        terms = dict(zip(body.inputs, inputs, strict=True))
        wanted = [body.outputs[x.params["index"]] for x in results]
        order = [x for x in topological(wanted, terms) if x not in terms]
        (self.follow if results[0].params["name"] == "backward" else self.walk_through)(
            order, terms
        )
        return [terms[x] for x in wanted]

    def stored(self, term: Term) -> int:
        """The place of a term's value; a piece computes it if readers would otherwise."""
        if term[3] is not None:
            (term,) = self.piece((term[2],), term[3])
        return term[1][0]


def program_of(nodes: Sequence[Node], inputs: Sequence[Term]) -> Executable:
    """The program of a piece, under the piece's source locations."""
    arena, leaves = Arena(), []
    with inherit(()):  # a value's line is no part of the program that reads it
        images = tuple([image(term, arena, leaves) for term in inputs])
    with inherit(nodes[0].sites):
        results = [arena.intern(x.kind, x.op, images, x.params) for x in nodes]
    return build.build(Graph(leaves, results))


def image(term: Term, arena: Arena, leaves: list[Node]) -> Node:
    """A term as a node, with its operands as inputs."""
    _, _, node, inputs = term
    if inputs is None:
        leaves.append(arena.input(node.shape, node.dtype))
        return leaves[-1]
    return arena.intern(
        node.kind, node.op, tuple([image(x, arena, leaves) for x in inputs]), node.params
    )


def way_of(node: Node) -> int:
    """The cached way in which nodes of a kind are run."""
    found = _ways[node.kind] = found_way(node)
    return found


def found_way(node: Node) -> int:
    """The way in which a node is run."""
    if node.op in PASSED_ON:
        return PASSED
    if node.op == "region":
        body: Graph = node.params["body"]
        if axis_of_join(node) is not None:
            return JOINED
        if node.params["name"] == "backward" or all([x.op in VIEWS for x in body]):
            return OPENED
        return SEVERAL if len(body.outputs) > 1 else PIECE
    if node.op in CALLS:
        return SEVERAL
    if is_read(node):
        return NUMBER
    return SHOWN if node.op in INLINE else PIECE


def calls_among(order: Iterable[Node]) -> dict[tuple, list[Node]]:
    """The results among these nodes of each call with several results."""
    calls: dict[tuple, list[Node]] = {}
    for node in order:
        if node.op in CALLS and (_ways.get(node.kind) or way_of(node)) >= SEVERAL:
            calls.setdefault(call_of(node), []).append(node)
    return calls


def axis_of_join(node: Node) -> int | None:
    """The axis along which a call concatenates values; None for other calls."""
    if not facts_of(node).joins:
        return None
    call = node.params["call"]
    axis = dict(call.kwargs).get("axis", call.args[1] if len(call.args) > 1 else 0)
    shape = node.shape
    plain = type(axis) is int and all(
        [x.dtype is node.dtype and x.size and len(x.shape) == len(shape) for x in node.inputs]
    )
    return axis if plain else None


def offset_of(node: Node) -> int:
    """The byte offset of a contiguous slice; below 0 for other slices."""
    shape = node.inputs[0].shape
    key = (node.kind, shape, node.dtype)
    return _offsets.found(key, lambda: start_of(node, shape) if are_neighbours(node) else -1)


def start_of(node: Node, shape: Sequence[int]) -> int:
    """The bytes before the first element of a slice."""
    start = 0
    for (first, _, _), n in zip(node.params["bounds"], shape, strict=True):
        start = start * n + first
    return start * node.dtype.itemsize if node.size else 0


def call_of(node: Node) -> tuple[Any, ...]:
    """The key that results of one call have in common."""
    params = node.params
    if node.op == "region" and "serial" not in params:
        return (node.inputs, id(params["body"]), id(params["call"]))
    graphs = [id(params[name]) for name in sorted(params) if name not in ("index", "serial")]
    return (node.op, node.inputs, params.get("serial"), *graphs)


def is_read(node: Node) -> bool:
    """Whether a constant is stored as a value for readers, instead of being part of programs."""
    if node.op != "const" or node.dtype.kind != "float":
        return False
    value = node.params["value"]
    return type(value) is float and isfinite(value) and value not in IN_THE_CODE


def number(value: float, dtype: DType) -> DeviceBuffer:
    """A read-only number in memory."""
    return _numbers.found((value, dtype), lambda: DeviceBuffer.of(np.asarray(value, dtype.numpy)))
