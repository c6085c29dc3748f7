"""A product whose left operand is seen in windows: emit_convolution.

Elements of windows overlap, so copying them into panels would copy each many times. The microkernel
reads them in place instead: one table has the start of each row, another the offset of each step
of K is from there. The right operand, the driver and the order of sums are those of matmul.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gnomon.codegen.emitter import KERNEL, Emitter, LLVMModule, vector
from gnomon.codegen.kernels.microkernel import Left, Tile
from gnomon.codegen.kernels.packed import PackedWriter
from gnomon.codegen.kernels.packing import BLOCK, transpose
from gnomon.codegen.kernels.product import Axis, MatmulSpec, count, walk
from gnomon.codegen.kernels.storing import SsaBounds, TileRegion
from gnomon.codegen.kernels.strides import Dims, offset, total
from gnomon.codegen.kernels.tally import KBlock
from gnomon.codegen.kernels.team_products import writer_of
from gnomon.codegen.kernels.tile_chain import is_tiled
from gnomon.codegen.machine import Machine
from gnomon.ir.sizes import hint

WORD = 8
"""Bytes of a table's entry."""
LEAST_COLUMNS = 8
"""Least columns of a product for this kernel: with fewer, most lanes of a vector are unused."""


def emit_convolution(module: LLVMModule, name: str, spec: MatmulSpec, machine: Machine) -> int:
    """Define kernel `name` in the module; gives the bytes of scratch that each thread needs."""
    writer = writer_of(spec, machine) if is_tiled(machine) else WindowWriter
    return writer(module, name, spec, machine).write()


def emit_convolutions(
    module: LLVMModule, name: str, specs: tuple[MatmulSpec, ...], machine: Machine
) -> int:
    """Define kernel `name`, which computes several products into parts of one result."""
    parts = [f"{name}.{k}" for k in range(len(specs))]
    pairs = zip(parts, specs, strict=True)
    needs = [emit_convolution(module, part, spec, machine) for part, spec in pairs]
    e = module.function(name, KERNEL)
    for part in parts:
        e.call("void", part, *((kind, f"%{label}") for kind, label in KERNEL))
    e.ret()
    return max(needs)


def is_convolution(spec: MatmulSpec) -> bool:
    """Whether A's windows overlap, B's do not, and rows of the result fill vectors."""
    return (
        spec.scalar in BLOCK
        and hint(count(spec.columns)) >= LEAST_COLUMNS
        and overlaps(spec.rows, spec.steps, "a")
        and not overlaps(spec.columns, spec.steps, "b")
    )


def overlaps(across: tuple[Axis, ...], steps: tuple[Axis, ...], operand: str) -> bool:
    """Whether several indices of these axes reach the same element of an operand."""
    axes = [axis for axis in (*across, *steps) if getattr(axis, operand)]
    reach = sum((axis.size - 1) * abs(getattr(axis, operand)) for axis in axes)
    return prod(axis.size for axis in axes) > reach + 1


class Gathered(Left):
    """The microkernel's A, read in place by offsets: `a` points at those of the steps."""

    parameters = (("ptr noalias readonly", "base"), ("ptr readonly", "rows"))

    def begin(self, e: Emitter, tile: Tile) -> None:
        """Load the address of every row's first element."""
        places = (e.load(e.offset("%rows", WORD * i), "i64", WORD) for i in range(tile.rows))
        self.rows = [e.offset("%base", place) for place in places]

    def unit(self, tile: Tile) -> int:
        """The bytes of an entry in the table of steps: the pointer advances by one per unit."""
        return WORD

    def values(self, e: Emitter, tile: Tile, a: str) -> list[str]:
        """The value of every row of the tile."""
        far = e.load(a, "i64", WORD)
        return [e.load(e.offset(row, far), tile.scalar, tile.item) for row in self.rows]


