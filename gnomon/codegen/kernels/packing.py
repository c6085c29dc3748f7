"""Copies a block of an operand into panels that a microkernel reads straight through.

A panel holds `width` rows of the operand (for B: columns) side by side: [k][width] units. Nothing
outside the operand is read; places past its last row hold anything, and what they give is never
stored. Transposition happens here, in registers, so that every layout meets the same microkernel;
and so does widening: narrow values become units (steps.py) when they are copied, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.codegen.emitter import BITS, LANES, Emitter, LLVMModule, vector
from gnomon.codegen.kernels.strides import Dims, named_walk, offset
from gnomon.codegen.kernels.transposing import BLOCK, read_turned, transpose
from gnomon.codegen.kernels.units import Source, units_across, units_along

SHORT = 8
"""Lanes that are copied as quickly as fewer."""
STRIP = 64
"""Neighbouring rows of an operand that are copied together, into several panels ..."""
MOST_PANELS = 5
"""... but no more than these, whose lines may share a set of the first cache."""


@dataclass(frozen=True)
class Packing:
    """The packing of one operand: panel width, and its merged axes along and across the panels.

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
        """The contents of the operand: dtype in memory and of units."""
        return self.given or Source(self.scalar)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The operand's sizes and strides that every call of the packer passes."""
        return (*named_walk(self.rows, "row").numbers, *named_walk(self.steps, "step").numbers)

    @property
    def across(self) -> bool:
        """Whether a panel's row is one contiguous piece of the operand, or at most two."""
        size, stride = self.rows[-1]
        return stride == 1 and (len(self.rows) == 1 or size >= self.width)

    @property
    def along(self) -> bool:
        """Whether squares of contiguous steps can be transposed."""
        size, stride = self.steps[-1]
        if self.across or stride != 1 or 2 * self.width < self.block:
            return False
        return size >= self.block * self.source.most

    @property
    def block(self) -> int:
        """Side of a transposed square."""
        return BLOCK[self.scalar]

    @property
    def slots(self) -> int:
        """The number of row offsets that a panel stores: those of whole squares."""
        return -(-self.width // self.block) * self.block


class Form:
    """The packing of an operand without sizes and strides, which are parameters of the packer."""

    def __init__(self, packing: Packing) -> None:
        rows, steps = named_walk(packing.rows, "row"), named_walk(packing.steps, "step")
        self.scalar, self.width, self.item = packing.scalar, packing.width, packing.item
        self.source, self.block, self.slots = packing.source, packing.block, packing.slots
        self.across, self.along = packing.across, packing.along
        self.rows, self.steps, self.exist = rows.dims, steps.dims, rows.dims[0][0]
        self.parameters = [("i64", name) for name in (*rows.parameters, *steps.parameters)]

    def begin(self, e: Emitter) -> None:
        """Emit what is computed once in a packer."""
        self.far = e.mul(self.steps[-1][1], self.source.item)
        """Bytes from one step of the innermost axis to the next."""
        self.stride = e.mul(self.far, self.source.together)
        """The same of units."""


def emit_pack(module: LLVMModule, name: str, packing: Packing) -> None:
    """Define name(base, first row, panels, first step, steps, target, offsets, *numbers)."""
    form = Form(packing)
    parameters = [
        ("ptr readonly", "base"),
        ("i64", "first"),
        ("i64", "panels"),
        ("i64", "start"),
        ("i64", "length"),
        ("ptr", "target"),
        ("ptr", "offsets"),
        *form.parameters,
    ]
    e = module.function(name, parameters, linkage="internal", attributes="noinline nounwind")
    form.begin(e)
    stride = e.mul(units_of(e, form, "%length"), form.width * form.item)

    def panel(index: str) -> None:
        row = e.add("%first", e.mul(index, form.width))
        find_rows(e, form, row)
        target = e.offset("%target", e.mul(index, stride))
        for_each_run(e, form, row, target)

    e.loop(copy_strips(e, form, stride), "%panels", 1, panel)
    e.ret()


def units_of(e: Emitter, form: Form, steps: str) -> str:
    """The number of units for so many steps, rounded up."""
    together = form.source.together
    return e.value(f"udiv i64 {e.add(steps, 1)}, 2") if together == 2 else steps


def copy_strips(e: Emitter, form: Form, stride: str) -> str:
    """Emit copies of several panels at once, line by line, if one stride serves; their number."""
    group, source = min(STRIP // form.width, MOST_PANELS), form.source
    if group < 2 or not form.across or len(form.rows) + len(form.steps) > 2:
        return "0"
    wide = -(-form.width // SHORT) * SHORT
    # a vector may stick out into the next line of its panel, not farther
    if source.together > 1 or wide > 2 * form.width:
        return "0"
    # the last vector of a panel reads on into rows that must exist
    exist = e.sub(e.sub(form.exist, wide - form.width), "%first")
    whole = e.value(f"sdiv i64 {exist}, {group * form.width}")
    count = e.most(e.least(whole, e.value(f"udiv i64 %panels, {group}")), 0)
    last = e.most(e.sub("%length", 1), 0)

    def strip(index: str) -> None:
        row = e.add("%first", e.mul(index, group * form.width))
        read = e.offset("%base", e.mul(e.add(row, e.mul("%start", form.steps[0][1])), source.item))
        write = e.offset("%target", e.mul(e.mul(index, group), stride))
        places = read, [e.offset(write, e.mul(panel, stride)) for panel in range(group)]
        e.loop(0, last, 1, lambda step: copy_line(e, form, places, step, wide))
        # what sticks out of a panel's last line would be another panel's first
        e.loop(last, "%length", 1, lambda step: copy_line(e, form, places, step, form.width))

    e.loop(0, count, 1, strip)
    return e.mul(count, group)


def copy_line(e: Emitter, form: Form, places: tuple[str, list[str]], step: str, wide: int) -> None:
    """Emit one step of several panels: `wide` contiguous values for each."""
    source, (read, targets) = form.source, places
    line = e.offset(read, e.mul(step, form.stride))
    for panel, target in enumerate(targets):
        goal = e.offset(target, e.mul(step, form.width * form.item))
        for first in range(0, wide, LANES):
            lanes = min(LANES, wide - first)
            start = e.offset(line, (panel * form.width + first) * source.item)
            value = e.load(start, vector(source.memory, lanes), source.item)
            value = units_across(e, source, [value], lanes)
            e.store(
                value,
                e.offset(goal, first * form.item),
                vector(form.scalar, lanes),
                form.item,
            )


def find_rows(e: Emitter, form: Form, first: str) -> None:
    """Emit the byte offset of each row of the panel; rows past the end repeat the last."""

    def one(slot: str) -> None:
        row = e.add(first, e.least(slot, form.width - 1))
        row = e.least(row, e.sub(form.exist, 1))
        place = e.mul(offset(e, row, form.rows), form.source.item)
        e.store(place, e.offset("%offsets", e.mul(slot, 8)), "i64", 8)

    e.loop(0, form.slots, 1, one)


def for_each_run(e: Emitter, form: Form, row: str, target: str) -> None:
    """Emit the copies of all steps, one run of the innermost step axis after another."""
    *outer, (inner, stride) = form.steps
    item, together = form.source.item, form.source.together
    if not outer:
        base = e.offset("%base", e.mul(e.mul("%start", stride), item))
        copy_run(e, form, row, (base, "%length", target))
        return
    end = e.add("%start", "%length")

    def run(index: str) -> None:
        begin = e.mul(index, inner)
        low = e.call("i64", "llvm.smax.i64", ("i64", begin), ("i64", "%start"))
        high = e.least(e.add(begin, inner), end)
        place = e.add(offset(e, index, tuple(outer)), e.mul(e.sub(low, begin), stride))
        base = e.offset("%base", e.mul(place, item))
        done = e.mul(e.sub(low, "%start"), form.width * form.item // together)
        copy_run(e, form, row, (base, e.sub(high, low), e.offset(target, done)))

    first = e.value(f"udiv i64 %start, {inner}")
    last = e.value(f"udiv i64 {e.add(end, e.sub(inner, 1))}, {inner}")
    e.loop(first, last, 1, run)


Copy = tuple[str, str, str]
"""A run of steps: its start in the operand, its length, and its goal."""


def copy_run(e: Emitter, form: Form, row: str, run: Copy) -> None:
    """Emit the copy of one run: whole rows, transposed squares, or values one by one."""
    base, length, target = run
    full = length
    if form.source.together == 2:
        full = e.value(f"udiv i64 {length}, 2")
    if form.across:
        inner = form.rows[-1][0]
        inside = e.value(f"urem i64 {row}, {inner}") if len(form.rows) > 1 else row
        together = e.sub(inner, inside)
        whole = e.value(f"icmp sge i64 {together}, {form.width}")
        done = e.value(f"select i1 {whole}, i64 {full}, i64 0")
        copy_rows(e, form, (base, done, target))
        rest = e.value(f"select i1 {whole}, i64 0, i64 {full}")
        copy_two_pieces(e, form, (base, rest, target), (together, e.sub(form.exist, row)))
        done = full
    elif form.along:
        done = e.mul(e.value(f"udiv i64 {full}, {form.block}"), form.block)
        copy_squares(e, form, (base, done, target))
    else:
        done = "0"
    if not form.across or form.source.together > 1:
        copy_values(e, form, (base, full, target), done)
    if form.source.together > 1:
        copy_half_unit(e, form, run, full)


def copy_rows(e: Emitter, form: Form, run: Copy) -> None:
    """Pack steps of `width` contiguous values, loaded and stored as vectors."""
    base, length, target = run
    start = e.offset(base, e.load("%offsets", "i64", 8))
    pieces = [LANES] * (form.width // LANES) + [form.width % LANES] * (form.width % LANES > 0)

    source = form.source

    def unit(index: str) -> None:
        read = e.offset(start, e.mul(index, form.stride))
        write = e.offset(target, e.mul(index, form.width * form.item))
        for number, lanes in enumerate(pieces):
            first = e.offset(read, LANES * number * source.item)
            values = [
                e.load(e.offset(first, place), vector(source.memory, lanes), source.item)
                for place in places_of(form)
            ]
            value = units_across(e, form.source, values, lanes)
            goal = e.offset(write, LANES * number * form.item)
            e.store(value, goal, vector(form.scalar, lanes), form.item)

    e.loop(0, length, 1, unit)


def places_of(form: Form) -> list[str]:
    """The byte offsets of a unit's steps from its first."""
    return ["0", form.far][: form.source.together]


def copy_two_pieces(e: Emitter, form: Form, run: Copy, counts: tuple[str, str]) -> None:
    """Pack steps whose `exist` values are in two contiguous pieces, the first of `together`.

    Whole vectors are stored: steps below, which come later, overwrite what sticks out.
    """
    base, length, target = run
    together, exist = counts
    switch = e.least(together, form.width - 1)
    first = e.offset(base, e.load("%offsets", "i64", 8))
    second = e.offset(base, e.load(e.offset("%offsets", e.mul(switch, 8)), "i64", 8))
    source = form.source
    second = e.offset(second, e.mul(e.sub("0", switch), source.item))
    lanes = range(0, form.width, LANES)
    masks = [piece_masks(e, lane, together, exist) for lane in lanes]

    def some(read: str, place: int, on: tuple[str, str]) -> str:
        one, other = (e.offset(e.offset(part, read), place) for part in (first, second))
        value = e.load_masked(one, on[0], source.memory)
        return e.load_masked(other, on[1], source.memory, fill=value)

    def unit(index: str) -> None:
        read = e.mul(index, form.stride)
        write = e.offset(target, e.mul(index, form.width * form.item))
        for lane, on in zip(lanes, masks, strict=True):
            places = [e.add(place, lane * source.item) for place in places_of(form)]
            values = [some(read, place, on) for place in places]
            value = units_across(e, form.source, values, LANES)
            goal = e.offset(write, lane * form.item)
            e.store(value, goal, vector(form.scalar), form.item)

    e.loop(0, length, 1, unit)


def piece_masks(e: Emitter, lane: int, together: str, exist: str) -> tuple[str, str]:
    """The masks of the first and the second piece, for the 16 lanes from `lane` on."""
    kind = vector("i32")
    numbers = f"<{', '.join(f'i32 {lane + k}' for k in range(LANES))}>"
    bounds = [
        e.broadcast(e.value(f"trunc i64 {bound} to i32"), "i32") for bound in (together, exist)
    ]
    left, real = (e.value(f"icmp slt {kind} {numbers}, {bound}") for bound in bounds)
    # the first piece never reaches past the last row, so whatever else exists is in the second
    return left, e.value(f"xor {vector('i1')} {left}, {real}")


def copy_squares(e: Emitter, form: Form, run: Copy) -> None:
    """Transpose squares of `block` rows by `block` units: all rows of these units at a time.

    Units ascend and squares go from right to left: what sticks out of the panel is overwritten.
    """
    length, side = run[1], form.block
    lefts = range(form.slots - side, -1, -side)
    tables = [[e.load(e.offset("%offsets", 8 * (left + row)), "i64", 8) for row in range(side)]
              for left in lefts]  # fmt: skip

    def squares(unit: str) -> None:
        for left, places in zip(lefts, tables, strict=True):
            copy_square(e, form, run, (unit, left, places))

    e.loop(0, length, side, squares)


def copy_square(e: Emitter, form: Form, run: Copy, square: tuple[str, int, Sequence[str]]) -> None:
    """Transpose one square: its first unit, its first row in the panel, where its rows begin."""
    (base, _, target), (unit, left, places) = run, square
    side, item, source = form.block, form.item, form.source
    read = e.offset(base, e.mul(unit, form.stride))
    starts = [e.offset(read, place) for place in places]
    if source.together == 1 and source.memory == form.scalar:
        turned = read_turned(e, form.scalar, starts, item)
    else:
        loaded = vector(source.memory, side * source.together)
        values = [e.load(start, loaded, source.item) for start in starts]
        turned = transpose(
            e, form.scalar, [units_along(e, source, value, side) for value in values]
        )
    corner = e.offset(target, e.add(e.mul(unit, form.width * item), left * item))
    for number, value in enumerate(turned):
        goal = e.offset(corner, number * form.width * item)
        e.store(value, goal, vector(form.scalar, side), item)


def copy_values(e: Emitter, form: Form, run: Copy, done: str) -> None:
    """Emit the copy of one unit after another, with any strides."""
    base, length, target = run

    def unit(step: str, row: str) -> None:
        store_unit(e, form, (base, step, target), row, places_of(form))

    e.loop(
        done,
        length,
        1,
        lambda step: e.loop(0, form.width, 1, lambda row: unit(step, row)),
    )


def copy_half_unit(e: Emitter, form: Form, run: Copy, full: str) -> None:
    """Emit the last unit of an odd number of steps, which has one step only."""
    base, length, target = run
    e.loop(
        0,
        e.value(f"urem i64 {length}, 2"),
        1,
        lambda _: e.loop(
            0,
            form.width,
            1,
            lambda row: store_unit(e, form, (base, full, target), row, ["0"]),
        ),
    )


def store_unit(e: Emitter, form: Form, run: Copy, row: str, places: Sequence[str]) -> None:
    """Emit one unit of one row, from the steps at these places."""
    base, number, target = run
    source, one = form.source, vector(form.source.memory, 1)
    start = e.load(e.offset("%offsets", e.mul(row, 8)), "i64", 8)
    read = e.offset(base, e.add(start, e.mul(number, form.stride)))
    values = [e.load(e.offset(read, place), one, source.item) for place in places]
    values += [f"<{source.memory} {source.padding}>"] * (source.together - len(values))
    unit = units_across(e, form.source, values, 1)
    write = e.mul(e.add(e.mul(number, form.width), row), form.item)
    e.store(unit, e.offset(target, write), vector(form.scalar, 1), form.item)
