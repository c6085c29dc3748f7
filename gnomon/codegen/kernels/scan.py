"""Running folds along one axis, in ascending order; the argmax form gives positions.

A long sum runs in blocks. What went before a block is carried as a sum and what rounding has left
of it, so that neither errors nor steps back grow with the number of blocks.

Layout: (outer, n, inner), contiguous; vectors run along inner, or one lane where inner is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gnomon.codegen import scalar
from gnomon.codegen.emitter import KERNEL, LANE_NUMBERS, LANES, Emitter, LLVMModule, splat, vector
from gnomon.codegen.folds import COMBINE
from gnomon.codegen.kernels.sharing import part
from gnomon.dtypes import DType, accumulator, bool_, int64
from gnomon.ops import canonical
from gnomon.ops.primitives import identity_of

V1 = vector("i1")


@dataclass(frozen=True)
class ScanSpec:
    """A scan: the fold, and which of three merged axes it runs along."""

    monoid: str
    given: DType
    result: DType
    outer: int
    n: int
    inner: int


def emit_scan(module: LLVMModule, name: str, spec: ScanSpec) -> int:
    """Define kernel `name`; it needs no scratch."""
    ScanWriter(module.function(name, KERNEL), spec).write()
    return 0


class ScanWriter:
    """Writes one scan."""

    def __init__(self, e: Emitter, spec: ScanSpec) -> None:
        self.e, self.spec = e, spec
        self.out, self.x = map(e.buffer, range(2))
        self.positions = spec.monoid.startswith("arg")
        ordered = spec.monoid in ("add", "mul")
        self.dtype = accumulator(spec.given) if ordered else spec.given

    def write(self) -> None:
        """Write the kernel."""
        e, spec = self.e, self.spec
        chunks = -(-spec.inner // LANES)
        total = spec.outer * chunks
        low, high = part(e, total, "%thread", "%threads")

        def task(t: str) -> None:
            outer = e.value(f"udiv i64 {t}, {chunks}")
            column = e.mul(e.value(f"urem i64 {t}, {chunks}"), LANES)
            self.column(e.add(e.mul(outer, spec.n * spec.inner), column), self.mask(column))

        e.loop(low, high, 1, task)
        e.ret()

    def mask(self, column: str) -> str | None:
        """The mask of lanes inside of the row; None if all are."""
        if self.spec.inner % LANES == 0:
            return None
        e = self.e
        left = e.broadcast(e.sub(str(self.spec.inner), column), "i64")
        return e.value(f"icmp slt {vector('i64')} {LANE_NUMBERS}, {left}")

    def column(self, start: str, on: str | None) -> None:
        """Emit the scan of one vector of columns."""
        if not self.is_cut():
            self.stretch(start, on, "0", str(self.spec.n), lambda x: x)
            return
        e, n = self.e, self.spec.n

        def block(k: str, whole: str, rest: str) -> list[str]:
            first = e.mul(k, canonical.BLOCK)
            end = e.least(e.add(first, canonical.BLOCK), n)
            (total,) = self.stretch(
                start, on, first, end, lambda x: self.fold(whole, self.fold(rest, x))
            )
            return self.carried(whole, self.fold(rest, total))

        e.loop(0, -(-n // canonical.BLOCK), 1, block, 2 * self.beginning())

    def is_cut(self) -> bool:
        """Whether the scan is in blocks with a carried rounding error: a long sum of floats."""
        rounds = self.spec.monoid == "add" and self.dtype.is_floating_point
        return rounds and self.spec.n > canonical.BLOCK

    def stretch(
        self, start: str, on: str | None, low: str, high: str, after: Callable[[str], str]
    ) -> list[str]:
        """Emit the scan over low..high, which stores after(state) each time; gives the last one."""

        def step(i: str, *state: str) -> list[str]:
            place = self.e.add(start, self.e.mul(i, self.spec.inner))
            value = self.read(place, on)
            following = (
                self.best(i, value, *state) if self.positions else [self.fold(state[0], value)]
            )
            self.write_at(place, after(following[-1]), on)
            return following

        return self.e.loop(low, high, 1, step, self.beginning())

    def carried(self, whole: str, part: str) -> list[str]:
        """The sum of two numbers, and its rounding error; -0.0 for an error that is 0 or NaN."""
        e, kind = self.e, vector(scalar.register(self.dtype))

        def less(a: str, b: str) -> str:
            return scalar.apply(e, "sub", [a, b], self.dtype, self.dtype)

        total = self.fold(whole, part)
        there = less(total, whole)
        rest = self.fold(less(whole, less(total, there)), less(part, there))
        some = e.value(f"fcmp one {kind} {rest}, zeroinitializer")
        nothing = self.beginning()[0][1]
        return [total, e.value(f"select {V1} {some}, {kind} {rest}, {kind} {nothing}")]

    def beginning(self) -> list[tuple[str, str]]:
        """The initial state, as types and values."""
        kind = vector(scalar.register(self.dtype))
        if self.positions:
            worst = identity_of("max" if self.spec.monoid == "argmax" else "min", self.dtype)
            return [(kind, scalar.constant(worst, self.dtype)), (vector("i64"), "zeroinitializer")]
        start = identity_of(self.spec.monoid, self.dtype)
        start = -0.0 if self.spec.monoid == "add" and self.dtype.is_floating_point else start
        return [(kind, scalar.constant(start, self.dtype))]

    def fold(self, state: str, value: str) -> str:
        """Emit the next running value: the state combined with a value."""
        return scalar.apply(
            self.e, COMBINE[self.spec.monoid], [state, value], self.dtype, self.dtype
        )

    def best(self, i: str, value: str, state: str, place: str) -> list[str]:
        """The best value so far and its position: the latest of equals wins, and of NaN."""
        e, dtype = self.e, self.dtype
        kind = vector(scalar.register(dtype))
        wins = scalar.apply(
            e, "ge" if self.spec.monoid == "argmax" else "le", [value, state], dtype, bool_
        )
        if dtype.is_floating_point:
            now, before = (e.value(f"fcmp uno {kind} {x}, zeroinitializer") for x in (value, state))
            wins = e.value(f"or {V1} {self.unless(before, wins)}, {now}")
        here = e.broadcast(i, "i64")
        return [
            e.value(f"select {V1} {wins}, {kind} {value}, {kind} {state}"),
            e.value(f"select {V1} {wins}, {vector('i64')} {here}, {vector('i64')} {place}"),
        ]

    def unless(self, stays: str, wins: str) -> str:
        """Select the old state where `stays` holds, else the new one."""
        flipped = self.e.value(f"xor {V1} {stays}, {splat(1, 'i1')}")
        return self.e.value(f"and {V1} {wins}, {flipped}")

    def read(self, place: str, on: str | None) -> str:
        """A vector of x in the dtype that the scan runs in."""
        e, given = self.e, self.spec.given
        kind, width = scalar.memory(given), given.itemsize
        address = e.offset(self.x, e.mul(place, width))
        if self.spec.inner == 1:
            raw = e.broadcast(e.load(address, kind, width), kind)
        elif on is None:
            raw = e.load(address, vector(kind), width)
        else:
            raw = e.load_masked(address, on, kind)
        return scalar.apply(e, "cast", [scalar.widen(e, raw, given)], given, self.dtype)

    def write_at(self, place: str, value: str, on: str | None) -> None:
        """Write a vector of results."""
        e, result = self.e, self.spec.result
        value = scalar.apply(e, "cast", [value], int64 if self.positions else self.dtype, result)
        stored, kind = scalar.narrow(e, value, result), scalar.memory(result)
        address = e.offset(self.out, e.mul(place, result.itemsize))
        if self.spec.inner == 1:
            # a masked store of one lane takes several times as long
            one = e.value(f"extractelement {vector(kind)} {stored}, i32 0")
            e.store(one, address, kind, result.itemsize)
        elif on is None:
            e.store(stored, address, vector(kind), result.itemsize)
        else:
            e.store_masked(stored, address, on, kind)
