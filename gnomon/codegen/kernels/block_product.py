"""Products with a matrix of quantized blocks: emit_block_product.

Panels of it are decoded where another product would copy them (packing.py), so what is read from
memory are blocks, and the microkernel and the order of sums are those of every product. A tile's
panel is one of 16 columns after another, each [steps][16], as it is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gnomon.codegen.emitter import LANES, Emitter, LLVMModule, vector
from gnomon.codegen.kernels.block_decoding import LINE, TABLES, emit_decode
from gnomon.codegen.kernels.blocking import DEEPEST, BlockingNumbers, choose_tile, numbers_of_tile
from gnomon.codegen.kernels.microkernel import BroadcastRow, Right, Tile, emit_tile
from gnomon.codegen.kernels.packed import PackedWriter
from gnomon.codegen.kernels.packing import emit_pack
from gnomon.codegen.kernels.product import MatmulSpec
from gnomon.codegen.kernels.steps import choose_step
from gnomon.codegen.kernels.storing import SsaBounds, TileRegion
from gnomon.codegen.kernels.tally import KBlock
from gnomon.codegen.machine import Machine
from gnomon.ops.blocks import FORMATS

__all__ = ["BlockProductSpec", "emit_block_product"]

FEW = 16
"""Up to so many rows, a product takes as long as decoding, and each panel is used at once."""
WIDE, DEEP = 2 * LANES, 256
"""Columns and steps of the panels of few rows: the first cache holds them, and whole blocks fit.

