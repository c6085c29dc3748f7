"""A product's prologue: its left factor is computed while it is copied into panels.

The code is that of loop kernels (block.py), a panel's rows at a time: values are stored in a
row-major strip in the first cache, from which the product's own packer reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from gnomon.codegen.block import ScalarValues
from gnomon.codegen.emitter import LANES, Emitter, LLVMModule, vector
from gnomon.codegen.epilogue import AskingWriter, Ending, EpilogueCode
from gnomon.codegen.indices import Position
from gnomon.codegen.kernels.direct import WRITERS, layout_of
from gnomon.codegen.kernels.packing import Packing
from gnomon.codegen.kernels.product import Axis, Epilogue, MatmulSpec, count
from gnomon.codegen.kernels.staging import Side, Stage
from gnomon.codegen.kernels.storing import NUMBERS, SsaBounds
from gnomon.codegen.kernels.tally import KBlock
from gnomon.codegen.kernels.team_products import writer_of
from gnomon.codegen.kernels.tensor_tiles import TensorWriter, takes_tensor_cores
from gnomon.codegen.kernels.tile_chain import is_tiled
from gnomon.codegen.kernels.tiled import FLAT_TILE, TiledWriter
from gnomon.codegen.kernels.units import Source
from gnomon.codegen.kernels.unpacked import UnpackedWriter, reader_of
from gnomon.codegen.machine import Machine
from gnomon.codegen.plan_loops import LoopPlan
from gnomon.schedule.kernel import LoopKernel


@dataclass(frozen=True)
class Prologue:
    """The prologue of a left factor: a kernel over its rows and steps, the slot of each buffer.

    Its first buffer is the factor, which has no slot, -1.
    """

    in_text: ClassVar = ("slots",)

    kernel: LoopKernel
    slots: tuple[int, ...]

    def __repr__(self) -> str:
        """The text that names the code: all that it depends on."""
        return f"Prologue({self.kernel.key()}, {self.slots})"


def emit_product_with(
    module: LLVMModule,
    name: str,
    spec: MatmulSpec,
    machine: Machine,
    ending: Ending | None,
    opening: Prologue | None,
) -> int:
    """Define a product with a prologue or epilogue; returns each thread's bytes of scratch."""
    code = EpilogueCode(spec, ending) if ending else None
    if is_tiled(machine):
        epilogue = code.finish if code else None
        if opening is None:
            return writer_of(spec, machine)(module, name, spec, machine, epilogue).write()
        tensor = takes_tensor_cores(spec, machine)
        writer = OpeningTensorWriter if tensor else OpeningTiledWriter
        flat = replace(spec, tile=FLAT_TILE) if spec.tile[1] == LANES else spec
        return writer(module, name, flat, machine, epilogue, opening).write()
    if opening:
        return OpeningWriter(module, name, spec, machine, code, opening).write()
    layout = layout_of(spec)
    if code and layout in WRITERS:
        return WRITERS[layout](module, name, spec, machine, code.finish).write()
    writer = AskingUnpackedWriter if reader_of(spec) else AskingWriter
    return writer(module, name, spec, machine, code).write()


class AskingUnpackedWriter(UnpackedWriter, AskingWriter):
    """An AskingWriter that reads the left factor unpacked."""


