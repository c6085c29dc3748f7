"""Products of few rows: B is read once and unpacked, because memory bandwidth limits them.

Two layouts. Where neighbouring steps are neighbours in memory (a weight stored [out, in]), each
column of a tile is a stream of its own, and squares are transposed in registers. Where neighbouring
columns are (weights stored [in, out]), a few rows of B are streams, and sums wait nearby from one
few to the next. The order of sums is that of order.py; anything else is packed.py's work.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gnomon.codegen.emitter import LANES, Emitter
from gnomon.codegen.kernels.blocking import BlockingNumbers, BlockingPlan, KBlocks, numbers_of_plan
from gnomon.codegen.kernels.microkernel import (
    Left,
    Sides,
    Tile,
    chain_group,
    emit_tile,
    minus_zero,
    places_of,
)
from gnomon.codegen.kernels.order import chunk_length, combine_counts, depths
from gnomon.codegen.kernels.packed import PackedWriter
from gnomon.codegen.kernels.packing import BLOCK, emit_pack
from gnomon.codegen.kernels.product import MatmulSpec, count, walk
from gnomon.codegen.kernels.readers import STREAMS, Across, Along
from gnomon.codegen.kernels.steps import (
    ChainStep,
    choose_single,
    choose_step,
    switches,
    whole_pairs,
)
from gnomon.codegen.kernels.storing import TileRegion
from gnomon.codegen.kernels.tally import KBlock, additions
from gnomon.codegen.kernels.units import Source
from gnomon.codegen.machine import COMMON, Machine

MOST_ROWS = 16
"""With more rows, arithmetic takes longer than reading, and packing pays."""
HIGHEST = 12
"""Rows of one tile."""
WAITING = 128 << 10
"""Bytes of sums that wait in the second cache."""


def layout_of(spec: MatmulSpec) -> str:
    """The direction in which B is read in place: "along" or "across" steps; "" if it is packed.

    It is equal on every processor, whether or not the processor multiplies pairs.
    """
    columns, steps = walk(spec.columns, "b"), walk(spec.steps, "b")
    rows, wide = count(spec.rows), count(spec.columns)
    panels = rows * count(spec.steps) * 4
    # with a tile of its own, a product is packed, however few rows it has
    if (
        spec.tile != (0, 0)
        or not 0 < rows <= MOST_ROWS
        or wide < LANES
        or panels > COMMON.l2
        or spec.scalar == "double"
    ):
        return ""
    if any(spec.narrow):
        return ""
    pairs = spec.sums == "i32" and whole_pairs(spec.letters, spec.run)
    if len(columns) > 1 or len(steps) > 1 or (pairs and chunk_length(spec.letters) % 2):
        return ""
    if steps[0][1] == 1 and count(spec.steps) >= BLOCK["float"]:
        return "along"
    # integers are quicker in pairs, which are contiguous along steps
    return "across" if columns[0][1] == 1 and not pairs else ""


def step_of(spec: MatmulSpec, machine: Machine, layout: str) -> ChainStep:
    """The instruction of a chain's step; pairs only if they are neighbours and chunks are even."""
    step = choose_step(machine, spec.scalar, spec.letters, spec.run)
    apart = step.together > 1 and (layout == "across" or chunk_length(spec.letters) % 2)
    return choose_single(machine, spec.scalar) if apart else step