class WindowWriter(PackedWriter):
    """Writes a convolution's functions: the right operand's packer, the microkernel, the rest."""

    copied, left = "b", Gathered()

    def fill_table(self, target: str, first: str, entries: str, dims: Dims) -> None:
        """Fill a table with the byte offsets of flat indices."""
        e, last = self.e, total(dims) - 1

        def entry(index: str) -> None:
            place = offset(e, e.least(e.add(first, index), last), dims)
            entry_at = e.offset(target, e.mul(index, WORD))
            e.store(e.mul(place, self.spec.item_of("a")), entry_at, "i64", WORD)

        e.loop(0, entries, 1, entry)

    def write(self) -> int:
        """Write all functions of the convolution; gives the bytes of scratch, tables included."""
        return super().write() + WORD * (self.row_entries + self.cut.deep)

    @property
    def row_entries(self) -> int:
        """The number of rows of a cache block."""
        return self.cut.row_panels * self.tile.rows

    def table(self, label: str) -> str:
        """The address of a table, behind the scratch memory that a packed product has."""
        start = WORD * max(packing.slots for packing in self.packings.values())
        return self.e.offset(
            self.scratch.offsets, start + WORD * self.row_entries * (label == "steps")
        )

    def pack(self, operand: str, base: str, panels: SsaBounds, block: KBlock) -> None:
        """Emit the filling of the tables of A, or the packing of B."""
        if operand == "b":
            super().pack(operand, base, panels, block)
            return
        e, high = self.e, self.tile.rows
        first, entries = e.mul(panels[0], high), e.mul(e.sub(panels[1], panels[0]), high)
        self.fill_table(self.table("rows"), first, entries, walk(self.spec.rows, "a"))
        steps = walk(self.spec.steps, "a")
        self.fill_table(self.table("steps"), block.start, block.units, steps)

    def left_of(
        self, panel: str, part: TileRegion, block: KBlock
    ) -> tuple[str, list[tuple[str, str]]]:
        """The microkernel's arguments for A: step table, A's address, the panel's row offsets."""
        rows = self.e.mul(panel, self.tile.rows * WORD)
        places = self.e.offset(self.table("rows"), rows)
        return self.table("steps"), [("ptr", part.a), ("ptr", places)]

    # storing

    @property
    def upright(self) -> bool:
        """Whether the result is contiguous along rows of a tile instead of columns."""
        rows, columns = (walk(axes, "c")[-1][1] for axes in (self.spec.rows, self.spec.columns))
        return rows < columns

    @property
    def stores(self) -> bool:
        """Whether the microkernel stores its tile itself, which it cannot do transposed."""
        return super().stores and not self.upright

    def prefetch(self, part: TileRegion, row: str, column: str) -> None:
        """Emit prefetches of the lines to be written; one per column if results are transposed."""
        if not self.upright:
            super().prefetch(part, row, column)
            return
        e, tile = self.e, self.tile
        where = self.results(part.batch, e.mul(row, tile.rows), e.mul(column, tile.columns))
        step = walk(self.spec.columns, "c")[-1][1] * tile.item

        def one(index: str) -> None:
            e.prefetch(e.offset(where, e.mul(index, step)), write=True)

        e.loop(0, tile.columns, 1, one)

    def finish(self, part: TileRegion, row: str, column: str, sums: str) -> None:
        """Write a finished tile into the result, transposed if it is upright."""
        if not self.upright:
            super().finish(part, row, column, sums)
            return
        first, left = self.first_row(row), self.e.mul(column, self.tile.columns)
        Upright(self, sums, (part.batch, first, left)).write()


