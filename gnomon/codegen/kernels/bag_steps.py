"""Steps of the rows that a batch has met, in place: what they cost follows from the batch alone.

Each thread owns a range of rows, sorts the lookups that fall in it by row (stable, so that sums
keep canonical order: gnomon/codegen/kernels/scatter.py folds them), and changes each row once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gnomon.codegen.blocks import Folded
from gnomon.codegen.emitter import KERNEL, LANES, Emitter, LLVMModule, mask, splat, vector
from gnomon.codegen.kernels.bags import (
    F32,
    BagSpec,
    apply,
    load_lanes,
    prefetch_row,
    report_position,
    store_lanes,
)
from gnomon.codegen.kernels.scatter import GROUP, ScatterSpec, ScatterWriter
from gnomon.codegen.kernels.sharing import part
from gnomon.dtypes import float32, int64
from gnomon.ops.canonical import ROWS, SEQUENCE, leaves
from gnomon.ops.table_rows import STATE_WIDTH

DIGIT = 11
"""The most bits of a radix pass of sorting."""
AHEAD = 6
"""A row is asked for so many lookups before its turn."""
NUMBERS = ("rate", "epsilon", "decay")
"""The numbers of a step, as floats in this order."""
POSITION = (1 << 32) - 1
"""The part of a key that holds where a lookup stands in its batch."""


def emit_step(module: LLVMModule, name: str, spec: BagSpec) -> int:
    """Define kernel `name`, an optimizer's step on table rows; gives bytes of scratch.

    Slots are table, state if the rule keeps one, gradients of bags, positions, numbers, weights,
    report, first check.
    """
    return StepWriter(module.function(name, KERNEL), spec).write()


class StepWriter(ScatterWriter):
    """Writer of an optimizer's step on the rows of an embedding table that a batch looks up."""

    def __init__(self, e: Emitter, spec: BagSpec) -> None:
        roles = ((spec.bags, ROWS), (spec.size, SEQUENCE))
        folded = tuple(Folded(size, leaves(size, role)) for size, role in roles)
        scattered = ScatterSpec("add", float32, int64, 1, folded, spec.width, 1)
        made = 1 if STATE_WIDTH[spec.rule] is None else 2
        super().__init__(e, scattered, made, made + 3 + spec.weighted)
        self.bag_spec = spec
        self.state = e.buffer(1) if made > 1 else ""
        numbers = e.buffer(made + 2)
        self.weights = e.buffer(made + 3) if spec.weighted else ""
        self.numbers = {
            name: e.broadcast(e.load(e.offset(numbers, 4 * k), "float", 4))
            for k, name in enumerate(NUMBERS)
        }
        self.order = self.reserve(8 * (spec.lookups + 1 + AHEAD))
        self.other = self.reserve(8 * (spec.lookups + 1 + AHEAD))
        bits = max(spec.rows - 1, 1).bit_length()
        self.passes = -(-bits // DIGIT)
        self.digit = -(-bits // self.passes)
        self.counts = self.reserve(8 * self.passes << self.digit)
        self.gradient = self.reserve(4 * (spec.width + GROUP * LANES))

    def write(self) -> int:
        """Define the kernel; gives the bytes of scratch memory per thread."""
        e, rows = self.e, self.bag_spec.rows
        self.low, self.high = part(e, rows, "%thread", "%threads")
        self.values_here = self.values
        self.total = self.gather_own()
        here, there = self.order, self.other
        for k in range(self.passes):
            self.sort_pass(here, there, k)
            here, there = there, here
        self.order = here
        e.store("-1", self.cell(here, self.total), "i64", 8)
        e.loop(0, self.total, 1, self.at_end_of_run, [("i64", "0")])
        e.ret()
        return self.used

    def gather_own(self) -> str:
        """Emit the sort keys, row and place, of lookups in this thread's rows; gives the count."""
        e = self.e

        def look(i: str, count: str) -> list[str]:
            found = self.position(self.index, i)
            report_position(e, found, self.bag_spec.rows, self.report, self.first_check)
            key = e.value(f"or i64 {e.value(f'shl i64 {found}, 32')}, {i}")
            e.store(key, self.cell(self.order, count), "i64", 8)
            after = e.value(f"icmp sge i64 {found}, {self.low}")
            before = e.value(f"icmp slt i64 {found}, {self.high}")
            mine = e.value(f"zext i1 {e.value(f'and i1 {after}, {before}')} to i64")
            for k in range(self.passes):
                place = self.counter(key, k)
                e.store(e.add(e.load(place, "i64", 8), mine), place, "i64", 8)
            return [e.add(count, mine)]

        cells = self.passes << self.digit
        e.loop(0, cells, 1, lambda k: e.store("0", self.cell(self.counts, k), "i64", 8))
        return e.loop(0, self.bag_spec.lookups, 1, look, [("i64", "0")])[0]

    def counter(self, key: str, number: int) -> str:
        """The address of the counter of a key's digit in a pass of the radix sort."""
        e, size = self.e, 1 << self.digit
        shifted = e.value(f"lshr i64 {key}, {32 + self.digit * number}")
        digit = e.value(f"and i64 {shifted}, {size - 1}")
        return self.cell(self.counts, e.add(digit, size * number))

    def sort_pass(self, here: str, there: str, number: int) -> None:
        """Emit one stable pass of a radix sort, by one digit, from one table to the other."""
        e, first = self.e, number << self.digit

        def begin(k: str, total: str) -> list[str]:
            place = self.cell(self.counts, k)
            found = e.load(place, "i64", 8)
            e.store(total, place, "i64", 8)
            return [e.add(total, found)]

        def move(i: str) -> None:
            key = self.read(here, i)
            place = self.counter(key, number)
            at = e.load(place, "i64", 8)
            e.store(key, self.cell(there, at), "i64", 8)
            e.store(e.add(at, 1), place, "i64", 8)

        e.loop(first, first + (1 << self.digit), 1, begin, [("i64", "0")])
        e.loop(0, self.total, 1, move)

    def at_end_of_run(self, i: str, start: str) -> list[str]:
        """Emit a row's step if this is its last lookup; gives the start of the next one's row."""
        e = self.e
        row, following = (self.row_at(k) for k in (i, e.add(i, 1)))
        self.ask_for(e.add(i, AHEAD))
        last = e.value(f"icmp ne i64 {row}, {following}")
        e.when(last, lambda: self.step_row(row, start, e.add(i, 1)))
        return [e.value(f"select i1 {last}, i64 {e.add(i, 1)}, i64 {start}")]

    def ask_for(self, i: str) -> None:
        """Prefetch the row and the gradient of a sorted lookup."""
        e, spec = self.e, self.bag_spec
        row = e.offset(self.out, e.mul(self.row_at(i), 4 * spec.width))
        prefetch_row(e, row, spec.width, write=True)
        bag = e.value(f"udiv i64 {self.occurrence(i)}, {spec.size}")
        prefetch_row(e, e.offset(self.values, e.mul(bag, 4 * spec.stride)), spec.width)

    def row_at(self, i: str) -> str:
        """The row of a sorted lookup."""
        return self.e.value(f"ashr i64 {self.read(self.order, i)}, 32")

    def occurrence(self, i: str) -> str:
        """The place in the batch of a sorted lookup."""
        return self.e.value(f"and i64 {self.read(self.order, i)}, {POSITION}")

    def values_at(self, position: str, c: str, active: Sequence[int]) -> list[str]:
        """The gradients of the bag of a lookup, at the columns from c on, as vectors."""
        e, spec = self.e, self.bag_spec
        bag = e.value(f"udiv i64 {position}, {spec.size}")
        place = e.offset(self.values, e.mul(e.add(e.mul(bag, spec.stride), c), 4))
        found = [self.load(e.offset(place, 4 * LANES * u), a) for u, a in enumerate(active)]
        if not spec.weighted:
            return found
        weight = e.broadcast(e.load(e.offset(self.weights, e.mul(position, 4)), "float", 4))
        return [apply(e, "mul", part, weight) for part in found]

    def step_row(self, row: str, first: str, last: str) -> None:
        """Emit the sum of a row's gradients, and the update of the row."""
        e, count = self.e, self.e.sub(last, first)
        cases = (
            ("eq i64", 1, lambda c, on: self.values_at(self.occurrence(first), c, on)),
            ("eq i64", 2, lambda c, on: self.pair_at(first, c, on)),
            ("sgt i64", 2, lambda c, on: self.fold_list(first, last, c, on)),
        )
        for test, number, results in cases:
            holds = e.value(f"icmp {test} {count}, {number}")
            e.when(holds, lambda results=results: self.write_columns(self.gradient, results))
        RULES[self.bag_spec.rule](self, row)

    def pair_at(self, first: str, c: str, active: Sequence[int]) -> list[str]:
        """The sum of the gradients of two neighbouring lookups of a row."""
        places = (self.occurrence(k) for k in (first, self.e.add(first, 1)))
        older, newer = (self.values_at(place, c, active) for place in places)
        return [self.combine(a, b) for a, b in zip(older, newer, strict=True)]

    # what rules are made of

    def parts(self, table: str) -> list[str]:
        """A row of a table, loaded as vectors."""
        e = self.e
        return [load_lanes(e, e.offset(table, 4 * c), n) for c, n in self.bag_spec.vectors]

    def put(self, table: str, values: Sequence[str]) -> None:
        """Emit the store of a row's vectors."""
        for (c, lanes), value in zip(self.bag_spec.vectors, values, strict=True):
            store_lanes(self.e, value, self.e.offset(table, 4 * c), lanes)

    def row_and_gradient(self, row: str) -> tuple[str, list[str], list[str]]:
        """A row's address, its values, its gradient with decay."""
        e = self.e
        place = e.offset(self.out, e.mul(row, 4 * self.bag_spec.width))
        values, gradient = self.parts(place), self.parts(self.gradient)
        if self.bag_spec.decays:
            pulls = [apply(e, "mul", v, self.numbers["decay"]) for v in values]
            gradient = [apply(e, "add", g, p) for g, p in zip(gradient, pulls, strict=True)]
        return place, values, gradient

    def mean_square(self, gradient: Sequence[str]) -> str:
        """The mean of squares in 64 lanes, in every lane."""
        e = self.e
        totals = [splat(-0.0, "float")] * GROUP
        for k, (g, (_, lanes)) in enumerate(zip(gradient, self.bag_spec.vectors, strict=True)):
            square = apply(e, "mul", g, g)
            if lanes < LANES:
                square = e.value(
                    f"select {vector('i1')} {mask(lanes)}, {F32} {square}, "
                    f"{F32} {splat(-0.0, 'float')}"
                )
            totals[k % GROUP] = apply(e, "add", totals[k % GROUP], square)
        a, b, c, d = totals
        total = apply(e, "add", apply(e, "add", a, c), apply(e, "add", b, d))
        for half in (8, 4, 2, 1):
            total = apply(
                e, "add", total, e.shuffle(total, total, [k ^ half for k in range(LANES)])
            )
        return apply(e, "div", total, splat(float(self.bag_spec.width), "float"))

    def slope(self, gathered: str) -> str:
        """The denominator of Adagrad's step: sqrt(state) + epsilon."""
        return apply(self.e, "add", apply(self.e, "sqrt", gathered), self.numbers["epsilon"])


def sgd(w: StepWriter, row: str) -> None:
    """Emit SGD's step on a row: p becomes p − rate · g."""
    place, values, gradient = w.row_and_gradient(row)
    steps = [apply(w.e, "mul", w.numbers["rate"], g) for g in gradient]
    w.put(place, [apply(w.e, "sub", v, s) for v, s in zip(values, steps, strict=True)])


def adagrad(w: StepWriter, row: str) -> None:
    """Emit Adagrad's step: the state becomes m + g², then the row p − rate · (g / (√m + ε))."""
    e, (place, values, gradient) = w.e, w.row_and_gradient(row)
    kept = e.offset(w.state, e.mul(row, 4 * w.bag_spec.width))
    squares = [apply(e, "mul", g, g) for g in gradient]
    gathered = [apply(e, "add", m, s) for m, s in zip(w.parts(kept), squares, strict=True)]
    w.put(kept, gathered)
    shares = [apply(e, "div", g, w.slope(m)) for g, m in zip(gradient, gathered, strict=True)]
    steps = [apply(e, "mul", w.numbers["rate"], s) for s in shares]
    w.put(place, [apply(e, "sub", v, s) for v, s in zip(values, steps, strict=True)])


def rowwise_adagrad(w: StepWriter, row: str) -> None:
    """Emit row-wise Adagrad's step: m becomes m + mean(g²), then p − (rate / (√m + ε)) · g."""
    e, (place, values, gradient) = w.e, w.row_and_gradient(row)
    kept = e.offset(w.state, e.mul(row, 4))
    before = e.broadcast(e.load(kept, "float", 4))
    gathered = apply(e, "add", before, w.mean_square(gradient))
    one = e.value(f"extractelement {F32} {gathered}, i32 0")
    e.store(one, kept, "float", 4)
    factor = apply(e, "div", w.numbers["rate"], w.slope(gathered))
    steps = [apply(e, "mul", factor, g) for g in gradient]
    w.put(place, [apply(e, "sub", v, s) for v, s in zip(values, steps, strict=True)])


RULES: dict[str, Callable[[StepWriter, str], None]] = {
    "sgd": sgd,
    "adagrad": adagrad,
    "rowwise_adagrad": rowwise_adagrad,
}
"""Name of an optimizer's rule -> its step on a row."""
