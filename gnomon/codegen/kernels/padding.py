"""A tensor with zeros around its last axes: emit_padding.

Rows are copied by vectors; nothing is asked element by element. Knows nothing of graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from gnomon.codegen.emitter import BITS, KERNEL, LANES, Emitter, LLVMModule, vector
from gnomon.codegen.kernels.convolution import powers
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.kernels.strides import unflatten


@dataclass(frozen=True)
class PaddingSpec:
    """The padding of `lead` tensors: sizes, and zeros before (low) and after (high) each axis."""

    scalar: str
    lead: int
    sizes: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def item(self) -> int:
        """Bytes of one value."""
        return BITS[self.scalar] // 8

    @property
    def whole(self) -> tuple[int, ...]:
        """The sizes of the padded axes, margins included."""
        rows = zip(self.low, self.sizes, self.high, strict=True)
        return tuple(map(sum, rows))


def emit_padding(module: LLVMModule, name: str, spec: PaddingSpec) -> int:
    """Define kernel `name` in the module; it needs no scratch memory."""
    e = module.function(name, KERNEL)
    goal, source = map(e.buffer, range(2))
    length, item = spec.sizes[-1], spec.item
    low, high = part(e, spec.lead * prod(spec.whole[:-1]), "%thread", "%threads")

    def row(index: str) -> None:
        line = e.offset(goal, e.mul(index, spec.whole[-1] * item))
        place, inside = find_row(e, spec, index)

        def copy() -> None:
            fill(e, spec, line, spec.low[-1])
            here = e.offset(source, e.mul(place, length * item))
            there = e.offset(line, spec.low[-1] * item)
            move(e, spec, here, there)
            fill(e, spec, e.offset(there, length * item), spec.high[-1])

        e.when(inside, copy)
        outside = e.value(f"xor i1 {inside}, true")
        e.when(outside, lambda: fill(e, spec, line, spec.whole[-1]))

    e.loop(low, high, 1, row)
    e.ret()
    return 0


def find_row(e: Emitter, spec: PaddingSpec, index: str) -> tuple[str, str]:
    """The source row of a row of the result, and whether it has one."""
    place, *inner = unflatten(e, index, [spec.lead, *spec.whole[:-1]])
    inside = "true"
    for at, size, low in zip(inner, spec.sizes, spec.low, strict=False):
        moved = e.sub(at, low)
        within = e.value(f"icmp ult i64 {moved}, {size}")
        inside = e.value(f"and i1 {inside}, {within}")
        place = e.add(e.mul(place, size), moved)
    return place, inside


def move(e: Emitter, spec: PaddingSpec, here: str, there: str) -> None:
    """Emit the copy of one row between its zeros."""

    def some(at: str | int, lanes: int) -> None:
        place, kind = e.mul(at, spec.item), vector(spec.scalar, lanes)
        value = e.load(e.offset(here, place), kind, spec.item)
        e.store(value, e.offset(there, place), kind, spec.item)

    in_runs(e, spec.sizes[-1], some)


def fill(e: Emitter, spec: PaddingSpec, there: str, count: int) -> None:
    """Emit `count` zeros."""

    def zeros(place: str | int, lanes: int) -> None:
        goal = e.offset(there, e.mul(place, spec.item))
        e.store("zeroinitializer", goal, vector(spec.scalar, lanes), spec.item)

    in_runs(e, count, zeros)


def in_runs(e: Emitter, count: int, run: Callable[[str | int, int], None]) -> None:
    """Emit stores of `count` values: full vectors, then runs of powers of two.

    The rest of a count that is a runtime argument comes one by one.
    """
    whole = count // LANES * LANES
    e.loop(0, whole, LANES, lambda at: run(at, LANES))
    if type(count) is int:
        for first, lanes in powers(count - whole):
            run(whole + first, lanes)
    else:
        e.loop(whole, count, 1, lambda at: run(at, 1))