class Upright:
    """Storing of a tile whose rows are contiguous in memory, by transposed squares."""

    def __init__(self, writer: PackedWriter, sums: str, place: tuple[str, str, str]) -> None:
        self.e, self.spec, self.tile, self.sums = writer.e, writer.spec, writer.tile, sums
        self.side, (batch, self.row, self.left) = BLOCK[self.tile.scalar], place
        e, spec = self.e, self.spec
        base = e.load(e.offset("%buffers", WORD * spec.slots.c), "ptr", WORD)
        start = e.add(offset(e, batch, walk(spec.batch, "c")), spec.starts[2])
        self.base = e.offset(base, e.mul(start, spec.item))

    def write(self) -> None:
        """Store a tile of results: squares of contiguous rows, full columns, single elements."""
        e, tile = self.e, self.tile
        high = e.least(e.sub(str(count(self.spec.rows)), self.row), tile.rows)
        wide = e.least(e.sub(str(count(self.spec.columns)), self.left), tile.columns)
        numbers = (e.add(self.row, k) for k in range(tile.rows))
        lines = [self.place(self.base, row, self.spec.rows) for row in numbers]
        done = "0"
        inner, stride = walk(self.spec.rows, "c")[-1]
        if stride == 1:
            left = e.sub(str(inner), e.value(f"urem i64 {self.row}, {inner}"))
            near = e.value(f"icmp eq i64 {e.least(high, left)}, {tile.rows}")
            whole = e.value(f"and i64 {wide}, {-self.side}")
            done = e.value(f"select i1 {near}, i64 {whole}, i64 0")
            e.loop(0, done, self.side, lambda column: self.squares(column, lines[0]))
        full = e.value(f"icmp eq i64 {high}, {tile.rows}")
        columns = e.value(f"select i1 {full}, i64 {wide}, i64 {done}")
        e.loop(done, columns, 1, lambda column: self.column(column, lines))
        e.loop(columns, wide, 1, lambda column: self.single(column, high))

    def place(self, base: str, index: str, axes: tuple[Axis, ...]) -> str:
        """An address behind base, by an index over these axes of the result."""
        far = offset(self.e, index, walk(axes, "c"))
        return self.e.offset(base, self.e.mul(far, self.spec.item))

    def squares(self, column: str, line: str) -> None:
        """Emit the transposed store of some columns whose rows are contiguous."""
        e, tile, side = self.e, self.tile, self.side
        kind, left = vector(tile.scalar, side), e.offset(self.sums, e.mul(column, tile.item))
        columns = [e.add(self.left, e.add(column, k)) for k in range(side)]
        goals = [self.place(line, c, self.spec.columns) for c in columns]
        for first in range(0, tile.rows, side):
            some = range(first, min(first + side, tile.rows))
            places = (e.offset(left, k * tile.columns * tile.item) for k in some)
            rows = [e.load(place, kind, tile.item) for place in places]
            rows += ["zeroinitializer"] * (side - len(some))
            for goal, value in zip(goals, transpose(e, tile.scalar, rows), strict=True):
                self.store_together(value, e.offset(goal, first * tile.item), len(some))

    def store_together(self, value: str, goal: str, some: int) -> None:
        """Emit the store of a vector's first `some` lanes, in pieces of powers of two."""
        e, tile = self.e, self.tile
        for first, lanes in powers(some):
            piece = e.shuffle(value, "poison", range(first, first + lanes), tile.scalar, self.side)
            there = e.offset(goal, first * tile.item)
            e.store(piece, there, vector(tile.scalar, lanes), tile.item)

    def column(self, column: str, lines: Sequence[str]) -> None:
        """Emit the store of one column of a full panel of rows."""
        e, tile = self.e, self.tile
        far = offset(e, e.add(self.left, column), walk(self.spec.columns, "c"))
        far, left = e.mul(far, tile.item), e.offset(self.sums, e.mul(column, tile.item))
        for k, line in enumerate(lines):
            value = e.load(e.offset(left, k * tile.columns * tile.item), tile.scalar, tile.item)
            e.store(value, e.offset(line, far), tile.scalar, tile.item)

    def single(self, column: str, high: str) -> None:
        """Emit the store of one column, element by element."""
        e, tile = self.e, self.tile
        line = self.place(self.base, e.add(self.left, column), self.spec.columns)

        def one(index: str) -> None:
            at = e.mul(e.add(e.mul(index, tile.columns), column), tile.item)
            value = e.load(e.offset(self.sums, at), tile.scalar, tile.item)
            goal = self.place(line, e.add(self.row, index), self.spec.rows)
            e.store(value, goal, tile.scalar, tile.item)

        e.loop(0, high, 1, one)


def powers(count: int) -> list[tuple[int, int]]:
    """The runs (first, length), with lengths of powers of two, that cover a count.

    >>> powers(6)
    [(0, 4), (4, 2)]
    """
    found, first = [], 0
    while first < count:
        found.append((first, 1 << ((count - first).bit_length() - 1)))
        first += found[-1][1]
    return found
