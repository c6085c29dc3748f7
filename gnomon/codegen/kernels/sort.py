"""Stable sort of rows, as positions: a merge sort of integer keys, one row per task.

Floats become integers of the same order (zeros equal, NaN last); descending order keeps equals in
place too, and puts NaN first. Layout: (outer, n, inner), contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.codegen import scalar
from gnomon.codegen.emitter import KERNEL, Emitter, LLVMModule
from gnomon.codegen.kernels.sharing import part
from gnomon.dtypes import DType, bfloat16, bool_, float16, float64

PAIR = 16
"""Bytes of a key and its position."""


@dataclass(frozen=True)
class SortSpec:
    """A sort along the middle of three merged axes."""

    dtype: DType
    descending: bool
    outer: int
    n: int
    inner: int


def emit_sort(module: LLVMModule, name: str, spec: SortSpec) -> int:
    """Define kernel `name`; gives the bytes of scratch that each thread needs."""
    SortWriter(module.function(name, KERNEL), spec).write()
    return 2 * PAIR * max(spec.n, 1) + 128


class SortWriter:
    """Writes one sort."""

    def __init__(self, e: Emitter, spec: SortSpec) -> None:
        self.e, self.spec = e, spec
        self.out, self.x = map(e.buffer, range(2))
        self.other = e.offset("%scratch", (PAIR * max(spec.n, 1) + 63) // 64 * 64)

    def write(self) -> None:
        """Write the kernel."""
        e, spec = self.e, self.spec
        total = spec.outer * spec.inner
        low, high = part(e, total, "%thread", "%threads")
        e.loop(low, high, 1, self.row)
        e.ret()

    def row(self, t: str) -> None:
        """Emit the sort of one row: load keys, merge runs of 1, 2, 4, ..., store positions."""
        e, spec = self.e, self.spec
        outer = e.value(f"udiv i64 {t}, {spec.inner}")
        start = e.add(e.mul(outer, spec.n * spec.inner), e.value(f"urem i64 {t}, {spec.inner}"))

        def fetch(i: str) -> None:
            place = e.add(start, e.mul(i, spec.inner))
            self.put("%scratch", i, self.key(place), i)

        e.loop(0, spec.n, 1, fetch)
        here, there, width = "%scratch", self.other, 1
        while width < spec.n:
            self.merge_all(here, there, width)
            here, there, width = there, here, 2 * width

        def give(i: str) -> None:
            position = e.load(e.offset(here, e.add(e.mul(i, PAIR), 8)), "i64", 8)
            place = e.offset(self.out, e.mul(e.add(start, e.mul(i, spec.inner)), 8))
            e.store(position, place, "i64", 8)

        e.loop(0, spec.n, 1, give)

    def put(self, table: str, i: str, key: str, position: str) -> None:
        """Emit the store of a pair of key and position."""
        place = self.e.offset(table, self.e.mul(i, PAIR))
        self.e.store(key, place, "i64", 8)
        self.e.store(position, self.e.offset(place, 8), "i64", 8)

    def key(self, place: str) -> str:
        """The sort key of an element: an integer with the order of its values."""
        e, dtype = self.e, self.spec.dtype
        kind = scalar.memory(dtype)
        raw = e.load(e.offset(self.x, e.mul(place, dtype.itemsize)), kind, dtype.itemsize)
        if dtype.is_floating_point:
            return self.float_key(raw)
        if kind == "i64":
            return raw if dtype.kind == "int" else e.value(f"xor i64 {raw}, {-(1 << 63)}")
        signed = dtype.kind == "int" and dtype is not bool_
        return e.value(f"{'sext' if signed else 'zext'} {kind} {raw} to i64")

    def float_key(self, raw: str) -> str:
        """The sort key of a float: negative ones mirrored, zeros equal, NaN above all."""
        e = self.e
        wide = self.as_double(raw)
        settled = e.value(f"fadd double {wide}, 0.0")
        bits = e.value(f"bitcast double {settled} to i64")
        mirrored = e.value(f"xor i64 {bits}, {(1 << 63) - 1}")
        negative = e.value(f"icmp slt i64 {bits}, 0")
        ordered = e.value(f"select i1 {negative}, i64 {mirrored}, i64 {bits}")
        isnan = e.value(f"fcmp uno double {wide}, 0.0")
        return e.value(f"select i1 {isnan}, i64 {(1 << 63) - 1}, i64 {ordered}")

    def as_double(self, raw: str) -> str:
        """A float of any width as a double, exactly."""
        e, dtype = self.e, self.spec.dtype
        if dtype is float64:
            return raw
        if dtype is bfloat16:
            bits = e.value(f"shl i32 {e.value(f'zext i16 {raw} to i32')}, 16")
            raw, kind = e.value(f"bitcast i32 {bits} to float"), "float"
        else:
            kind = "half" if dtype is float16 else "float"
        return e.value(f"fpext {kind} {raw} to double")

    def merge_all(self, here: str, there: str, width: int) -> None:
        """Merge neighbouring runs of a width from one table to the other."""
        e, n = self.e, self.spec.n

        def pair(low: str) -> None:
            middle = e.least(e.add(low, width), n)
            self.merge(here, there, low, middle, e.least(e.add(low, 2 * width), n))

        e.loop(0, n, 2 * width, pair)

    def merge(self, here: str, there: str, low: str, middle: str, high: str) -> None:
        """Merge two runs; equals come from the left one first."""
        e = self.e

        def step(k: str, a: str, b: str) -> list[str]:
            left, right = (self.pair_at(here, i) for i in (a, b))
            a_left = e.value(f"icmp slt i64 {a}, {middle}")
            b_done = e.value(f"icmp sge i64 {b}, {high}")
            test = "sge" if self.spec.descending else "sle"
            first = e.value(f"icmp {test} i64 {left[0]}, {right[0]}")
            first = e.value(f"or i1 {first}, {b_done}")
            take = e.value(f"and i1 {a_left}, {first}")
            key = e.value(f"select i1 {take}, i64 {left[0]}, i64 {right[0]}")
            position = e.value(f"select i1 {take}, i64 {left[1]}, i64 {right[1]}")
            self.put(there, k, key, position)
            one = e.value(f"zext i1 {take} to i64")
            return [e.add(a, one), e.add(b, e.value(f"sub i64 1, {one}"))]

        e.loop(low, high, 1, step, [("i64", low), ("i64", middle)])

    def pair_at(self, table: str, i: str) -> tuple[str, str]:
        """Load the i-th key and position; past the end, the last ones, which are not used."""
        e = self.e
        place = e.offset(table, e.mul(e.least(i, self.spec.n - 1), PAIR))
        return e.load(place, "i64", 8), e.load(e.offset(place, 8), "i64", 8)
