"""One register tile of a matrix product: packed panels in, the canonical sum of a K block out.

The accumulators never leave registers inside a chunk; between chunks partial sums stand on a stack
in memory. Nothing here depends on the problem's sizes, so one text serves every shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from gnomon.codegen.emitter import BITS, Emitter, LLVMModule, splat, vector
from gnomon.codegen.kernels.steps import FUSED, ChainStep, Switch, multiply, switches

UNROLL = 4
"""Units of packed panels between two tests of the loop's end.

With two, a chunk of 128 took 5 % longer on Zen 3: the end of a long loop is not foreseen.
"""


@dataclass(frozen=True)
class Tile:
    """The block of the result that one call holds in registers; columns are a multiple of lanes.

    `scalar` is that of sums; a unit of a panel, which one step multiplies, is as wide. `used`: how
    many columns are counted, the first ones; 0 is all. Memory has room for all in any case.
    """

    scalar: str
    lanes: int
    rows: int
    columns: int
    step: ChainStep = FUSED
    used: int = 0

    @property
    def wide(self) -> int:
        """The number of vectors in a row of the tile."""
        return (self.used or self.columns) // self.lanes

    @property
    def item(self) -> int:
        """Bytes of one sum, and of one unit."""
        return BITS[self.scalar] // 8

    @property
    def bytes(self) -> int:
        """Bytes of one tile in memory: rows of columns, without gaps."""
        return self.rows * self.columns * self.item

    @property
    def kind(self) -> str:
        """The LLVM type of one accumulator."""
        return vector(self.scalar, self.lanes)

    @property
    def addition(self) -> str:
        """The LLVM instruction that adds sums."""
        return "add" if self.scalar.startswith("i") else "fadd"

    @property
    def places(self) -> list[int]:
        """The offset of each accumulator in the tile's memory, in bytes."""
        lines = range(0, self.rows * self.columns, self.columns)
        return [(i + j * self.lanes) * self.item for i in lines for j in range(self.wide)]


PARAMETERS = (
    *(("ptr noalias readonly", x) for x in ("a", "b")),
    *(("ptr", x) for x in ("slots", "local")),
    ("ptr readonly", "pops"),
    *(("i64", x) for x in ("count", "length", "carried", "depth", "keep")),
    ("ptr", "goal"),
    ("i64", "pitch"),
)
"""a, b: panels of units, [k][rows] and [k][columns]; then the stack's two homes; the additions
after each chunk; chunks, units of each; whether the first goes on with the top of the stack;
partial sums on the stack at the start; how many of the lowest live in `slots`, for other K blocks
to find; where the last sum goes instead of to the stack, or null, and bytes between rows there."""


BroadcastRow = tuple[int, list[str]]
"""The number of a unit, and vectors of its row of B."""


class Left:
    """The microkernel's source of A: `a` points at a packed panel.

    Others (convolution.py) may take more parameters, and mean something else by `a`.
    """

    parameters: tuple[tuple[str, str], ...] = ()

    def begin(self, e: Emitter, tile: Tile) -> None:
        """Emit what is computed once, before any loop."""

    def unit(self, tile: Tile) -> int:
        """Bytes by which the pointer into A advances per unit of K."""
        return tile.rows * tile.item

    def at(self, e: Emitter, tile: Tile, a: str, units: int) -> str:
        """The pointer into A, advanced by `units` units of K."""
        return e.offset(a, units * self.unit(tile))

    def values(self, e: Emitter, tile: Tile, a: str) -> list[str]:
        """The value of every row of the tile."""
        places = (e.offset(a, i * tile.item) for i in range(tile.rows))
        return [e.load(place, tile.scalar, tile.item) for place in places]


