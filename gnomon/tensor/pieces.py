"""A pending graph run operation by operation: a structure that is new needs no program of its own.

Where a line has brought forth several structures, a further one is likely to come once. Its
operations were met before, each with its fused program, and are run one after another: any split of
a graph gives the same bits (docs/decisions/0086). A structure that comes again is compiled whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_int64

import numpy as np

from gnomon.errors import IndexOutOfBounds
from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import Node
from gnomon.ir.provenance import user_site, waited
from gnomon.runtime import events
from gnomon.runtime.buffer import DeviceBuffer, memory, others, size_class
from gnomon.runtime.joined import JoinedPrograms
from gnomon.settings import current
from gnomon.tensor import nans
from gnomon.tensor.borrowing import Survey
from gnomon.tensor.piece_walk import Piece, PieceWalk, by_serial

__all__ = ["is_passing", "run"]

STRUCTURES = 4
"""Programs that were compiled at one line before a further structure is run in pieces there."""
PASSES = 3
"""Times that a structure is run in pieces before it is compiled whole."""

LITTLE = 1 << 14
"""Elements of a node in the mean, below which a structure takes no longer in pieces than it would
take to find the sizes of a program that serves several."""

_outlines: Recent[int, int] = memo(Recent())
"""Numbers of occurrences of structures, without sizes."""
_latest: Recent[int, int] = memo(Recent())
"""For structures with their sizes the positions and numbers of the latest; VARYING of several."""
VARYING = 0
_whole: Recent[int, bool] = memo(Recent())
"""Structures that were compiled whole, whatever their sizes are."""
_names: Recent[int, int] = memo(Recent())
"""Operations without their sizes, by kind."""


def is_passing(seen: Survey) -> bool:
    """Whether a structure without a program is better run in pieces; records an occurrence."""
    names, key = _names, hash(seen.key) or 1
    outline = general = hash(tuple([names.get(x.kind) or name_of(x) for x in seen.order]))
    sizes = hash((outline, *[node.shape for node in seen.order]))
    little = sum([x.size for x in seen.order]) < LITTLE * len(seen.order)
    if _latest.get(sizes) not in (None, key):
        key = VARYING
    _latest[sizes] = key
    # no program serves other positions, and of what was compiled whole one serves further sizes
    if key == VARYING or (little and general not in _whole):
        outline = hash((outline, seen.key))
    met = (_outlines.get(outline) or 0) + 1
    passing = (
        met <= PASSES
        and not seen.over_ranks
        and not nans.looked_for()  # who looks for one wants the whole program's lines
        and waited.get(user_site(), (0, 0.0))[0] >= STRUCTURES
        and current().allows("pieces")
    )
    _outlines[outline] = met if passing else PASSES
    if not passing:
        _outlines[general], _whole[general] = PASSES, True
    return passing


def name_of(node: Node) -> int:
    """The number of an operation with the counts of its inputs, and of nodes inside."""
    body = node.params.get("body")
    name = node.params.get("f") or node.params.get("name")
    row = (node.op, name, len(node.inputs), 0 if body is None else len(body.nodes))
    found = _names[node.kind] = hash(row) or 1
    return found


class GivenUp(Exception):
    """Raised if a position is out of range, or memory is short: whole programs give the error."""


class PieceRun:
    """The run of a walk's pieces: stretches of them are one table, run by one native call.

    Memory is planned as the table grows: a value's memory is reused once its last reader is added.
    """

    def __init__(self, walk: PieceWalk) -> None:
        self.walk = walk
        self.at = [0] * len(walk.owners)
        """The address of each owner's value."""
        for place, value in walk.known.items():
            self.at[place] = value.address
        self.sizes: dict[int, int] = {}
        """The size classes of the blocks that values have."""
        self.idle: dict[int, list[int]] = {}
        """Blocks that nobody reads any more, by size class."""
        self.table, self.report, self.alone = JoinedPrograms(), c_int64(0), False
        self.ends: list[DeviceBuffer] = []
        """Values that go once the table has run."""

    def run(self) -> None:
        """Run all pieces."""
        walk, report = self.walk, addressof(self.report)
        at, owners, shifts, last = self.at, walk.owners, walk.shifts, walk.last
        for number, piece in enumerate(walk.pieces):
            program, reads, first, nodes, _ = piece
            rows = None if walk.apart or program.__class__ is int else program.rows
            if rows is None:
                self.finish()
                self.run_apart(piece)
            else:
                if rows.needs.alone is not self.alone:
                    self.finish()
                    self.alone = rows.needs.alone
                given = [at[owners[place]] + shifts[place] for place in reads]
                made = [self.block(first + k, size) for k, size in enumerate(program.blocks)]
                made.append(report)
                self.table.add(rows, given, made)
            for place in reads:
                if last[owners[place]] == number:
                    self.give(owners[place])
            for place in range(first, first + len(nodes)):
                if last[place] < 0:
                    self.give(place)
        self.finish()

    def block(self, place: int, size: int) -> int:
        """The address of a memory block for a value."""
        idle = self.idle.get(size)
        if not idle and memory.may_be_full(size):
            raise GivenUp
        address = self.at[place] = idle.pop() if idle else memory.take(size)
        self.sizes[place] = size
        return address

    def give(self, place: int) -> None:
        """Free the memory of a value, once."""
        size = self.sizes.pop(place, 0)
        if size:
            self.idle.setdefault(size, []).append(self.at[place])
        elif place in self.walk.known:
            self.ends.append(self.walk.known.pop(place))

    def finish(self) -> None:
        """Run the table."""
        self.table.run()
        self.ends.clear()
        if self.report.value:
            raise GivenUp

    def run_apart(self, piece: Piece) -> None:
        """Run a piece that no table contains, or while each run is observed."""
        program, reads, first, nodes, inputs = piece
        if isinstance(program, int):
            self.join(program, reads, first, nodes[0])
            return
        given = [self.buffer(place) for place in reads]
        made = program.under(nodes, inputs).run(given)
        for k, value in enumerate(made):
            # what is an input's own goes with its memory
            value = value.copied() if any(value is x for x in given) else value
            self.walk.known[first + k], self.at[first + k] = value, value.address

    def join(self, axis: int, reads: Sequence[int], place: int, node: Node) -> None:
        """Concatenate values."""
        self.block(place, size_class(self.walk.sizes[place]))
        parts = [self.buffer(k).array(x) for k, x in zip(reads, node.inputs, strict=True)]
        np.concatenate(parts, axis, out=self.buffer(place).array(node))

    def buffer(self, place: int) -> DeviceBuffer:
        """The value at a place as a buffer, for a piece that runs now."""
        address = self.at[self.walk.owners[place]] + self.walk.shifts[place]
        return DeviceBuffer.foreign(address, self.walk.sizes[place], None)

    def result(self, place: int) -> DeviceBuffer:
        """The value of a root."""
        owner = self.walk.owners[place]
        size = self.sizes.pop(owner, 0)
        if size:
            self.walk.known[owner] = memory.block(self.walk.sizes[owner], size, self.at[owner])
        value = self.walk.known[owner]
        if owner in self.walk.numbers:
            return value.copied()
        if owner == place:
            return value
        return value.part(self.walk.shifts[place], self.walk.sizes[place])

    def end(self) -> None:
        """Free all blocks except the results'."""
        for size, addresses in self.idle.items():
            for address in addresses:
                memory.give(address, size)
        for place, size in self.sizes.items():
            memory.give(self.at[place], size)


def run(roots: Sequence[Node], seen: Survey) -> list[DeviceBuffer] | None:
    """The values of the roots, computed from those of the leaves in pieces.

    None if the whole program is to be run: it names axes in errors, and plans memory.
    """
    settings = current()
    apart = bool(events.heard() or settings.debug or others)
    walk = PieceWalk(seen.leaves, settings, apart)
    walk.follow(sorted(seen.order, key=by_serial), walk.terms)
    places = [walk.stored(walk.terms[root]) for root in roots]
    for place in places:
        walk.last[walk.owners[place]] = len(walk.pieces)
    running = PieceRun(walk)
    try:
        running.run()
        return [running.result(place) for place in places]
    except (IndexOutOfBounds, GivenUp):
        return None
    finally:
        running.end()
