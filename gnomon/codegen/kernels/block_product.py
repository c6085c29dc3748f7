"""Products with a matrix that lies in blocks of quantized numbers: emit_block_product.

A panel of it is decoded where another product would copy one (packing.py), so what is read from
memory are blocks, and the microkernel and the order of sums are those of every product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gnomon.codegen.emitter import LANES, Emitter, LLVMModule, vector
from gnomon.codegen.kernels.block_decoding import LINE, TABLES, emit_decode
from gnomon.codegen.kernels.blocking import BlockingNumbers
from gnomon.codegen.kernels.packed import PackedWriter
from gnomon.codegen.kernels.packing import emit_pack
from gnomon.codegen.kernels.product import MatmulSpec
from gnomon.codegen.kernels.storing import Bounds
from gnomon.codegen.kernels.tally import KBlock
from gnomon.codegen.machine import Machine
from gnomon.ops.blocks import FORMATS

__all__ = ["BlockProductSpec", "emit_block_product"]

FEW = 16
"""Up to so many rows, blocks are read once, along their rows: memory is what the product waits for.
"""
POINTERS = 8 * LANES
"""Bytes of the addresses of rows."""
PARAMETERS = (
    ("ptr readonly", "base"),
    *(("i64", x) for x in ("first", "panels", "start", "length")),
    ("ptr", "target"),
    ("ptr", "space"),
    *(("i64", x) for x in ("exist", "pitch")),
)
"""The blocks; the first row, how many panels, steps of K; their goal; memory for decoding; how many
rows exist, and bytes from one to the next."""


@dataclass(frozen=True)
class BlockProductSpec:
    """A product whose B is decoded: the format of its blocks, and bytes of one of its rows."""

    product: MatmulSpec
    kind: str
    pitch: int


def emit_block_product(
    module: LLVMModule, name: str, spec: BlockProductSpec, machine: Machine
) -> int:
    """Define kernel `name` in the module; gives the bytes of scratch that each thread needs."""
    return BlockProductWriter(module, name, spec, machine).write()


class BlockProductWriter(PackedWriter):
    """Decodes panels of B in place of packing them."""

    def __init__(
        self, module: LLVMModule, name: str, spec: BlockProductSpec, machine: Machine
    ) -> None:
        self.blocks, self.form = spec, FORMATS[spec.kind]
        super().__init__(module, name, spec.product, machine)

    def make_cut(self, machine: Machine) -> BlockingNumbers:
        """As of any product; of few rows one panel of columns after another, through all of K."""
        cut = super().make_cut(machine)
        return replace(cut, column_panels=1) if self.sizes[0] <= FEW else cut

    def write(self) -> int:
        """Everything; gives the bytes of scratch, with those that decoding needs."""
        return super().write() + POINTERS + TABLES + self.form.elements * LINE

    def write_parts(self) -> None:
        """The packer of A, what decodes a block, what decodes panels, the microkernel."""
        emit_pack(self.module, f"{self.name}.pack_a", self.packings["a"])
        emit_decode(self.module, f"{self.name}.decode", self.blocks.kind)
        options = {"linkage": "internal", "attributes": "noinline nounwind"}
        PanelDecoder(self, self.module.function(f"{self.name}.pack_b", PARAMETERS, **options))
        self.write_tiles()

    def pack(self, operand: str, base: str, panels: Bounds, block: KBlock) -> None:
        """Copy panels of A, or decode those of B."""
        if operand == "a":
            super().pack(operand, base, panels, block)
            return
        e = self.e
        start, length = self.steps_of(block, 1)
        e.call(
            "void", f"{self.name}.pack_b", ("ptr", base),
            ("i64", e.mul(panels[0], self.tile.columns)), ("i64", e.sub(panels[1], panels[0])),
            ("i64", start), ("i64", length), ("ptr", self.scratch.b),
            ("ptr", self.scratch.offsets), ("i64", str(self.sizes[1])),
            ("i64", str(self.blocks.pitch)),
        )  # fmt: skip


class PanelDecoder:
    """Writes the function that decodes panels: [steps][columns] of each."""

    def __init__(self, writer: BlockProductWriter, e: Emitter) -> None:
        self.e, self.form, self.name = e, writer.form, writer.name
        self.tables = e.offset("%space", POINTERS)
        self.spare = e.offset("%space", POINTERS + TABLES)
        self.width = writer.tile.columns
        self.end = e.add("%start", "%length")
        e.loop(0, "%panels", 1, self.panel)
        e.ret()

    def panel(self, number: str) -> None:
        """One panel, 16 of its columns after others."""
        e = self.e
        first = e.add("%first", e.mul(number, self.width))
        target = e.offset("%target", e.mul(number, e.mul("%length", 4 * self.width)))
        for left in range(0, self.width, LANES):
            self.find_rows(e.add(first, left))
            self.blocks_of(e.offset(target, 4 * left))

    def find_rows(self, first: str) -> None:
        """Write where rows begin; what is past the last one repeats it."""
        e, last = self.e, self.e.sub("%exist", 1)

        def one(lane: str) -> None:
            row = e.least(e.add(first, lane), last)
            place = e.offset("%base", e.mul(row, "%pitch"))
            e.store(place, e.offset("%space", e.mul(lane, 8)), "ptr", 8)

        e.loop(0, LANES, 1, one)

    def blocks_of(self, goal: str) -> None:
        """All blocks that have a step among those wanted, of 16 columns."""
        e, size = self.e, self.form.elements

        def one(block: str) -> None:
            low = e.mul(block, size)
            high = e.add(low, size)
            starts, ends = (
                e.value(f"icmp {x}")
                for x in (f"sge i64 {low}, %start", f"sle i64 {high}, {self.end}")
            )
            inside = e.value(f"and i1 {starts}, {ends}")
            there = e.offset(goal, e.mul(e.sub(low, "%start"), 4 * self.width))
            target = e.value(f"select i1 {inside}, ptr {there}, ptr {self.spare}")
            step = e.value(f"select i1 {inside}, i64 {4 * self.width}, i64 {LINE}")
            e.call(
                "void", f"{self.name}.decode", ("ptr", "%space"),
                ("i64", e.mul(block, self.form.nbytes)), ("ptr", target), ("i64", step),
                ("ptr", self.tables),
            )  # fmt: skip
            e.when(e.value(f"xor i1 {inside}, true"), lambda: self.copy(low, high, goal))

        first = e.value(f"udiv i64 %start, {size}")
        last = e.value(f"udiv i64 {e.add(self.end, size - 1)}, {size}")
        e.loop(first, last, 1, one)

    def copy(self, low: str, high: str, goal: str) -> None:
        """Copy the wanted steps of a block that has others too."""
        e, kind = self.e, vector("float")

        def step(k: str) -> None:
            value = e.load(e.offset(self.spare, e.mul(e.sub(k, low), LINE)), kind, LINE)
            e.store(value, e.offset(goal, e.mul(e.sub(k, "%start"), 4 * self.width)), kind, 4)

        e.loop(e.most(low, "%start"), e.least(high, self.end), 1, step)
