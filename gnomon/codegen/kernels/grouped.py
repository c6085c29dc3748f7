"""Products of groups whose sizes are known only at run time: emit_grouped.

Groups are runs of one axis; `ends` says where each ends. Either rows are grouped, each group with a
matrix of its own, or steps are, each group with a result of its own. Only what groups hold is
multiplied. Threads share columns, or rectangles of every group, so that the sizes of groups do not
matter to them. The order of sums is that of gnomon/ops/grouped.py and gnomon/ops/routed.py, whose
regions this computes: the latter's axis consists of blocks, each with runs of all groups.
"""

from __future__ import annotations

from gnomon.codegen.emitter import Emitter, LLVMModule, splat, vector
from gnomon.codegen.kernels.blocking import DEEPEST, BlockingNumbers, choose_tile, numbers_of_tile
from gnomon.codegen.kernels.group_bounds import GroupBounds, GroupedSpec
from gnomon.codegen.kernels.microkernel import Tile
from gnomon.codegen.kernels.order import Letter
from gnomon.codegen.kernels.packed import PackedWriter
from gnomon.codegen.kernels.product import Epilogue, MatmulSpec, VectorPlace, store_to
from gnomon.codegen.kernels.sharing import TileWork, part, share_work
from gnomon.codegen.kernels.steps import choose_step
from gnomon.codegen.kernels.storing import SsaBounds, TileRegion
from gnomon.codegen.kernels.tally import KBlock, bits_set, is_nonzero, trailing_ones
from gnomon.codegen.kernels.tile_chain import is_tiled
from gnomon.codegen.kernels.tiled_groups import group_writer
from gnomon.codegen.machine import Machine


def emit_grouped(module: LLVMModule, name: str, spec: GroupedSpec, machine: Machine) -> int:
    """Define kernel `name` in the module; gives the bytes of scratch that each thread needs."""
    if is_tiled(machine):
        return group_writer(spec, machine)(module, name, spec, machine).write()
    writer = {"rows": RowsWriter, "steps": StepsWriter}[spec.axis]
    return writer(module, name, spec, machine).write()


class GroupedWriter(GroupBounds, PackedWriter):
    """Base of grouped products, by rows or by steps."""

    def __init__(self, module: LLVMModule, name: str, spec: GroupedSpec, machine: Machine) -> None:
        self.grouped = spec
        super().__init__(module, name, spec.product, machine, self.storing(spec.product))

    def storing(self, spec: MatmulSpec) -> Epilogue | None:
        """The epilogue of the product; None to store sums as they are."""

    def operands(self, group: str) -> tuple[str, str]:
        """The addresses of both operands for a group."""
        slots = self.spec.slots
        bases = self.base("a", slots.a), self.base("b", slots.b)
        a, b = (self.advance(base, group, x) for base, x in zip(bases, "ab", strict=True))
        return a, b


