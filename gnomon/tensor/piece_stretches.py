"""Stretches of pieces that come again: rows of a table that are copied, and no walk.

A new structure mostly repeats what others, and itself, had before: one more observation, one more
layer. The nodes of a graph are cut into stretches at places that their operations alone decide; a
stretch whose nodes read each other as those of an earlier one has its rows, at other addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.ir.node import Node
from gnomon.runtime.joined import ProgramRows, joined_rows
from gnomon.schedule.memory import in_lines

if TYPE_CHECKING:
    from gnomon.tensor.piece_walk import PieceWalk, Term

__all__ = ["PASSED_ON", "Stretch", "stretch_key", "stretch_of", "stretches"]

AROUND = 8
"""The number of nodes on both sides that decide whether nodes are cut at a place."""
LEAST, MOST = 4, 64
"""Nodes of a stretch."""
FULL = 1 << 16
"""Bytes of a stretch's values, which are given back together: larger ones are walked through."""
PASSED_ON = frozenset({"detach", "barrier"})
"""Operations whose value is their input's."""
OWN, READ, SHOWN, PASSED = range(4)
"""Kinds of nodes' values: computed by the stretch, read by it, computed by readers,
its input's."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def stretches(nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
    """Nodes in order, cut into stretches so that equal parts of two lists are mostly cut alike."""
    mixed = (kind_numbers(nodes) * GOLDEN) >> np.uint64(32)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(mixed, AROUND), 2 * AROUND + 1).max(1)
    begin, end = 0, len(nodes)
    for place in (*np.flatnonzero(mixed == around).tolist(), end):
        if place < end and nodes[place].inputs == nodes[place - 1].inputs:
            continue  # they may be results of one call
        while place - begin > MOST:
            yield nodes[begin : begin + MOST]
            begin += MOST
        if place - begin >= LEAST or place == end:
            yield nodes[begin:place]
            begin = place


def kind_numbers(nodes: Sequence[Node]) -> np.ndarray:
    """The kinds of nodes; their numbers follow from the order in which the process met them."""
    return np.array([x.kind for x in nodes], np.uint64)


def stretch_key(
    nodes: Sequence[Node], terms: Mapping[Node, Term]
) -> tuple[tuple[int, ...], list[int]]:
    """A key of nodes and of their reads of each other, and the positions of their operands."""
    key: list[int] = []
    reads: list[int] = []
    numbers: dict[Node, int] = {}
    for node in nodes:
        key += (node.kind, len(node.inputs))
        for x in node.inputs:
            number = numbers.get(x)
            if number is None:
                number = numbers[x] = -1 - len(numbers)
                kind, places, _, _ = terms[x]
                key.append(kind)
                reads += places
            key.append(number)
        numbers[node] = len(numbers)
    if len({*reads}) < len(reads):
        key += [reads.index(place) for place in reads]
    return tuple(key), reads


class Stretch:
    """The pieces of a stretch as one, with one memory block for its values.

    Its inputs are the values that its nodes read, then numbers.
    """

    __slots__ = ("blocks", "numbers", "rows", "shown", "sizes", "spots")

    def __init__(
        self,
        rows: ProgramRows,
        numbers: Sequence[tuple[int, Any]],
        spots: Sequence[tuple[int, int]],
        sizes: Sequence[int],
        shown: Sequence[tuple[int, int, int]],
    ) -> None:
        self.rows, self.numbers = rows, numbers
        self.spots, self.sizes = spots, sizes
        """For each value which of the addresses it counts from, where from, and its bytes."""
        self.shown = shown
        """For each node what its value is, its kind, and which of the values."""
        self.blocks = (block_of(spots, sizes),)

    def add_to(
        self, walk: PieceWalk, nodes: Sequence[Node], reads: list[int], terms: dict[Node, Term]
    ) -> None:
        """Add the stretch's pieces to a walk, and the terms of its nodes."""
        owners, shifts, last = walk.owners, walk.shifts, walk.last
        for nbytes, value in self.numbers:
            reads.append(walk.place(nbytes))
            walk.known[reads[-1]] = value
        number, base = len(walk.pieces), walk.place(self.blocks[0])
        for place in reads:
            last[owners[place]] = number
        walk.pieces.append((self, reads, base, nodes[:1], ()))
        given = [(owners[place], shifts[place]) for place in reads]
        given.append((base, 0))
        for which, shift in self.spots:
            owner, before = given[which]
            owners.append(owner)
            shifts.append(before + shift)
        last += [-1] * len(self.spots)
        walk.sizes += self.sizes
        for node, (way, kind, which) in zip(nodes, self.shown, strict=True):
            if way == OWN:
                terms[node] = kind, (base + 1 + which,), node, None
            elif way == READ:
                terms[node] = kind, (reads[which],), node, None
            elif way == PASSED:
                terms[node] = terms[node.inputs[0]]
            else:
                inputs = tuple([terms[x] for x in node.inputs])
                terms[node] = kind, tuple([k for x in inputs for k in x[1]]), node, inputs