A chain of sums waits for each sum, so two panels are summed side by side.
"""
POINTERS = 8 * LANES
"""Bytes of the addresses of rows."""
SLACK = 2 * LINE
"""Bytes between panels of 16 columns, which would else share a set of the first cache."""
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


class SidePanels(Right):
    """The microkernel's B in panels of 16 columns, `far` bytes apart; `b` is a tile's first."""

    def __init__(self, far: int) -> None:
        self.far = far

    def unit(self, tile: Tile) -> int:
        """The bytes of 16 columns."""
        return LANES * tile.item

    def rows(
        self, e: Emitter, tile: Tile, b: str, part: tuple[int, range]
    ) -> Iterator[BroadcastRow]:
        """Yield for each unit of K the vectors of its row, from each panel of 16 columns."""
        units, vectors = part
        for number in range(units):
            start, places = e.offset(b, number * self.unit(tile)), []
            for j in vectors:
                panel, inside = divmod(j * tile.lanes, LANES)
                places.append(e.offset(start, panel * self.far + inside * tile.item))
            yield number, [e.load(place, tile.kind, tile.item) for place in places]


class BlockProductWriter(PackedWriter):
    """Decodes panels of B in place of packing them."""

    def __init__(
        self, module: LLVMModule, name: str, spec: BlockProductSpec, machine: Machine
    ) -> None:
        self.blocks, self.form = spec, FORMATS[spec.kind]
        self.few = spec.product.rows[0].size <= FEW
        self.far = (DEEP if self.few else DEEPEST) * LINE + SLACK
        super().__init__(module, name, spec.product, machine)

    def make_tile(self, machine: Machine) -> Tile:
        """Choose a tile; for few rows a narrow one, whose panel fits into the first cache."""
        if not self.few:
            return super().make_tile(machine)
        step = choose_step(machine, self.spec.scalar, self.spec.letters, self.spec.run)
        return choose_tile(machine, self.spec.sums, self.sizes[0], WIDE, step)

    def make_cut(self, machine: Machine) -> BlockingNumbers:
        """Choose the blocking; for few rows one column panel at a time, through all of K."""
        if not self.few:
            return super().make_cut(machine)
        cut = numbers_of_tile(machine, self.tile, self.sizes, self.spec.letters, deepest=DEEP)
        return replace(cut, column_panels=1)

    def write(self) -> int:
        """Write the product; returns the bytes of scratch, including those for decoding."""
        return super().write() + POINTERS + TABLES + self.form.elements * LINE

    def parts(self) -> tuple[int, ...]:
        """Bytes of each part of scratch memory; panels of B are as deep as any may be."""
        stack, a, _, *rest = super().parts()
        return stack, a, self.cut.column_panels * self.panel, *rest

    @property
    def panel(self) -> int:
        """The bytes of one tile's panels."""
        return self.tile.columns // LANES * self.far

    def write_parts(self) -> None:
        """Write the packer of A, the decoders of blocks and of panels, and the microkernel."""
        emit_pack(self.module, f"{self.name}.pack_a", self.packings["a"])
        emit_decode(self.module, f"{self.name}.decode", self.blocks.kind)
        options = {"linkage": "internal", "attributes": "noinline nounwind"}
        PanelDecoder(self, self.module.function(f"{self.name}.pack_b", PARAMETERS, **options))
        right = SidePanels(self.far)
        emit_tile(self.module, f"{self.name}.tile", self.tile, self.left, right)
        if self.narrow:
            edge = replace(self.tile, used=self.narrow)
            emit_tile(self.module, f"{self.name}.edge", edge, self.left, right)

    def right_of(self, panel: str, part: TileRegion, block: KBlock) -> str:
        """The address of a tile's first panel."""
        return self.e.offset(self.scratch.b, self.e.mul(panel, self.panel))

    def pack(self, operand: str, base: str, panels: SsaBounds, block: KBlock) -> None:
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
    """Writer of the function that decodes a tile's panels of B."""

    def __init__(self, writer: BlockProductWriter, e: Emitter) -> None:
        self.e, self.form, self.name, self.far = e, writer.form, writer.name, writer.far
        self.tables = e.offset("%space", POINTERS)
        self.spare = e.offset("%space", POINTERS + TABLES)
        self.end = e.add("%start", "%length")
        self.ahead = DEEP * self.form.nbytes // self.form.elements if writer.few else 0
        e.loop(0, e.mul("%panels", writer.tile.columns // LANES), 1, self.panel)
        e.ret()

    def panel(self, number: str) -> None:
        """Emit the decoding of rows of 16 columns of B into one panel."""
        e = self.e
        self.find_rows(e.add("%first", e.mul(number, LANES)))
        self.blocks_of(e.offset("%target", e.mul(number, self.far)))

    def find_rows(self, first: str) -> None:
        """Emit the addresses of 16 rows of blocks; rows past the end repeat the last one.

        With few rows of A, each panel is used once: the data of these rows' next panel is
        prefetched, since hardware does not see that 16 rows are read side by side.
        """
        e, last = self.e, self.e.sub("%exist", 1)
        block = e.value(f"udiv i64 {self.end}, {self.form.elements}")
        after = e.mul(block, self.form.nbytes)

        def one(lane: str) -> None:
            row = e.least(e.add(first, lane), last)
            place = e.offset("%base", e.mul(row, "%pitch"))
            e.store(place, e.offset("%space", e.mul(lane, 8)), "ptr", 8)
            for byte in range(0, self.ahead, LINE):
                e.prefetch(e.offset(e.offset(place, after), byte))

        e.loop(0, LANES, 1, one)

    def blocks_of(self, goal: str) -> None:
        """Emit the decoding of all blocks that contain a wanted step."""
        e, size = self.e, self.form.elements

        def one(block: str) -> None:
            low = e.mul(block, size)
            high = e.add(low, size)
            starts = e.value(f"icmp sge i64 {low}, %start")
            inside = e.value(f"and i1 {starts}, {e.value(f'icmp sle i64 {high}, {self.end}')}")
            there = e.offset(goal, e.mul(e.sub(low, "%start"), LINE))
            target = e.value(f"select i1 {inside}, ptr {there}, ptr {self.spare}")
            place = e.mul(block, self.form.nbytes)
            e.call(
                "void", f"{self.name}.decode", ("ptr", "%space"), ("i64", place), ("ptr", target),
                ("ptr", self.tables),
            )  # fmt: skip
            e.when(e.value(f"xor i1 {inside}, true"), lambda: self.copy(low, high, goal))

        first = e.value(f"udiv i64 %start, {size}")
        last = e.value(f"udiv i64 {e.add(self.end, size - 1)}, {size}")
        e.loop(first, last, 1, one)

    def copy(self, low: str, high: str, goal: str) -> None:
        """Emit the copy of the wanted steps of a block that is only partly inside of the panel."""
        e, kind = self.e, vector("float")

        def step(k: str) -> None:
            value = e.load(e.offset(self.spare, e.mul(e.sub(k, low), LINE)), kind, LINE)
            e.store(value, e.offset(goal, e.mul(e.sub(k, "%start"), LINE)), kind, 4)

        e.loop(e.most(low, "%start"), e.least(high, self.end), 1, step)
