"""Scatter in canonical order: values of equal position folded in ascending order, leaf by leaf.

Each thread owns a range of positions. It sorts the occurrences of its own by counting, which keeps
their order, and folds each position's list with slots per leaf and a perfect tree: an occurrence
that is absent adds the identity, so no dense intermediate is needed. Layout: values (batch,
folded..., free), index (batch, folded...), result (batch, size, free), all contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod

from gnomon.codegen import scalar
from gnomon.codegen.emitter import KERNEL, LANES, Emitter, Module, mask, vector
from gnomon.codegen.folds import COMBINE, climb
from gnomon.codegen.lifted import Lifted, is_lifted
from gnomon.dtypes import DType
from gnomon.ops.primitives import identity_of

GROUP = 4


@dataclass(frozen=True)
class Folded:
    """A summed axis."""

    size: int
    leaves: int = field(metadata={"follows": "size"})


@dataclass(frozen=True)
class ScatterSpec:
    """What to fold where; folded lists the summed axes, outermost first."""

    monoid: str
    dtype: DType
    index: DType
    batch: int
    folded: tuple[Folded, ...]
    free: int
    size: int

    @property
    def occurrences(self) -> int:
        """Positions in one batch entry."""
        return prod(axis.size for axis in self.folded)


def emit_scatter(module: Module, name: str, spec: ScatterSpec) -> int:
    """Define kernel `name`; gives the bytes of scratch that each thread needs."""
    return ScatterWriter(module.function(name, KERNEL), spec).write()


class ScatterWriter:
    """Writes one scatter."""

    def __init__(self, e: Emitter, spec: ScatterSpec) -> None:
        self.e, self.spec = e, spec
        self.out, self.values, self.index = (
            e.load(e.offset("%buffers", 8 * k), "ptr", 8) for k in range(3)
        )
        self.report = e.load(e.offset("%buffers", 24), "ptr", 8)
        self.first_check = e.load(e.offset("%buffers", 32), "i64", 8)
        self.kind, self.width = scalar.memory(spec.dtype), spec.dtype.itemsize
        self.register = scalar.register(spec.dtype)
        start = (
            -0.0
            if spec.monoid == "add" and spec.dtype.is_floating_point
            else identity_of(spec.monoid, spec.dtype)
        )
        self.identity = scalar.constant(start, spec.dtype)
        self.used = 0
        self.starts = self.reserve(8 * (spec.size + 2))
        self.order = self.reserve(8 * max(spec.occurrences, 1))
        self.slots = [self.reserve(axis.leaves * GROUP * LANES * 8) for axis in spec.folded]

    def reserve(self, size: int) -> str:
        """The address of scratch memory that nothing else uses."""
        address = self.e.offset("%scratch", self.used)
        self.used += (size + 63) // 64 * 64
        return address

    def write(self) -> int:
        """The whole function; gives the bytes of scratch."""
        e, size = self.e, self.spec.size
        self.low = e.value(f"udiv i64 {e.mul('%thread', size)}, %threads")
        self.high = e.value(f"udiv i64 {e.mul(e.add('%thread', 1), size)}, %threads")
        e.loop(0, self.spec.batch, 1, self.one_batch)
        e.ret()
        return self.used

    def one_batch(self, batch: str) -> None:
        """Count, place, fold."""
        e, n = self.e, self.spec.occurrences
        index = e.offset(self.index, e.mul(batch, n * self.spec.index.itemsize))
        self.values_here = e.offset(self.values, e.mul(batch, n * self.spec.free * self.width))
        self.out_here = e.offset(
            self.out, e.mul(batch, self.spec.size * self.spec.free * self.width)
        )
        e.loop(
            self.low,
            e.add(self.high, 2),
            1,
            lambda k: e.store("0", self.cell(self.starts, k), "i64", 8),
        )
        e.loop(0, n, 1, lambda i: self.look(index, i))
        self.sum_starts()
        e.loop(0, n, 1, lambda i: self.mine(index, i, self.place))
        e.loop(self.low, self.high, 1, self.fold_target)

    def cell(self, table: str, k: str) -> str:
        """The address of an i64 in a table."""
        return self.e.offset(table, self.e.mul(k, 8))

    def read(self, table: str, k: str) -> str:
        """An i64 of a table."""
        return self.e.load(self.cell(table, k), "i64", 8)

    def occurrence(self, i: str) -> str:
        """Which occurrence stands at a place of the sorted ones."""
        return self.read(self.order, i)

    def position(self, index: str, i: str) -> str:
        """The position of occurrence i."""
        return position(self.e, index, i, self.spec.index)

    def look(self, index: str, i: str) -> None:
        """Count an occurrence; report a position outside the axis, which is no thread's."""
        e = self.e
        outside = e.value(f"icmp uge i64 {self.position(index, i)}, {self.spec.size}")
        number = e.add(self.first_check, 1)
        e.when(outside, lambda: e.store(number, self.report, "i64", 8))
        self.mine(index, i, self.count)

    def mine(self, index: str, i: str, then: Callable[[str, str], None]) -> None:
        """Do something with occurrence i if its position is this thread's."""
        e, found = self.e, self.position(index, i)
        after = e.value(f"icmp sge i64 {found}, {self.low}")
        before = e.value(f"icmp slt i64 {found}, {self.high}")
        e.when(e.value(f"and i1 {after}, {before}"), lambda: then(found, i))

    def count(self, target: str, i: str) -> None:
        """One occurrence more."""
        place = self.cell(self.starts, self.e.add(target, 2))
        self.e.store(self.e.add(self.e.load(place, "i64", 8), 1), place, "i64", 8)

    def sum_starts(self) -> None:
        """Counts to beginnings; a position's beginning stands one cell late until it is placed."""
        e = self.e

        def step(k: str, total: str) -> list[str]:
            place = self.cell(self.starts, e.add(k, 2))
            total = e.add(total, e.load(place, "i64", 8))
            e.store(total, place, "i64", 8)
            return [total]

        e.loop(self.low, self.high, 1, step, [("i64", "0")])

    def place(self, target: str, i: str) -> None:
        """Put an occurrence into its position's list."""
        e = self.e
        cell = self.cell(self.starts, e.add(target, 1))
        at = e.load(cell, "i64", 8)
        e.store(i, self.cell(self.order, at), "i64", 8)
        e.store(e.add(at, 1), cell, "i64", 8)

    def fold_target(self, target: str) -> None:
        """All occurrences of one position, a few vectors of free elements at a time."""
        e = self.e
        first, last = self.read(self.starts, target), self.read(self.starts, e.add(target, 1))
        out = e.offset(self.out_here, e.mul(target, self.spec.free * self.width))
        count = e.sub(last, first)
        cases = (
            ("eq i64", 0, lambda c, active: [self.identity] * len(active)),
            (
                "eq i64",
                1,
                lambda c, active: self.values_at(self.occurrence(first), c, active),
            ),
            ("sgt i64", 1, lambda c, active: self.fold_list(first, last, c, active)),
        )
        for test, number, results in cases:
            holds = e.value(f"icmp {test} {count}, {number}")
            e.when(holds, lambda results=results: self.write_columns(out, results))

    def write_columns(self, out: str, results: Callable[[str, Sequence[int]], list[str]]) -> None:
        """Store what `results` gives for (first column, lanes of each vector)."""
        step, free = LANES * GROUP, self.spec.free
        full = free - free % step

        def columns(c: str, active: Sequence[int]) -> None:
            for u, (value, on) in enumerate(zip(results(c, active), active, strict=True)):
                place = self.e.offset(out, self.e.mul(self.e.add(c, LANES * u), self.width))
                self.store(self.settled(value), place, on)

        if full:
            self.e.loop(0, full, step, lambda c: columns(c, (LANES,) * GROUP))
        if full < free:
            columns(str(full), tuple(min(LANES, free - k) for k in range(full, free, LANES)))

    def settled(self, value: str) -> str:
        """The result: a sum of nothing, or of negative zeros, is +0."""
        if self.spec.monoid != "add" or not self.spec.dtype.is_floating_point:
            return value
        return self.combine(value, scalar.constant(0.0, self.spec.dtype))

    def combine(self, a: str, b: str) -> str:
        """a folded with b."""
        return scalar.apply(
            self.e, COMBINE[self.spec.monoid], [a, b], self.spec.dtype, self.spec.dtype
        )

    def store(self, value: str, place: str, active: int) -> None:
        """Write the first lanes of a vector."""
        e, stored = self.e, scalar.narrow(self.e, value, self.spec.dtype)
        if active == LANES:
            e.store(stored, place, vector(self.kind), self.width)
            return
        for lane in range(active) if active < 4 else ():
            one = e.value(f"extractelement {vector(self.kind)} {stored}, i32 {lane}")
            e.store(one, e.offset(place, lane * self.width), self.kind, self.width)
        if active >= 4:
            e.store_masked(stored, place, mask(active), self.kind)

    def load(self, place: str, active: int) -> str:
        """Read the first lanes of a vector."""
        e, kind = self.e, vector(self.kind)
        if active == LANES:
            raw = e.load(place, kind, self.width)
        elif active == 1:
            one = e.load(place, self.kind, self.width)
            raw = e.value(f"insertelement {kind} zeroinitializer, {self.kind} {one}, i32 0")
        else:
            raw = e.load_masked(place, mask(active), self.kind)
        return scalar.widen(e, raw, self.spec.dtype)

    def fold_list(self, first: str, last: str, c: str, active: Sequence[int]) -> list[str]:
        """The fold of one list at the columns from c on."""
        e, n = self.e, len(active)
        self.clear(0, n)

        def more(i: str, previous: str) -> list[str]:
            """One occurrence: close the axes that it has left, then add it to its leaf."""
            position = self.occurrence(i)
            self.close_left(previous, position, n)
            slot = self.slot_of(len(self.spec.folded) - 1, position)
            self.add_to(slot, self.values_at(position, c, active))
            return [position]

        (final,) = e.loop(first, last, 1, more, [("i64", "-1")])
        self.close_all(final, n)
        return self.tree(0, n)

    def values_at(self, position: str, c: str, active: Sequence[int]) -> list[str]:
        """The values of one occurrence at the columns from c on."""
        e = self.e
        row = e.add(e.mul(position, self.spec.free), c)
        place = e.offset(self.values_here, e.mul(row, self.width))
        return [self.load(e.offset(place, LANES * u * self.width), a) for u, a in enumerate(active)]

    def clear(self, level: int, n: int) -> None:
        """Empty the slots of an axis and those inside it."""
        for k in range(level, len(self.slots)):
            self.each_leaf(k, partial(self.clear_leaf, self.slots[k], n))

    def each_leaf(self, level: int, body: Callable[[int | str], None]) -> None:
        """Do something for every leaf of an axis; one by one in the text where it knows them."""
        leaves = self.spec.folded[level].leaves
        if is_lifted(leaves):
            self.e.loop(0, leaves, 1, body)
            return
        for leaf in range(leaves):
            body(leaf)

    def clear_leaf(self, slots: str, n: int, leaf: int | str) -> None:
        """Empty one slot."""
        for u in range(n):
            self.e.store(self.identity, self.within(slots, leaf, u), vector(self.register), 8)

    def within(self, slots: str, leaf: int | str, u: int) -> str:
        """The address of a vector of a leaf's slot."""
        place = self.e.offset(slots, self.e.mul(leaf, GROUP * LANES * 8))
        return self.e.offset(place, u * LANES * 8)

    def index_on(self, level: int, position: str) -> str:
        """The index along a folded axis."""
        inner = prod(axis.size for axis in self.spec.folded[level + 1 :])
        whole = self.e.value(f"udiv i64 {position}, {inner}")
        return self.e.value(f"urem i64 {whole}, {self.spec.folded[level].size}")

    def slot_of(self, level: int, position: str) -> str:
        """The slot of the leaf that an occurrence belongs to."""
        axis = self.spec.folded[level]
        size = max(axis.size // axis.leaves, 1)
        leaf = self.e.value(f"udiv i64 {self.index_on(level, position)}, {size}")
        return self.e.offset(self.slots[level], self.e.mul(leaf, GROUP * LANES * 8))

    def add_to(self, slot: str, values: Sequence[str]) -> None:
        """Fold values into a slot."""
        for u, value in enumerate(values):
            place = self.e.offset(slot, u * LANES * 8)
            old = self.e.load(place, vector(self.register), 8)
            self.e.store(self.combine(old, value), place, vector(self.register), 8)

    def close_left(self, previous: str, position: str, n: int) -> None:
        """When an outer index changes, the inner axes' sum goes to the outer leaf."""
        e = self.e
        for level in reversed(range(len(self.slots) - 1)):
            inner = prod(axis.size for axis in self.spec.folded[level + 1 :])
            started = e.value(f"icmp sge i64 {previous}, 0")
            before, now = (e.value(f"sdiv i64 {x}, {inner}") for x in (previous, position))
            changed = e.value(f"and i1 {started}, {e.value(f'icmp ne i64 {before}, {now}')}")
            e.when(changed, lambda level=level: self.close(level, previous, n))

    def close(self, level: int, position: str, n: int) -> None:
        """Add the inner axes' sum to the leaf of this axis, and empty them."""
        self.add_to(self.slot_of(level, position), self.tree(level + 1, n))
        self.clear(level + 1, n)

    def close_all(self, final: str, n: int) -> None:
        """Close every axis after the last occurrence."""
        some = self.e.value(f"icmp sge i64 {final}, 0")

        def finish() -> None:
            for level in reversed(range(len(self.slots) - 1)):
                self.close(level, final, n)

        self.e.when(some, finish)

    def tree(self, level: int, n: int) -> list[str]:
        """The perfect tree over an axis's leaves."""
        slots, leaves = self.slots[level], self.spec.folded[level].leaves
        if is_lifted(leaves):
            self.climb(slots, leaves, n)
            return self.slot(slots, 0, n)
        parts = [self.slot(slots, k, n) for k in range(leaves)]
        while len(parts) > 1:
            parts = [self.joined(*parts[k : k + 2]) for k in range(0, len(parts), 2)]
        return parts[0]

    def climb(self, slots: str, leaves: Lifted, n: int) -> None:
        """Fold neighbours until the first slot holds them all."""
        e = self.e

        def pair(k: str) -> None:
            first = e.mul(k, 2)
            both = self.slot(slots, first, n), self.slot(slots, e.add(first, 1), n)
            for u, value in enumerate(self.joined(*both)):
                e.store(value, self.within(slots, k, u), vector(self.register), 8)

        climb(e, leaves, pair)

    def slot(self, slots: str, leaf: int | str, n: int) -> list[str]:
        """What a leaf's slot holds."""
        places = (self.within(slots, leaf, u) for u in range(n))
        return [self.e.load(place, vector(self.register), 8) for place in places]

    def joined(self, a: Sequence[str], b: Sequence[str]) -> list[str]:
        """What two slots hold together, the earlier first."""
        return [self.combine(x, y) for x, y in zip(a, b, strict=True)]


def position(e: Emitter, table: str, number: str, dtype: DType) -> str:
    """A position of a table of integers, as an i64."""
    kind = scalar.memory(dtype)
    found = e.load(e.offset(table, e.mul(number, dtype.itemsize)), kind, dtype.itemsize)
    if kind == "i64":
        return found
    return e.value(f"{'sext' if dtype.kind == 'int' else 'zext'} {kind} {found} to i64")
