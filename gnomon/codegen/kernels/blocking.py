"""Blocking of a matrix product: the register tile, the blocks kept in caches, the blocks of K.

Every choice here changes speed alone. The order of additions is given (order.py); a block of K
holds whole chunks, or a piece of one whose chain goes on in the next block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from gnomon.codegen.emitter import LANES
from gnomon.codegen.kernels.microkernel import Tile
from gnomon.codegen.kernels.order import Letter, chunk_length, combine_counts, depths
from gnomon.codegen.kernels.product import MatmulSpec, count
from gnomon.codegen.kernels.steps import FUSED, ChainStep, choose_step, sums_of
from gnomon.codegen.lifted import by_caller
from gnomon.codegen.machine import COMMON, Machine
from gnomon.ir.sizes import hint, is_symbolic

DEEPEST = 512
"""Most units of K in a block, in floats; half as many doubles."""
FEW = 8
"""Panels of rows below which packing B takes longer than its use."""
MOST = 4 << 20
"""Bytes of L3 for either operand, where it is large: other cores want some too."""
SEVERAL = 8
"""Panels of rows from which on what the last one wastes is little."""
WIDEST = 8
"""Vectors of 16 values that a tile is wide at most."""
LATENCY = 4
"""Cycles that a chain waits for its own last sum, with two additions a cycle."""


@dataclass(frozen=True)
class KBlocks:
    """The cut of K into blocks, in units of panels, and the partial sums kept between them."""

    pieces: int
    """In how many blocks a chunk is cut (1: a block holds whole chunks)."""
    piece: int
    """Units of one piece, or of one chunk."""
    chunk: int
    """Units of one chunk."""
    chunks: int
    """Chunks in a block."""
    pops: tuple[int, ...]
    """Additions after each piece."""
    before: tuple[int, ...]
    """Partial sums on the stack before each block, and after the last."""
    deepest: int
    """The most partial sums that ever stand on the stack."""

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.before) - 1

    @property
    def between(self) -> int:
        """The most partial sums that are on the stack between two blocks."""
        return max(self.before[1:-1], default=0)

    @property
    def longest(self) -> int:
        """The most units in a block."""
        return self.piece * self.chunks


def cut_k(
    letters: Sequence[Letter], item: int, step: ChainStep = FUSED, deepest: int = DEEPEST
) -> KBlocks:
    """Cut K into blocks: of whole chunks if one holds some, else of parts of a chunk."""
    limit, chunk = deepest * 4 // item, -(-chunk_length(letters) // step.together)
    counts = combine_counts(letters)
    if chunk > limit:
        pieces = -(-chunk // limit)
        pops = [c for count in counts for c in (*[0] * (pieces - 1), count)]
        # a piece goes on with the top of the stack, so only a chunk's end changes the depth
        deep = depths(counts)
        before = [d + (part > 0) for d in deep[:-1] for part in range(pieces)] + deep[-1:]
        chunks, piece = 1, -(-chunk // pieces)
        piece += piece % 2 if step.paired else 0
    else:
        chunks = min(max(1, len(counts)), largest_power(limit // max(1, chunk)))
        deep = depths(counts)
        pops, before = counts, [*deep[:-1:chunks], deep[-1]]
        pieces, piece = 1, chunk
    return KBlocks(pieces, piece, chunk, chunks, tuple(pops), tuple(before), max(deep) + 1)


def largest_power(limit: int) -> int:
    """The largest power of two that is at most `limit`."""
    return 1 << (limit.bit_length() - 1)


def choose_tile(
    machine: Machine, scalar: str, rows: int, columns: int, step: ChainStep = FUSED
) -> Tile:
    """The tile with the fewest cycles per step of K, in general or for so few rows and columns.

    Sizes that share one are determined by the common processor; each processor has its own tile.

    >>> from gnomon.codegen.machine import AVX2, AVX512
    >>> [(x.rows, x.columns) for x in (choose_tile(m, "float", 2048, 384) for m in (AVX2, AVX512))]
    [(6, 16), (6, 64)]
    """
    # a result of nothing has no tile, but it has a kernel
    rows, columns = rows or 1, columns or 1
    tiles, best = all_tiles(COMMON, scalar, step), best_tile(COMMON, scalar, step)
    # of a size that varies there are many, as a rule
    rows = SEVERAL * best.rows if is_symbolic(rows) else rows
    columns = SEVERAL * best.columns if is_symbolic(columns) else columns
    if rows >= SEVERAL * best.rows and columns >= best.columns:
        return best_tile(machine, scalar, step)
    tiles = [tile for tile in tiles if tile.rows <= rows]
    chosen = min(tiles, key=lambda tile: cycles(tile, rows, columns))
    return best_tile(machine, scalar, step) if chosen == best else counterpart(machine, chosen)


def panel_tile(machine: Machine, spec: MatmulSpec) -> Tile:
    """The tile for prepacked weights: one width for all products, so that one packing serves."""
    step, rows = choose_step(machine, spec.scalar, spec.letters, spec.run), hint(count(spec.rows))
    common, own = (best_tile(each, spec.sums, step) for each in (COMMON, machine))
    tiles = [replace(common, rows=high) for high in range(1, min(rows, common.rows) + 1)]
    chosen = min(reversed(tiles), key=lambda tile: cycles(tile, rows, hint(count(spec.columns))))
    return own if chosen == common else replace(own, rows=min(chosen.rows, own.rows))


def best_tile(machine: Machine, scalar: str, step: ChainStep, widest: int = WIDEST * LANES) -> Tile:
    """The tile of products of many rows; its width is a power of two, as most layers' widths."""
    tiles = [tile for tile in all_tiles(machine, scalar, step) if tile.columns <= widest]
    tiles = [tile for tile in tiles if tile.columns.bit_count() == 1]
    return min(tiles, key=lambda tile: cycles(tile, 1, 1) / (tile.rows * tile.columns))


