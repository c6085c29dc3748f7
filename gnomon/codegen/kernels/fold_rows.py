"""The fold of rows that stand apart, as a transfer calls it for each piece of what has come.

Not a kernel of a program's table: the function takes where the result goes, a list of where the
rows stand, and the bytes of one row. Its order is that of a fold along the axis of ranks: rows of a
leaf in a chain, leaves in a perfect binary tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, reduce

from gnomon.codegen import scalar
from gnomon.codegen.block import computed
from gnomon.codegen.emitter import LANE_NUMBERS, LANES, Emitter, LLVMModule, vector
from gnomon.codegen.folds import COMBINE
from gnomon.codegen.loops import Code
from gnomon.dtypes import DType, accumulator
from gnomon.ir.memo import digest, memo
from gnomon.ops.primitives import identity_of

__all__ = ["RowsSpec", "fold_rows_code"]

PARAMETERS = (("ptr", "out"), ("ptr", "rows"), ("i64", "nbytes"))


@dataclass(frozen=True)
class RowsSpec:
    """A fold of rows of a dtype: monoid, number of rows, leaves."""

    monoid: str
    dtype: DType
    rows: int
    leaves: int


@memo
@cache
def fold_rows_code(spec: RowsSpec) -> Code:
    """The code of a fold of rows."""
    module, symbol = LLVMModule(), f"fold_rows_{digest(repr(spec))}"
    FoldWriter(module.function(symbol, PARAMETERS), spec).write()
    return Code(symbol, module.text(), 0)


class FoldWriter:
    """Writes one fold of rows."""

    def __init__(self, e: Emitter, spec: RowsSpec) -> None:
        self.e, self.spec = e, spec
        adds = spec.monoid in ("add", "mul")
        self.dtype = accumulator(spec.dtype) if adds else computed(spec.dtype)

    def write(self) -> None:
        """Define the function: full vectors, then the lanes that are left."""
        e = self.e
        self.rows = [e.load(e.offset("%rows", 8 * k), "ptr", 8) for k in range(self.spec.rows)]
        count = e.value(f"udiv i64 %nbytes, {self.spec.dtype.itemsize}")
        whole = e.value(f"and i64 {count}, {-LANES}")
        e.loop(0, whole, LANES, lambda k: self.lanes_at(k, None))
        left = e.sub(count, whole)

        def rest() -> None:
            on = e.value(f"icmp slt {vector('i64')} {LANE_NUMBERS}, {e.broadcast(left, 'i64')}")
            self.lanes_at(whole, on)

        e.when(e.value(f"icmp ne i64 {left}, 0"), rest)
        e.ret()

    def lanes_at(self, k: str, on: str | None) -> None:
        """Emit a vector of results from element k on; `on` masks its lanes."""
        e, spec = self.e, self.spec
        at = e.mul(k, spec.dtype.itemsize)
        values = [self.read(e.offset(row, at), on) for row in self.rows]
        chain = spec.rows // spec.leaves
        parts = [reduce(self.combine, values[j : j + chain], self.start()) for j in self.firsts()]
        while len(parts) > 1:
            parts = [self.combine(*parts[j : j + 2]) for j in range(0, len(parts), 2)]
        made = scalar.apply(e, "cast", parts, self.dtype, spec.dtype)
        stored, kind = scalar.narrow(e, made, spec.dtype), scalar.memory(spec.dtype)
        if on is None:
            e.store(stored, e.offset("%out", at), vector(kind), spec.dtype.itemsize)
        else:
            e.store_masked(stored, e.offset("%out", at), on, kind)

    def firsts(self) -> range:
        """The first row of each leaf."""
        return range(0, self.spec.rows, self.spec.rows // self.spec.leaves)

    def start(self) -> str:
        """The identity from which each chain starts."""
        adds = self.spec.monoid == "add" and self.dtype.is_floating_point
        first = -0.0 if adds else identity_of(self.spec.monoid, self.dtype)
        return scalar.constant(first, self.dtype)

    def combine(self, a: str, b: str) -> str:
        """a folded with b, in this order."""
        return scalar.apply(self.e, COMBINE[self.spec.monoid], [a, b], self.dtype, self.dtype)

    def read(self, place: str, on: str | None) -> str:
        """A vector of a row in the dtype that the fold runs in."""
        e, given = self.e, self.spec.dtype
        kind, size = scalar.memory(given), given.itemsize
        raw = e.load_masked(place, on, kind) if on else e.load(place, vector(kind), size)
        return scalar.apply(e, "cast", [scalar.widen(e, raw, given)], given, self.dtype)
