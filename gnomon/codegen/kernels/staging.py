"""Staging: a team's copies of a product's operands into memory that its threads share.

A buffer has a few steps of both operands of a tile, one step behind the other, so that rows and
columns of a step are neighbours. Two buffers are filled alternately. Each vector of threads copies
a part: neighbouring threads take neighbouring steps where those are neighbours in memory, else
neighbouring rows or columns. `%lane` is a thread's number in its vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.codegen.emitter import LANES, Emitter, literal
from gnomon.codegen.kernels.product import Axis, MatmulSpec, count, walk
from gnomon.codegen.kernels.strides import offset
from gnomon.codegen.kernels.units import Source, widened
from gnomon.codegen.lifted import is_lifted
from gnomon.codegen.shares import TEAM, WorkTeam

__all__ = ["QUAD", "STEPS", "Side", "Stage", "Staging"]

STEPS = LANES
"""Steps of K in a buffer, where nothing else is said."""
MARGIN = 4
"""Values between two steps of a buffer, so that neighbours in K are in different banks."""
QUAD = 16
"""Bytes of the widest load."""


@dataclass(frozen=True)
class Side:
    """An operand of a tile: its name, indices of the tile, values between two steps of a buffer.

    along: whether neighbouring threads copy neighbouring steps; else neighbouring indices.
    """

    name: str
    axes: tuple[Axis, ...]
    indices: int
    along: bool
    start: int
    """The byte of a buffer at which it begins."""
    item: int

    @property
    def pitch(self) -> int:
        """The bytes from one step to the next."""
        return (self.indices + MARGIN) * self.item

    @property
    def end(self) -> int:
        """The byte of a buffer at which it ends."""
        return self.start + STEPS * self.pitch


@dataclass(frozen=True)
class Stage:
    """The steps in a buffer: the first one, and the number of those that exist; SSA names."""

    first: str
    exist: str


class Staging:
    """Mixin of a product's writer that fills buffers."""

    e: Emitter
    spec: MatmulSpec
    team: WorkTeam
    sides: tuple[Side, Side]
    bases: list[str]
    """The address of each operand in the tile's batch."""
    origin: tuple[str, ...]
    """The tile's first index of each operand that is copied."""
    shared: str
    """The address of the buffers."""
    chunk: int
    deep = STEPS
    """The steps of a buffer."""

    @property
    def copied(self) -> Sequence[Side]:
        """The operands that are copied."""
        return self.sides

    def base(self, side: Side, batch: str) -> str:
        """The address of an operand in a batch."""
        e, spec = self.e, self.spec
        slot, item = getattr(spec.slots, side.name), spec.item_of(side.name)
        first = spec.starts["ab".index(side.name)]
        place = e.add(offset(e, batch, walk(spec.batch, side.name)), first)
        return e.offset(e.buffer(slot), e.mul(place, item))

    def rows_of(self, side: Side, first: str) -> list[str]:
        """The indices of an operand that a thread copies; those past the end are the last one."""
        e, last = self.e, self.e.sub(str(count(side.axes)), 1)
        return [e.least(e.add(first, index), last) for index in self.indices(side)]

    def indices(self, side: Side) -> list[str]:
        """The indices of a tile, from its first, that a thread copies."""
        e = self.e
        if side.along:
            each = side.indices // TEAM
            begin = e.mul(self.team.member, each)
            return [e.add(begin, k) for k in range(each)]
        return [e.add("%lane", k) for k in range(0, side.indices, LANES)]

    def numbers(self, side: Side) -> list[str]:
        """The steps of a buffer that a thread copies."""
        if side.along:
            return [self.e.add("%lane", k) for k in range(0, self.deep, LANES)]
        each = self.deep // TEAM
        begin = self.e.mul(self.team.member, each)
        return [self.e.add(begin, k) for k in range(each)]

    def fetch(self, stage: Stage) -> list[list[str]]:
        """Load a thread's part of both operands: values in the type of sums."""
        return [
            self.fetch_side(side, base, first, stage)
            for side, base, first in zip(self.copied, self.bases, self.origin, strict=True)
        ]

    def fetch_side(self, side: Side, base: str, first: str, stage: Stage) -> list[str]:
        """Load a thread's part of an operand."""
        e, spec = self.e, self.spec
        source, values = Source(spec.held(side.name)), []
        across, along = (walk(axes, side.name) for axes in (side.axes, spec.steps))
        places = [e.mul(offset(e, row, across), source.item) for row in self.rows_of(side, first)]
        for number in self.numbers(side):
            near = e.least(number, e.sub(stage.exist, 1))
            far = e.mul(offset(e, e.add(stage.first, near), along), source.item)
            exists = e.value(f"icmp slt i64 {number}, {stage.exist}")
            for place in places:
                value = e.load(e.offset(base, e.add(far, place)), source.memory, source.item)
                values.append(self.existing(widened(e, source, value, LANES), side, exists))
        return values

    @property
    def is_ragged(self) -> bool:
        """Whether a buffer may have steps that do not exist."""
        return is_lifted(self.chunk) or self.chunk % self.deep != 0

    def existing(self, value: str, side: Side, exists: str) -> str:
        """A value, or a zero at a step that does not exist.

        Their products are -0.0, which changes no sum.
        """
        if not self.is_ragged:
            return value
        kind = self.spec.sums
        zero = "0" if kind == "i32" else literal(-0.0 if side.name == "a" else 0.0, kind)
        return self.e.value(f"select i1 {exists}, {kind} {value}, {kind} {zero}")

    def put(self, values: list[list[str]], buffer: str) -> None:
        """Store a thread's part of both operands into a buffer."""
        e = self.e
        for side, mine in zip(self.copied, values, strict=True):
            goal, parts = e.offset(self.shared, e.add(buffer, side.start)), iter(mine)
            for number in self.numbers(side):
                line = e.offset(goal, e.mul(number, side.pitch))
                for index in self.indices(side):
                    place = e.offset(line, e.mul(index, side.item))
                    e.store(next(parts), place, self.spec.sums, side.item)
