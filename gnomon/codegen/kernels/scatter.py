"""Scatter in canonical order: values of equal position folded in ascending order, leaf by leaf.

Each thread owns a range of positions. It sorts the occurrences of its own by counting, which keeps
their order, and folds each position's list by leaves and a perfect tree: an occurrence that is
absent adds the identity, so no dense intermediate is needed. Layout: values (batch,
folded..., free), index (batch, folded...), result (batch, size, free), all contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from gnomon.codegen import scalar
from gnomon.codegen.blocks import Folded
from gnomon.codegen.emitter import KERNEL, LANES, Emitter, LLVMModule, mask, vector
from gnomon.codegen.folds import COMBINE
from gnomon.codegen.kernels.sharing import part
from gnomon.dtypes import DType
from gnomon.ops import canonical
from gnomon.ops.primitives import identity_of

GROUP = 4
"""Vectors of a row that are folded side by side."""


@dataclass(frozen=True)
class ScatterSpec:
    """A scatter: monoid, sizes, positions; folded lists the summed axes, outermost first.

    `streams`: the result is stored past the caches, since it is far larger.
    """

    monoid: str
    dtype: DType
    index: DType
    batch: int
    folded: tuple[Folded, ...]
    free: int
    size: int
    streams: bool = False

    @property
    def occurrences(self) -> int:
        """Positions in one batch entry."""
        return prod(axis.size for axis in self.folded)


def emit_scatter(module: LLVMModule, name: str, spec: ScatterSpec) -> int:
    """Define kernel `name`; gives the bytes of scratch that each thread needs."""
    return ScatterWriter(module.function(name, KERNEL), spec).write()


class ScatterWriter:
    """Writes one scatter."""

    def __init__(self, e: Emitter, spec: ScatterSpec, outputs: int = 1, buffers: int = 3) -> None:
        self.e, self.spec = e, spec
        self.out, self.values, self.index = map(e.buffer, (0, outputs, outputs + 1))
        self.report = e.buffer(buffers)
        self.first_check = e.load(e.offset("%buffers", 8 * buffers + 8), "i64", 8)
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
        levels = sum(axis.levels for axis in spec.folded)
        self.stack = self.reserve(levels * GROUP * LANES * 8)

    def reserve(self, size: int) -> str:
        """The address of scratch memory that nothing else uses."""
        address = self.e.offset("%scratch", self.used)
        self.used += (size + 63) // 64 * 64
        return address

    def write(self) -> int:
        """Define the kernel; gives the bytes of scratch memory per thread."""
        e, size = self.e, self.spec.size
        self.low, self.high = part(e, size, "%thread", "%threads")
        e.loop(0, self.spec.batch, 1, self.one_batch)
        if self.spec.streams:
            e.settle()
        e.ret()
        return self.used

    def one_batch(self, batch: str) -> None:
        """Scatter one batch entry: count the positions of each row, sort them, fold the values."""
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
        e.loop(0, n, 1, lambda i: self.count_checked(index, i))
        self.sum_starts()
        e.loop(0, n, 1, lambda i: self.mine(index, i, self.place))
        e.loop(self.low, self.high, 1, self.fold_target)

    def cell(self, table: str, k: str) -> str:
        """The address of the k-th i64 of a table."""
        return self.e.offset(table, self.e.mul(k, 8))

    def read(self, table: str, k: str) -> str:
        """The k-th i64 of a table."""
        return self.e.load(self.cell(table, k), "i64", 8)

    def occurrence(self, i: str) -> str:
        """The number of the occurrence at this place in sorted order."""
        return self.read(self.order, i)

    def position(self, index: str, i: str) -> str:
        """The position of occurrence i."""
        return position(self.e, index, i, self.spec.index)

    def count_checked(self, index: str, i: str) -> None:
        """Emit the counting of an occurrence; a position outside of the axis is reported."""
        e = self.e
        outside = e.value(f"icmp uge i64 {self.position(index, i)}, {self.spec.size}")
        number = e.add(self.first_check, 1)
        e.when(outside, lambda: e.store(number, self.report, "i64", 8))
        self.mine(index, i, self.count)

    def mine(self, index: str, i: str, then: Callable[[str, str], None]) -> None:
        """Emit `then(target)` for an occurrence whose target row belongs to this thread."""
        e, found = self.e, self.position(index, i)
        after = e.value(f"icmp sge i64 {found}, {self.low}")
        before = e.value(f"icmp slt i64 {found}, {self.high}")
        e.when(e.value(f"and i1 {after}, {before}"), lambda: then(found, i))

    def count(self, target: str, i: str) -> None:
        """Count an occurrence of a target."""
        place = self.cell(self.starts, self.e.add(target, 2))
        self.e.store(self.e.add(self.e.load(place, "i64", 8), 1), place, "i64", 8)

    def sum_starts(self) -> None:
        """Turn counts into start offsets, each stored one cell late until `place` moves it."""
        e = self.e

        def step(k: str, total: str) -> list[str]:
            place = self.cell(self.starts, e.add(k, 2))
            total = e.add(total, e.load(place, "i64", 8))
            e.store(total, place, "i64", 8)
            return [total]

        e.loop(self.low, self.high, 1, step, [("i64", "0")])

    def place(self, target: str, i: str) -> None:
        """Emit the append of an occurrence to the list of its position."""
        e = self.e
        cell = self.cell(self.starts, e.add(target, 1))
        at = e.load(cell, "i64", 8)
        e.store(i, self.cell(self.order, at), "i64", 8)
        e.store(e.add(at, 1), cell, "i64", 8)

    def fold_target(self, target: str) -> None:
        """Emit the fold of all values of one position, a few vectors at a time."""
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
        """Emit the store of results(first column, lanes of each vector) for a row's columns."""
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
        """A fold's result as stored: +0.0 where the sum is empty or -0.0."""
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
        if active == LANES and self.spec.streams:
            e.store_far(stored, place, vector(self.kind), LANES * self.width)
            return
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
        """Emit the fold of one list of occurrences at the columns from c on.

        A chain goes on while occurrences share a leaf. A finished sum is pending on a stack, under
        the level at which it is combined with its neighbour: leaves without occurrences are
        skipped, since they hold the identity.
        """
        e = self.e
        begin = self.occurrence(first)
        marks, counts = self.begun(self.marks(begin))
        values = self.values_at(begin, c, active)

        def more(i: str, waiting: str, *state: str) -> list[str]:
            position = self.occurrence(i)
            before, counted, sums = state[:m], state[m:n], state[n:]
            marks, counts = self.numbered(self.marks(position), before, counted)
            near, level = self.meeting(before, marks)
            below = e.value(f"sub i64 {e.value(f'shl i64 2, {level}')}, 1")
            far = e.value(f"xor i1 {near}, true")
            e.when(far, lambda: self.put_by(waiting, below, sums))
            higher = e.value(f"and i64 {waiting}, {e.value(f'xor i64 {below}, -1')}")
            left = e.value(f"or i64 {higher}, {e.value(f'shl i64 1, {level}')}")
            waiting = e.value(f"select i1 {near}, i64 {waiting}, i64 {left}")
            fresh = self.values_at(position, c, active)
            return [waiting, *marks, *counts, *self.choose(near, self.joined(sums, fresh), fresh)]

        m, n, kind = len(marks), len(marks) + len(counts), vector(self.register)
        numbers = (("i64", x) for x in ("0", *marks, *counts))
        state = [*numbers, *((kind, v) for v in values)]
        waiting, *ended = e.loop(e.add(first, 1), last, 1, more, state)
        return self.taken_up(waiting, waiting, ended[n:])

    def marks(self, position: str) -> list[str]:
        """The leaf and index of an occurrence on each folded axis, innermost axis first.

        Each leaf's number is counted through the axes outside of its own.
        """
        e, found, inner = self.e, [], 1
        for k, axis in enumerate(reversed(self.spec.folded)):
            index = e.value(f"udiv i64 {position}, {inner}") if k else position
            leaf = e.value(f"udiv i64 {index}, {max(axis.leaf, 1)}")
            found += [index, leaf] if k else [leaf]
            inner *= axis.size
        return found

    def long(self) -> list[tuple[int, Folded]]:
        """The axes with leaves that may exceed a block, and the positions of their marks."""
        axes = enumerate(reversed(self.spec.folded))
        return [(2 * k, axis) for k, axis in axes if axis.digits]

    def begun(self, marks: list[str]) -> tuple[list[str], list[str]]:
        """The marks of a list's first occurrence, with block numbers, and its numbers of terms."""
        for place, axis in self.long():
            marks[place] = self.e.value(f"shl i64 {marks[place]}, {axis.digits}")
        return marks, ["0"] * len(self.long())

    def numbered(
        self, marks: list[str], before: Sequence[str], counted: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Marks with a block number after each leaf's, and the terms before in each leaf.

        Only existing terms count: a short list has no blocks, however sparse its positions are.
        """
        e, counts = self.e, []
        for (place, axis), count in zip(self.long(), counted, strict=True):
            leaf, more = marks[place], "1"
            if place:
                index = e.value(f"icmp ne i64 {before[place - 1]}, {marks[place - 1]}")
                more = e.value(f"zext i1 {index} to i64")
            there = e.value(f"lshr i64 {before[place]}, {axis.digits}")
            same = e.value(f"icmp eq i64 {there}, {leaf}")
            counts.append(e.value(f"select i1 {same}, i64 {e.add(count, more)}, i64 0"))
            block = e.value(f"udiv i64 {counts[-1]}, {canonical.BLOCK}")
            marks[place] = e.value(f"or i64 {e.value(f'shl i64 {leaf}, {axis.digits}')}, {block}")
        return marks, counts

    def meeting(self, before: Sequence[str], after: Sequence[str]) -> tuple[str, str]:
        """Whether two neighbouring occurrences share a chain; else the level that joins sums."""
        e, (innermost, *outer) = self.e, self.spec.folded[::-1]

        def highest(k: int, base: int) -> str:
            """The level of two blocks of an axis: its chain, or a node of its trees."""
            differ = e.value(f"xor i64 {before[k]}, {after[k]}")
            zeros = e.call("i64", "llvm.ctlz.i64", ("i64", differ), ("i1", "false"))
            return e.sub(base + 64, zeros)

        near = e.value(f"icmp eq i64 {before[0]}, {after[0]}")
        level, base = highest(0, 0), innermost.levels
        for k, axis in zip(range(1, len(after), 2), outer, strict=True):
            same = e.value(f"icmp eq i64 {before[k]}, {after[k]}")
            level = e.value(f"select i1 {same}, i64 {level}, i64 {highest(k + 1, base)}")
            base += axis.levels
        return near, level

    def put_by(self, waiting: str, below: str, sums: Sequence[str]) -> None:
        """Emit the push of sums, which are first combined with pending ones of lower levels."""
        e = self.e
        taken = self.taken_up(waiting, e.value(f"and i64 {waiting}, {below}"), sums)
        kept = e.value(f"and i64 {waiting}, {e.value(f'xor i64 {below}, -1')}")
        place = self.on_stack(e.call("i64", "llvm.ctpop.i64", ("i64", kept)))
        for u, value in enumerate(taken):
            e.store(value, e.offset(place, u * LANES * 8), vector(self.register), 8)

    def taken_up(self, waiting: str, wanted: str, sums: Sequence[str]) -> list[str]:
        """Combine sums with the pending ones of some levels, the newest first."""
        e, kind = self.e, vector(self.register)
        top, some = (e.call("i64", "llvm.ctpop.i64", ("i64", x)) for x in (waiting, wanted))

        def one(k: str, *newer: str) -> list[str]:
            place = self.on_stack(e.sub(e.sub(top, 1), k))
            places = (e.offset(place, u * LANES * 8) for u in range(len(newer)))
            return self.joined([e.load(place, kind, 8) for place in places], newer)

        return e.loop(0, some, 1, one, [(kind, value) for value in sums])

    def on_stack(self, place: str) -> str:
        """The address of a pending sum."""
        return self.e.offset(self.stack, self.e.mul(place, GROUP * LANES * 8))

    def choose(self, condition: str, first: Sequence[str], other: Sequence[str]) -> list[str]:
        """Select the first vectors if a condition holds, else the others."""
        kind = vector(self.register)
        pairs = zip(first, other, strict=True)
        return [self.e.value(f"select i1 {condition}, {kind} {a}, {kind} {b}") for a, b in pairs]

    def values_at(self, position: str, c: str, active: Sequence[int]) -> list[str]:
        """Load the values of one occurrence at the columns from c on."""
        e = self.e
        row = e.add(e.mul(position, self.spec.free), c)
        place = e.offset(self.values_here, e.mul(row, self.width))
        return [self.load(e.offset(place, LANES * u * self.width), a) for u, a in enumerate(active)]

    def joined(self, a: Sequence[str], b: Sequence[str]) -> list[str]:
        """The sum of two pending sums, the earlier one first."""
        return [self.combine(x, y) for x, y in zip(a, b, strict=True)]


def position(e: Emitter, table: str, number: str, dtype: DType) -> str:
    """The k-th entry of a table of positions, as an i64."""
    kind = scalar.memory(dtype)
    found = e.load(e.offset(table, e.mul(number, dtype.itemsize)), kind, dtype.itemsize)
    if kind == "i64":
        return found
    return e.value(f"{'sext' if dtype.kind == 'int' else 'zext'} {kind} {found} to i64")
