"""Copies a block of an operand into panels that a microkernel reads straight through.

A panel holds `width` rows of the operand (for B: columns) side by side: [k][width] units. Nothing
outside the operand is read; places past its last row hold anything, and what they give is never
stored. Transposition happens here, in registers, so that every layout meets the same microkernel;
and so does widening: narrow values become units (steps.py) when they are copied, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.codegen.emitter import BITS, LANES, Emitter, Module, vector
from gnomon.codegen.kernels.strides import Dims, offset, total
from gnomon.codegen.kernels.transposing import BLOCK, transpose
from gnomon.codegen.kernels.units import Source, units_across, units_along

SHORT = 8
"""Lanes that are copied as quickly as fewer."""
STRIP = 64
"""Neighbouring rows of an operand that are copied together, into several panels ..."""
MOST_PANELS = 5
"""... but no more than these, whose lines may share a set of the first cache."""


@dataclass(frozen=True)
class Packing:
    """How one operand is packed: panel width, and its merged axes along and across the panels.

    `scalar` is that of a unit; without a source the operand holds the same.
    """

    scalar: str
    width: int
    rows: Dims
    steps: Dims
    given: Source | None = None

    @property
    def item(self) -> int:
        """Bytes of one unit."""
        return BITS[self.scalar] // 8

    @property
    def source(self) -> Source:
        """What the operand holds."""
        return self.given or Source(self.scalar)

    @property
    def stride(self) -> int:
        """Bytes from one unit of the innermost step axis to the next."""
        return self.steps[-1][1] * self.source.item * self.source.together

    @property
    def across(self) -> bool:
        """Whether a panel's row is one contiguous piece of the operand, or at most two."""
        size, stride = self.rows[-1]
        return stride == 1 and (size >= self.width or len(self.rows) == 1)

    @property
    def along(self) -> bool:
        """Whether squares of contiguous steps can be transposed."""
        size, stride = self.steps[-1]
        units = size // self.source.together
        return not self.across and stride == 1 and min(units, 2 * self.width) >= self.block

    @property
    def block(self) -> int:
        """Side of a transposed square."""
        return BLOCK[self.scalar]

    @property
    def slots(self) -> int:
        """How many row offsets a panel keeps: whole squares."""
        return -(-self.width // self.block) * self.block


def emit_pack(module: Module, name: str, packing: Packing) -> None:
    """Define name(base, first row, panels, first step, steps, target, offsets)."""
    parameters = [
        ("ptr readonly", "base"),
        ("i64", "first"),
        ("i64", "panels"),
        ("i64", "start"),
        ("i64", "length"),
        ("ptr", "target"),
        ("ptr", "offsets"),
    ]
    e = module.function(name, parameters, linkage="internal", attributes="noinline nounwind")
    stride = e.mul(units_of(e, packing, "%length"), packing.width * packing.item)

    def panel(index: str) -> None:
        row = e.add("%first", e.mul(index, packing.width))
        find_rows(e, packing, row)
        target = e.offset("%target", e.mul(index, stride))
        for_each_run(e, packing, row, target)

    e.loop(copy_strips(e, packing, stride), "%panels", 1, panel)
    e.ret()


def units_of(e: Emitter, packing: Packing, steps: str) -> str:
    """How many units hold these steps."""
    together = packing.source.together
    return e.value(f"udiv i64 {e.add(steps, 1)}, 2") if together == 2 else steps


def copy_strips(e: Emitter, packing: Packing, stride: str) -> str:
    """Copy several panels at a time, line by line, where one stride serves; gives how many."""
    group, source = min(STRIP // packing.width, MOST_PANELS), packing.source
    if group < 2 or not packing.across or len(packing.rows) + len(packing.steps) > 2:
        return "0"
    wide = -(-packing.width // SHORT) * SHORT
    # a vector may stick out into the next line of its panel, not farther
    if source.together > 1 or wide > 2 * packing.width:
        return "0"
    # the last vector of a panel reads on into rows that must exist
    exist = e.sub(str(total(packing.rows) - (wide - packing.width)), "%first")
    whole = e.value(f"sdiv i64 {exist}, {group * packing.width}")
    count = e.most(e.least(whole, e.value(f"udiv i64 %panels, {group}")), 0)
    last = e.most(e.sub("%length", 1), 0)

    def strip(index: str) -> None:
        row = e.add("%first", e.mul(index, group * packing.width))
        read = e.offset(
            "%base", e.mul(e.add(row, e.mul("%start", packing.steps[0][1])), source.item)
        )
        write = e.offset("%target", e.mul(e.mul(index, group), stride))
        places = read, [e.offset(write, e.mul(panel, stride)) for panel in range(group)]
        e.loop(0, last, 1, lambda step: copy_line(e, packing, places, step, wide))
        # what sticks out of a panel's last line would be another panel's first
        e.loop(last, "%length", 1, lambda step: copy_line(e, packing, places, step, packing.width))

    e.loop(0, count, 1, strip)
    return e.mul(count, group)


def copy_line(
    e: Emitter, packing: Packing, places: tuple[str, list[str]], step: str, wide: int
) -> None:
    """One step of several panels, `wide` values each."""
    source, (read, targets) = packing.source, places
    line = e.offset(read, e.mul(step, packing.stride))
    for panel, target in enumerate(targets):
        goal = e.offset(target, e.mul(step, packing.width * packing.item))
        for first in range(0, wide, LANES):
            lanes = min(LANES, wide - first)
            start = e.offset(line, (panel * packing.width + first) * source.item)
            value = e.load(start, vector(source.memory, lanes), source.item)
            value = units_across(e, source, [value], lanes)
            e.store(
                value,
                e.offset(goal, first * packing.item),
                vector(packing.scalar, lanes),
                packing.item,
            )


def find_rows(e: Emitter, packing: Packing, first: str) -> None:
    """Write where each row of the panel starts, in bytes; rows past the end repeat the last."""

    def one(slot: str) -> None:
        row = e.add(first, e.least(slot, packing.width - 1))
        row = e.least(row, total(packing.rows) - 1)
        place = e.mul(offset(e, row, packing.rows), packing.source.item)
        e.store(place, e.offset("%offsets", e.mul(slot, 8)), "i64", 8)

    e.loop(0, packing.slots, 1, one)


def for_each_run(e: Emitter, packing: Packing, row: str, target: str) -> None:
    """Copy the steps [start, start + length), one run of the innermost step axis after another."""
    *outer, (inner, stride) = packing.steps
    item, together = packing.source.item, packing.source.together
    if not outer:
        base = e.offset("%base", e.mul(e.mul("%start", stride), item))
        copy_run(e, packing, row, (base, "%length", target))
        return
    end = e.add("%start", "%length")

    def run(index: str) -> None:
        begin = e.mul(index, inner)
        low = e.call("i64", "llvm.smax.i64", ("i64", begin), ("i64", "%start"))
        high = e.least(e.add(begin, inner), end)
        place = e.add(offset(e, index, tuple(outer)), e.mul(e.sub(low, begin), stride))
        base = e.offset("%base", e.mul(place, item))
        done = e.mul(e.sub(low, "%start"), packing.width * packing.item // together)
        copy_run(e, packing, row, (base, e.sub(high, low), e.offset(target, done)))

    first = e.value(f"udiv i64 %start, {inner}")
    last = e.value(f"udiv i64 {e.add(end, inner - 1)}, {inner}")
    e.loop(first, last, 1, run)


Run = tuple[str, str, str]
"""Where a run of steps starts in the operand, how long it is, and where it goes."""


def copy_run(e: Emitter, packing: Packing, row: str, run: Run) -> None:
    """Copy one run, by whole rows or transposed squares where they fit."""
    base, length, target = run
    full = length
    if packing.source.together == 2:
        full = e.value(f"udiv i64 {length}, 2")
    if packing.across:
        inner = packing.rows[-1][0]
        inside = e.value(f"urem i64 {row}, {inner}") if len(packing.rows) > 1 else row
        together = e.sub(str(inner), inside)
        whole = e.value(f"icmp sge i64 {together}, {packing.width}")
        done = e.value(f"select i1 {whole}, i64 {full}, i64 0")
        copy_rows(e, packing, (base, done, target))
        rest = e.value(f"select i1 {whole}, i64 0, i64 {full}")
        copy_two_pieces(
            e, packing, (base, rest, target), (together, e.sub(str(total(packing.rows)), row))
        )
        done = full
    elif packing.along:
        done = e.mul(e.value(f"udiv i64 {full}, {packing.block}"), packing.block)
        copy_squares(e, packing, (base, done, target))
    else:
        done = "0"
    if not packing.across or packing.source.together > 1:
        copy_values(e, packing, (base, full, target), done)
    if packing.source.together > 1:
        copy_half_unit(e, packing, run, full)


def copy_rows(e: Emitter, packing: Packing, run: Run) -> None:
    """Each step is `width` neighbours: load and store them as vectors."""
    base, length, target = run
    start = e.offset(base, e.load("%offsets", "i64", 8))
    pieces = [LANES] * (packing.width // LANES) + [packing.width % LANES] * (
        packing.width % LANES > 0
    )

    source = packing.source

    def unit(index: str) -> None:
        read = e.offset(start, e.mul(index, packing.stride))
        write = e.offset(target, e.mul(index, packing.width * packing.item))
        for number, lanes in enumerate(pieces):
            first = e.offset(read, LANES * number * source.item)
            values = [
                e.load(e.offset(first, place), vector(source.memory, lanes), source.item)
                for place in places_of(packing)
            ]
            value = units_across(e, packing.source, values, lanes)
            goal = e.offset(write, LANES * number * packing.item)
            e.store(value, goal, vector(packing.scalar, lanes), packing.item)

    e.loop(0, length, 1, unit)


def places_of(packing: Packing) -> list[int]:
    """Where the steps of a unit lie, in bytes from its first."""
    return [k * packing.stride // packing.source.together for k in range(packing.source.together)]


def copy_two_pieces(e: Emitter, packing: Packing, run: Run, counts: tuple[str, str]) -> None:
    """Each step is `together` neighbours and then others elsewhere, `exist` of them in all.

    Whole vectors are stored: what sticks out of the panel's right edge is overwritten by the steps
    below, which come later.
    """
    base, length, target = run
    together, exist = counts
    turn = e.least(together, packing.width - 1)
    first = e.offset(base, e.load("%offsets", "i64", 8))
    second = e.offset(base, e.load(e.offset("%offsets", e.mul(turn, 8)), "i64", 8))
    source = packing.source
    second = e.offset(second, e.mul(e.sub("0", turn), source.item))
    lanes = range(0, packing.width, LANES)
    masks = [piece_masks(e, lane, together, exist) for lane in lanes]

    def some(read: str, place: int, on: tuple[str, str]) -> str:
        one, other = (e.offset(e.offset(part, read), place) for part in (first, second))
        value = e.load_masked(one, on[0], source.memory)
        return e.load_masked(other, on[1], source.memory, fill=value)

    def unit(index: str) -> None:
        read = e.mul(index, packing.stride)
        write = e.offset(target, e.mul(index, packing.width * packing.item))
        for lane, on in zip(lanes, masks, strict=True):
            places = [lane * source.item + place for place in places_of(packing)]
            values = [some(read, place, on) for place in places]
            value = units_across(e, packing.source, values, LANES)
            goal = e.offset(write, lane * packing.item)
            e.store(value, goal, vector(packing.scalar), packing.item)

    e.loop(0, length, 1, unit)


def piece_masks(e: Emitter, lane: int, together: str, exist: str) -> tuple[str, str]:
    """Which of the 16 lanes from `lane` on belong to the first piece, and which to the second."""
    kind = vector("i32")
    numbers = f"<{', '.join(f'i32 {lane + k}' for k in range(LANES))}>"
    bounds = [
        e.broadcast(e.value(f"trunc i64 {bound} to i32"), "i32") for bound in (together, exist)
    ]
    left, real = (e.value(f"icmp slt {kind} {numbers}, {bound}") for bound in bounds)
    # the first piece never reaches past the last row, so whatever else exists is in the second
    return left, e.value(f"xor {vector('i1')} {left}, {real}")


def copy_squares(e: Emitter, packing: Packing, run: Run) -> None:
    """Transpose squares of `block` rows by `block` units, so many units of all rows at a time.

    A square may stick out of the panel's right edge, into the units below it. So units ascend, and
    the squares of each go from right to left: what sticks out is overwritten.
    """
    length, side = run[1], packing.block
    lefts = range(packing.slots - side, -1, -side)
    tables = [[e.load(e.offset("%offsets", 8 * (left + row)), "i64", 8) for row in range(side)]
              for left in lefts]  # fmt: skip

    def squares(unit: str) -> None:
        for left, places in zip(lefts, tables, strict=True):
            copy_square(e, packing, run, (unit, left, places))

    e.loop(0, length, side, squares)


def copy_square(
    e: Emitter, packing: Packing, run: Run, square: tuple[str, int, Sequence[str]]
) -> None:
    """Transpose one square: its first unit, its first row in the panel, where its rows begin."""
    (base, _, target), (unit, left, places) = run, square
    side, item, source = packing.block, packing.item, packing.source
    loaded = vector(source.memory, side * source.together)
    read = e.offset(base, e.mul(unit, packing.stride))
    values = [e.load(e.offset(read, place), loaded, source.item) for place in places]
    rows = [units_along(e, source, value, side) for value in values]
    corner = e.offset(target, e.add(e.mul(unit, packing.width * item), left * item))
    for number, value in enumerate(transpose(e, packing.scalar, rows)):
        goal = e.offset(corner, number * packing.width * item)
        e.store(value, goal, vector(packing.scalar, side), item)


def copy_values(e: Emitter, packing: Packing, run: Run, done: str) -> None:
    """One unit after another: any strides."""
    base, length, target = run

    def unit(step: str, row: str) -> None:
        store_unit(e, packing, (base, step, target), row, places_of(packing))

    e.loop(
        done,
        length,
        1,
        lambda step: e.loop(0, packing.width, 1, lambda row: unit(step, row)),
    )


def copy_half_unit(e: Emitter, packing: Packing, run: Run, full: str) -> None:
    """The last unit of an odd number of steps."""
    base, length, target = run
    e.loop(
        0,
        e.value(f"urem i64 {length}, 2"),
        1,
        lambda _: e.loop(
            0,
            packing.width,
            1,
            lambda row: store_unit(e, packing, (base, full, target), row, [0]),
        ),
    )


def store_unit(e: Emitter, packing: Packing, run: Run, row: str, places: Sequence[int]) -> None:
    """One unit of one row, from the steps at these places; `run` names it by its number."""
    base, number, target = run
    source, one = packing.source, vector(packing.source.memory, 1)
    start = e.load(e.offset("%offsets", e.mul(row, 8)), "i64", 8)
    read = e.offset(base, e.add(start, e.mul(number, packing.stride)))
    values = [e.load(e.offset(read, place), one, source.item) for place in places]
    values += [f"<{source.memory} {source.padding}>"] * (source.together - len(values))
    unit = units_across(e, packing.source, values, 1)
    write = e.mul(e.add(e.mul(number, packing.width), row), packing.item)
    e.store(unit, e.offset(target, write), vector(packing.scalar, 1), packing.item)
