"""Slices put at positions along one axis: emit_put_rows.

If the result aliases the tensor that it replaces, only the slices are written; otherwise
each thread copies its own part first. A later slice for the same place wins.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.codegen.emitter import KERNEL, LANES, Emitter, LLVMModule, vector
from gnomon.codegen.kernels.scatter import position
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.kernels.strides import Dims, merge, offset, total
from gnomon.dtypes import DType


@dataclass(frozen=True)
class PutRowsSpec:
    """out = x, (outer, size, inner), with out[o, index[k]] = values[o, k] for ascending k.

    If each `alike` outer indices share positions, index[o // alike, k] takes the place of index[k].
    Addresses of the values follow from their axes: those before the positions, `step` between two
    positions, those after, from element `start` on.
    """

    scalar: str
    index: DType
    size: int
    count: int
    before: Dims
    step: int
    after: Dims
    start: int
    alike: int = 0

    @property
    def item(self) -> int:
        """Bytes of an element, whose bits are an integer's."""
        return int(self.scalar[1:]) // 8


def emit_put_rows(module: LLVMModule, name: str, spec: PutRowsSpec) -> int:
    """Define kernel `name` in the module; it needs no scratch memory."""
    PutRows(module.function(name, KERNEL), spec).write()
    return 0


class PutRows:
    """Writer of the kernel: each thread owns a run of slices, counted through all outer indices."""

    def __init__(self, e: Emitter, spec: PutRowsSpec) -> None:
        self.e, self.spec, self.inner = e, spec, total(spec.after)
        slots = [e.offset("%buffers", 8 * k) for k in range(6)]
        self.out, self.x, self.index, self.values, self.report = (
            e.load(slot, "ptr", 8) for slot in slots[:5]
        )
        self.number = e.add(e.load(slots[5], "i64", 8), 1)

    def write(self) -> None:
        """Write the kernel."""
        e, spec = self.e, self.spec
        self.low, self.high = part(e, total(spec.before) * spec.size, "%thread", "%threads")
        apart = e.value(f"icmp ne ptr {self.out}, {self.x}")
        e.when(apart, self.copy_own)
        first = e.value(f"udiv i64 {self.low}, {spec.size}")
        end = e.value(f"udiv i64 {e.add(self.high, spec.size - 1)}, {spec.size}")
        e.loop(first, end, 1, lambda o: e.loop(0, spec.count, 1, lambda k: self.put(o, k)))
        e.ret()

    def at(self, base: str, place: str) -> str:
        """The address of the element with this number behind base."""
        return self.e.offset(base, self.e.mul(place, self.spec.item))

    def copy_own(self) -> None:
        """Emit the copy of x for this thread's slices."""
        first = self.e.mul(self.low, self.inner)
        count = self.e.mul(self.e.sub(self.high, self.low), self.inner)
        self.copy(self.at(self.x, first), self.at(self.out, first), count)

    def copy(self, here: str, there: str, count: str | int) -> None:
        """Emit a copy of elements that are contiguous in the source and in the goal."""
        e, item = self.e, self.spec.item
        whole = e.value(f"and i64 {count}, {-LANES}")
        for low, high, lanes in ((0, whole, LANES), (whole, count, 1)):
            kind = vector(self.spec.scalar, lanes) if lanes > 1 else self.spec.scalar

            def some(at: str, kind: str = kind) -> None:
                value = e.load(self.at(here, at), kind, item)
                e.store(value, self.at(there, at), kind, item)

            e.loop(low, high, lanes, some)

    def put(self, outer: str, number: str) -> None:
        """Emit the write of a slice, if its row belongs to this thread."""
        e, spec = self.e, self.spec
        own = e.mul(e.value(f"udiv i64 {outer}, {spec.alike}"), spec.count) if spec.alike else ""
        place = position(e, self.index, e.add(own, number) if own else number, spec.index)
        outside = e.value(f"icmp uge i64 {place}, {spec.size}")
        e.when(outside, lambda: e.store(self.number, self.report, "i64", 8))
        row = e.add(e.mul(outer, spec.size), place)
        tests = (f"ult i64 {place}, {spec.size}", f"sge i64 {row}, {self.low}")
        mine = e.value(f"icmp slt i64 {row}, {self.high}")
        for test in tests:
            mine = e.value(f"and i1 {mine}, {e.value(f'icmp {test}')}")

        def write() -> None:
            start = e.add(offset(e, outer, spec.before), e.mul(number, spec.step))
            here = self.at(self.values, e.add(start, spec.start))
            self.write_slice(here, self.at(self.out, e.mul(row, self.inner)))

        e.when(mine, write)

    def write_slice(self, here: str, there: str) -> None:
        """Copy one slice of the values, with any strides."""
        e, spec = self.e, self.spec
        *outer, (size, step) = spec.after
        runs, wide = (merge(outer), size) if step == 1 else (spec.after, 1)

        def some(number: str) -> None:
            place = offset(e, number, runs)
            self.copy(self.at(here, place), self.at(there, e.mul(number, wide)), wide)

        e.loop(0, self.inner // wide, 1, some)
