"""Values of a loop kernel as LLVM vectors: a few positions along the row at a time.

A block holds one to four vectors of sixteen elements. Scopes nest: the row's scalars, the block's
values, and the values inside a chain's loop; a name lives where what it depends on is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.codegen import scalar
from gnomon.codegen.emitter import BITS, LANE_NUMBERS, LANES, Emitter, splat, vector
from gnomon.codegen.lifted import Lifted, is_lifted
from gnomon.codegen.numbers import Numbers, computed, is_index, is_narrow
from gnomon.codegen.plan_loops import LoopPlan
from gnomon.dtypes import DType, accumulator, bfloat16, float16
from gnomon.ir.node import Node
from gnomon.ops.primitives import identity_of

I64 = vector("i64")


@dataclass(frozen=True)
class Position:
    """Sixteen elements: the first one's index, and which of them exist (None: all)."""

    index: str
    mask: str | None


class Values:
    """Emits scalars of a plan; names are remembered per scope."""

    def __init__(self, e: Emitter, plan: LoopPlan, pointers: Sequence[str]) -> None:
        self.e, self.plan, self.pointers = e, plan, pointers
        self.numbers = Numbers(plan.kernel)
        self.inner = plan.kernel.inner
        self.rows: dict[Node, str] = {}
        """Ranges of rows and chains -> i64."""
        self.scopes: list[dict[Node, list[str]]] = [{}]
        self.scalars: list[dict[Node, str]] = [{}]
        self.bases: list[dict[tuple, str]] = [{}]
        self.positions: Sequence[Position] = (Position("0", None),)
        self.scratch: dict[Node, str] = {}
        """Kept scalars -> the address of their row."""
        self.checks = {x: k for k, x in enumerate(plan.kernel.checks())}
        self.reports = self.first_check = ""
        """Where a failed check's number goes, and how many checks other kernels have before."""
        self.streams = False
        """Whether whole vectors are written past the caches."""
        self.chains: Callable[[Node], None] = unopened
        """Emits a chain, and its siblings, at the present positions."""

    # scopes

    def enter(self, positions: Sequence[Position] | None = None) -> None:
        """Start a scope, at other positions if given."""
        for layers in (self.scopes, self.scalars, self.bases):
            layers.append({})
        self.positions = positions or self.positions

    def leave(self) -> None:
        """Forget the scope's values."""
        for layers in (self.scopes, self.scalars, self.bases):
            layers.pop()

    def _known(self, key: object, layers: list[dict]):
        for layer in reversed(layers):
            if key in layer:
                return layer[key]
        return None

    # values

    def vectors(self, node: Node) -> list[str]:
        """A scalar's value at every position; what does not vary is one splat, repeated."""
        found = self._known(node, self.scopes)
        if found is None:
            found = self._emit(node)
            self.scopes[-1][node] = found
        return found if len(found) == len(self.positions) else [found[0]] * len(self.positions)

    def remember(self, node: Node, values: list[str]) -> None:
        """Record a value that was computed elsewhere."""
        self.scopes[-1][node] = values

    def _emit(self, node: Node) -> list[str]:
        if node in self.scratch:
            return [self._reload(node, p) for p in self.positions]
        if node.op == "const":
            return [self._constant(node)]
        if node.op in ("range", "affine") or is_index(node):
            return self._index_vectors(node)
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
        """A number in every lane; one that is read at run time comes as its bits."""
        value, kind = self.numbers.value(node), scalar.register(node.dtype)
        if not is_lifted(value):
            return scalar.constant(value, node.dtype)
        e, bits = self.e, f"i{BITS[kind]}"
        word = str(value) if bits == "i64" else e.value(f"trunc i64 {value} to {bits}")
        word = word if kind == bits else e.value(f"bitcast {bits} {word} to {kind}")
        return e.broadcast(word, kind)

    def everywhere(self, number: int | Lifted) -> str:
        """An index in every lane."""
        return self.e.broadcast(str(number), "i64") if is_lifted(number) else splat(number, "i64")

    def _checked(self, node: Node) -> list[str]:
        """Positions brought into their axis; the check's number is stored if one was outside."""
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
        """Store the number of a check where any lane is on."""
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

    # indices

    def scalar_index(self, node: Node) -> str:
        """An index that does not vary along the row, as i64."""
        found = self._known(node, self.scalars)
        if found is None:
            found = self._scalar_index(node)
            self.scalars[-1][node] = found
        return found

    def _scalar_index(self, node: Node) -> str:
        e = self.e
        if node.op == "range":
            return self.rows[node]
        if node.op == "affine":
            terms, offset = self.numbers.terms(node)
            total = str(offset)
            for atom, coef in terms.items():
                total = e.add(total, e.mul(self.scalar_index(atom), coef))
            return total
        if is_index(node):
            return self._scalar_division(node)
        return e.value(f"extractelement {I64} {self.vectors(node)[0]}, i32 0")

    def _scalar_division(self, node: Node) -> str:
        e, (x, divisor) = self.e, node.inputs
        k, shift = self.numbers.offset(divisor), self.numbers.shift(node)
        value = e.add(self.scalar_index(x), shift * k)
        if node.params["f"] == "remainder":
            return e.value(f"urem i64 {value}, {k}")
        quotient = e.value(f"udiv i64 {value}, {k}")
        return e.add(quotient, -shift)

    def _index_vectors(self, node: Node) -> list[str]:
        if not self.plan.varies(node):
            return [self.e.broadcast(self.scalar_index(node), "i64")]
        return [self._index_vector(node, p) for p in self.positions]

    def _index_vector(self, node: Node, at: Position) -> str:
        e = self.e
        if node is self.inner:
            return e.value(f"add {I64} {e.broadcast(at.index, 'i64')}, {LANE_NUMBERS}")
        if not self.plan.varies(node):
            return e.broadcast(self.scalar_index(node), "i64")
        if node.op == "affine":
            terms, offset = self.numbers.terms(node)
            total = self.everywhere(offset)
            for atom, coef in terms.items():
                part = self._index_vector(atom, at)
                if is_lifted(coef) or coef != 1:
                    part = e.value(f"mul {I64} {part}, {self.everywhere(coef)}")
                total = e.value(f"add {I64} {total}, {part}")
            return total
        if is_index(node):
            return self._vector_division(node, at)
        return self.vectors(node)[self.positions.index(at)]

    def _vector_division(self, node: Node, at: Position) -> str:
        e, (x, divisor), f = self.e, node.inputs, node.params["f"]
        k, shift = self.numbers.offset(divisor), self.numbers.shift(node)
        value = e.value(f"add {I64} {self._index_vector(x, at)}, {self.everywhere(shift * k)}")
        kind, by = "i32" if is_narrow(node) else "i64", self.everywhere(k)
        wide = vector(kind)
        if kind == "i32":
            value = e.value(f"trunc {I64} {value} to {wide}")
            by = e.value(f"trunc {I64} {by} to {wide}") if is_lifted(k) else splat(k, kind)
        name = "urem" if f == "remainder" else "udiv"
        value = e.value(f"{name} {wide} {value}, {by}")
        if kind == "i32":
            value = e.value(f"zext {wide} {value} to {I64}")
        if f == "remainder":
            return value
        return e.value(f"sub {I64} {value}, {self.everywhere(shift)}")

    # memory

    def address(
        self, buffer: int, place: Node, dtype: DType, at: Position
    ) -> tuple[str, int] | None:
        """A place's address at a position, and its step along the row; None if none is fixed."""
        terms, _ = self.numbers.terms(place)
        step = terms.pop(self.inner, 0)
        if any(self.plan.varies(atom) for atom in terms):
            return None
        base = self.base(buffer, place, dtype)
        return self.e.offset(base, self.e.mul(at.index, step * width_of(dtype))), step

    def base(self, buffer: int, place: Node, dtype: DType) -> str:
        """The address of a place at the row's beginning."""
        key = (buffer, place, dtype)
        found = self._known(key, self.bases)
        if found is None:
            terms, offset = self.numbers.terms(place)
            terms.pop(self.inner, 0)
            total = str(offset)
            for atom, coef in terms.items():
                total = self.e.add(total, self.e.mul(self.scalar_index(atom), coef))
            found = self.e.offset(self.pointers[buffer], self.e.mul(total, width_of(dtype)))
            self.bases[-1][key] = found
        return found

    def _load(self, node: Node) -> list[str]:
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
        """Elements from anywhere, one by one where the machine has nothing better."""
        e, kind, size = self.e, scalar.memory(node.dtype), width_of(node.dtype)
        index = self._index_vector(place, at)
        base = self.pointers[node.params["buffer"]]
        pointers = e.value(f"getelementptr {kind}, ptr {base}, {I64} {index}")
        name = f"llvm.masked.gather.v{LANES}{short(kind)}.v{LANES}p0"
        on = mask or splat(1, "i1")
        arguments = ((f"<{LANES} x ptr>", pointers), ("i32", str(size)), (vector("i1"), on))
        return e.call(vector(kind), name, *arguments, (vector(kind), self._fill(node)))

    def _fill(self, node: Node) -> str:
        """What a masked load gives where its mask is off, as stored."""
        value, dtype = node.params["fill"], node.dtype
        if value is None:
            return "zeroinitializer"
        if dtype not in (bfloat16, float16):
            return splat(value, scalar.memory(dtype))
        bits = int(np.asarray(value, dtype.numpy).view(np.uint16))
        word = f"half 0xH{bits:04X}" if dtype is float16 else f"i16 {bits}"
        return f"<{', '.join([word] * LANES)}>"

    def _both(self, a: str | None, b: str | None) -> str | None:
        if a is None or b is None:
            return a or b
        return self.e.value(f"and {vector('i1')} {a}, {b}")

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
        """Write the one element of a row."""
        reach = self.address(buffer, place, dtype, Position("0", None))
        assert reach is not None, "a row's place does not vary"
        kind = scalar.memory(dtype)
        stored = scalar.narrow(self.e, value, dtype)
        element = self.e.value(f"extractelement {vector(kind)} {stored}, i32 0")
        self.e.store(element, reach[0], kind, width_of(dtype))


def unopened(node: Node) -> None:
    """Stands where no loop emitter has been set."""
    raise AssertionError("no chains here")


def width_of(dtype: DType) -> int:
    """Bytes of an element."""
    return dtype.itemsize


def kept_width(dtype: DType) -> int:
    """Bytes of a kept scalar: as in a register, so that narrow floats stay unpacked."""
    return computed(dtype).itemsize


def short(kind: str) -> str:
    """A memory type as intrinsic names spell it."""
    return {"float": "f32", "double": "f64", "half": "f16"}.get(kind, kind)


def neutral(fold: Node) -> tuple[DType, str]:
    """The dtype that a fold runs in, and the value that it starts from, in every lane."""
    body, monoid = fold.inputs[1].dtype, fold.params["monoid"]
    dtype = accumulator(body) if monoid in ("add", "mul") else computed(body)
    start = -0.0 if monoid == "add" and dtype.is_floating_point else identity_of(monoid, dtype)
    return dtype, scalar.constant(start, dtype)