def tile_for(spec: MatmulSpec, machine: Machine, layout: str) -> Tile:
    """The tile: rows in as few equal panels as fit, columns enough to hide latency."""
    rows = count(spec.rows)
    panels = -(-rows // HIGHEST)
    high = -(-rows // panels)
    narrow = high > 1 or layout == "along" or count(spec.columns) < 2 * LANES
    wide, step = LANES if narrow else 2 * LANES, step_of(spec, machine, layout)
    return Tile(spec.sums, BLOCK["float"], high, wide, step)


class DirectWriter(PackedWriter):
    """Base of products that read B in place: threads divide columns; tiles end at B's end."""

    layout, copied, narrow, stores = "", "a", 0, False

    def make_tile(self, machine: Machine) -> Tile:
        """The tile, which spans all rows."""
        return tile_for(self.spec, machine, self.layout)

    def make_cut(self, machine: Machine) -> BlockingNumbers:
        """The numbers of the blocking plan."""
        self.plan = self.make_plan()
        return numbers_of_plan(self.plan)

    def make_plan(self) -> BlockingPlan:
        """Plan the blocks: as many columns at once as memory for pending sums allows."""
        tile = self.tile
        counts = tuple(combine_counts(self.spec.letters))
        deep = depths(counts)
        chunk = chunk_length(self.spec.letters) // tile.step.together
        together = len(counts) if self.layout == "along" else 1
        before = (*deep[:-1:together], deep[-1])
        blocks = KBlocks(1, chunk, chunk, together, counts, before, max(deep) + 1)
        high = -(-self.sizes[0] // tile.rows)
        wide = 1 if self.layout == "along" else max(1, WAITING // (high * tile.bytes))
        return BlockingPlan(tile, blocks, high, min(wide, -(-self.sizes[1] // tile.columns)), high)

    @property
    def row_panels(self) -> int:
        """The number of row panels that threads divide: one, of all rows."""
        return 1

    @property
    def source(self) -> Source:
        """The contents of B."""
        return self.packings["b"].source

    def write_parts(self) -> None:
        """Write the packer of A, and the reader of B."""
        emit_pack(self.module, f"{self.name}.pack_a", self.packings["a"])
        self.write_reader()

    def write_reader(self) -> None:
        """Write the function that reads B."""
        raise NotImplementedError

    def parts(self) -> tuple[int, ...]:
        """Bytes of the parts of scratch: stack, packed A, no B, pending sums with a margin."""
        tile, blocks, slack = self.plan.tile, self.plan.blocks, LANES * LANES * self.plan.tile.item
        a = self.plan.row_panels * tile.rows * blocks.longest * tile.item + slack
        stack = tile.bytes * (blocks.deepest + 1) + slack
        found = (stack, a, 0, self.waiting + slack, blocks.chunks)
        return tuple(-(-part // 64) * 64 for part in found)

    @property
    def waiting(self) -> int:
        """Bytes of scratch memory for pending partial sums."""
        return 0

    def sum_up(self, part: TileRegion, fresh: tuple[str, str]) -> None:
        """Emit the sums of all rows, which threads do not divide."""
        super().sum_up(replace(part, rows=("0", str(self.plan.row_panels))), fresh)

    def first_of(self, e: Emitter, column: str) -> str:
        """The first column that a tile computes; the last tile ends where B does."""
        wide = self.plan.tile.columns
        return e.least(e.mul(column, wide), self.sizes[1] - wide)

    def finish(self, part: TileRegion, row: str, column: str, sums: str) -> None:
        """Emit the epilogue of a tile, without columns that the tile before has computed."""
        e, tile = self.e, self.plan.tile
        extra = e.sub(e.mul(column, tile.columns), self.first_of(e, column))
        super().finish(part, row, column, e.offset(sums, e.mul(extra, tile.item)))


class AlongWriter(DirectWriter):
    """Product that reads B in place along its columns; each tile takes all of K at once."""

    layout = "along"

    def write_reader(self) -> None:
        """Define the microkernel, which transposes squares of B."""
        tile, far = self.plan.tile, walk(self.spec.columns, "b")[-1][1] * self.source.item
        right = Along(self.source, far, tile.step.paired)
        emit_tile(self.module, f"{self.name}.tile", tile, right=right)

    def right_of(self, panel: str, part: TileRegion, block: KBlock) -> str:
        """The address of the tile's first column."""
        e, far = self.e, walk(self.spec.columns, "b")[-1][1]
        first = self.first_of(e, e.add(part.columns[0], panel))
        return e.offset(part.b, e.mul(first, far * self.source.item))


class AcrossWriter(DirectWriter):
    """Product that reads a few rows of B at a time; the sums of many columns are pending in L1."""

    layout = "across"

    @property
    def level(self) -> int:
        """The bytes of one partial sum of all elements of the result."""
        return self.plan.row_panels * self.plan.column_panels * self.plan.tile.bytes

    @property
    def waiting(self) -> int:
        """Bytes of all partial sums."""
        return self.level * self.plan.blocks.deepest

    def write_reader(self) -> None:
        """Define name.sweep, which reads some rows of B, and name.add, for partial sums."""
        self.write_sweep()
        parameters = [("ptr", "older"), ("ptr", "newer"), ("i64", "bytes")]
        e = self.module.function(
            f"{self.name}.add", parameters, linkage="internal", attributes="noinline nounwind"
        )
        tile = self.plan.tile

        def add(place: str) -> None:
            older, newer = (e.offset(x, place) for x in ("%older", "%newer"))
            values = [e.load(x, tile.kind, tile.item) for x in (older, newer)]
            total = e.value(f"{tile.addition} {tile.kind} {values[0]}, {values[1]}")
            e.store(total, older, tile.kind, tile.item)

        e.loop(0, "%bytes", tile.lanes * tile.item, add)
        e.ret()

    def write_sweep(self) -> None:
        """Define name.sweep(a, b, sums, first, panels, length, total, resumed): some steps.

        `length` steps of panels of A that are `total` long; `resumed` is 0 where sums begin.
        """
        parameters = [("ptr", label) for label in ("a", "b", "sums")]
        parameters += [("i64", x) for x in ("first", "panels", "length", "total", "resumed")]
        e = self.module.function(
            f"{self.name}.sweep", parameters, linkage="internal", attributes="noinline nounwind"
        )
        tile, zeros, numbers = self.plan.tile, *switches(e, self.plan.tile.step)
        zeros()

        def one(panel: str, row: str) -> None:
            number = e.add(e.mul(panel, self.plan.row_panels), row)
            sums = e.offset("%sums", e.mul(number, tile.bytes))
            a = e.offset("%a", e.mul(e.mul(row, "%total"), tile.rows * tile.item))
            first = self.first_of(e, e.add("%first", panel))
            self.sweep_tile(e, (a, e.offset("%b", e.mul(first, self.source.item))), sums)

        high = self.plan.row_panels
        e.loop(0, "%panels", 1, lambda panel: e.loop(0, high, 1, partial(one, panel)))
        numbers()
        e.ret()

    def sweep_tile(self, e: Emitter, panels: tuple[str, str], sums: str) -> None:
        """Emit a few steps of one tile, whose sums are loaded from memory and stored again."""
        tile, far = self.plan.tile, walk(self.spec.steps, "b")[-1][1] * self.source.item
        sides = Sides(Left(), Across(self.source, far))
        for vectors in sides.right.groups(tile):
            places = [e.offset(sums, tile.places[k]) for k in places_of(tile, vectors)]

            def resume(_index: str, *_sums: str, places: list[str] = places) -> list[str]:
                return [e.load(place, tile.kind, tile.item) for place in places]

            begun = e.loop(0, "%resumed", 1, resume, minus_zero(tile)[: len(places)])
            _, _, *values = chain_group(e, tile, sides, vectors, [*panels, *begun])
            for place, value in zip(places, values, strict=True):
                e.store(value, place, tile.kind, tile.item)

    def sum_up(self, part: TileRegion, fresh: tuple[str, str]) -> None:
        """Emit the sums chunk by chunk, and the additions of partial sums in canonical order."""
        e, blocks = self.e, self.plan.blocks
        part = replace(part, rows=("0", str(self.plan.row_panels)))
        if not blocks.count:
            super().sum_up(part, fresh)
            return

        def chunk(number: str, depth: str) -> list[str]:
            block = self.block(number)
            self.pack("a", part.a, part.rows, block)
            self.sweep(part, block, e.offset(self.scratch.sums, e.mul(depth, self.level)))
            pops = additions(e, self.spec.letters, number)
            return [e.add(e.loop(0, pops, 1, self.pop, [("i64", depth)])[0], 1)]

        e.loop(0, blocks.count, 1, chunk, [("i64", "0")])
        self.tiles(
            part, lambda row, column: self.finish(part, row, column, self.sums(part, row, column))
        )

    def sums(self, part: TileRegion, row: str, column: str) -> str:
        """The address of a tile's finished sums."""
        e = self.e
        number = e.add(e.mul(e.sub(column, part.columns[0]), self.plan.row_panels), row)
        return e.offset(self.scratch.sums, e.mul(number, self.plan.tile.bytes))

    def pop(self, _index: str, depth: str) -> list[str]:
        """Emit the addition of the newest partial sum to the one below; gives the new depth."""
        e, newer = self.e, self.e.offset(self.scratch.sums, self.e.mul(depth, self.level))
        older = e.offset(newer, -self.level)
        e.call("void", f"{self.name}.add", ("ptr", older), ("ptr", newer), ("i64", str(self.level)))
        return [e.sub(depth, 1)]

    def sweep(self, part: TileRegion, block: KBlock, sums: str) -> None:
        """Emit the sums of one chunk, from a few rows of B at a time."""
        e, tile, chunk = self.e, self.plan.tile, str(self.plan.blocks.chunk)
        far = walk(self.spec.steps, "b")[-1][1] * self.source.item
        few = STREAMS if self.plan.row_panels == 1 else 2 * STREAMS

        def some(step: str) -> None:
            a = e.offset(self.scratch.a, e.mul(step, tile.rows * tile.item))
            b = e.offset(part.b, e.mul(e.add(block.start, step), far))
            begun = e.value(f"icmp ne i64 {step}, 0")
            e.call(
                "void", f"{self.name}.sweep", ("ptr", a), ("ptr", b), ("ptr", sums),
                ("i64", part.columns[0]), ("i64", e.sub(part.columns[1], part.columns[0])),
                ("i64", e.least(few, e.sub(chunk, step))), ("i64", chunk),
                ("i64", e.value(f"zext i1 {begun} to i64")),
            )  # fmt: skip

        e.loop(0, chunk, few, some)


WRITERS: dict[str, type[DirectWriter]] = {"along": AlongWriter, "across": AcrossWriter}
"""Layout -> its writer."""