class Right:
    """The microkernel's source of B: `b` points at a packed panel.

    Others (direct.py) mean something else by `b`.
    """

    def begin(self, e: Emitter, tile: Tile) -> None:
        """Emit what is computed once, before any loop."""

    def groups(self, tile: Tile) -> list[range]:
        """The vectors of a tile's row, in groups whose chains are interleaved: here one group."""
        return [range(tile.wide)]

    def unrolls(self, tile: Tile) -> tuple[int, ...]:
        """The unroll factors of the loop over units, largest first, the last one 1."""
        # LLVM adds integers in another order, for which there are no registers
        if tile.scalar.startswith("i"):
            return 2, 1
        # pairs stay together
        return (UNROLL, 2, 1) if tile.step.paired else (UNROLL, 1)

    def unit(self, tile: Tile) -> int:
        """Bytes by which the pointer into B advances per unit of K."""
        return tile.columns * tile.item

    def rows(
        self, e: Emitter, tile: Tile, b: str, part: tuple[int, range]
    ) -> Iterator[BroadcastRow]:
        """Yield the vectors of rows of B for some units of K, in the order of multiplication."""
        units, vectors = part
        for place, number in enumerate(in_order(tile, units)):
            if place > 1:
                fence(e)
            start = e.offset(b, number * self.unit(tile))
            places = [e.offset(start, j * tile.lanes * tile.item) for j in vectors]
            yield number, [e.load(place, tile.kind, tile.item) for place in places]


def fence(e: Emitter) -> None:
    """Emit a barrier that keeps later loads from moving up, where they would hold registers."""
    e.do('call void asm sideeffect "", "~{memory}"()')


def in_order(tile: Tile, units: int) -> Sequence[int]:
    """The order in which several units of K are multiplied; of a pair the odd one is first."""
    return [unit ^ 1 if tile.step.paired and units > 1 else unit for unit in range(units)]


@dataclass(frozen=True)
class Sides:
    """The microkernel's sources of A and B."""

    left: Left
    right: Right


def emit_tile(
    module: LLVMModule, name: str, tile: Tile, left: Left | None = None, right: Right | None = None
) -> None:
    """Define the microkernel; it returns the address of the sums: on the stack, or their goal."""
    sides = Sides(left or Left(), right or Right())
    left, parameters = sides.left, (*PARAMETERS, *sides.left.parameters)
    e = module.function(
        name, parameters, linkage="internal", attributes="noinline nounwind", returns="ptr"
    )
    left.begin(e, tile)
    sides.right.begin(e, tile)
    zeros, numbers = switches(e, tile.step)
    final = e.value("icmp ne ptr %goal, null")
    final = e.value(f"select i1 {final}, i64 {e.sub('%count', 1)}, i64 -1")

    def chunk(index: str, a: str, b: str, depth: str, last: str) -> list[str]:
        pops = e.load(e.offset("%pops", index), "i8", 1)
        pops = e.value(f"zext i8 {pops} to i64")
        sums = e.loop(0, "%carried", 1, partial(resume, e, tile, depth), minus_zero(tile))
        depth = e.sub(depth, "%carried")
        a, b, *sums = chain(e, tile, sides, (a, b), sums)
        sums = combine(e, tile, sums, (depth, pops), (zeros, numbers))
        depth = e.sub(depth, pops)
        ends = e.value(f"icmp eq i64 {index}, {final}")
        top = e.value(f"select i1 {ends}, ptr %goal, ptr {slot(e, tile, depth)}")
        pitch = e.value(f"select i1 {ends}, i64 %pitch, i64 {tile.columns * tile.item}")
        for number, value in enumerate(sums):
            row, place = divmod(number, tile.wide)
            line = e.offset(top, e.mul(pitch, row))
            e.store(value, e.offset(line, tile.places[place]), tile.kind, tile.item)
        return [a, b, e.add(depth, 1), top]

    start = [("ptr", "%a"), ("ptr", "%b"), ("i64", "%depth"), ("ptr", "%local")]
    zeros()
    top = e.loop(0, "%count", 1, chunk, start)[3]
    numbers()
    e.ret(f"ptr {top}")


def minus_zero(tile: Tile) -> list[tuple[str, str]]:
    """The initial accumulators: -0.0, the identity of addition of floats."""
    zero = 0 if tile.scalar.startswith("i") else -0.0
    return [(tile.kind, splat(zero, tile.scalar, tile.lanes))] * len(tile.places)


def resume(e: Emitter, tile: Tile, depth: str, _index: str, *_sums: str) -> list[str]:
    """Load the accumulators that an earlier block of K left on top of the stack."""
    top = slot(e, tile, e.sub(depth, 1))
    return [e.load(e.offset(top, place), tile.kind, tile.item) for place in tile.places]