def block_of(spots: Sequence[tuple[int, int]], sizes: Sequence[int]) -> int:
    """The size in bytes of the memory block with a stretch's values."""
    base = max([which for which, _ in spots], default=0)
    ends = [
        shift + size for (which, shift), size in zip(spots, sizes, strict=True) if which == base
    ]
    return in_lines(max(ends, default=1))


def stretch_of(
    walk: PieceWalk,
    begin: tuple[int, int],
    reads: Sequence[int],
    nodes: Sequence[Node],
    terms: Mapping[Node, Term],
) -> Stretch | None:
    """The stretch walked since a given piece and place; None if it has no table rows."""
    piece, first = begin
    pieces, places = walk.pieces[piece:], range(first, len(walk.owners))
    plain = [getattr(program, "rows", None) for program, *_ in pieces]
    if not all([rows is not None and rows.needs.alone for rows in plain]) or not pieces:
        return None
    if any([isinstance(program, Stretch) for program, *_ in pieces]):
        return None
    fixed = [place for place in places if place in walk.known]
    order = {place: k for k, place in reversed([*enumerate([*reads, *fixed])])}
    base, end = len(reads) + len(fixed), 0
    spots: list[tuple[int, int]] = []
    for place in places:
        if place in walk.parts:
            at, shift = walk.parts[place]
            which, before = spots[at - first] if at >= first else (order[at], 0)
            spots.append((which, before + shift))
        elif place in order:
            spots.append((order[place], 0))
        else:
            spots.append((base, end))
            end += in_lines(walk.sizes[place])
    if not 0 < end <= FULL:
        return None
    rows = []
    for program, given, at, made, _ in pieces:
        used = (*given, *range(at, at + len(made)))
        ways = [spots[x - first] if x >= first else (order[x], 0) for x in used]
        rows.append((program.rows, [*ways, (base + 1, 0)]))
    shown = [x for node in nodes if (x := shown_as(node, terms[node], first, order))]
    if len(shown) < len(nodes):
        return None
    numbers = [(walk.sizes[place], walk.known[place]) for place in fixed]
    sizes = [walk.sizes[place] for place in places]
    return Stretch(joined_rows(rows), numbers, spots, sizes, shown)


def shown_as(
    node: Node, term: Term, first: int, order: Mapping[int, int]
) -> tuple[int, int, int] | None:
    """The row of `Stretch.shown` of a node: its way, its kind, and the number of the value.

    None for values that a graph inside computes for readers.
    """
    kind, places, computed, inputs = term
    if node.op in PASSED_ON:
        return PASSED, kind, 0
    if inputs is not None:
        return (SHOWN, kind, 0) if computed is node else None
    return (OWN, kind, places[0] - first) if places[0] >= first else (READ, kind, order[places[0]])
