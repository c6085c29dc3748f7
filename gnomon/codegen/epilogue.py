"""A product's epilogue: pointwise code on sums that are still at hand, one vector at a time.

The code is that of loop kernels (block.py): the product's rows are its rows, columns run along the
vectors, and where a kernel would load the product, the sums themselves stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gnomon.codegen.block import ScalarValues
from gnomon.codegen.emitter import LANES, Emitter, LLVMModule
from gnomon.codegen.indices import Position
from gnomon.codegen.kernels.packed import PackedWriter
from gnomon.codegen.kernels.product import MatmulSpec, VectorPlace, store_to
from gnomon.codegen.kernels.storing import TileRegion
from gnomon.codegen.machine import Machine
from gnomon.codegen.plan_loops import LoopPlan
from gnomon.ir.node import Node
from gnomon.schedule.kernel import LoopKernel


@dataclass(frozen=True)
class Ending:
    """The epilogue of sums: a kernel over rows and columns, and the call's slot of each buffer.

    The product's own buffer has no slot, -1; `stored` says whether sums are written too. `rows` are
    those of one batch.
    """

    in_text: ClassVar = ("slots",)

    kernel: LoopKernel
    slots: tuple[int, ...]
    stored: bool
    rows: int

    def __repr__(self) -> str:
        """The text that names the code: all that it depends on."""
        return f"Ending({self.kernel.key()}, {self.slots}, {self.stored}, {self.rows!r})"


class EpilogueCode:
    """Emits the epilogue of a product on a vector of sums."""

    def __init__(self, spec: MatmulSpec, ending: Ending) -> None:
        self.ending, self.plan = ending, LoopPlan(ending.kernel)
        product = ending.slots.index(-1)
        loads = [x for x in self.plan.nodes if x.op == "load"]
        self.sums = [x for x in loads if x.params["buffer"] == product]
        self.streams = [
            x for x in loads if x not in self.sums and self.plan.depends[x] >= self._ranges()
        ]
        """What is read at another place for every element."""
        self.keep = store_to(spec) if ending.stored else None

    def _ranges(self) -> set[Node]:
        return {*self.ending.kernel.rows, self.ending.kernel.inner}

    def finish(self, e: Emitter, place: VectorPlace, value: str) -> None:
        """Emit the epilogue on sums at a place: compute and store."""
        values, at = self._values(e, place)
        for load in self.sums:
            values.remember(load, [value])
        for store in self.ending.kernel.stores:
            (made,) = values.vectors(store.value)
            values.store(store.buffer, store.place, made, store.dtype, at)
        if self.keep:
            self.keep(e, place, value)

    def ask(self, e: Emitter, place: VectorPlace) -> None:
        """Emit prefetches of the memory that `finish` will read."""
        values, at = self._values(e, place)
        for load in self.streams:
            found = values.address(load.params["buffer"], load.inputs[0], load.dtype, at)
            if found is not None:
                e.prefetch(found[0])

    def _values(self, e: Emitter, place: VectorPlace) -> tuple[ScalarValues, Position]:
        """The scalar emitter of the epilogue at a place of the result, and its position."""
        pointers = [
            "null" if slot < 0 else e.load(e.offset(place.buffers, 8 * slot), "ptr", 8)
            for slot in self.ending.slots
        ]
        values, at = ScalarValues(e, self.plan, pointers), Position(place.column, place.mask)
        for row in self.ending.kernel.rows:
            values.rows[row] = e.add(e.mul(place.batch, self.ending.rows), place.row)
        values.enter((at,))
        return values, at


class AskingWriter(PackedWriter):
    """A packed product that prefetches its epilogue's operands while the microkernel runs."""

    def __init__(
        self,
        module: LLVMModule,
        name: str,
        spec: MatmulSpec,
        machine: Machine,
        code: EpilogueCode | None,
    ) -> None:
        super().__init__(module, name, spec, machine, code.finish if code else None)
        self.code = code

    def prefetch(self, part: TileRegion, row: str, column: str) -> None:
        """Ask for all lines of a tile that the epilogue will write or read."""
        super().prefetch(part, row, column)
        if self.code is None or not self.code.streams:
            return
        e, tile, code = self.e, self.tile, self.code
        first = e.mul(row, tile.rows), e.mul(column, tile.columns)

        def one(index: str) -> None:
            for start in range(0, tile.columns, LANES):
                at = e.add(first[0], index), e.add(first[1], start)
                code.ask(e, VectorPlace("%buffers", part.batch, *at, None))

        e.loop(0, tile.rows, 1, one)
