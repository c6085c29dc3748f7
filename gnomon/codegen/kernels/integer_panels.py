"""Products of many rows, rounded to int8, with a matrix of quantized blocks: emit_integer_product.

Columns are taken 32 at a time, in stretches of 256 steps: their blocks are read once, and decoded
to panels of 16 columns, of each of which four numbers are side by side. Tiles of a few rows are
multiplied by them while the first cache holds them. A stretch of a row of x is one record. Sums are
those of integer_product.py, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from gnomon.codegen.emitter import KERNEL, LANES, Emitter, LLVMModule, splat, vector
from gnomon.codegen.kernels.block_decoding import Decoding, emit_decode
from gnomon.codegen.kernels.integer_dots import SHORT, WIDE, dots_of, moved_by, weighed
from gnomon.codegen.kernels.integer_product import (
    DEPTH,
    FLOATS,
    LINE,
    WORDS,
    IntegerProduct,
    IntegerProductSpec,
)
from gnomon.codegen.kernels.integer_rounding import RoundedRow, emit_rounding
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.machine import Machine

__all__ = ["emit_integer_product"]

FEW = 4
"""Up to so many rows, tiles have two."""
TOGETHER = 264
"""Rows of x that are rounded, then multiplied by all blocks: whole tiles."""
STEPS = 256
"""Numbers of a stretch of a row."""
NUMBERS, PAIRS = STEPS // 4, 2
"""Lines of a panel's numbers, behind which blocks have a line for each factor, then pairs of scales
and minima, as int16."""
PANEL = (NUMBERS + LANES) * LINE
D, SUMS, RECORD = STEPS, STEPS + 32, STEPS + 64
"""Byte offsets of the factors and the sums in a record of a rounded stretch, and the record's
size."""
POINTERS = 8 * LANES
"""Bytes of the addresses of rows."""


def emit_integer_product(
    module: LLVMModule, name: str, spec: IntegerProductSpec, machine: Machine
) -> int:
    """Define kernel `name` in the module; gives the bytes of scratch that each thread needs."""
    kind = IntegerPanels if spec.rows > 1 else IntegerProduct
    return kind(module.function(name, KERNEL), spec, machine).write()


class WholeNumbers(Decoding):
    """Decoder that stores numbers as integer bytes in words, and factors and scales apart.

    moved: the number that is added to signed bytes.
    """

    def __init__(self, e: Emitter, nbytes: int, moved: int) -> None:
        super().__init__(e, nbytes)
        self.moved = moved * 0x01010101

    def factor(self, number: int, value: str) -> str:
        """Store a scale of a block in the tables."""
        self.keep(number, value)
        return value

    def keep_parts(self, words: Sequence[str], factors: Sequence[str]) -> None:
        """Store a signed scale per part of a block, as pairs of int16."""
        e, few, narrow = self.e, vector("i16"), vector("i8", 2 * LANES)
        for k in range(2 * len(words)):
            word = self.whole("lshr", words[k // 2], 16 * (k % 2))
            low = e.value(f"trunc {WORDS} {word} to {few}")
            pairs = e.value(
                f"sext {narrow} {e.value(f'bitcast {few} {low} to {narrow}')} to {SHORT}"
            )
            e.store(pairs, e.offset("%tables", (PAIRS + k) * LINE), SHORT, LINE)

    def centered(self, factor: str, q: Iterable[str], middle: int, width: int) -> Iterable[str]:
        """Words of bytes q as they are: the scale and the middle are applied to sums."""
        return q

    def affine(self, factor: str, q: Iterable[str], offset: str) -> Iterable[str]:
        """Words of bytes q as they are: the scale and the offset are applied to sums."""
        return q

    def bytes(self, factor: str, words: Iterable[str]) -> Iterable[str]:
        """Words of signed bytes q, made unsigned if the machine needs it."""
        return (self.whole("xor", word, self.moved) for word in words)

    def put(self, first: str | int, values: Iterable[str]) -> None:
        """Store words of numbers in the panel."""
        goal = self.e.offset("%target", self.e.mul(first, LANES))
        for k, word in enumerate(values):
            self.e.store(word, self.e.offset(goal, k * LINE), WORDS, LINE)


class IntegerPanels(IntegerProduct):
    """Writer of products of int8 rows with decoded panels; threads divide groups of columns."""

    # memory

    def write(self) -> int:
        """Write the kernel; gives its bytes of scratch."""
        e, spec, form = self.e, self.spec, self.form
        whole = self.machine.lanes("i32") == LANES
        self.tile = (6 if spec.rows > FEW else 2, 2) if whole else (2, 1)
        self.inside = STEPS // form.elements
        """Blocks of a stretch."""
        self.lines = PAIRS + 8 if self.unit.parts else PAIRS
        """Lines of a block behind a panel's numbers."""
        self.multiply = dots_of(self.machine, self.unit.moved)
        moved = moved_by(self.machine) if self.unit.moved else 0
        decoding = partial(WholeNumbers, moved=moved)
        emit_decode(e.module, f"{e.name}.decode", spec.kind, decoding)
        stretches, wide = (self.count + self.inside - 1) // self.inside, self.tile[1]
        self.far = TOGETHER * wide * LINE
        """Bytes from all sums so far to those of leaves."""
        sizes = (1 + DEPTH) * self.far, wide * PANEL, POINTERS
        starts = [sum(sizes[:k]) for k in range(4)]
        self.sums, self.panels, self.pointers, self.records = (
            e.offset("%scratch", at) for at in starts
        )
        groups = (spec.columns + wide * LANES - 1) // (wide * LANES)
        low, high = part(e, groups, "%thread", "%threads")

        def some(first: str) -> None:
            rows = e.least(e.sub(str(spec.rows), first), TOGETHER)

            def round_row(t: str) -> None:
                e.loop(0, stretches, 1, partial(self.round_stretch, e.add(first, t), t))

            e.loop(0, rows, 1, round_row)
            e.loop(low, high, 1, partial(self.all_rows, first, rows, stretches))

        busy = e.value(f"icmp slt i64 {low}, {high}")
        e.when(busy, lambda: e.loop(0, spec.rows, TOGETHER, some) and None)
        e.ret()
        return starts[-1] + stretches * (TOGETHER * RECORD)

    def blocks_of(self, stretch: str) -> tuple[str, str]:
        """The first block of a stretch, and the one after its last."""
        first = self.e.mul(stretch, self.inside)
        return first, self.e.least(self.e.add(first, self.inside), self.count)

    def record(self, stretch: str, row: str) -> str:
        """The address of the rounded values, factors and sums of a row's stretch."""
        number = self.e.add(self.e.mul(stretch, TOGETHER), row)
        return self.e.offset(self.records, self.e.mul(number, RECORD))

    def round_stretch(self, row: str, t: str, stretch: str) -> None:
        """Emit the rounding of a stretch of a row of x to int8."""
        e, (first, last) = self.e, self.blocks_of(stretch)
        at = e.add(e.mul(row, self.spec.steps), e.mul(stretch, STEPS))
        start = self.record(stretch, t)
        sums = e.offset(start, SUMS)
        goals = RoundedRow(start, e.offset(start, D), sums, sums)
        emit_rounding(e, e.offset(self.x, e.mul(at, 4)), goals, e.sub(last, first), self.sizes)

    # columns

    def all_rows(self, first: str, rows: str, stretches: int, group: str) -> None:
        """Emit the product of rows of x with columns; those past the end repeat the last one."""
        e, (height, wide) = self.e, self.tile
        column = e.mul(group, wide * LANES)
        tiles = e.value(f"udiv i64 {e.add(rows, height - 1)}, {height}")

        def stretch(number: str) -> None:
            for k in range(wide):
                self.read_panel(e.add(column, k * LANES), e.offset(self.panels, k * PANEL), number)
            e.loop(0, tiles, 1, partial(self.of_tile, number))

        e.loop(0, stretches, 1, stretch)

        def store_row(t: str) -> None:
            for k in range(wide):
                total = e.load(e.offset(self.sums_of(t, k), self.far), FLOATS, LINE)
                self.store(total, e.add(first, t), e.add(column, k * LANES))

        e.loop(0, rows, 1, store_row)

    def sums_of(self, row: str, k: int) -> str:
        """The address of a row's sums so far, for the k-th 16 columns."""
        number = self.e.add(self.e.mul(row, self.tile[1]), k)
        return self.e.offset(self.sums, self.e.mul(number, LINE))

    def read_panel(self, column: str, panel: str, stretch: str) -> None:
        """Emit the decoding of a stretch of 16 columns; the next stretch but one is prefetched."""
        e, form = self.e, self.form
        first, last = self.blocks_of(stretch)
        ahead = e.mul(e.add(first, 2 * self.inside), form.nbytes)

        def one_row(lane: str) -> None:
            row = e.least(e.add(column, lane), e.sub(str(self.spec.columns), 1))
            place = e.offset(self.base, e.mul(row, self.spec.pitch))
            e.store(place, e.offset(self.pointers, e.mul(lane, 8)), "ptr", 8)
            for byte in range(0, self.inside * form.nbytes, LINE):
                e.prefetch(e.offset(e.offset(place, ahead), byte), near=2)

        def one_block(block: str) -> None:
            inside = e.sub(block, first)
            target = e.offset(panel, e.mul(inside, form.elements * LANES))
            tables = e.offset(panel, e.add(NUMBERS * LINE, e.mul(inside, self.lines * LINE)))
            places = [("ptr", x) for x in (self.pointers, target, tables)]
            places.insert(1, ("i64", e.mul(block, form.nbytes)))
            e.call("void", f"{e.name}.decode", *places)

        e.loop(0, LANES, 1, one_row)
        e.loop(first, last, 1, one_block)

    # tiles

    def of_tile(self, stretch: str, number: str) -> None:
        """Emit the product of a tile's rows with the panels."""
        e, (height, wide) = self.e, self.tile
        row = e.mul(number, height)
        rows = [self.record(stretch, e.add(row, k)) for k in range(height)]
        start, blocks = self.sums_of(row, 0), self.blocks_of(stretch)
        stacks = [e.offset(start, LINE * k) for k in range(height * wide)]
        self.in_order(stacks, self.far, blocks, partial(self.of_block, rows, blocks[0]))

    def line(self, number: str | int, kind: str) -> list[str]:
        """Load a cache line of each panel."""
        e, at = self.e, self.e.mul(number, LINE)
        panels = (e.offset(self.panels, k * PANEL) for k in range(self.tile[1]))
        return [e.load(e.offset(panel, at), kind, LINE) for panel in panels]

    def everywhere(self, rows: Sequence[str], at: str | int, kind: str) -> list[str]:
        """Load four bytes of each row's record into all lanes, as vectors of a type."""
        e, made = self.e, []
        for row in rows:
            words = e.broadcast(e.load(e.offset(row, at), "i32", 4), "i32")
            made.append(e.value(f"bitcast {WORDS} {words} to {kind}"))
        return made

    def spread(
        self, sums: Sequence[str], w: Sequence[str], x: Sequence[str], add: Callable
    ) -> list:
        """Apply add(sum, w, x) to each of a tile's sums, with its columns' w and its row's x."""
        wide = self.tile[1]
        return [add(total, w[k % wide], x[k // wide]) for k, total in enumerate(sums)]

    def of_block(self, rows: Sequence[str], first: str, block: str, *totals: str) -> list[str]:
        """Add one block of each column to the sums of a tile."""
        e, unit, size, parts = self.e, self.unit, self.form.elements, self.unit.parts or 32
        inside = e.sub(block, first)
        numbers = [e.offset(row, e.mul(inside, size)) for row in rows]
        zeros = ["zeroinitializer"] * len(totals)
        of_x = self.everywhere(rows, e.add(SUMS, e.mul(inside, 4)), WORDS)
        seconds = self.spread(zeros, zeros, of_x, lambda _, w, x: x)
        begun = zeros if unit.parts or self.sizes[2] == 1 else seconds
        steps = partial(self.of_part, numbers, e.mul(inside, size // 4))
        whole = e.loop(0, size // parts, 1, steps, [(WORDS, x) for x in begun])
        if unit.parts:
            seconds = self.of_minima(rows, zeros)
        if unit.parts and unit.offset:
            middle = splat(-unit.offset, "i32")
            moves = (e.value(f"mul {WORDS} {x}, {middle}") for x in seconds)
            pairs = zip(whole, moves, strict=True)
            whole = [e.value(f"add {WORDS} {a}, {b}") for a, b in pairs]
        d = self.everywhere(rows, e.add(D, e.mul(inside, 4)), FLOATS)
        at = e.add(e.mul(inside, self.lines), NUMBERS)
        for k, terms in zip(range(len(unit.factors)), (whole, seconds), strict=False):
            factors = self.line(e.add(at, k), FLOATS)
            pairs = zip(totals, terms, strict=True)
            totals = self.spread([*pairs], factors, d, lambda t, f, d: self.plus(*t, f, d))
        return [*totals]

    def of_part(self, numbers: Sequence[str], line: str, number: str, *before: str) -> list[str]:
        """Add one part of a block to the integer sums of a tile."""
        e, parts = self.e, self.unit.parts
        size = parts or 32
        start = e.add(line, e.mul(number, size // 4))
        sums = ["zeroinitializer"] * len(before) if parts else before
        for step in range(size // 4):
            w = self.line(e.add(start, step), WIDE)
            x = self.everywhere(numbers, e.add(e.mul(number, size), 4 * step), WIDE)
            sums = self.spread(sums, w, x, partial(self.multiply, e, self.machine))
        if not parts:
            return [*sums]
        pair, odd = e.divided(number, 2)
        up = e.broadcast(e.value(f"trunc i64 {e.sub(16, e.mul(odd, 16))} to i32"), "i32")
        high = (
            e.value(f"shl {WORDS} {x}, {up}")
            for x in self.line(e.add(pair, NUMBERS + PAIRS), WORDS)
        )
        scales = [e.value(f"ashr {WORDS} {x}, {splat(16, 'i32')}") for x in high]
        made = self.spread(sums, scales, before, lambda t, w, _: e.value(f"mul {WORDS} {t}, {w}"))
        return [e.value(f"add {WORDS} {a}, {b}") for a, b in zip(before, made, strict=True)]

    def of_minima(self, rows: Sequence[str], sums: Sequence[str]) -> list[str]:
        """Add the minima, or scales, times the sums of parts of x to the sums."""
        pairs = STEPS // self.unit.parts // 2
        for pair in range(pairs):
            w = self.line(NUMBERS + PAIRS + 8 - pairs + pair, SHORT)
            x = self.everywhere(rows, SUMS + 4 * pair, SHORT)
            sums = self.spread(sums, w, x, partial(weighed, self.e, self.machine))
        return [*sums]
