"""The packed matrix product, as one kernel: PackedWriter.

Operands are copied by cache blocks into panels (packing.py) that one microkernel reads straight
through (microkernel.py); an epilogue given by the caller turns sums into what is stored. Sums have
the canonical order (order.py) whatever the machine, the blocks (blocking.py) and the number of
threads (sharing.py). What a product is: product.py. Others build on it: direct.py, convolution.py.
Knows nothing of graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.kernels.blocking import BlockingNumbers, cache_share, numbers_of_tile, tile_of
from gnomon.codegen.kernels.microkernel import Left, Tile, emit_tile
from gnomon.codegen.kernels.order import Letter
from gnomon.codegen.kernels.packing import Packing, emit_pack
from gnomon.codegen.kernels.product import Axis, Epilogue, MatmulSpec, count, store_to, walk
from gnomon.codegen.kernels.sharing import TileWork, evenly, share_work
from gnomon.codegen.kernels.steps import note_pairs
from gnomon.codegen.kernels.storing import SsaBounds, Storing, TileRegion
from gnomon.codegen.kernels.strides import offset
from gnomon.codegen.kernels.tally import KBlock, find_block
from gnomon.codegen.kernels.units import Source
from gnomon.codegen.machine import Machine

LINE = 64
"""Bytes of a line of memory."""


@dataclass(frozen=True)
class Scratch:
    """The addresses in this thread's scratch memory, as SSA names."""

    stack: str
    a: str
    b: str
    sums: str
    pops: str
    offsets: str


