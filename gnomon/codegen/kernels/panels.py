"""Panels of B as a kernel of their own: emit_panels; a product that is `ready` reads them.

All threads pack together, once, what each would pack for itself in a product, or pack again at
every call. Blocks of K follow each other, in each all panels of columns.
"""

from __future__ import annotations

from dataclasses import replace

from gnomon.codegen.emitter import LANES, LLVMModule
from gnomon.codegen.kernels.blocking import plan_with, tile_of
from gnomon.codegen.kernels.direct import WRITERS, layout_of
from gnomon.codegen.kernels.packed import PackedWriter
from gnomon.codegen.kernels.packing import emit_pack
from gnomon.codegen.kernels.product import Axis, MatmulSpec, count
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.machine import COMMON, Machine
from gnomon.ir.sizes import hint

__all__ = ["emit_panels", "panels_of", "units_of", "wants_panels"]

MOST_ROWS = 256
"""The most rows of a product with prepacked weights; with more, packing takes a small part of the
time."""
LEAST_WORK = 1 << 24
"""Multiplications of a product that is worth another call."""


def wants_panels(spec: MatmulSpec, kept: bool) -> bool:
    """Whether a product is faster with panels of B packed by a kernel before it.

    With few rows if they are prepacked weights (`kept`). With more if B would be packed again for
    each span of rows, as far as all of it stays in the last cache of a common processor.
    """
    sizes = rows, columns, steps = [hint(count(x)) for x in (spec.rows, spec.columns, spec.steps)]
    one = all(axis.b == 0 and axis.size for axis in spec.batch)
    if not all(sizes) or not one or layout_of(spec) in WRITERS:
        return False
    if rows <= MOST_ROWS:
        return kept
    tile = tile_of(COMMON, spec)
    letters = [tuple(map(hint, letter)) for letter in spec.letters]
    span = plan_with(COMMON, tile, (rows, columns), letters).span * tile.rows
    enough = rows * columns * steps >= LEAST_WORK and columns * steps * spec.item <= COMMON.l3
    return enough and rows > span


def panels_of(spec: MatmulSpec, machine: Machine) -> MatmulSpec:
    """The description of a product's panels, equal for all products that can share them."""
    width = tile_of(machine, spec).columns
    columns = tuple(Axis(x.size, b=x.b) for x in spec.columns)
    steps = tuple(Axis(x.size, b=x.b, leaves=x.leaves) for x in spec.steps)
    start = (0, spec.starts[1], 0)
    narrow = ("", spec.narrow[1])
    return MatmulSpec(spec.scalar, (), (), columns, steps, start, tile=(1, width), narrow=narrow)


def units_of(spec: MatmulSpec, machine: Machine) -> int:
    """The number of units in a product's panels of B."""
    tile = tile_of(machine, spec)
    deep = -(-count(spec.steps) // tile.step.together)
    return -(-count(spec.columns) // tile.columns) * tile.columns * deep


def emit_panels(module: LLVMModule, name: str, spec: MatmulSpec, machine: Machine) -> int:
    """Define kernel `name`(panels, B) in the module; gives each thread's bytes of scratch."""
    return PanelWriter(module, name, spec, machine).write()


class PanelWriter(PackedWriter):
    """Packs every block of K; threads share panels."""

    def parts(self) -> tuple[int, ...]:
        """The bytes of scratch memory: the results of `find_block`."""
        return 0, 0, 0, 0, self.cut.pops

    def write(self) -> int:
        """Write the kernel: a call of the packer for each block of K."""
        e, tile, packing = self.e, self.tile, self.packings["b"]
        # a panel that stuck out would write where another thread does
        assert packing.width % LANES == 0, f"{self.name}: panels of {packing.width} stick out."
        emit_pack(self.module, f"{self.name}.pack_b", packing)
        scratch = self.plan_scratch()
        panels = -(-self.sizes[1] // tile.columns)
        mine = part(e, panels, "%thread", "%threads")
        goal, base = self.e.buffer(0), self.base("b", 1)

        def one(number: str) -> None:
            self.scratch = scratch
            block = self.block(number)
            units = e.add(e.mul(block.start, panels), e.mul(mine[0], block.units))
            there = e.offset(goal, e.mul(units, tile.columns * tile.item))
            self.scratch = replace(scratch, b=there)
            self.pack("b", base, mine, block)

        e.loop(0, self.cut.count, 1, one)
        e.ret()
        return self.cut.pops + 8 * packing.slots
