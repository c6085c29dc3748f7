"""A product's epilogue: pointwise code on sums that are still at hand, one vector at a time.

The code is that of loop kernels (block.py): the product's rows are its rows, columns run along the
vectors, and where a kernel would load the product, the sums themselves stand.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.codegen.block import Position, Values
from gnomon.codegen.emitter import Emitter, Module
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.product import Epilogue, MatmulSpec, Place, store_to
from gnomon.codegen.machine import Machine
from gnomon.codegen.plan_loops import LoopPlan
from gnomon.schedule.kernel import LoopKernel


@dataclass(frozen=True)
class Ending:
    """What happens to sums: a kernel over rows and columns, and the call's slot of each buffer.

    The product's own buffer has no slot, -1; `stored` says whether sums are written too. `rows` are
    those of one batch.
    """

    kernel: LoopKernel
    slots: tuple[int, ...]
    stored: bool
    rows: int

    def __repr__(self) -> str:
        """The text that names the code: all that it depends on."""
        return f"Ending({self.kernel.key()}, {self.slots}, {self.stored}, {self.rows})"


def emit_product_with(
    module: Module, name: str, spec: MatmulSpec, machine: Machine, ending: Ending
) -> int:
    """Define a product with an epilogue; gives the bytes of scratch that each thread needs."""
    return emit_matmul(module, name, spec, machine, epilogue_for(spec, ending))


def epilogue_for(spec: MatmulSpec, ending: Ending) -> Epilogue:
    """Code that computes and stores everything that is made of a vector of sums."""
    kernel, plan = ending.kernel, LoopPlan(ending.kernel)
    product = ending.slots.index(-1)
    sums = [x for x in plan.nodes if x.op == "load" and x.params["buffer"] == product]
    keep = store_to(spec) if ending.stored else None

    def finish(e: Emitter, place: Place, value: str) -> None:
        pointers = [
            "null" if slot < 0 else e.load(e.offset(place.buffers, 8 * slot), "ptr", 8)
            for slot in ending.slots
        ]
        values = Values(e, plan, pointers)
        for row in kernel.rows:
            values.rows[row] = e.add(e.mul(place.batch, ending.rows), place.row)
        at = Position(place.column, place.mask)
        values.enter((at,))
        for load in sums:
            values.remember(load, [value])
        for store in kernel.stores:
            (made,) = values.vectors(store.value)
            values.store(store.buffer, store.place, made, store.dtype, at)
        if keep:
            keep(e, place, value)

    return finish