class OpeningWriter(AskingWriter):
    """A packed product with a prologue, and maybe an epilogue."""

    def __init__(
        self,
        module: LLVMModule,
        name: str,
        spec: MatmulSpec,
        machine: Machine,
        code: EpilogueCode | None,
        opening: Prologue,
    ) -> None:
        self.opening = opening
        super().__init__(module, name, spec, machine, code)

    @property
    def stride(self) -> int:
        """The stride of a strip's rows in values, with a margin of one vector."""
        return self.cut.deep + LANES

    @property
    def strip(self) -> str:
        """The address of the strip of computed rows, behind all other scratch memory."""
        slots = max(packing.slots for packing in self.packings.values())
        return self.e.offset(self.scratch.offsets, 8 * slots)

    def packing(self, operand: str, across: tuple[Axis, ...]) -> Packing:
        """The packing of an operand; the left factor's reads the strip."""
        if operand == "b":
            return super().packing(operand, across)
        scalar, high = self.tile.scalar, self.tile.rows
        walks = ((count(self.spec.rows), self.stride),), ((count(self.spec.steps), 1),)
        return Packing(scalar, high, *walks, Source(self.spec.scalar))

    def write(self) -> int:
        """Write all functions; gives the bytes of scratch, the strip included."""
        return super().write() + self.tile.rows * self.stride * self.tile.item

    def write_parts(self) -> None:
        """Write the functions that the kernel calls."""
        super().write_parts()
        labels = ("first", "rows", "start", "length")
        e = self.module.function(
            f"{self.name}.open",
            [("ptr", "buffers"), ("ptr", "strip"), *(("i64", x) for x in labels)],
            linkage="internal",
            attributes="noinline nounwind",
        )
        e.loop(0, "%rows", 1, lambda row: self.compute_row(e, row))
        e.ret()

    def compute_row(self, e: Emitter, row: str) -> None:
        """Compute a row of the strip: values that do not vary, full vectors, then a partial one."""
        plan, item = LoopPlan(self.opening.kernel), self.tile.item
        pointers = ["null" if slot < 0 else e.buffer(slot) for slot in self.opening.slots]
        values, (store,) = ScalarValues(e, plan, pointers), self.opening.kernel.stores
        for axis in self.opening.kernel.rows:
            values.rows[axis] = e.add("%first", row)
        for node in plan.nodes:
            real = node.op in ("load", "map") and node.dtype.is_floating_point
            if real and not plan.varies(node):
                values.vectors(node)
        line = e.offset("%strip", e.mul(e.mul(row, self.stride), item))

        def piece(place: str, mask: str | None = None) -> None:
            values.enter((Position(e.add("%start", place), mask),))
            (made,) = values.vectors(store.value)
            e.store(made, e.offset(line, e.mul(place, item)), vector(self.tile.scalar), item)
            values.leave()

        def ragged() -> None:
            left = e.value(f"trunc i64 {e.sub('%length', whole)} to i32")
            lanes = e.value(f"icmp slt {vector('i32')} {NUMBERS}, {e.broadcast(left, 'i32')}")
            piece(whole, lanes)

        whole = e.value(f"and i64 %length, {-LANES}")
        e.loop(0, whole, LANES, piece)
        e.when(e.value(f"icmp ne i64 {whole}, %length"), ragged)

    def pack(self, operand: str, base: str, panels: SsaBounds, block: KBlock) -> None:
        """Compute and copy the left factor, a panel at a time."""
        if operand == "b":
            super().pack(operand, base, panels, block)
            return
        e, tile, strip = self.e, self.tile, self.strip
        panel = e.mul(block.units, tile.rows * tile.item)

        def one(number: str) -> None:
            first = self.first_row(number)
            high = e.least(e.sub(self.rows, first), tile.rows)
            bounds = (first, high, block.start, block.units)
            e.call(
                "void", f"{self.name}.open", ("ptr", "%buffers"), ("ptr", strip),
                *(("i64", x) for x in bounds),
            )  # fmt: skip
            target = e.offset(self.scratch.a, e.mul(e.sub(number, panels[0]), panel))
            # rows past the end repeat the last one
            numbers = (high, *self.packings["a"].numbers[1:])
            e.call(
                "void", f"{self.name}.pack_a", ("ptr", strip),
                ("i64", "0"), ("i64", "1"), ("i64", "0"), ("i64", block.units),
                ("ptr", target), ("ptr", self.scratch.offsets),
                *(("i64", str(x)) for x in numbers),
            )  # fmt: skip

        e.loop(*panels, 1, one)


class OpeningTiledWriter(TiledWriter):
    """A product by tiles, whose left factor is computed while it is copied."""

    def __init__(
        self,
        module: LLVMModule,
        name: str,
        spec: MatmulSpec,
        machine: Machine,
        epilogue: Epilogue | None,
        opening: Prologue,
    ) -> None:
        self.opening = opening
        super().__init__(module, name, spec, machine, epilogue)

    def base(self, side: Side, batch: str) -> str:
        """The address of an operand in a batch; the computed factor has none."""
        return "null" if side.name == "a" else super().base(side, batch)

    def fetch_side(self, side: Side, base: str, first: str, stage: Stage) -> list[str]:
        """Load or compute a thread's part of an operand."""
        if side.name == "b":
            return super().fetch_side(side, base, first, stage)
        assert side.along, "prologue: the factor's steps are neighbours."
        e, kernel = self.e, self.opening.kernel
        plan, (store,) = LoopPlan(kernel), kernel.stores
        pointers = ["null" if slot < 0 else e.buffer(slot) for slot in self.opening.slots]
        made = []
        for number in range(0, self.deep, LANES):
            exists = e.value(f"icmp slt i64 {e.add('%lane', number)}, {stage.exist}")
            mask = exists if self.is_ragged else None
            position = Position(e.add(stage.first, number), mask)
            for row in self.rows_of(side, first):
                values = ScalarValues(e, plan, pointers)
                values.rows.update(dict.fromkeys(kernel.rows, row))
                values.enter((position,))
                (value,) = values.vectors(store.value)
                made.append(self.existing(value, side, exists))
        return made


class OpeningTensorWriter(OpeningTiledWriter, TensorWriter):
    """A product by tensor cores, with a computed left factor."""

    def has_octets(self, side: Side) -> bool:
        """Whether octets of an operand are copied; the computed factor's are not."""
        return side.name == "b" and super().has_octets(side)
