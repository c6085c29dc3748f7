"""Running folds along one axis, in ascending order; the argmax form gives positions.

Layout: (outer, n, inner), contiguous; vectors run along inner, or one lane where inner is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.codegen import scalar
from gnomon.codegen.emitter import KERNEL, LANE_NUMBERS, LANES, Emitter, Module, splat, vector
from gnomon.codegen.folds import COMBINE
from gnomon.dtypes import DType, accumulator, bool_, int64
from gnomon.ops.primitives import identity_of

V1 = vector("i1")


@dataclass(frozen=True)
class ScanSpec:
    """What is folded along which of three merged axes."""

    monoid: str
    given: DType
    result: DType
    outer: int
    n: int
    inner: int


def emit_scan(module: Module, name: str, spec: ScanSpec) -> int:
    """Define kernel `name`; it needs no scratch."""
    ScanWriter(module.function(name, KERNEL), spec).write()
    return 0


class ScanWriter:
    """Writes one scan."""

    def __init__(self, e: Emitter, spec: ScanSpec) -> None:
        self.e, self.spec = e, spec
        self.out, self.x = (e.load(e.offset("%buffers", 8 * k), "ptr", 8) for k in range(2))
        self.positions = spec.monoid.startswith("arg")
        ordered = spec.monoid in ("add", "mul")
        self.dtype = accumulator(spec.given) if ordered else spec.given

    def write(self) -> None:
        """The whole function."""
        e, spec = self.e, self.spec
        chunks = -(-spec.inner // LANES)
        total = spec.outer * chunks
        low = e.value(f"udiv i64 {e.mul('%thread', total)}, %threads")
        high = e.value(f"udiv i64 {e.mul(e.add('%thread', 1), total)}, %threads")

        def task(t: str) -> None:
            outer = e.value(f"udiv i64 {t}, {chunks}")
            column = e.mul(e.value(f"urem i64 {t}, {chunks}"), LANES)
            self.column(e.add(e.mul(outer, spec.n * spec.inner), column), self.mask(column))

        e.loop(low, high, 1, task)
        e.ret()

    def mask(self, column: str) -> str | None:
        """Which lanes exist; None for all."""
        if self.spec.inner % LANES == 0:
            return None
        e = self.e
        left = e.broadcast(e.sub(str(self.spec.inner), column), "i64")
        return e.value(f"icmp slt {vector('i64')} {LANE_NUMBERS}, {left}")

    def column(self, start: str, on: str | None) -> None:
        """One vector of columns from the first element to the last."""
        spec = self.spec

        def step(i: str, *state: str) -> list[str]:
            place = self.e.add(start, self.e.mul(i, spec.inner))
            value = self.read(place, on)
            following = (
                self.best(i, value, *state) if self.positions else [self.fold(state[0], value)]
            )
            self.write_at(place, following[-1], on)
            return following

        self.e.loop(0, spec.n, 1, step, self.beginning())

    def beginning(self) -> list[tuple[str, str]]:
        """The state before the first element."""
        kind = vector(scalar.register(self.dtype))
        if self.positions:
            worst = identity_of("max" if self.spec.monoid == "argmax" else "min", self.dtype)
            return [(kind, scalar.constant(worst, self.dtype)), (vector("i64"), "zeroinitializer")]
        start = identity_of(self.spec.monoid, self.dtype)
        start = -0.0 if self.spec.monoid == "add" and self.dtype.is_floating_point else start
        return [(kind, scalar.constant(start, self.dtype))]

    def fold(self, state: str, value: str) -> str:
        """The next running value."""
        return scalar.apply(
            self.e, COMBINE[self.spec.monoid], [state, value], self.dtype, self.dtype
        )

    def best(self, i: str, value: str, state: str, place: str) -> list[str]:
        """The best so far and where: the latest of equals wins, the first NaN stays."""
        e, dtype = self.e, self.dtype
        kind = vector(scalar.register(dtype))
        wins = scalar.apply(
            e, "ge" if self.spec.monoid == "argmax" else "le", [value, state], dtype, bool_
        )
        if dtype.is_floating_point:
            now, before = (e.value(f"fcmp uno {kind} {x}, zeroinitializer") for x in (value, state))
            wins = e.value(f"or {V1} {wins}, {now}")
            wins = self.unless(before, wins)
        here = e.broadcast(i, "i64")
        return [
            e.value(f"select {V1} {wins}, {kind} {value}, {kind} {state}"),
            e.value(f"select {V1} {wins}, {vector('i64')} {here}, {vector('i64')} {place}"),
        ]

    def unless(self, stays: str, wins: str) -> str:
        """wins, except where the state stays."""
        flipped = self.e.value(f"xor {V1} {stays}, {splat(1, 'i1')}")
        return self.e.value(f"and {V1} {wins}, {flipped}")

    def read(self, place: str, on: str | None) -> str:
        """A vector of x in the dtype that the scan runs in."""
        given = self.spec.given
        kind, width = scalar.memory(given), given.itemsize
        address = self.e.offset(self.x, self.e.mul(place, width))
        raw = (
            self.e.load(address, vector(kind), width)
            if on is None
            else self.e.load_masked(address, on, kind)
        )
        return scalar.apply(self.e, "cast", [scalar.widen(self.e, raw, given)], given, self.dtype)

    def write_at(self, place: str, value: str, on: str | None) -> None:
        """Write a vector of results."""
        e, result = self.e, self.spec.result
        value = scalar.apply(e, "cast", [value], int64 if self.positions else self.dtype, result)
        stored, kind = scalar.narrow(e, value, result), scalar.memory(result)
        address = e.offset(self.out, e.mul(place, result.itemsize))
        if on is None:
            e.store(stored, address, vector(kind), result.itemsize)
        else:
            e.store_masked(stored, address, on, kind)
