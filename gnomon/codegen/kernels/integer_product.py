"""Products of rows, rounded to int8, with a matrix of quantized blocks: emit_integer_product.

Their definition is gnomon/ops/integer_blocks.py's; whole sums are exact, so their order is free.
Sixteen rows of blocks are taken together, in stretches of 16 units (integer_dots.py): row after
row is multiplied, so that memory is read in order; then the sums of all rows are added across
lanes, so that each row has a lane; then blocks are added in their order, leaf after leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from gnomon.codegen.emitter import KERNEL, LANE_NUMBERS, LANES, Emitter, LLVMModule, splat, vector
from gnomon.codegen.kernels.integer_dots import UNITS, UnitReader, unit_blocks
from gnomon.codegen.kernels.integer_rounding import RoundedRow, emit_rounding
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.machine import Machine
from gnomon.ops.blocks import FORMATS

__all__ = ["IntegerProductSpec", "emit_integer_product"]

WORDS, FLOATS = vector("i32"), vector("float")
LINE = 4 * LANES
"""Bytes of one number of every row."""
TOGETHER = 16
"""Rows of x that are rounded, then multiplied by all blocks."""
FOUR = 4
"""Units whose sums are added across lanes at once."""
HALVES = 2 * FOUR
"""Their sums of each row."""
SHARED = (4, 2, 1)
"""The rows of x that share what is read of a block: as many as there are."""
DEPTH = 5
"""Sums of leaves that wait for others: a product has 16 leaves at most."""
AHEAD = 8192
"""Bytes ahead that memory is asked for, into the second cache: requests of the first are too few.

One row after the other is read: of several side by side, memory gives two thirds as much (Zen 4).
"""


@dataclass(frozen=True)
class IntegerProductSpec:
    """out = x (rows, steps) times a matrix of `columns` rows of blocks, `pitch` bytes each."""

    kind: str
    rows: int
    columns: int
    steps: int
    leaves: int
    pitch: int


class SumsMemory(NamedTuple):
    """Addresses of a thread's memory."""

    sums: str
    """Sums of halves of four units [half][row]."""
    stacks: str
    """Sums so far [row of x], each with those of leaves that wait."""
    table: str
    """Sums of halves of units [row of x][row][four units][half]."""
    factors: str
    """[block][term][row]."""
    x: str
    """Rounded rows of x."""
    d: str
    """Their factors."""
    totals: str
    """The sum of each group."""
    parts: str
    """The sums of parts of groups."""


def emit_integer_product(
    module: LLVMModule, name: str, spec: IntegerProductSpec, machine: Machine
) -> int:
    """Define kernel `name` in the module; gives the bytes of scratch that each thread needs."""
    return IntegerProduct(module.function(name, KERNEL), spec, machine).write()


