"""The product of one row, rounded to int8, with a matrix of quantized blocks: IntegerProduct.

Its definition is gnomon/ops/integer_blocks.py's; whole sums are exact, so their order is free.
Sixteen rows of blocks are taken together, in stretches of 16 units (integer_dots.py): row after
row is multiplied, so that memory is read in order; then the sums of all rows are added across
lanes, so that each row has a lane; then blocks are added in their order, leaf after leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from gnomon.codegen.emitter import LANE_NUMBERS, LANES, Emitter, splat, vector
from gnomon.codegen.kernels.integer_dots import UNITS, UnitReader, unit_blocks
from gnomon.codegen.kernels.integer_rounding import RoundedRow, emit_rounding
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.machine import Machine
from gnomon.ops.blocks import FORMATS

__all__ = ["IntegerProduct", "IntegerProductSpec"]

WORDS, FLOATS = vector("i32"), vector("float")
LINE = 4 * LANES
"""Bytes of one number of every row."""
FOUR = 4
"""Units whose sums are added across lanes at once."""
HALVES = 2 * FOUR
"""Their sums of each row."""
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
    """The addresses of a thread's scratch memory."""

    sums: str
    """Sums of halves of four units [half][row]."""
    stack: str
    """The sum so far, and those of leaves that wait."""
    table: str
    """Sums of halves of units [row][four units][half]."""
    factors: str
    """[block][term][row]."""
    x: str
    """The rounded row of x."""
    d: str
    """Its factors."""
    totals: str
    """The sum of each group."""
    parts: str
    """The sums of parts of groups."""