def counterpart(machine: Machine, tile: Tile) -> Tile:
    """The tile of this machine that corresponds to one of the common machine: as many vectors."""
    lanes = machine.lanes(tile.scalar)
    columns = tile.columns * max(1, lanes // tile.lanes)
    while tile.rows > 1 and not fits(machine, tile.rows, columns // lanes):
        tile = replace(tile, rows=tile.rows - 1)
    return replace(tile, lanes=lanes, columns=columns)


def tile_of(machine: Machine, spec: MatmulSpec) -> Tile:
    """The register tile of a product: that in the description, else the chosen one."""
    step = choose_step(machine, spec.scalar, spec.letters, spec.run)
    if spec.tile != (0, 0):
        return Tile(spec.sums, machine.lanes(spec.sums), *spec.tile, step)
    return choose_tile(machine, spec.sums, count(spec.rows), count(spec.columns), step)


def tiles_for(
    machine: Machine, scalar: str, rows: int, columns: int, step: ChainStep
) -> list[Tile]:
    """The register tiles of a machine that a result of this size fills."""
    tiles = all_tiles(machine, scalar, step)
    widest = -(-columns // LANES) * LANES
    return [tile for tile in tiles if tile.rows <= rows and tile.columns <= widest]


def all_tiles(machine: Machine, scalar: str, step: ChainStep) -> list[Tile]:
    """All tiles whose sums fit into the machine's registers."""
    lanes = machine.lanes(scalar)
    tiles = [
        Tile(scalar, lanes, high, wide * LANES, step)
        for wide in range(1, WIDEST + 1)
        for high in range(1, 13)
        if fits(machine, high, wide * LANES // lanes)
    ]
    return tiles or [Tile(scalar, lanes, 1, LANES, step)]


def fits(machine: Machine, rows: int, vectors: int) -> bool:
    """Whether a tile's sums, a row of B, a value of A and a spare vector fit into registers."""
    if rows == 1:
        # each vector of B is used once, but all may be on their way
        return 2 * vectors + 2 <= machine.registers
    spare, sums = machine.registers // 16 - 1, rows * vectors
    return sums <= machine.registers * 3 // 4 and sums + vectors + 1 + spare <= machine.registers


def cycles(tile: Tile, rows: int, columns: int) -> int:
    """An estimate of the cycles of one step of K, in eighths.

    B weighs more than A, which comes from the nearest cache.
    """
    vectors = tile.columns // tile.lanes
    each = max(4 * tile.rows * vectors, 8 * LATENCY) + tile.rows + 2 * vectors
    return -(-rows // tile.rows) * -(-columns // tile.columns) * each


@dataclass(frozen=True)
class BlockingPlan:
    """A product's tile, its blocks of K, and the panels of rows and columns of a cache block.

    `span`: panels of rows whose partial sums are pending while K goes on; a multiple of blocks.
    """

    tile: Tile
    blocks: KBlocks
    row_panels: int
    column_panels: int
    span: int

    @property
    def slots(self) -> int:
        """Bytes of partial sums that one tile keeps between K blocks."""
        return self.blocks.between * self.tile.bytes


@dataclass(frozen=True)
class BlockingNumbers:
    """The numbers of a blocking plan that code takes as arguments, and its scratch bytes."""

    pieces: int
    piece: int
    chunk: int
    chunks: int
    total: int
    """Chunks in all."""
    count: int
    """Blocks in all."""
    row_panels: int
    column_panels: int
    span: int
    slots: int
    deep: int
    """The most units in a block."""
    stack: int
    a: int
    b: int
    sums: int
    pops: int


def plan(
    machine: Machine,
    scalar: str,
    sizes: tuple[int, int],
    letters: Sequence[Letter],
    run: int | None = None,
) -> BlockingPlan:
    """The blocking of a product of (rows, columns) and summed letters; `run` as in steps.py."""
    step = choose_step(machine, scalar, letters, run)
    tile = choose_tile(machine, sums_of(scalar), *sizes, step)
    return plan_with(machine, tile, sizes, letters)


def plan_with(
    machine: Machine,
    tile: Tile,
    sizes: tuple[int, int],
    letters: Sequence[Letter],
    far: int = 0,
    deepest: int = DEEPEST,
) -> BlockingPlan:
    """The blocking for a tile; `far`: bytes of a block of B, 0 derives them from caches."""
    rows, columns = sizes
    blocks = cut_k(letters, tile.item, tile.step, deepest)
    deep = blocks.longest * tile.item
    # a block of A stays in L2, one of B in L3; for few rows B is met again soon, in L2
    share = cache_share(machine)
    near = machine.l2 // 2
    far = far or (share if rows > FEW * tile.rows else near)
    panels = max(1, -(-rows // tile.rows))
    high = min(panels, max(1, near // max(1, tile.rows * deep)))
    wide = max(1, min(far // max(1, tile.columns * deep), -(-columns // tile.columns)))
    waiting = blocks.between * tile.bytes
    while wide > 1 and wide * high * waiting > 2 * share:
        wide = -(-wide // 2)
    span = panels if not waiting else max(high, 2 * share // (wide * waiting) // high * high)
    return BlockingPlan(tile, blocks, high, wide, min(span, -(-panels // high) * high))


def cache_share(machine: Machine) -> int:
    """The bytes of the last-level cache that one operand may take."""
    return min(machine.l3 // 4, MOST)


def numbers_of_plan(plan: BlockingPlan) -> BlockingNumbers:
    """The numbers of a plan that the kernel's code reads."""
    blocks, parts = plan.blocks, scratch_parts(plan)
    return BlockingNumbers(
        blocks.pieces,
        blocks.piece,
        blocks.chunk,
        blocks.chunks,
        len(blocks.pops) // blocks.pieces,
        blocks.count,
        plan.row_panels,
        plan.column_panels,
        plan.span,
        plan.slots,
        blocks.longest,
        *parts,
    )


def numbers_of_tile(
    machine: Machine,
    tile: Tile,
    sizes: tuple[int, int],
    letters: Sequence[Letter],
    far: int = 0,
    deepest: int = DEEPEST,
) -> BlockingNumbers:
    """The numbers of a tile's plan, computed by the kernel's caller if sizes are symbolic."""

    def numbers(rows: int, columns: int, *flat: int) -> tuple[int, ...]:
        nest = list(zip(flat[::2], flat[1::2], strict=True))
        cut = numbers_of_plan(plan_with(machine, tile, (rows, columns), nest, far, deepest))
        return tuple(getattr(cut, name) for name in names)

    names = [field.name for field in fields(BlockingNumbers)]
    flat = (number for letter in letters for number in letter)
    return BlockingNumbers(*by_caller(numbers, len(names), *sizes, *flat))


def scratch_parts(plan: BlockingPlan) -> tuple[int, ...]:
    """Bytes of the stack, packed A, packed B, partial sums and numbers of additions.

    Each is a multiple of 64.
    """
    tile, blocks = plan.tile, plan.blocks
    deep = blocks.longest * tile.item
    # transposed squares stick out of the last panel
    slack = LANES * LANES * tile.item
    parts = (
        tile.bytes * (blocks.deepest + 1),
        plan.row_panels * tile.rows * deep + slack,
        plan.column_panels * tile.columns * deep + slack,
        plan.span * plan.column_panels * plan.slots,
        blocks.chunks,
    )
    return tuple(-(-part // 64) * 64 for part in parts)