def combine(
    e: Emitter,
    tile: Tile,
    sums: Sequence[str],
    counts: tuple[str, str],
    environment: tuple[Switch, Switch],
) -> list[str]:
    """Emit additions of older partial sums from the stack; gives the sum. Denormals are kept."""
    depth, pops = counts

    def pop(index: str, *newer: str) -> list[str]:
        older = slot(e, tile, e.sub(e.sub(depth, 1), index))
        loaded = [e.load(e.offset(older, place), tile.kind, tile.item) for place in tile.places]
        return [
            e.value(f"{tile.addition} {tile.kind} {x}, {y}")
            for x, y in zip(loaded, newer, strict=True)
        ]

    state = [(tile.kind, value) for value in sums]
    if not tile.step.paired:
        return e.loop(0, pops, 1, pop, state)
    zeros, numbers = environment
    some = e.value(f"icmp ne i64 {pops}, 0")
    e.when(some, numbers)
    added = e.loop(0, pops, 1, pop, state)
    e.when(some, zeros)
    return added


def slot(e: Emitter, tile: Tile, position: str) -> str:
    """The address of a partial sum: in the tile's slots if it outlives the call, else local."""
    outlives = e.value(f"icmp slt i64 {position}, %keep")
    home = e.value(f"select i1 {outlives}, ptr %slots, ptr %local")
    return e.offset(home, e.mul(position, tile.bytes))


def chain(
    e: Emitter, tile: Tile, sides: Sides, panels: tuple[str, str], sums: Sequence[str]
) -> list[str]:
    """Emit `length` units along K, one multiply-add per accumulator and unit; gives the sums."""
    values, after = list(sums), list(panels)
    for vectors in sides.right.groups(tile):
        places = places_of(tile, vectors)
        chosen = [values[place] for place in places]
        a, b, *chosen = chain_group(e, tile, sides, vectors, [*panels, *chosen])
        after = [a, b]
        for place, value in zip(places, chosen, strict=True):
            values[place] = value
    return [*after, *values]


def places_of(tile: Tile, vectors: range) -> list[int]:
    """The numbers of the accumulators for these vectors of a row of B."""
    return [i * tile.wide + j for i in range(tile.rows) for j in vectors]


def chain_group(
    e: Emitter, tile: Tile, sides: Sides, vectors: range, state: Sequence[str]
) -> list[str]:
    """Emit the chains of some of the tile's vectors; state and result: a, b and the sums."""
    kinds, rest = ["ptr", "ptr", *[tile.kind] * (len(state) - 2)], "%length"
    for units in sides.right.unrolls(tile):
        times = rest if units == 1 else e.value(f"udiv i64 {rest}, {units}")
        body = partial(advance, e, tile, sides, (units, vectors))
        state = e.loop(0, times, 1, body, list(zip(kinds, state, strict=True)))
        rest = rest if units == 1 else e.value(f"urem i64 {rest}, {units}")
    return list(state)


def advance(
    e: Emitter,
    tile: Tile,
    sides: Sides,
    part: tuple[int, range],
    _index: str,
    a: str,
    b: str,
    *sums: str,
) -> list[str]:
    """Emit some units of K for these vectors; gives a, b and the sums."""
    units, left, right, values = part[0], sides.left, sides.right, list(sums)
    for number, columns in right.rows(e, tile, b, part):
        rows = left.values(e, tile, left.at(e, tile, a, number))
        multiply_add_row(e, tile, rows, columns, values)
    after = left.at(e, tile, a, units), e.offset(b, units * right.unit(tile))
    return [*after, *values]


def multiply_add_row(
    e: Emitter, tile: Tile, rows: Sequence[str], columns: Sequence[str], values: list[str]
) -> None:
    """Emit one multiply-add for each row of the tile and each of these vectors of B's row."""
    for i, one in enumerate(rows):
        row = e.broadcast(one, tile.scalar, tile.lanes)
        for j, column in enumerate(columns):
            place = i * len(columns) + j
            terms = row, column, values[place]
            values[place] = multiply(e, tile.step, tile.scalar, tile.lanes, terms)
