"""The matrix product of machines whose threads work in teams: TiledWriter.

A team (shares.py) computes a tile of the result at a time. Its threads copy a few steps of both
operands into memory that they share (staging.py), and each vector of threads multiplies its rows
with the tile's columns. Sums have the canonical order (order.py) whatever the tile: each chunk is a
chain in registers (tile_chain.py), and partial sums of chunks are a stack in scratch memory
(sum_stack.py), of which every thread reads and writes its own part alone.

The text is one thread's: `%lane` is its lane in a vector of threads, and what an epilogue takes for
a vector is the thread's number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gnomon.codegen.emitter import KERNEL, LANES, Emitter, LLVMModule, literal
from gnomon.codegen.kernels.order import Letter, chunk_length
from gnomon.codegen.kernels.product import Epilogue, MatmulSpec, VectorPlace, count, walk
from gnomon.codegen.kernels.staging import STEPS
from gnomon.codegen.kernels.steps import note_pairs
from gnomon.codegen.kernels.strides import offset
from gnomon.codegen.kernels.sum_stack import SumStack, deepest
from gnomon.codegen.kernels.tally import additions
from gnomon.codegen.kernels.tile_chain import FLAT, TileChain, shared_memory
from gnomon.codegen.machine import Machine
from gnomon.codegen.shares import SHARES, TEAM, WorkTeam
from gnomon.ir.sizes import hint, is_symbolic

__all__ = ["TiledWriter", "store_sum", "team_tile"]

TILES = {4: ((64, 128), (32, 64)), 8: ((64, 64), (32, 32))}
"""Rows and columns of tiles, by the bytes of a sum: as many sums as registers hold, and fewer."""
FLAT_TILE = FLAT, TEAM * LANES
ENOUGH = 128
"""Tiles from which on all multiprocessors of a large card have one."""


def team_tile(spec: MatmulSpec, splits: bool = True) -> tuple[int, int]:
    """The rows and columns of a team's tile: large ones if there are enough of them.

    Few rows have sixteen columns, and the team's vectors of threads share the steps of their sums
    (split_rows.py), or a flat tile, if it is not to be split.
    """
    batches, rows, columns = (hint(count(x)) for x in (spec.batch, spec.rows, spec.columns))
    if is_symbolic(count(spec.rows)):
        splits = False  # a split tile has all rows, whatever the size of a call is
    if rows <= FLAT:
        high = 1 << max(rows - 1, 0).bit_length()
        return (high, LANES) if splits else FLAT_TILE
    large, small = TILES[spec.item]
    if hint(chunk_length(spec.letters)) < STEPS:
        return small
    tiles = batches * -(-rows // large[0]) * -(-columns // large[1])
    return large if tiles >= ENOUGH else small


class TiledWriter(TileChain):
    """Writer of a product by tiles."""

    def __init__(
        self,
        module: LLVMModule,
        name: str,
        spec: MatmulSpec,
        machine: Machine,
        epilogue: Epilogue | None = None,
    ) -> None:
        self.epilogue, self.shares = epilogue, SHARES[machine.shares[0]]
        e = module.function(name, KERNEL)
        note_pairs(e, spec.scalar, spec.letters, spec.run)
        tile = TILES[spec.item][1] if spec.tile == (0, 0) else spec.tile
        super().__init__(e, WorkTeam(e, self.shares, TEAM), spec, machine, tile)
        self.bounds = count(spec.rows), count(spec.columns)

    def write(self) -> int:
        """Write the kernel; the bytes of scratch that a team needs."""
        e, batches = self.e, count(self.spec.batch)
        if all(size > 0 for size in (*self.bounds, batches)):
            self.shared = shared_memory(e, 2 * self.buffer_bytes)
            self.stack = self.make_stack()
            self.share()
        e.ret()
        return self.rows * self.columns * self.spec.item * deepest(self.letters)

    def make_stack(self) -> SumStack:
        """The stack of partial sums."""
        return SumStack(self.e, self.team, self.spec.sums, self.high * self.wide)

    @property
    def letters(self) -> Sequence[Letter]:
        """The summed letters."""
        return self.spec.letters

    def share(self) -> None:
        """Emit the loop over the team's tiles."""
        e, batches = self.e, count(self.spec.batch)
        tiles = [
            -(-size // side.indices) for size, side in zip(self.bounds, self.sides, strict=True)
        ]

        def task(number: str) -> None:
            rest, row = e.divided(number, tiles[0])
            batch, column = e.divided(rest, tiles[1])
            self.tile(batch, e.mul(row, self.rows), e.mul(column, self.columns))

        self.shares.tasks(e, tiles[0] * tiles[1] * batches, task)

    # a tile

    def tile(self, batch: str, row: str, column: str) -> None:
        """Emit the sums of one tile, and what is made of them."""
        if count(self.spec.steps):
            self.sum_up(batch, row, column)
        else:
            self.put_zeros()
        self.finish(batch, row, column)

    def put_zeros(self) -> None:
        """Emit sums of nothing, which are 0.0."""
        zero = "0" if self.spec.sums == "i32" else literal(0.0, self.spec.sums)
        self.stack.keep([zero] * self.high * self.wide, "0")

    def sum_up(self, batch: str, row: str, column: str) -> None:
        """Emit the loop over chunks, each a chain of steps and its additions."""
        e = self.e
        chunks = count(self.spec.steps) // self.chunk
        self.bases = [self.base(side, batch) for side in self.sides]
        self.origin = row, column
        self.begin()

        def one(number: str, buffer: str, depth: str, *top: str) -> list[str]:
            buffer, *sums = self.chain(number, chunks, buffer, self.empty)
            pops = additions(e, self.spec.letters, number)
            after = e.add(e.sub(depth, pops), 1)
            if self.is_short:
                return [buffer, after, *self.add_top(top, sums, (depth, pops))]
            self.stack.keep(self.stack.add_older(sums, "0", (depth, pops)), e.sub(depth, pops))
            return [buffer, after]

        start = [("i64", "0"), ("i64", "0"), *(self.empty if self.is_short else ())]
        _, _, *top = e.loop(0, chunks, 1, one, start)
        if self.is_short:
            self.stack.keep(top, "0")

    def add_top(
        self, top: Sequence[str], sums: Sequence[str], counts: tuple[str, str]
    ) -> list[str]:
        """Add older partial sums, of which the newest are in registers; store what is covered."""
        e, kind, (depth, pops) = self.e, self.spec.sums, counts
        more = e.value(f"icmp sgt i64 {pops}, 0")
        some = e.value(f"icmp sgt i64 {depth}, 0")
        covered = e.value(f"and i1 {some}, {e.value(f'xor i1 {more}, true')}")
        e.when(covered, lambda: self.stack.keep(top, e.sub(depth, 1)))
        joined = [
            e.value(f"select i1 {more}, {kind} {self.stack.plus(older, newer)}, {kind} {newer}")
            for older, newer in zip(top, sums, strict=True)
        ]
        return self.stack.add_older(joined, "1", counts)

    # results

    def finish(self, batch: str, row: str, column: str) -> None:
        """Emit the loops over a thread's finished sums."""
        e = self.e
        slot, row, column = (
            self.stack.slot("0"),
            e.add(row, self.corner[0]),
            e.add(column, self.corner[1]),
        )
        high = e.least(e.sub(str(self.bounds[0]), row), self.high)
        wide = e.least(e.sub(str(self.bounds[1]), column), self.wide * LANES)

        def one(i: str, j: str) -> None:
            left = e.add(column, j)
            value = self.finished(slot, i, j)
            place = VectorPlace("%buffers", batch, e.add(row, i), left, None)
            on = e.value(f"icmp slt i64 %lane, {e.sub(str(self.bounds[1]), left)}")
            if self.epilogue:
                self.epilogue(e, replace(place, mask=on), value)
            else:
                e.when(on, lambda: self.store(place, value))

        e.loop(0, high, 1, lambda i: e.loop(0, wide, LANES, lambda j: one(i, j)))

    def finished(self, slot: str, row: str, column: str) -> str:
        """Load a finished sum, some rows and whole vectors of columns behind the thread's first."""
        e = self.e
        number = e.add(e.mul(row, self.wide), e.value(f"udiv i64 {column}, {LANES}"))
        return self.stack.load(slot, number)

    def store(self, place: VectorPlace, value: str) -> None:
        """Store a thread's sum to the result."""
        store_sum(self.e, self.spec, place, value)


def store_sum(e: Emitter, spec: MatmulSpec, place: VectorPlace, value: str) -> None:
    """Store a thread's sum, which is `%lane` columns behind a place, to the result."""
    indices = place.batch, place.row, e.add(place.column, "%lane")
    where = str(spec.starts[2])
    for index, axes in zip(indices, (spec.batch, spec.rows, spec.columns), strict=True):
        where = e.add(where, offset(e, index, walk(axes, "c")))
    goal = e.offset(e.buffer(spec.slots.c), e.mul(where, spec.item))
    e.store(value, goal, spec.sums, spec.item)