class IntegerProduct:
    """Writer of products of int8 rows with quantized rows; threads divide groups of 16 columns."""

    def __init__(self, e: Emitter, spec: IntegerProductSpec, machine: Machine) -> None:
        self.e, self.spec, self.machine = e, spec, machine
        self.form, self.unit = FORMATS[spec.kind], UNITS[spec.kind]
        self.per = unit_blocks(spec.kind)
        self.count = spec.steps // self.form.elements
        self.fours = (self.count + FOUR * self.per - 1) // (FOUR * self.per)
        self.leaf = self.count // spec.leaves
        self.size = 2 if self.unit.scalar == "half" else 4
        """Bytes of a factor."""
        excess = self.unit.subtracted(machine)
        self.sizes = self.form.elements, self.unit.parts, -excess if excess else 1
        self.out, self.x, self.base = (e.buffer(k) for k in range(3))

    # memory

    def places(self) -> tuple[SumsMemory, int]:
        """The offsets of the parts of scratch memory, and its size with a margin for reads."""
        e, count, spare = self.e, self.count, FOUR * 256
        self.row = self.fours * (4 * HALVES)
        self.block = len(self.unit.factors) * LANES * self.size
        sizes = [HALVES * LINE, (1 + DEPTH) * LINE, LANES * self.row, count * self.block]
        sizes += [self.spec.steps + spare, 4 * count, 4 * count, self.spec.steps // 4 + spare]
        found, at = [], 0
        for size in sizes:
            found.append(e.offset("%scratch", at))
            at = at + size
        return SumsMemory(*found), at

    # the kernel

    def write(self) -> int:
        """Write the kernel; gives its bytes of scratch."""
        e, spec = self.e, self.spec
        self.scratch, size = self.places()
        low, high = part(e, (spec.columns + LANES - 1) // LANES, "%thread", "%threads")

        def busy() -> None:
            emit_rounding(e, self.x, RoundedRow(*self.scratch[-4:]), self.count, self.sizes)
            e.loop(low, high, 1, self.sixteen)

        e.when(e.value(f"icmp slt i64 {low}, {high}"), busy)
        e.ret()
        return size

    # sixteen columns

    def sixteen(self, group: str) -> None:
        """Emit the product with 16 rows of blocks; row numbers past the end repeat the last one."""
        e, spec = self.e, self.spec
        column = e.mul(group, LANES)
        whole = self.count // (FOUR * self.per)

        def row(lane: str) -> None:
            number = e.least(e.add(column, lane), e.sub(str(spec.columns), 1))
            place = e.offset(self.base, e.mul(number, spec.pitch))
            e.loop(0, whole, 1, partial(self.four_units, lane, place, True))
            rest = partial(self.four_units, lane, place, False, str(whole))
            e.when(e.value(f"icmp slt i64 {whole}, {self.fours}"), rest)

        e.loop(0, LANES, 1, row)
        e.loop(0, self.fours, 1, self.add_four)
        total = e.load(e.offset(self.scratch.stack, LINE), FLOATS, LINE)
        self.store(total, "0", column)

    def store(self, total: str, row: str, column: str) -> None:
        """Emit the store of 16 columns' sums."""
        e, spec = self.e, self.spec
        left = e.broadcast(e.sub(str(spec.columns), column), "i64")
        on = e.value(f"icmp slt {vector('i64')} {LANE_NUMBERS}, {left}")
        place = e.offset(self.out, e.mul(e.add(e.mul(row, spec.columns), column), 4))
        e.store_masked(total, place, on, "float")

    def four_units(self, lane: str, place: str, whole: bool, number: str) -> None:
        """Emit the sums of four units of one row; an incomplete last one repeats the last block."""
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
        goal = e.add(e.mul(lane, self.row), e.mul(number, 4 * HALVES))
        found = self.across(self.sums_of(units, heads, first))
        e.store(found, e.offset(self.scratch.table, goal), vector("i32", HALVES), 4 * HALVES)
        self.keep_factors(blocks, first, lane, whole)

    def sums_of(
        self, units: Sequence[Sequence[str]], heads: Sequence[str], first: str
    ) -> list[str]:
        """The integer sums of four units."""
        e, size = self.e, self.form.elements
        inside = 2 * size // self.unit.parts if self.unit.parts else 0
        x, parts = (
            e.offset(start, e.mul(first, each))
            for start, each in ((self.scratch.x, size), (self.scratch.parts, inside))
        )
        made = []
        for k, (blocks, head) in enumerate(zip(units, heads, strict=True)):
            at = k * self.per
            places = e.offset(x, at * size), e.offset(parts, at * inside), head
            made.append(self.unit.read(UnitReader(e, self.machine, blocks, *places)))
        return made

    def keep_factors(self, blocks: Sequence[str], first: str, lane: str, whole: bool) -> None:
        """Copy the scales of a row's blocks to scratch memory."""
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
        """The sums of four units' first halves, then of their second halves."""
        e, four = self.e, ([0, 16, 1, 17], [2, 18, 3, 19])
        pairs = [self.added(*units[k : k + 2], *four) for k in (0, 2)]
        quarters = self.added(*pairs, [0, 1, 16, 17], [2, 3, 18, 19])
        even, odd = (
            e.shuffle(quarters, "poison", [*range(k, k + 4), *range(k + 8, k + 12)], "i32")
            for k in (0, 4)
        )
        return e.value(f"add {vector('i32', HALVES)} {even}, {odd}")

    def add_four(self, number: str) -> None:
        """Emit the additions of four units' blocks, for 16 rows: transpose, then scale."""
        e = self.e
        start = e.offset(self.scratch.table, e.mul(number, 4 * HALVES))
        kind = vector("i32", HALVES)
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
        self.in_order([self.scratch.stack], LINE, (first, last), partial(self.one_block, first))

    def transposed(self, rows: Sequence[str]) -> list[str]:
        """Four vectors, transposed as 4 x 4 matrices of quarters."""
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
        """The sum of two shuffles of a and b, with equal indices in each four lanes."""
        parts = (
            self.e.shuffle(a, b, [k + four for four in range(0, LANES, 4) for k in order], "i32")
            for order in (low, high)
        )
        return self.e.value("add {} {}, {}".format(WORDS, *parts))

    # in order

    def in_order(
        self,
        stacks: Sequence[str],
        far: int,
        blocks: tuple[str, str],
        add: Callable[..., Sequence[str]],
    ) -> None:
        """Emit the additions of a stretch of blocks in canonical order, with leaves that end in it.

        stacks: the addresses of sums so far, followed by those of finished leaves, `far` bytes
        apart. add(block, *sums): emits the additions of a block.
        """
        e, leaf, (first, last) = self.e, self.leaf, blocks

        def one(number: str) -> None:
            start = e.mul(number, leaf)
            low, high = e.most(start, first), e.least(e.add(start, leaf), last)
            begins = e.value(f"icmp eq i64 {low}, {start}")
            before = (e.load(stack, FLOATS, LINE) for stack in stacks)
            kind, zero = FLOATS, splat(-0.0)
            begun = [e.value(f"select i1 {begins}, {kind} {zero}, {kind} {x}") for x in before]
            totals = e.loop(low, high, 1, add, [(FLOATS, x) for x in begun])
            for stack, total in zip(stacks, totals, strict=True):
                e.store(total, stack, FLOATS, LINE)
            ends = e.value(f"icmp eq i64 {high}, {e.add(start, leaf)}")
            e.when(ends, lambda: self.end_leaf(stacks, far, number, totals))

        numbers = [
            e.value(f"udiv i64 {first}, {leaf}"),
            e.value(f"udiv i64 {e.add(last, e.sub(str(leaf), 1))}, {leaf}"),
        ]
        e.loop(*numbers, 1, one)

    def end_leaf(self, stacks: Sequence[str], far: int, number: str, totals: Sequence[str]) -> None:
        """Emit the additions that a finished leaf completes: older sums plus newer ones."""
        e = self.e
        waiting = e.call("i64", "llvm.ctpop.i64", ("i64", number))
        other = e.value(f"xor i64 {number}, -1")
        owed = e.call("i64", "llvm.cttz.i64", ("i64", other), ("i1", "true"))

        def add(k: str, *newer: str) -> list[str]:
            place = e.mul(e.sub(waiting, k), far)
            older = [e.load(e.offset(stack, place), FLOATS, LINE) for stack in stacks]
            return [e.value(f"fadd {FLOATS} {a}, {b}") for a, b in zip(older, newer, strict=True)]

        made = e.loop(0, owed, 1, add, [(FLOATS, x) for x in totals])
        left = e.mul(e.add(e.sub(waiting, owed), 1), far)
        for stack, total in zip(stacks, made, strict=True):
            e.store(total, e.offset(stack, left), FLOATS, LINE)

    def one_block(self, first: str, block: str, total: str) -> list[str]:
        """Emit the addition of one block of 16 rows to the total."""
        e, unit, inside = self.e, self.unit, self.e.sub(block, first)
        d = e.broadcast(e.load(e.offset(self.scratch.d, e.mul(block, 4)), "float", 4))
        halves = 1 if self.per == 2 else 2
        start = e.offset(self.scratch.sums, e.mul(inside, halves * LINE))
        sums = [e.load(e.offset(start, LINE * k), WORDS, LINE) for k in range(halves)]
        whole = sums[0]
        if halves == 2 and not unit.minima:
            whole = e.value(f"add {WORDS} {whole}, {sums[1]}")
        of_x = ""
        if not unit.parts:
            of_x = e.broadcast(
                e.load(e.offset(self.scratch.totals, e.mul(block, 4)), "i32", 4), "i32"
            )
            if self.sizes[2] != 1:
                whole = e.value(f"add {WORDS} {whole}, {of_x}")
        terms = [whole, sums[1] if unit.minima else of_x]
        for k, term in enumerate(terms[: len(unit.factors)]):
            factor = self.factor(block, k)
            if k and unit.sign:
                factor = e.value(f"fneg {FLOATS} {factor}")
            total = self.plus(total, term, factor, d)
        return [total]

    def plus(self, total: str, term: str, factor: str, d: str) -> str:
        """The total plus a block's integer sum times its factor."""
        e = self.e
        scaled = e.value(f"fmul {FLOATS} {d}, {factor}")
        return e.fma(e.value(f"sitofp {WORDS} {term} to {FLOATS}"), scaled, total)

    def factor(self, block: str, term: int) -> str:
        """The scales of one block of 16 rows."""
        e, kind, size = self.e, vector(self.unit.scalar), LANES * self.size
        place = e.add(e.mul(block, self.block), term * size)
        found = e.load(e.offset(self.scratch.factors, place), kind, size)
        return found if kind == FLOATS else e.value(f"fpext {kind} {found} to {FLOATS}")