class IntegerProduct:
    """Writes the kernel: each thread has a run of groups of 16 columns."""

    def __init__(self, e: Emitter, spec: IntegerProductSpec, machine: Machine) -> None:
        self.e, self.spec, self.machine = e, spec, machine
        self.form, self.unit = FORMATS[spec.kind], UNITS[spec.kind]
        self.per = unit_blocks(spec.kind)
        self.count = spec.steps // self.form.elements
        self.fours = (self.count + FOUR * self.per - 1) // (FOUR * self.per)
        self.leaf = self.count // spec.leaves
        self.size = 2 if self.unit.scalar == "half" else 4
        """Bytes of a factor."""
        self.out, self.x, self.base = (e.buffer(k) for k in range(3))

    # memory

    def places(self) -> tuple[SumsMemory, int]:
        """Addresses of what scratch holds, and its bytes; what is past the end may be read."""
        spec, at, spare = self.spec, 0, FOUR * 256
        self.pitches = (spec.steps + spare, 4 * self.count, 4 * self.count, spec.steps // 4 + spare)
        self.row = self.fours * (4 * HALVES)
        self.block = len(self.unit.factors) * LANES * self.size
        sizes = [HALVES * LINE, TOGETHER * (1 + DEPTH) * LINE, SHARED[0] * LANES * self.row]
        sizes += [self.count * self.block, *(TOGETHER * pitch for pitch in self.pitches)]
        found = []
        for size in sizes:
            found.append(self.e.offset("%scratch", at))
            at = at + size
        return SumsMemory(*found), at

    def of_row(self, which: int, row: str) -> str:
        """The address of what belongs to a row of x: its numbers, d, totals or parts."""
        start = self.scratch[-4 + which]
        return self.e.offset(start, self.e.mul(row, self.pitches[which]))

    # the kernel

    def write(self) -> int:
        """Write the kernel; gives its bytes of scratch."""
        e, spec = self.e, self.spec
        self.scratch, size = self.places()
        low, high = part(e, (spec.columns + LANES - 1) // LANES, "%thread", "%threads")

        def some(first: str) -> None:
            many = e.least(e.sub(str(spec.rows), first), TOGETHER)
            e.loop(0, many, 1, lambda t: self.round_row(e.add(first, t), t))
            e.loop(low, high, 1, lambda group: self.sixteen(group, first, many))

        busy = e.value(f"icmp slt i64 {low}, {high}")
        e.when(busy, lambda: e.loop(0, spec.rows, TOGETHER, some) and None)
        e.ret()
        return size

    def round_row(self, row: str, t: str) -> None:
        """Emit the rounding of a row of x."""
        source = self.e.offset(self.x, self.e.mul(row, 4 * self.spec.steps))
        goals = RoundedRow(*(self.of_row(k, t) for k in range(4)))
        emit_rounding(self.e, source, goals, (self.count, self.form.elements), self.unit.parts)

    # sixteen columns

    def sixteen(self, group: str, first: str, many: str) -> None:
        """Emit the product of rows of x with 16 rows of blocks; rows past the last repeat it."""
        e, spec = self.e, self.spec
        column = e.mul(group, LANES)
        start = "0"
        for shared in SHARED:
            if shared <= spec.rows:
                end = e.sub(many, e.value(f"urem i64 {many}, {shared}"))
                e.loop(start, end, shared, partial(self.of_x, column, shared))
                start = end
        left = e.broadcast(e.sub(str(spec.columns), column), "i64")
        on = e.value(f"icmp slt {vector('i64')} {LANE_NUMBERS}, {left}")

        def store(t: str) -> None:
            total = e.load(e.offset(self.stack_of(t), LINE), FLOATS, LINE)
            place = e.add(e.mul(e.add(first, t), spec.columns), column)
            e.store_masked(total, e.offset(self.out, e.mul(place, 4)), on, "float")

        e.loop(0, many, 1, store)

    def stack_of(self, t: str) -> str:
        """The address of the sum so far of a row of x, and behind it of those that wait."""
        return self.e.offset(self.scratch.stacks, self.e.mul(t, (1 + DEPTH) * LINE))

    def of_x(self, column: str, shared: int, t: str) -> None:
        """Emit the product of so many rows of x with 16 rows of blocks."""
        e, numbers = self.e, [self.e.add(t, k) for k in range(shared)]
        own = [[self.of_row(k, number) for k in range(4)] for number in numbers]
        whole = self.count // (FOUR * self.per)

        def row(lane: str) -> None:
            number = e.least(e.add(column, lane), e.sub(str(self.spec.columns), 1))
            place = e.offset(self.base, e.mul(number, self.spec.pitch))
            e.loop(0, whole, 1, partial(self.four_units, own, lane, place, True))
            rest = partial(self.four_units, own, lane, place, False, str(whole))
            e.when(e.value(f"icmp slt i64 {whole}, {self.fours}"), rest)

        e.loop(0, LANES, 1, row)
        for k, number in enumerate(numbers):
            body = partial(self.add_four, own[k], self.stack_of(number), self.table(k))
            e.loop(0, self.fours, 1, body)

    def table(self, number: int) -> str:
        """The sums of one of the rows of x that share what is read."""
        return self.e.offset(self.scratch.table, number * (LANES * self.row))

    def four_units(
        self, own: Sequence[Sequence[str]], lane: str, place: str, whole: bool, number: str
    ) -> None:
        """Emit the sums of four units of one row; if not whole, the last block is repeated."""
        e, form, count = self.e, self.form, FOUR * self.per
        first = e.mul(number, count)
        start = e.offset(place, e.mul(first, form.nbytes))
        blocks = [e.offset(start, k * form.nbytes) for k in range(count)]
        if not whole:
            last = e.sub(str(self.count), 1)
            numbers = [e.least(e.add(first, k), last) for k in range(count)]
            blocks = [e.offset(place, e.mul(k, form.nbytes)) for k in numbers]
        else:
            for byte in range(AHEAD, AHEAD + count * form.nbytes, LINE):
                e.prefetch(e.offset(start, byte), near=2)
        units = [blocks[k : k + self.per] for k in range(0, count, self.per)]
        heads = self.unit.heads(e, units, self.scratch.sums)
        # what several rows of x need of a block is emitted for each, and computed once
        found = [self.across(self.sums_of(units, heads, x, first)) for x in own]
        goal = e.add(e.mul(lane, self.row), e.mul(number, 4 * HALVES))
        for k, each in enumerate(found):
            e.store(each, e.offset(self.table(k), goal), vector("i32", HALVES), 4 * HALVES)
        self.keep_factors(blocks, first, lane, whole)

    def sums_of(
        self, units: Sequence[Sequence[str]], heads: Sequence[str], own: Sequence[str], first: str
    ) -> list[str]:
        """The sums of four units for one row of x."""
        e, size = self.e, self.form.elements
        inside = 4 * size // self.unit.parts if self.unit.parts else 0
        x, parts = e.offset(own[0], e.mul(first, size)), e.offset(own[3], e.mul(first, inside))
        made = []
        for k, (blocks, head) in enumerate(zip(units, heads, strict=True)):
            at = k * self.per
            places = e.offset(x, at * size), e.offset(parts, at * inside), head
            made.append(self.unit.read(UnitReader(e, self.machine, blocks, *places)))
        return made

    def keep_factors(self, blocks: Sequence[str], first: str, lane: str, whole: bool) -> None:
        """Copy the factors of a row's blocks."""
        e, kind = self.e, f"i{8 * self.size}"
        goal = e.offset(self.scratch.factors, e.mul(lane, self.size))
        for k, block in enumerate(blocks):
            number = e.add(first, k)
            number = number if whole else e.least(number, e.sub(str(self.count), 1))
            target = e.offset(goal, e.mul(number, self.block))
            for term, place in enumerate(self.unit.factors):
                own = e.offset(target, term * LANES * self.size)
                e.store(e.load(e.offset(block, place), kind, 1), own, kind, self.size)

    # across lanes

    def across(self, units: Sequence[str]) -> str:
        """The sums of four units' first halves, then of their second ones."""
        e, four = self.e, ([0, 16, 1, 17], [2, 18, 3, 19])
        pairs = [self.added(*units[k : k + 2], *four) for k in (0, 2)]
        quarters = self.added(*pairs, [0, 1, 16, 17], [2, 3, 18, 19])
        even, odd = (
            e.shuffle(quarters, "poison", [*range(k, k + 4), *range(k + 8, k + 12)], "i32")
            for k in (0, 4)
        )
        return e.value(f"add {vector('i32', HALVES)} {even}, {odd}")

    def add_four(self, own: Sequence[str], stack: str, table: str, number: str) -> None:
        """Emit the additions of four units' blocks, of 16 rows: sums are transposed, then used."""
        e, kind = self.e, vector("i32", HALVES)
        start = e.offset(table, e.mul(number, 4 * HALVES))
        rows = [e.load(e.offset(start, self.row * k), kind, 4 * HALVES) for k in range(LANES)]
        pairs = [
            e.shuffle(a, b, range(LANES), "i32", HALVES)
            for a, b in zip(rows[:HALVES], rows[HALVES:], strict=True)
        ]
        low, high = (self.transposed(pairs[k : k + FOUR]) for k in (0, FOUR))
        for k, (a, b) in enumerate(zip(low, high, strict=True)):
            for half in (0, 1):
                begin = [4 * half, 16 + 4 * half, 8 + 4 * half, 24 + 4 * half]
                made = e.shuffle(a, b, [j + x for j in begin for x in range(4)], "i32")
                e.store(made, e.offset(self.scratch.sums, (2 * k + half) * LINE), WORDS, LINE)
        first = e.mul(number, FOUR * self.per)
        last = e.least(e.add(first, FOUR * self.per), self.count)
        self.in_order(own, stack, first, last)

    def transposed(self, rows: Sequence[str]) -> list[str]:
        """Four vectors whose quarters are transposed as matrices of four rows."""
        e = self.e

        def in_quarters(a: str, b: str, order: Sequence[int]) -> str:
            return e.shuffle(a, b, [k + four for four in range(0, LANES, 4) for k in order], "i32")

        pairs = [
            in_quarters(rows[k], rows[k + 1], order)
            for order in ([0, 16, 1, 17], [2, 18, 3, 19])
            for k in (0, 2)
        ]
        return [
            in_quarters(*pair, order)
            for pair in (pairs[:2], pairs[2:])
            for order in ([0, 1, 16, 17], [2, 3, 18, 19])
        ]

    def added(self, a: str, b: str, low: Sequence[int], high: Sequence[int]) -> str:
        """The sum of two shuffles of a and b, alike in each four lanes."""
        parts = (
            self.e.shuffle(a, b, [k + four for four in range(0, LANES, 4) for k in order], "i32")
            for order in (low, high)
        )
        return self.e.value("add {} {}, {}".format(WORDS, *parts))

    # in order

    def in_order(self, own: Sequence[str], stack: str, first: str, last: str) -> None:
        """Emit the additions of a stretch's blocks, in which leaves begin and end."""
        e, leaf = self.e, self.leaf

        def one(number: str) -> None:
            start = e.mul(number, leaf)
            low, high = e.most(start, first), e.least(e.add(start, leaf), last)
            begins = e.value(f"icmp eq i64 {low}, {start}")
            before = e.load(stack, FLOATS, LINE)
            zero = splat(-0.0)
            begun = e.value(f"select i1 {begins}, {FLOATS} {zero}, {FLOATS} {before}")
            body = partial(self.one_block, own, first)
            (total,) = e.loop(low, high, 1, body, [(FLOATS, begun)])
            e.store(total, stack, FLOATS, LINE)
            ends = e.value(f"icmp eq i64 {high}, {e.add(start, leaf)}")
            e.when(ends, lambda: self.end_leaf(stack, number, total))

        numbers = [
            e.value(f"udiv i64 {first}, {leaf}"),
            e.value(f"udiv i64 {e.add(last, e.sub(str(leaf), 1))}, {leaf}"),
        ]
        e.loop(*numbers, 1, one)

    def end_leaf(self, stack: str, number: str, total: str) -> None:
        """Emit the additions that a leaf's sum completes: older ones plus newer ones."""
        e = self.e
        waiting = e.call("i64", "llvm.ctpop.i64", ("i64", number))
        other = e.value(f"xor i64 {number}, -1")
        owed = e.call("i64", "llvm.cttz.i64", ("i64", other), ("i1", "true"))

        def add(k: str, newer: str) -> list[str]:
            place = e.mul(e.sub(waiting, k), LINE)
            older = e.load(e.offset(stack, place), FLOATS, LINE)
            return [e.value(f"fadd {FLOATS} {older}, {newer}")]

        (made,) = e.loop(0, owed, 1, add, [(FLOATS, total)])
        left = e.mul(e.add(e.sub(waiting, owed), 1), LINE)
        e.store(made, e.offset(stack, left), FLOATS, LINE)

    def one_block(self, own: Sequence[str], first: str, block: str, total: str) -> list[str]:
        """Emit the addition of one block of 16 rows."""
        e, unit, inside = self.e, self.unit, self.e.sub(block, first)
        d = e.broadcast(e.load(e.offset(own[1], e.mul(block, 4)), "float", 4))
        halves = 1 if self.per == 2 else 2
        start = e.offset(self.scratch.sums, e.mul(inside, halves * LINE))
        sums = [e.load(e.offset(start, LINE * k), WORDS, LINE) for k in range(halves)]
        whole = sums[0]
        if halves == 2 and not unit.minima:
            whole = e.value(f"add {WORDS} {whole}, {sums[1]}")
        of_x = ""
        if not unit.parts:
            of_x = e.broadcast(e.load(e.offset(own[2], e.mul(block, 4)), "i32", 4), "i32")
        moved = unit.subtracted(self.machine)
        if moved:
            excess = e.value(f"mul {WORDS} {of_x}, {splat(moved, 'i32')}")
            whole = e.value(f"sub {WORDS} {whole}, {excess}")
        terms = [whole, sums[1] if unit.minima else of_x][: len(unit.factors)]
        for k, term in enumerate(terms):
            factor = self.factor(block, k)
            if k and unit.sign:
                factor = e.value(f"fneg {FLOATS} {factor}")
            scaled = e.value(f"fmul {FLOATS} {d}, {factor}")
            value = e.value(f"sitofp {WORDS} {term} to {FLOATS}")
            total = e.fma(value, scaled, total)
        return [total]

    def factor(self, block: str, term: int) -> str:
        """The factors of a block of 16 rows."""
        e, kind, size = self.e, vector(self.unit.scalar), LANES * self.size
        place = e.add(e.mul(block, self.block), term * size)
        found = e.load(e.offset(self.scratch.factors, place), kind, size)
        return found if kind == FLOATS else e.value(f"fpext {kind} {found} to {FLOATS}")
