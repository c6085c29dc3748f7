"""Description of a matrix product: the axes of its operands, and how its results are stored.

Each of the four groups may be several nested axes with any strides, so transposed operands, heads,
broadcasts and convolution windows are all one description. How it is computed: matmul.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from gnomon.codegen.emitter import BITS, LANES, Emitter, vector
from gnomon.codegen.kernels.order import Letter
from gnomon.codegen.kernels.steps import memory_of, sums_of
from gnomon.codegen.kernels.strides import Dims, merge, offset


@dataclass(frozen=True)
class Axis:
    """One axis of a product: its size, and its stride in elements in each operand that has it.

    A stride of 0 repeats the operand along the axis. `leaves` belongs to summed axes; 0 says that
    an axis is one with the one outside it, and their sum one chain.
    """

    size: int
    a: int = 0
    b: int = 0
    c: int = 0
    leaves: int = field(default=1, metadata={"follows": "size"})


@dataclass(frozen=True)
class OperandSlots:
    """The operands' slots of the buffers; C's is read by `store_to` alone."""

    in_text: ClassVar = ("c", "a", "b")

    c: int = 0
    a: int = 1
    b: int = 2


@dataclass(frozen=True)
class MatmulSpec:
    """C[batch, rows, columns] = sum over steps of A * B; nested axes, outermost first.

    `rows` are axes of A and C, `columns` of B and C, `steps` of A and B, `batch` of all three;
    `starts` are the elements at which A, B and C begin. `scalar` is that of A and B: "bfloat" and
    "half" are summed in float, "i8" and "u8" in i32. `tile` is rows and columns of the register
    tile; (0, 0) leaves it to blocking.py. `ready`: B is prepacked, from its first value on
    (panels.py). `narrow`: what A and B hold where that is widened to `scalar` when it is packed.
    `left`: whether A is "near", small enough for the second cache, or "far", or "copied" in any
    case; "" asks its size.
    """

    in_text: ClassVar = ("tile", "ready", "narrow", "left")

    scalar: str
    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    steps: tuple[Axis, ...]
    starts: tuple[int, int, int] = (0, 0, 0)
    slots: OperandSlots = OperandSlots()
    tile: tuple[int, int] = (0, 0)
    ready: bool = False
    narrow: tuple[str, str] = ("", "")
    left: str = ""

    @property
    def letters(self) -> tuple[Letter, ...]:
        """The summed axes, as their order of addition needs them."""
        nests: list[Letter] = []
        for axis in self.steps:
            outer, leaves = (1, axis.leaves) if axis.leaves else nests.pop()
            nests.append((outer * axis.size, leaves))
        return tuple(nests)

    @property
    def run(self) -> int:
        """The least number of contiguous steps in A and B."""
        return self.steps[-1].size if self.steps else 1

    @property
    def sums(self) -> str:
        """The scalar type of the sums, and of C."""
        return sums_of(self.scalar)

    def held(self, operand: str) -> str:
        """The scalar type in memory of the values of A ("a") or B ("b")."""
        return self.narrow["ab".index(operand)] or self.scalar

    def item_of(self, operand: str) -> int:
        """Bytes of one value of A or B."""
        return BITS[memory_of(self.held(operand))] // 8

    @property
    def item(self) -> int:
        """Bytes of one value of C."""
        return BITS[self.sums] // 8


@dataclass(frozen=True)
class VectorPlace:
    """The place of one vector of results: SSA names of i64, flat over each group of axes.

    The vector holds columns `column`, `column` + 1, ... of one row; `mask` is None when all of
    them exist, else a constant <16 x i1>. Single axes are had by `strides.unflatten`.
    """

    buffers: str
    batch: str
    row: str
    column: str
    mask: str | None


Epilogue = Callable[[Emitter, VectorPlace, str], None]
"""Writes code that stores one vector, <16 x sums>, of finished sums.

The contract: called for every element of C once, whole vectors (mask None) or the last, ragged one
of a row; rows and columns in no order that may be relied on, one thread per element. `VectorPlace`
names where the vector belongs; the value is exactly what `store_to` would store. It may read any
buffer, write any place that is its element's alone, and must compute nothing from masked lanes.
"""


def count(axes: tuple[Axis, ...]) -> int:
    """The number of indices of a group of axes: the product of their sizes."""
    return prod(axis.size for axis in axes)


def walk(axes: tuple[Axis, ...], operand: str) -> Dims:
    """The merged sizes and strides of an operand ("a", "b" or "c") along a group of axes."""
    return merge([(axis.size, getattr(axis, operand)) for axis in axes])


def store_to(spec: MatmulSpec) -> Epilogue:
    """The epilogue that stores sums to C as they are."""
    groups = [walk(axes, "c") for axes in (spec.batch, spec.rows, spec.columns)]
    size, stride = groups[2][-1]
    whole = stride == 1 and (len(groups[2]) == 1 or size % LANES == 0)

    def address(e: Emitter, place: VectorPlace, column: str) -> str:
        base = e.load(e.offset(place.buffers, 8 * spec.slots.c), "ptr", 8)
        where = str(spec.starts[2])
        for index, group in zip((place.batch, place.row, column), groups, strict=True):
            where = e.add(where, offset(e, index, group))
        return e.offset(base, e.mul(where, spec.item))

    def store(e: Emitter, place: VectorPlace, value: str) -> None:
        if whole and place.mask is not None:
            e.store_masked(value, address(e, place, place.column), place.mask, spec.sums)
        elif whole:
            together(e, place, value)
        elif stride == 1 and size >= LANES and place.mask is None:
            # only the last vector of an inner axis may go on elsewhere
            inside = e.value(f"urem i64 {place.column}, {size}")
            fits = e.value(f"icmp sle i64 {inside}, {size - LANES}")
            e.when(fits, lambda: together(e, place, value))
            e.when(e.value(f"xor i1 {fits}, true"), lambda: scatter(e, place, value))
        else:
            scatter(e, place, value)

    def together(e: Emitter, place: VectorPlace, value: str) -> None:
        e.store(value, address(e, place, place.column), vector(spec.sums), spec.item)

    def scatter(e: Emitter, place: VectorPlace, value: str) -> None:
        def one(lane: str) -> None:
            single = e.value(f"extractelement {vector(spec.sums)} {value}, i64 {lane}")
            e.store(single, address(e, place, e.add(place.column, lane)), spec.sums, spec.item)

        exist = e.least(e.sub(str(count(spec.columns)), place.column), LANES)
        e.loop(0, exist, 1, one)

    return store