class RowsWriter(GroupedWriter):
    """A product with grouped rows, where every thread computes some columns of all groups."""

    @property
    def average(self) -> int:
        """The average number of rows of a group, for the choice of a tile."""
        return -(-self.sizes[0] // (self.own_groups or 1))

    def make_tile(self, machine: Machine) -> Tile:
        """The tile for groups of average size."""
        spec = self.spec
        step = choose_step(machine, spec.scalar, spec.letters, spec.run)
        return choose_tile(machine, spec.sums, self.average, self.sizes[1], step)

    def make_cut(self, machine: Machine) -> BlockingNumbers:
        """The blocking for groups of average size."""
        return numbers_of_tile(machine, self.tile, (self.average, self.sizes[1]), self.spec.letters)

    def share(self) -> None:
        """Emit one group after another, then zeros for the rows of no group."""
        e, tile = self.e, self.tile
        columns = part(e, -(-self.sizes[1] // tile.columns), "%thread", "%threads")
        if self.grouped.block:
            self.share_blocks(columns)
            return

        def group(number: str, begin: str) -> list[str]:
            last = e.add(e.mul(number, self.grouped.runs), self.grouped.runs - 1)
            self.begin, self.end = begin, self.end_of(last, begin, self.sizes[0])
            a, b = self.operands(number)
            self.cover(TileRegion(number, a, b, self.panels(), columns))
            return [self.end]

        self.begin = e.loop(0, self.groups, 1, group, [("i64", "0")])[0]
        self.end = str(self.sizes[0])
        self.store_zeros(TileRegion("0", "null", "null", self.panels(), columns))

    def share_blocks(self, columns: SsaBounds) -> None:
        """Compute group by group through all blocks, so that its matrix stays in the cache."""
        e, (blocks, size) = self.e, (self.grouped.runs, self.grouped.block)

        def run(group: str, block: str) -> None:
            self.begin, self.end = self.bounds_in(block, group)
            a, b = self.operands(group)
            self.cover(TileRegion(group, a, b, self.panels(), columns))

        def none(number: str) -> None:
            share, block = self.in_share(number, blocks)
            first = e.mul(share, self.own_groups)
            _, self.begin = self.bounds_in(block, e.add(first, e.sub(self.own_groups, 1)))
            self.end = e.mul(e.add(block, 1), size)
            self.store_zeros(TileRegion(first, "null", "null", self.panels(), columns))

        e.loop(0, self.groups, 1, lambda g: e.loop(0, blocks, 1, lambda b: run(g, b)) and None)
        e.loop(0, blocks * self.grouped.shares, 1, none)

    def panels(self) -> SsaBounds:
        """The row panels of the current group."""
        e, high = self.e, self.tile.rows
        return "0", e.value(f"udiv i64 {e.add(e.sub(self.end, self.begin), high - 1)}, {high}")

    @property
    def rows(self) -> str:
        """The row after the group's last."""
        return self.end

    def first_row(self, panel: str) -> str:
        """The first row of a panel of the group."""
        return self.e.add(self.begin, super().first_row(panel))


class StepsWriter(GroupedWriter):
    """A product with grouped steps; each thread computes a rectangle of every group's result."""

    def storing(self, spec: MatmulSpec) -> Epilogue:
        """The epilogue, which stores 0.0 for an empty sum, whose chains begin at -0.0."""
        store = store_to(spec)

        def shown(e: Emitter, place: VectorPlace, value: str) -> None:
            zero = splat(0.0, spec.sums)
            store(e, place, e.value(f"fadd {vector(spec.sums)} {value}, {zero}"))

        return shown

    @property
    def letters(self) -> list[Letter]:
        """The summed letters, assuming that each run has the size of two largest blocks."""
        return [(self.grouped.runs, self.grouped.runs), (4 * DEEPEST * 4 // self.spec.item, 1)]

    def make_tile(self, machine: Machine) -> Tile:
        """The tile, with steps chosen for the summed letters."""
        step = choose_step(machine, self.spec.scalar, self.letters)
        return choose_tile(machine, self.spec.sums, *self.sizes, step)

    def make_cut(self, machine: Machine) -> BlockingNumbers:
        """The blocking for long runs."""
        return numbers_of_tile(machine, self.tile, self.sizes, self.letters)

    def share(self) -> None:
        """Compute this thread's rectangle of each group's product, one group after another."""
        e, tile = self.e, self.tile
        work = TileWork(1, self.row_panels, -(-self.sizes[1] // tile.columns), tile)
        mine = share_work(e, work)

        def group(number: str) -> None:
            a, b = self.operands(number)
            self.cover(TileRegion(number, a, b, mine.rows, mine.columns))

        e.loop(0, self.groups, 1, group)

    def sum_up(self, part: TileRegion, fresh: tuple[str, str]) -> None:
        """Emit the sums of a tile over all runs of its group."""
        self.e.loop(0, self.grouped.runs, 1, lambda run: self.one_run(part, run))

    def one_run(self, part: TileRegion, run: str) -> None:
        """Emit the sums over one run in blocks of steps; an empty run is one empty block."""
        e = self.e
        begin, end = self.bounds_of(run, part.batch)
        size = self.cut.piece * self.tile.step.together
        pieces = e.value(f"udiv i64 {e.add(e.sub(end, begin), size - 1)}, {size}")
        pieces = e.most(pieces, "1")

        def piece(index: str) -> None:
            start = e.add(begin, e.mul(index, size))
            self.piece = start, e.least(e.sub(end, start), size)
            last = e.value(f"icmp eq i64 {index}, {e.sub(pieces, 1)}")
            self.one_block(part, self.run_block(run, index, last), ("true", "true"))

        e.loop(0, pieces, 1, piece)

    def run_block(self, run: str, piece: str, last: str) -> KBlock:
        """A part of a run as a block of K; a run's sum is combined after its last part."""
        e, (start, length) = self.e, self.piece
        together, pops = self.tile.step.together, self.scratch.pops
        units = e.value(f"udiv i64 {e.add(length, together - 1)}, {together}")
        carried = is_nonzero(e, piece)
        depth = e.add(bits_set(e, run), carried)
        # every run is a leaf of the tree, and nothing is owed after a piece
        owed = e.value(f"select i1 {last}, i64 {trailing_ones(e, run)}, i64 0")
        e.store(e.value(f"trunc i64 {owed} to i8"), pops, "i8", 1)
        finished = e.value(f"icmp eq i64 {run}, {self.grouped.runs - 1}")
        numbers = ("1", units, carried, depth, str(self.cut.slots // self.tile.bytes))
        parameters = (("ptr", pops), *(("i64", x) for x in numbers))
        return KBlock(start, units, e.value(f"and i1 {finished}, {last}"), parameters)

    def steps_of(self, block: KBlock, together: int) -> tuple[str, str]:
        """The first step of the current block, and the number of its steps."""
        return self.piece