class PackedWriter(Storing):
    """Writer of a product: two packers, the microkernel, the kernel.

    Sizes, strides and leaves may be runtime arguments (lifted.py): operands of the kernel's own
    instructions, and parameters of the functions that it calls.
    """

    copied, left = "ab", Left()
    """Operands that are packed, and how the microkernel reads the left one."""

    def __init__(
        self,
        module: LLVMModule,
        name: str,
        spec: MatmulSpec,
        machine: Machine,
        epilogue: Epilogue | None = None,
    ) -> None:
        self.module, self.name, self.spec = module, name, spec
        self.epilogue, self.plain = epilogue or store_to(spec), epilogue is None
        self.e = module.function(name, KERNEL)
        note_pairs(self.e, spec.scalar, self.letters, spec.run)
        self.sizes = (count(spec.rows), count(spec.columns))
        self.copied = self.copied.strip("b") if spec.ready else self.copied
        self.tile = self.make_tile(machine)
        self.cut = self.make_cut(machine)
        self.packings = {"a": self.packing("a", spec.rows), "b": self.packing("b", spec.columns)}

    @property
    def letters(self) -> Sequence[Letter]:
        """The summed letters that a chain's steps are chosen for."""
        return self.spec.letters

    def make_tile(self, machine: Machine) -> Tile:
        """The tile that one call of the microkernel computes."""
        return tile_of(machine, self.spec)

    def make_cut(self, machine: Machine) -> BlockingNumbers:
        """The blocking of the product."""
        far = cache_share(machine) if self.spec.ready else 0
        return numbers_of_tile(machine, self.tile, self.sizes, self.spec.letters, far)

    def packing(self, operand: str, across: tuple[Axis, ...]) -> Packing:
        """The packing of an operand's panels."""
        tile, spec = self.tile, self.spec
        width = tile.rows if operand == "a" else tile.columns
        walks = walk(across, operand), walk(spec.steps, operand)
        # half a pair at the end is filled up with factors whose product, -0.0, changes no sum
        padding = -(1 << 15) if operand == "a" and spec.sums == "float" else 0
        source = Source(spec.held(operand), tile.step.together, padding)
        return Packing(tile.scalar, width, *walks, source)

    def write(self) -> int:
        """Write the kernel; the bytes of scratch."""
        if all(size > 0 for size in (*self.sizes, count(self.spec.batch))):
            if self.summed:
                self.write_parts()
            self.scratch = self.plan_scratch()
            self.share()
        self.e.ret()
        return sum(self.parts()) + 8 * max(p.slots for p in self.packings.values())

    @property
    def summed(self) -> bool:
        """Whether there is anything to sum: a contracted axis that is not empty."""
        return count(self.spec.steps) > 0

    def parts(self) -> tuple[int, ...]:
        """Bytes of each part of scratch memory, without the packers' part, which is last."""
        a, b = (getattr(self.cut, x) if x in self.copied else 0 for x in "ab")
        return self.cut.stack, a, b, self.cut.sums, self.cut.pops

    @property
    def row_panels(self) -> int:
        """The number of row panels that threads share."""
        return -(-self.sizes[0] // self.tile.rows)

    def write_parts(self) -> None:
        """Write the functions that the kernel calls."""
        for operand in self.copied:
            emit_pack(self.module, f"{self.name}.pack_{operand}", self.packings[operand])
        self.write_tiles()

    def write_tiles(self) -> None:
        """Write the microkernel, and a narrower one for the last columns."""
        emit_tile(self.module, f"{self.name}.tile", self.tile, self.left)
        if self.narrow:
            edge = replace(self.tile, used=self.narrow)
            emit_tile(self.module, f"{self.name}.edge", edge, self.left)

    @property
    def narrow(self) -> int:
        """The width of the narrower microkernel for the last columns; 0 without one."""
        vectors = self.tile.wide
        return (vectors + 1) // 2 * self.tile.lanes if vectors > 1 else 0

    def plan_scratch(self) -> Scratch:
        """The addresses of all parts of scratch memory."""
        places, where = [], 0
        for part in (*self.parts(), 0):
            places.append(self.e.offset("%scratch", where))
            where += part
        return Scratch(*places)

    # the kernel

    def share(self) -> None:
        """Emit one thread's part: row panels over all batches, and columns."""
        e, tile, spec = self.e, self.tile, self.spec
        panels = self.row_panels
        columns = -(-self.sizes[1] // tile.columns)
        work = TileWork(count(spec.batch), panels, columns, tile, self.copied)
        share = share_work(e, work)
        bases = self.base("a", spec.slots.a), self.base("b", spec.slots.b)

        def one(batch: str) -> None:
            done = e.mul(batch, panels)
            rows = (
                e.most(e.sub(share.rows[0], done), "0"),
                e.least(e.sub(share.rows[1], done), panels),
            )
            a, b = (
                self.advance(base, batch, operand)
                for base, operand in zip(bases, "ab", strict=True)
            )
            self.cover(TileRegion(batch, a, b, rows, share.columns))

        first = e.value(f"udiv i64 {share.rows[0]}, {panels}")
        last = e.value(f"udiv i64 {e.add(share.rows[1], panels - 1)}, {panels}")
        e.loop(first, last, 1, one)

    def base(self, operand: str, slot: int) -> str:
        """The address of an operand."""
        start = self.spec.starts["ab".index(operand)]
        return self.e.offset(self.e.buffer(slot), start * self.spec.item_of(operand))

    def advance(self, base: str, batch: str, operand: str) -> str:
        """The address of an operand's part in a batch."""
        place = offset(self.e, batch, walk(self.spec.batch, operand))
        return self.e.offset(base, self.e.mul(place, self.spec.item_of(operand)))

    def cover(self, region: TileRegion) -> None:
        """Emit the loops over cache blocks of a region: columns outermost, then rows, then K."""
        e = self.e
        row_step = evenly(e, region.rows, self.cut.span)
        column_step = evenly(e, region.columns, self.cut.column_panels)
        all_rows = e.sub(region.rows[1], region.rows[0])
        one_block = e.value(f"icmp sle i64 {all_rows}, {self.cut.row_panels}")

        def some(row: str, column: str) -> None:
            rows = row, e.least(e.add(row, row_step), region.rows[1])
            columns = column, e.least(e.add(column, column_step), region.columns[1])
            part = TileRegion(region.batch, region.a, region.b, rows, columns)
            # a block that was packed in the previous round is not packed a second time
            first_column = e.value(f"icmp eq i64 {column}, {region.columns[0]}")
            fresh_a = e.value(f"select i1 {one_block}, i1 {first_column}, i1 true")
            fresh_b = e.value(f"icmp eq i64 {row}, {region.rows[0]}")
            self.sum_up(part, (fresh_a, fresh_b))

        e.loop(
            *region.columns,
            column_step,
            lambda column: e.loop(*region.rows, row_step, lambda row: some(row, column)),
        )

    def sum_up(self, part: TileRegion, fresh: tuple[str, str]) -> None:
        """Emit all blocks of K for one cache block of results."""
        if not self.summed:
            self.store_zeros(part)
            return
        e, count = self.e, self.cut.count
        # of several blocks none is there from the round before
        several = e.value(f"icmp sgt i64 {count}, 1")
        both = tuple(e.value(f"or i1 {several}, {one}") for one in fresh)
        e.loop(0, count, 1, lambda k: self.one_block(part, self.block(k), both))

    def store_zeros(self, part: TileRegion) -> None:
        """Emit the stores of a product with an empty sum, which is 0.0."""
        e, tile = self.e, self.tile
        for place in tile.places:
            e.store("zeroinitializer", e.offset(self.scratch.stack, place), tile.kind, tile.item)
        self.tiles(part, lambda row, column: self.finish(part, row, column, self.scratch.stack))

    def one_block(self, part: TileRegion, block: KBlock, fresh: tuple[str, ...]) -> None:
        """Emit one block of K: pack it, then run its tiles."""
        e = self.e
        e.when(fresh[1], lambda: self.pack("b", part.b, part.columns, block))
        step = evenly(e, part.rows, self.cut.row_panels)

        def some(row: str) -> None:
            rows = row, e.least(e.add(row, step), part.rows[1])
            near = replace(part, rows=rows, first=part.rows[0])
            e.when(fresh[0], lambda: self.pack("a", part.a, rows, block))
            self.tiles(near, lambda row, column: self.one_tile(near, row, column, block))

        e.loop(*part.rows, step, some)

    def one_tile(self, part: TileRegion, row: str, column: str, block: KBlock) -> None:
        """Run the microkernel, and after the last block of K the epilogue."""
        e = self.e
        e.when(block.last, lambda: self.prefetch(part, row, column))
        waiting = self.waiting_sums(part, row, column)
        e.loop(0, self.cut.slots, LINE, lambda line: e.prefetch(e.offset(waiting, line), True))
        goal, left = self.goal_of(part, row, column, block)
        sums = self.call_tile(part, (row, column), block, goal)
        e.when(left, lambda: self.finish(part, row, column, sums))

    def block(self, number: str) -> KBlock:
        """A block of K by its number; writes the number of additions after each of its chunks."""
        return find_block(self.e, self.cut, self.spec.letters, number, self.scratch.pops)

    def pack(self, operand: str, base: str, panels: SsaBounds, block: KBlock) -> None:
        """Emit the packing of one operand's part of a block of K."""
        if operand not in self.copied:
            return
        e, packing = self.e, self.packings[operand]
        first = self.first_row(panels[0]) if operand == "a" else e.mul(panels[0], packing.width)
        start, length = self.steps_of(block, packing.source.together)
        e.call(
            "void", f"{self.name}.pack_{operand}", ("ptr", base),
            ("i64", first), ("i64", e.sub(panels[1], panels[0])),
            ("i64", start), ("i64", length),
            ("ptr", getattr(self.scratch, operand)), ("ptr", self.scratch.offsets),
            *(("i64", str(number)) for number in packing.numbers),
        )  # fmt: skip

    def steps_of(self, block: KBlock, together: int) -> tuple[str, str]:
        """The first step of a block, and the number of its steps."""
        e = self.e
        start, length = e.mul(block.start, together), e.mul(block.units, together)
        if together > 1:
            # the last unit may be half full
            length = e.least(length, e.sub(str(count(self.spec.steps)), start))
        return start, length

    def tiles(self, part: TileRegion, body: Callable[[str, str], None]) -> None:
        """Emit the loops over a cache block's tiles; rows innermost keep a panel of B in L1."""
        self.e.loop(
            *part.columns,
            1,
            lambda column: self.e.loop(*part.rows, 1, lambda row: body(row, column)),
        )

    def call_tile(self, part: TileRegion, place: tuple[str, str], block: KBlock, goal: str) -> str:
        """Emit a call of the microkernel on one tile; gives the address of its sums."""
        e, (row, column) = self.e, place
        pitch = walk(self.spec.rows, "c")[-1][1] * self.spec.item
        i, j = e.sub(row, part.rows[0]), e.sub(column, part.columns[0])
        a, more = self.left_of(i, part, block)
        b = self.right_of(j, part, block)
        arguments = (
            *(("ptr", x) for x in (a, b, self.waiting_sums(part, row, column), self.scratch.stack)),
            *(*block.parameters, ("ptr", goal), ("i64", str(pitch)), *more),
        )

        def run(name: str) -> str:
            return e.call("ptr", f"{self.name}.{name}", *arguments)

        if not self.narrow:
            return run("tile")
        left = e.sub(str(self.sizes[1]), e.mul(column, self.tile.columns))
        fits = e.value(f"icmp sle i64 {left}, {self.narrow}")
        narrow = e.value(f"zext i1 {fits} to i64")
        edge = e.loop(0, narrow, 1, lambda *_: [run("edge")], [("ptr", "null")])
        return e.loop(narrow, 1, 1, lambda *_: [run("tile")], [("ptr", edge[0])])[0]

    def waiting_sums(self, part: TileRegion, row: str, column: str) -> str:
        """The address of a tile's partial sums, from one block of K to the next."""
        e, cut = self.e, self.cut
        across = e.mul(e.sub(column, part.columns[0]), cut.span)
        place = e.mul(e.add(across, e.sub(row, part.first)), cut.slots)
        return e.offset(self.scratch.sums, place)

    def left_of(
        self, panel: str, part: TileRegion, block: KBlock
    ) -> tuple[str, list[tuple[str, str]]]:
        """The first argument of the microkernel for A, and its other arguments."""
        place = self.e.mul(self.e.mul(panel, block.units), self.tile.rows * self.tile.item)
        return self.e.offset(self.scratch.a, place), []

    def right_of(self, panel: str, part: TileRegion, block: KBlock) -> str:
        """The argument of the microkernel for B: the address of a panel."""
        e, width = self.e, self.tile.columns * self.tile.item
        if not self.spec.ready:
            return e.offset(self.scratch.b, e.mul(e.mul(panel, block.units), width))
        # all panels of a block of K are contiguous
        before = e.mul(block.start, -(-self.sizes[1] // self.tile.columns))
        units = e.add(before, e.mul(e.add(part.columns[0], panel), block.units))
        return e.offset(part.b, e.mul(units, width))
