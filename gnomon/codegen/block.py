"""Values of a loop kernel as LLVM vectors: a few positions along the row at a time.

A block holds one to four vectors of sixteen elements. Index arithmetic is in indices.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gnomon.codegen import scalar
from gnomon.codegen.emitter import BITS, LANES, Emitter, splat, vector
from gnomon.codegen.indices import I64, Indices, Position
from gnomon.codegen.lifted import is_lifted
from gnomon.codegen.plan_loops import LoopPlan
from gnomon.dtypes import DType, accumulator, bfloat16, computed, float16
from gnomon.ir.node import Node
from gnomon.ir.symbolic import is_quotient
from gnomon.ops.primitives import identity_of


class ScalarValues(Indices):
    """Emitter of the scalar expressions of a kernel's plan; SSA names are remembered per scope."""

    def __init__(self, e: Emitter, plan: LoopPlan, pointers: Sequence[str]) -> None:
        super().__init__(e, plan)
        self.pointers = pointers
        self.scratch: dict[Node, str] = {}
        """Kept scalars -> the address of their row."""
        self.checks = {x: k for k, x in enumerate(plan.kernel.checks())}
        self.reports = self.first_check = ""
        """The buffer for a failed check's number, and the number of checks of earlier kernels."""
        self.streams = False
        """Whether whole vectors are written past the caches."""
        self.chains: Callable[[Node], None] = unopened
        """Emits a chain, and its siblings, at the present positions."""

    # values

    def remember(self, node: Node, values: list[str]) -> None:
        """Record a value that was computed elsewhere."""
        self.scopes[-1][node] = values

    def _emit(self, node: Node) -> list[str]:
        """Emit a scalar at every position, once per scope."""
        if node in self.scratch:
            return [self._reload(node, p) for p in self.positions]
        if node.op == "const":
            return [self._constant(node)]
        if node.op in ("range", "affine") or is_quotient(node):
            return super()._emit(node)
        if node.op == "load":
            return self._load(node)
        if node.op == "checked":
            return self._checked(node)
        if node.op == "fold":
            self.chains(node)
            return self.scopes[-1][node]
        assert node.op == "map", f"{node.op} is emitted by its loop, not by value"
        columns = zip(*(self.vectors(x) for x in node.inputs), strict=True)
        if not self.plan.varies(node):
            columns = [next(iter(columns))]
        return [self._map(node, list(column)) for column in columns]

    def _constant(self, node: Node) -> str:
        """Emit a constant in every lane; one that is a runtime argument is loaded as its bits."""
        value, kind = self.numbers.value(node), scalar.register(node.dtype)
        if not is_lifted(value):
            return scalar.constant(value, node.dtype)
        e, bits = self.e, f"i{BITS[kind]}"
        word = str(value) if bits == "i64" else e.value(f"trunc i64 {value} to {bits}")
        word = word if kind == bits else e.value(f"bitcast {bits} {word} to {kind}")
        return e.broadcast(word, kind)

    def _checked(self, node: Node) -> list[str]:
        """Clamp positions to their axis; if one was outside, report the bounds check."""
        e, last = self.e, self.everywhere(self.numbers.last(node))
        varies = self.plan.varies(node)
        positions = self.positions if varies else (Position("0", None),)
        guards = self.vectors(node.inputs[1]) if len(node.inputs) > 1 else [None] * len(positions)
        found = []
        for value, guard, at in zip(self.vectors(node.inputs[0]), guards, positions, strict=False):
            outside = e.value(f"icmp ugt {I64} {value}, {last}")
            for mask in (guard, at.mask):
                outside = (
                    outside if mask is None else e.value(f"and {vector('i1')} {outside}, {mask}")
                )
            self._report(node, outside)
            low = e.call(I64, f"llvm.smax.v{LANES}i64", (I64, value), (I64, "zeroinitializer"))
            found.append(e.call(I64, f"llvm.smin.v{LANES}i64", (I64, low), (I64, last)))
        return found

    def _report(self, node: Node, outside: str) -> None:
        """Store the number of a failed bounds check if any lane of the mask is on."""
        e = self.e
        bits = e.value(f"bitcast {vector('i1')} {outside} to i{LANES}")
        number = e.add(self.first_check, 1 + self.checks[node])
        e.when(
            e.value(f"icmp ne i{LANES} {bits}, 0"),
            lambda: e.store(number, self.reports, "i64", 8),
        )

    def _map(self, node: Node, operands: list[str]) -> str:
        if node.params["f"] == "where":
            return scalar.select(self.e, *operands, node.dtype)
        return scalar.apply(self.e, node.params["f"], operands, node.inputs[0].dtype, node.dtype)

    def _reload(self, node: Node, at: Position) -> str:
        """Load a saved scalar from its row of scratch memory."""
        kind, width = scalar.register(node.dtype), kept_width(node.dtype)
        place = self.e.offset(self.scratch[node], self.e.mul(at.index, width))
        if kind == "i1":
            byte = self.e.load(place, vector("i8"), 1)
            return scalar.widen(self.e, byte, node.dtype)
        return self.e.load(place, vector(kind), width)

    def keep(self, node: Node, address: str) -> None:
        """Write a scalar's values to its row of scratch memory, whole vectors."""
        for value, at in zip(self.vectors(node), self.positions, strict=True):
            kind = scalar.register(node.dtype)
            if kind == "i1":
                value, kind = scalar.narrow(self.e, value, node.dtype), "i8"
            width = kept_width(node.dtype)
            place = self.e.offset(address, self.e.mul(at.index, width))
            self.e.store(value, place, vector(kind), width)

    # memory

    def address(
        self, buffer: int, place: Node, dtype: DType, at: Position
    ) -> tuple[str, int] | None:
        """An element's address at a position, and its step in the row; None if not constant."""
        terms, _ = self.numbers.terms(place)
        step = terms.pop(self.inner, 0)
        if any(self.plan.varies(atom) for atom in terms):
            return None
        base = self.base(buffer, place, dtype)
        return self.e.offset(base, self.e.mul(at.index, step * width_of(dtype))), step

    def pointer(self, buffer: int) -> str:
        """The base address of a buffer, or of the one of several buffers that this row reads."""
        if buffer not in self.plan.tables:
            return self.pointers[buffer]
        key = ("pointer", buffer)
        found = self._known(key, self.bases)
        if found is None:
            e, which = self.e, self.rows[self.plan.kernel.rows[0]]
            place = e.offset("%buffers", e.add(e.mul(which, 8), 8 * buffer))
            found = self.bases[-1][key] = e.load(place, "ptr", 8)
        return found

    def base(self, buffer: int, place: Node, dtype: DType) -> str:
        """The part of an element's address that is the same for the whole row."""
        key = (buffer, place, dtype)
        found = self._known(key, self.bases)
        if found is None:
            start = self.e.mul(self.fixed(place), width_of(dtype))
            found = self.e.offset(self.pointer(buffer), start)
            self.bases[-1][key] = found
        return found

    def _load(self, node: Node) -> list[str]:
        """Load an element of a buffer at every position."""
        place, dtype = node.inputs[0], node.dtype
        guards = self.vectors(node.inputs[1]) if len(node.inputs) > 1 else None
        positions = self.positions if self.plan.varies(node) else self.positions[:1]
        found = []
        for k, at in enumerate(positions):
            guard = guards[k] if guards else None
            raw = self._read(node, place, at, guard)
            found.append(scalar.widen(self.e, raw, dtype))
        return found

    def _read(self, node: Node, place: Node, at: Position, guard: str | None) -> str:
        """Read elements at a position by the cheapest load: one, contiguous, masked or gathered."""
        kind, size = scalar.memory(node.dtype), width_of(node.dtype)
        mask = self._both(guard, at.mask) if self.plan.varies(node) else guard
        reach = self.address(node.params["buffer"], place, node.dtype, at)
        if reach is not None and reach[1] == 1:
            return self._read_row(reach[0], kind, size, mask, self._fill(node))
        if reach is not None and reach[1] == 0 and guard is None:
            return self.e.broadcast(self.e.load(reach[0], kind, size), kind)
        return self._collect(node, place, at, mask)

    def _read_row(self, address: str, kind: str, size: int, mask: str | None, fill: str) -> str:
        if mask is None:
            return self.e.load(address, vector(kind), size)
        return self.e.load_masked(address, mask, kind, fill)

    def _collect(self, node: Node, place: Node, at: Position, mask: str | None) -> str:
        """Emit a gather of elements, one by one if the machine has nothing better."""
        e, kind = self.e, scalar.memory(node.dtype)
        base = self.base(node.params["buffer"], place, node.dtype)
        if not self.plan.varies(place):
            return self._pick(node, base, mask)
        index = self._varying(place)[self.positions.index(at)]
        places = e.value(f"getelementptr {kind}, ptr {base}, {I64} {index}")
        first = "" if mask is None else self.pointer(node.params["buffer"])
        return e.gather(places, mask, first, kind, self._fill(node))

    def _pick(self, node: Node, address: str, mask: str | None) -> str:
        """Load one element into all lanes that are on; its address may be invalid if none is."""
        e, kind = self.e, scalar.memory(node.dtype)
        if mask is not None:
            bits = e.value(f"bitcast {vector('i1')} {mask} to i{LANES}")
            some = e.value(f"icmp ne i{LANES} {bits}, 0")
            first = self.pointer(node.params["buffer"])
            address = e.value(f"select i1 {some}, ptr {address}, ptr {first}")
        found = e.broadcast(e.load(address, kind, width_of(node.dtype)), kind)
        return found if mask is None else e.filled(found, mask, kind, self._fill(node))

    def _fill(self, node: Node) -> str:
        """The value, as stored in memory, of a masked load's lanes that are off."""
        value, dtype = node.params["fill"], node.dtype
        if value is None:
            return "zeroinitializer"
        if dtype not in (bfloat16, float16):
            return splat(value, scalar.memory(dtype))
        bits = int(np.asarray(value, dtype.numpy).view(np.uint16))
        word = f"half 0xH{bits:04X}" if dtype is float16 else f"i16 {bits}"
        return f"<{', '.join([word] * LANES)}>"

    def _both(self, guard: str | None, tail: str | None) -> str | None:
        return self.e.both(guard, tail) if guard and tail else guard or tail

    def store(self, buffer: int, place: Node, value: str, dtype: DType, at: Position) -> None:
        """Write a vector along the row."""
        reach = self.address(buffer, place, dtype, at)
        assert reach is not None, "stores have a fixed step"
        assert reach[1] == 1, "stores are contiguous along the row"
        stored, kind = scalar.narrow(self.e, value, dtype), scalar.memory(dtype)
        if at.mask is None and self.streams:
            self.e.store_far(stored, reach[0], vector(kind), LANES * width_of(dtype))
        elif at.mask is None:
            self.e.store(stored, reach[0], vector(kind), width_of(dtype))
        else:
            self.e.store_masked(stored, reach[0], at.mask, kind)

    def store_row(self, buffer: int, place: Node, value: str, dtype: DType) -> None:
        """Store the one element of a row, for results without the inner axis."""
        reach = self.address(buffer, place, dtype, Position("0", None))
        assert reach is not None, "a row's place does not vary"
        kind = scalar.memory(dtype)
        stored = scalar.narrow(self.e, value, dtype)
        element = self.e.value(f"extractelement {vector(kind)} {stored}, i32 0")
        self.e.store(element, reach[0], kind, width_of(dtype))


def unopened(node: Node) -> None:
    """Stand in for the loop emitter before one is set, and raise."""
    raise AssertionError("no chains here")


def width_of(dtype: DType) -> int:
    """Bytes of an element."""
    return dtype.itemsize


def kept_width(dtype: DType) -> int:
    """Bytes of a scalar saved in scratch memory: as in a register, so narrow floats are widened."""
    return computed(dtype).itemsize


def neutral(fold: Node) -> tuple[DType, str]:
    """The dtype that a fold runs in, and the value that it starts from, in every lane."""
    body, monoid = fold.inputs[1].dtype, fold.params["monoid"]
    dtype = accumulator(body) if monoid in ("add", "mul") else computed(body)
    start = -0.0 if monoid == "add" and dtype.is_floating_point else identity_of(monoid, dtype)
    return dtype, scalar.constant(start, dtype)
