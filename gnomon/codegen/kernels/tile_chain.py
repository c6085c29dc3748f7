"""Chains of a tile's sums: steps of both operands from shared memory, multiplied in registers.

A thread has some rows and, of each vector of columns, the one of its lane: `%lane`. Where threads
stand in the tile: those of a low tile share its columns, those of others its rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.codegen.emitter import BITS, LANES, Emitter, literal, vector
from gnomon.codegen.kernels.order import chunk_length
from gnomon.codegen.kernels.product import MatmulSpec, walk
from gnomon.codegen.kernels.staging import QUAD, Side, Stage, Staging
from gnomon.codegen.kernels.steps import ChainStep, choose_single
from gnomon.codegen.machine import Machine
from gnomon.codegen.shares import TEAM, WorkTeam

__all__ = ["FLAT", "TileChain", "is_tiled", "multiply_add", "shared_memory"]

FLAT = 8
"""Rows of a tile whose columns the team's vectors of threads share; of others they share rows."""


def is_tiled(machine: Machine) -> bool:
    """Whether products of a machine are computed by tiles of teams."""
    return "strided" in machine.shares


def shared_memory(e: Emitter, size: int) -> str:
    """The address of memory that a block's threads share; a text has one such memory."""
    e.module.define(f"@shared = internal addrspace(3) global [{size} x i8] undef, align {QUAD}")
    return e.value("addrspacecast ptr addrspace(3) @shared to ptr")


def multiply_add(e: Emitter, step: ChainStep, kind: str, terms: tuple[str, str, str]) -> str:
    """Emit a * b + total on one thread's numbers, as a chain's step takes it."""
    a, b, total = terms
    if kind == "i32":
        return e.value(f"add i32 {total}, {e.value(f'mul i32 {a}, {b}')}")
    name = "llvm.nvvm.fma.rn.ftz.f" if step.paired else f"llvm.fma.f{BITS[kind]}"
    return e.call(kind, name, (kind, a), (kind, b), (kind, total))


class TileChain(Staging):
    """The chains of one product's tiles; its writer says which tile, and has the memory."""

    def __init__(
        self,
        e: Emitter,
        team: WorkTeam,
        spec: MatmulSpec,
        machine: Machine,
        tile: tuple[int, int],
    ) -> None:
        self.e, self.team, self.spec = e, team, spec
        self.step = choose_single(machine, spec.scalar)
        self.rows, self.columns = tile
        flat, member = self.rows == FLAT, team.member
        self.high = FLAT if flat else self.rows // TEAM
        self.wide = 1 if flat else self.columns // LANES
        self.corner = ("0", e.mul(member, LANES)) if flat else (e.mul(member, self.high), "0")
        self.sides = self.make_sides()
        self.buffer_bytes = self.sides[1].end
        self.chunk = chunk_length(spec.letters)
        self.pieces = -(-self.chunk // self.deep)

    def make_sides(self) -> tuple[Side, Side]:
        """The places of both operands in a buffer, and how they are copied."""
        spec, sides, start = self.spec, [], 0
        groups = ("a", spec.rows, self.rows), ("b", spec.columns, self.columns)
        for name, axes, indices in groups:
            along = indices < LANES or walk(spec.steps, name)[-1][1] == 1
            sides.append(Side(name, axes, indices, along, start, spec.item))
            start = sides[-1].end
        return sides[0], sides[1]

    def begin(self) -> None:
        """Emit the copy of the first steps into the first buffer."""
        self.put(self.fetch(Stage("0", self.e.least(str(self.chunk), self.deep))), "0")
        self.team.meet()

    def chain(
        self, number: str, chunks: int, buffer: str, sums: Sequence[tuple[str, str]]
    ) -> list[str]:
        """Emit a chunk's chain; gives the buffer of the next chunk's first steps, and the sums."""
        e = self.e

        def piece(index: str, buffer: str, *sums: str) -> list[str]:
            values = self.fetch(self.following(number, index, chunks))
            made = self.multiply(self.addresses(buffer, index), sums)
            buffer = e.sub(str(self.buffer_bytes), buffer)
            self.put(values, buffer)
            self.team.meet()
            return [buffer, *made]

        return e.loop(0, self.pieces, 1, piece, [("i64", buffer), *sums])

    @property
    def empty(self) -> list[tuple[str, str]]:
        """The sums at the beginning of a chain: -0.0, to which any sum may be added."""
        kind = self.spec.sums
        return [(kind, "0" if kind == "i32" else literal(-0.0, kind))] * (self.high * self.wide)

    @property
    def is_short(self) -> bool:
        """Whether a chain is so short that the last partial sums stay in registers."""
        return self.chunk < self.deep

    def following(self, chunk: str, piece: str, chunks: int) -> Stage:
        """The stage after a piece of a chunk; after the last one, one that exists nevertheless."""
        e, long = self.e, self.chunk
        other = e.add(piece, 1)
        ends = e.value(f"icmp eq i64 {other}, {self.pieces}")
        inside = e.value(f"select i1 {ends}, i64 0, i64 {e.mul(other, self.deep)}")
        number = e.least(e.add(chunk, e.value(f"zext i1 {ends} to i64")), e.sub(str(chunks), 1))
        left = e.least(e.sub(str(long), inside), self.deep)
        return Stage(e.add(e.mul(number, long), inside), left)

    def addresses(self, buffer: str, piece: str) -> tuple[str, str]:
        """The addresses of the thread's first row and first column of a buffer's first step."""
        e, item = self.e, self.spec.item
        left = e.add(buffer, e.mul(self.corner[0], item))
        right = e.add(buffer, e.mul(e.add(self.corner[1], "%lane"), item))
        return e.offset(self.shared, left), e.offset(self.shared, e.add(right, self.sides[1].start))

    def multiply(self, places: tuple[str, str], sums: Sequence[str]) -> list[str]:
        """Emit the multiplications of a buffer's steps."""
        e, (a, b), (rows, columns) = self.e, self.sides, places
        made, item = list(sums), self.spec.item
        steps = -(-int(self.chunk) // 2) * 2 if self.is_short else self.deep
        for number in range(steps):
            step = number ^ 1 if self.step.paired else number
            factors = self.row_values(e.offset(rows, step * a.pitch))
            for j in range(self.wide):
                place = e.offset(columns, step * b.pitch + j * LANES * item)
                value = e.load(place, self.spec.sums, item)
                for i, factor in enumerate(factors):
                    at = i * self.wide + j
                    made[at] = multiply_add(e, self.step, self.spec.sums, (factor, value, made[at]))
        return made

    def row_values(self, place: str) -> list[str]:
        """Load one step's values of the thread's rows."""
        e, kind, lanes = self.e, self.spec.sums, QUAD // self.spec.item
        values = []
        for first in range(0, self.high, lanes):
            some = e.load(e.offset(place, first * self.spec.item), vector(kind, lanes), QUAD)
            values += [
                e.value(f"extractelement {vector(kind, lanes)} {some}, i32 {k}")
                for k in range(lanes)
            ]
        return values
