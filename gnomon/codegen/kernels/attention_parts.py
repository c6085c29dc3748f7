"""Parts that attention's two kernels share: the description, tiles of scores, rows written back.

Scores are computed in squares of BLOCK_QUERIES by BLOCK_KEYS. The latter is part of the numerics,
as is what is not computed: the keys that the causal mask hides from all of SEEN_TOGETHER queries.
Vectors hold neighbouring rows of one operand, so softmax needs no sum across lanes. The forward
kernel is attention.py, its gradient attention_grad.py, their products attention_tiles.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from gnomon.codegen.algebra import Value
from gnomon.codegen.emitter import BITS, LANES, Emitter, LLVMModule, splat, vector
from gnomon.codegen.kernels.attention_tiles import emit_columns
from gnomon.codegen.kernels.blocking import best_tile
from gnomon.codegen.kernels.microkernel import Tile
from gnomon.codegen.kernels.packing import Packing, emit_pack
from gnomon.codegen.kernels.steps import FUSED
from gnomon.codegen.kernels.strides import merge
from gnomon.codegen.kernels.transposing import BLOCK, read_turned
from gnomon.codegen.kernels.units import Source
from gnomon.codegen.llvm_algebra import LlvmAlgebra
from gnomon.codegen.machine import Machine
from gnomon.codegen.math_exponentials import EXP_RANGE, exp_within

BLOCK_QUERIES = 128
"""Queries of a block of scores; blocks are counted from the start of their leaf."""
BLOCK_KEYS = 128
"""Keys of a block of scores."""
SEEN_TOGETHER = 32
"""Queries of a block that are computed with the same keys: all that the last of them sees."""


@dataclass(frozen=True)
class Operand:
    """A tensor (batch, head, row, column) in memory: slot, strides in elements, first element.

    narrow: the dtype in memory, "bfloat", if it differs from that of the computation.
    """

    slot: int
    batch: int
    head: int
    row: int
    column: int
    start: int = 0
    narrow: str = ""


@dataclass(frozen=True)
class AttentionSpec:
    """out = softmax(scale * q k^T) v for each query head; groups of them share a key head.

    q is (batch, heads, queries, width), k (batch, key_heads, keys, width), v and out likewise with
    value_width. `lse` is the slot of log(sum(exp(scores))), (batch, heads, queries), contiguous.
    `leaves` are those of a group's heads and of the queries, as gradients of k and v add them.
    With `causal` the last query sees every key and each earlier one sees one key fewer.
    A `mask` (batch, head, query, key) is added to the scores.
    """

    scalar: str
    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    width: int
    value_width: int
    causal: bool
    scale: float
    leaves: tuple[int, int] = field(metadata={"follows": "queries"})
    q: Operand
    k: Operand
    v: Operand
    out: Operand
    lse: int
    mask: Operand | None = None

    @property
    def group(self) -> int:
        """Query heads per key head."""
        return self.heads // self.key_heads

    @property
    def pairs(self) -> int:
        """The number of heads of keys: batch by key heads."""
        return self.batch * self.key_heads

    @property
    def leaf(self) -> int:
        """Queries in a leaf."""
        return self.queries // self.leaves[1]

    @property
    def blocks_per_leaf(self) -> int:
        """Blocks of queries in a leaf."""
        return -(-self.leaf // BLOCK_QUERIES)

    @property
    def query_blocks(self) -> int:
        """Blocks of queries in a head."""
        return self.leaves[1] * self.blocks_per_leaf

    @property
    def key_blocks(self) -> int:
        """Blocks of keys in a head."""
        return -(-self.keys // BLOCK_KEYS)


def score_tile(machine: Machine, scalar: str) -> Tile:
    """The register tile of scores; its width divides SEEN_TOGETHER."""
    return best_tile(machine, scalar, FUSED, widest=SEEN_TOGETHER)


def panels(count: int, width: int) -> int:
    """The number of panels of `width` rows that `count` rows fill."""
    return -(-count // width)


def queries_of(e: Emitter, spec: AttentionSpec, block: str) -> tuple[str, str]:
    """The first query of a block, and the one after its last."""
    leaf = e.value(f"udiv i64 {block}, {spec.blocks_per_leaf}")
    inside = e.value(f"urem i64 {block}, {spec.blocks_per_leaf}")
    first = e.mul(leaf, spec.leaf)
    start = e.add(first, e.mul(inside, BLOCK_QUERIES))
    return start, e.least(e.add(start, BLOCK_QUERIES), e.add(first, spec.leaf))


def keys_seen(e: Emitter, spec: AttentionSpec, end: str) -> str:
    """The number of keys that some query before `end` sees."""
    if not spec.causal:
        return str(spec.keys)
    seen = e.least(e.add(end, spec.keys - spec.queries), spec.keys)
    return e.most(seen, 0)


class Parts:
    """Base of the attention kernels: internal functions and scratch memory."""

    def __init__(
        self, module: LLVMModule, name: str, spec: AttentionSpec, machine: Machine
    ) -> None:
        assert spec.scale > 0, f"attention: the scale must be positive, got {spec.scale}."
        self.module, self.name, self.spec = module, name, spec
        self.tile = score_tile(machine, spec.scalar)
        self.item = BITS[spec.scalar] // 8
        self.reserved: dict[str, tuple[int, int]] = {}
        self.packings: dict[str, Packing] = {}
        self.bytes = 0

    def start(self, name: str, *parameters: tuple[str, str]) -> Emitter:
        """Begin the definition of an internal function; `call` calls it by this name."""
        return self.module.function(
            f"{self.name}.{name}", parameters, linkage="internal", attributes="noinline nounwind"
        )

    def call(self, e: Emitter, name: str, *arguments: tuple[str, str]) -> None:
        """Call one of the kernel's own functions."""
        e.call("void", f"{self.name}.{name}", *arguments)

    def reserve(self, label: str, values: int) -> None:
        """Reserve scratch memory, with a margin: transposed blocks are written past their end."""
        size = (values + 16 * self.tile.columns) * self.item
        self.reserved[label] = (self.bytes, size)
        self.bytes += -(-size // 64) * 64

    def at(self, e: Emitter, label: str) -> str:
        """The address of scratch memory that was reserved under this label."""
        return e.offset("%scratch", self.reserved[label][0])

    def skip(self, e: Emitter, base: str, *steps: tuple[str | int, int], item: int = 0) -> str:
        """The address behind base by the sum of index * values of `item` bytes each."""
        for index, values in steps:
            base = e.offset(base, e.mul(index, values * (item or self.item)))
        return base

    def source(self, operand: Operand) -> Source:
        """The element type in memory of an operand."""
        return Source(operand.narrow or self.spec.scalar)

    def head(self, e: Emitter, operand: Operand, batch: str, head: str) -> str:
        """The address of the first value of one head of an operand."""
        base = e.buffer(operand.slot)
        item = self.source(operand).item
        base = e.offset(base, operand.start * item)
        return self.skip(e, base, (batch, operand.batch), (head, operand.head), item=item)

    def lse(self, e: Emitter, batch: str, head: str, start: str) -> str:
        """The address of a head's log(sum(exp)), from the query `start` on."""
        base = e.buffer(self.spec.lse)
        flat = e.add(e.mul(batch, self.spec.heads), head)
        return self.skip(e, base, (flat, self.spec.queries), (start, 1))

    # functions

    def packer(
        self, name: str, width: int, operand: Operand, sizes: tuple[int, int], across: bool = False
    ) -> None:
        """Define a function that packs into panels of `width` rows, or of columns (`across`)."""
        rows, columns = zip(sizes, (operand.row, operand.column), strict=True)
        rows, steps = (columns, rows) if across else (rows, columns)
        given = self.source(operand) if operand.narrow else None
        packing = Packing(self.spec.scalar, width, merge([rows]), merge([steps]), given)
        self.packings[name] = packing
        emit_pack(self.module, f"{self.name}.{name}", packing)
        self.reserve(f"{name}.offsets", 8 * packing.slots // self.item)

    def liner(self, name: str, operand: Operand, sizes: tuple[int, int]) -> None:
        """Define a function that copies a matrix to contiguous rows."""
        self.packer(name, sizes[1], operand, sizes, across=True)

    def pack(
        self, e: Emitter, name: str, base: str, rows: tuple[str | int, str | int],
        steps: tuple[str | int, str | int], target: str,
    ) -> None:  # fmt: skip
        """Emit a call of a packer: panels from a first row on, and steps from a first step on."""
        numbers = [("i64", str(number)) for number in (*rows, *steps)]
        counts = [("i64", str(number)) for number in self.packings[name].numbers]
        offsets = ("ptr", self.at(e, f"{name}.offsets"))
        self.call(e, name, ("ptr", base), *numbers, ("ptr", target), offsets, *counts)

    def multiplier(self, *ways: str, pitch: int = 0) -> None:
        """Define the functions that multiply rows of A by a panel of B."""
        emit_columns(self.module, self.name, self.tile, ways, pitch)

    def multiply(
        self, e: Emitter, a: tuple[str, str | int, str | int], b: str, length: str | int,
        into: str, way: str = "score", factors: str = "null",
    ) -> None:  # fmt: skip
        """Emit `into` (+)= rows of A, given as (address, rows, row stride), times a panel of B."""
        address, rows, values = a
        self.call(
            e, way, ("ptr", address), ("ptr", b), ("i64", str(rows)),
            ("i64", e.mul(values, self.item)), ("i64", str(length)), ("ptr", into),
            ("ptr", factors),
        )  # fmt: skip

    def filler(self) -> None:
        """Define fill(target, values), which writes -0.0, the start of every sum."""
        e = self.start("fill", ("ptr", "target"), ("i64", "values"))
        zero = splat(-0.0, self.spec.scalar)

        def one(index: str) -> None:
            e.store(zero, self.skip(e, "%target", (index, 1)), vector(self.spec.scalar), self.item)

        e.loop(0, "%values", LANES, one)
        e.ret()

    def fill(self, e: Emitter, target: str, values: str | int) -> None:
        """Fill a run of values, a multiple of 16, with -0.0, the start of every sum."""
        self.call(e, "fill", ("ptr", target), ("i64", str(values)))

    def turner(self) -> None:
        """Define transpose(source, from, target, to, rows, columns); strides in bytes."""
        side, scalar = BLOCK[self.spec.scalar], self.spec.scalar
        e = self.start(
            "transpose_squares",
            *(("ptr", "source"), ("i64", "from"), ("ptr", "target"), ("i64", "to")),
            *(("i64", "rows"), ("i64", "columns")),
        )

        def square(row: str, column: str) -> None:
            read = e.offset(e.offset("%source", e.mul(row, "%from")), e.mul(column, self.item))
            write = e.offset(e.offset("%target", e.mul(column, "%to")), e.mul(row, self.item))
            kind = vector(scalar, side)
            places = [e.offset(read, e.mul("%from", k)) for k in range(side)]
            for k, value in enumerate(read_turned(e, scalar, places, self.item)):
                e.store(value, e.offset(write, e.mul("%to", k)), kind, self.item)

        def strip(row: str) -> None:
            e.loop(0, "%columns", side, partial(square, row))

        e.loop(0, "%rows", side, strip)
        e.ret()

    def transpose(
        self, e: Emitter, source: tuple[str, int], target: tuple[str, int],
        rows: str | int, columns: str | int,
    ) -> None:  # fmt: skip
        """Emit target[column][row] = source[row][column]; each is (address, row length)."""
        self.call(
            e, "transpose_squares", ("ptr", source[0]), ("i64", str(source[1] * self.item)),
            ("ptr", target[0]), ("i64", str(target[1] * self.item)),
            ("i64", str(rows)), ("i64", str(columns)),
        )  # fmt: skip

    def row_writer(self, name: str, width: int, column: int, pitch: int = 0) -> None:
        """Define name(panel, target, row, count), which writes rows of a panel to a matrix.

        `row` is the stride of rows in bytes, `column` that of columns in elements. Zeros lose
        their sign. With a pitch the rows are stored unchanged, at this stride.
        """
        names = (("ptr", "panel"), ("ptr", "target"), ("i64", "row"), ("i64", "count"))
        e = self.start(name, *names, ("ptr", "scratch"))
        padded, turned = pitch, "%panel"
        if not pitch:
            padded = -(-width // LANES) * LANES
            self.reserve(name, self.tile.columns * padded)
            turned = self.at(e, name)
            source = ("%panel", self.tile.columns)
            self.transpose(e, source, (turned, padded), padded, self.tile.columns)
        whole = width // LANES * LANES if column == 1 else 0
        single, kind = vector(self.spec.scalar, 1), vector(self.spec.scalar)

        def copy(row: str, step: int, kind: str, index: str) -> None:
            read = self.skip(e, turned, (row, padded), (index, 1))
            write = self.skip(e, e.offset("%target", e.mul(row, "%row")), (index, step))
            value = e.value(f"fadd {kind} {e.load(read, kind, self.item)}, zeroinitializer")
            e.store(value, write, kind, self.item)

        def one(row: str) -> None:
            e.loop(0, whole, LANES, partial(copy, row, 1, kind))
            e.loop(whole, width, 1, partial(copy, row, column, single))

        e.loop(0, "%count", 1, one)
        e.ret()

    def write_rows(
        self, e: Emitter, name: str, panel: str, target: tuple[str, int], count: str
    ) -> None:
        """Write rows by a row writer; target is (address, row stride in elements)."""
        stride = str(target[1] * self.item)
        self.call(
            e, name, ("ptr", panel), ("ptr", target[0]), ("i64", stride), ("i64", count),
            ("ptr", "%scratch"),
        )  # fmt: skip

    # blocks

    def balanced(self, e: Emitter, unit: str) -> str:
        """The query block that is computed as work unit `unit`.

        Under a causal mask later blocks see more keys; in this order equal runs cost alike.
        """
        number = e.value(f"urem i64 {unit}, {self.spec.query_blocks}")
        if not self.spec.causal:
            return number
        half, odd = (e.value(f"{f} i64 {number}, 1") for f in ("lshr", "and"))
        last = e.sub(str(self.spec.query_blocks - 1), half)
        is_odd = e.value(f"icmp eq i64 {odd}, 1")
        return e.value(f"select i1 {is_odd}, i64 {last}, i64 {half}")

    def together(self, e: Emitter, query: str) -> str:
        """The first query of the group of queries that are treated as seeing the same keys."""
        return e.value(f"and i64 {query}, {-SEEN_TOGETHER}")

    def keys_met(self, e: Emitter, limit: str, query: str, keys: str) -> str:
        """The number of a block's keys that the query's group sees."""
        if not self.spec.causal:
            return keys
        last = e.add(self.together(e, query), SEEN_TOGETHER)
        return e.most(e.least(e.add(limit, last), keys), 0)

    def algebra(self, e: Emitter) -> LlvmAlgebra:
        """Vector math on 16 lanes."""
        return LlvmAlgebra(e, self.spec.scalar)

    def wide(self, e: Emitter) -> LlvmAlgebra:
        """Vector math on 32 lanes, as two vectors of 16, so that two chains of exp overlap."""
        return LlvmAlgebra(e, self.spec.scalar, 2 * LANES)

    def concatenated(self, e: Emitter, x: str, y: str) -> str:
        """The lanes of two vectors in one of twice the length."""
        return e.shuffle(x, y, range(2 * LANES), self.spec.scalar)

    def halves(self, e: Emitter, xy: str) -> tuple[str, str]:
        """The first and the last 16 lanes of a vector of 32."""
        halves = range(LANES), range(LANES, 2 * LANES)
        first, second = (e.shuffle(xy, xy, h, self.spec.scalar, 2 * LANES) for h in halves)
        return first, second

    def lane_numbers(self) -> str:
        """0, 1, 2, ... in the lanes."""
        return f"<{', '.join(f'i32 {lane}' for lane in range(LANES))}>"

    def spread(self, e: Emitter, index: str) -> str:
        """An i64 index in all lanes of a vector of i32."""
        return e.broadcast(e.value(f"trunc i64 {index} to i32"), "i32")

    def each_group(self, e: Emitter, body: Callable[[str], None]) -> None:
        """Emit a loop over the lanes of a panel in groups of 16: body(first lane)."""
        e.loop(0, self.tile.columns, LANES, body)

    def value_at(self, e: Emitter, base: str, *steps: tuple[str | int, int]) -> Value:
        """Load a vector; its address is that of `skip`."""
        return e.load(self.skip(e, base, *steps), vector(self.spec.scalar), self.item)

    def put(self, e: Emitter, value: Value, base: str, *steps: tuple[str | int, int]) -> None:
        """Store a vector; its address is that of `skip`."""
        e.store(value, self.skip(e, base, *steps), vector(self.spec.scalar), self.item)


def falling_exp(a: LlvmAlgebra, x: Value) -> Value:
    """e^x for an x that is NaN or at most slightly above 0."""
    return exp_within(a, a.at_least(x, EXP_RANGE[a.scalar][0]))
