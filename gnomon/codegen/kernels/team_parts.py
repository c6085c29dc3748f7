"""Parts that attention's two kernels of teams share: tiles of scores, a thread's query, results.

A team has the 32 queries of a head that are computed with the same keys, or 32 keys. A tile of
scores is that of a product (tile_chain.py); in shared memory it is the left factor of the products
that follow, which read it where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gnomon.codegen.emitter import BITS, KERNEL, LANES, LLVMModule, literal
from gnomon.codegen.kernels.attention_parts import (
    BLOCK_KEYS,
    BLOCK_QUERIES,
    SEEN_TOGETHER,
    AttentionSpec,
    Operand,
    keys_seen,
    queries_of,
)
from gnomon.codegen.kernels.product import MatmulSpec, count
from gnomon.codegen.kernels.staging import STEPS, Side
from gnomon.codegen.kernels.tile_chain import TileChain, shared_memory
from gnomon.codegen.kernels.units import Source
from gnomon.codegen.llvm_algebra import LlvmAlgebra
from gnomon.codegen.machine import Machine
from gnomon.codegen.shares import SHARES, TEAM, WorkTeam

__all__ = ["MixtureChain", "TeamParts"]

QUERIES = SEEN_TOGETHER
PARTS = TEAM * LANES // QUERIES
"""Threads of a query."""
WIDEST = 128
"""Columns of values whose sums are in registers."""
FLOAT = BITS["float"] // 8
ROW = QUERIES * FLOAT
"""Bytes of a number for each query."""


class MixtureChain(TileChain):
    """The chains of weighted values; their left factor is a tile of weights in shared memory."""

    is_short, is_ragged = False, True
    weights: str
    """The address of the weights, a row of queries for each key."""

    def make_sides(self) -> tuple[Side, Side]:
        """The places of both factors; the weights are in no buffer."""
        a, b = super().make_sides()
        return a, Side("b", b.axes, b.indices, b.along, 0, b.item)

    @property
    def copied(self) -> Sequence[Side]:
        """The operands that are copied: the values."""
        return self.sides[1:]

    def addresses(self, buffer: str, piece: str) -> tuple[str, str]:
        """The addresses of the thread's first weight and first column of a buffer's first step."""
        e, item = self.e, self.spec.item
        left = e.add(e.mul(piece, STEPS * self.sides[0].pitch), e.mul(self.corner[0], item))
        return e.offset(self.weights, left), super().addresses(buffer, piece)[1]

    def over(self, keys: str, sums: Sequence[str]) -> list[str]:
        """Emit the chain over the first keys of a tile, after these sums."""
        e = self.e
        self.chunk, self.pieces = keys, e.value(f"udiv i64 {e.add(keys, STEPS - 1)}, {STEPS}")
        self.begin()
        return self.chain("0", 1, "0", [(self.spec.sums, value) for value in sums])[1:]


class TeamParts:
    """Base of the attention kernels of teams: tiles in shared memory, a thread's query and place.

    A tile has QUERIES numbers for each of up to BLOCK_KEYS steps of the products that read it.
    """

    def __init__(
        self, module: LLVMModule, name: str, spec: AttentionSpec, machine: Machine
    ) -> None:
        e = self.e = module.function(name, KERNEL)
        self.spec, self.machine, self.shares = spec, machine, SHARES[machine.shares[0]]
        self.team = WorkTeam(e, self.shares, TEAM)
        self.algebra = LlvmAlgebra(e, spec.scalar)
        own = e.add(e.mul(self.team.member, LANES), "%lane")
        self.part, self.query = e.divided(own, QUERIES)

    def tile(self, spec: MatmulSpec) -> TileChain:
        """The chains of a product of QUERIES rows and BLOCK_KEYS columns."""
        return TileChain(self.e, self.team, spec, self.machine, (QUERIES, BLOCK_KEYS))

    def mixture(self, spec: MatmulSpec) -> MixtureChain:
        """The chains of a product whose left factor is the tile in shared memory."""
        wide = -(-count(spec.columns) // LANES) * LANES
        return MixtureChain(self.e, self.team, spec, self.machine, (QUERIES, wide))

    def share_memory(self, *chains: TileChain) -> None:
        """Emit the addresses of buffers, of the tile, and of numbers of queries, in shared memory.

        The numbers are PARTS rows, and then one row.
        """
        e = self.e
        self.pitch = chains[-1].sides[0].pitch
        buffers = 2 * max(chain.buffer_bytes for chain in chains)
        rows = buffers + BLOCK_KEYS * self.pitch
        factors = rows + PARTS * ROW
        shared = shared_memory(e, factors + PARTS * ROW)
        self.weights = e.offset(shared, buffers)
        self.rows, self.factors = e.offset(shared, rows), e.offset(shared, factors)
        for chain in chains:
            chain.shared = shared
            if isinstance(chain, MixtureChain):
                chain.weights = self.weights

    @property
    def groups(self) -> int:
        """The groups of queries of a head, some of which may have none."""
        return BLOCK_QUERIES // QUERIES * self.spec.query_blocks

    def unit(self, number: str, groups: int, body: Callable[..., None]) -> None:
        """Emit body(batch, head, queries, seen) for a group of a head's queries, if it has any.

        queries: the first, and the one after the last; seen: the number of keys that it sees.
        """
        e, spec = self.e, self.spec
        heads, group = e.divided(number, groups)
        batch, head = e.divided(heads, spec.heads)
        block, inside = e.divided(group, BLOCK_QUERIES // QUERIES)
        first, end = queries_of(e, spec, block)
        start = e.add(first, e.mul(inside, QUERIES))
        seen = keys_seen(e, spec, end)
        if spec.causal:
            last = e.add(start, spec.keys - spec.queries + QUERIES)
            seen = e.most(e.least(last, seen), 0)
        end = e.least(end, e.add(start, QUERIES))
        some = e.value(f"icmp slt i64 {start}, {end}")
        e.when(some, lambda: body(batch, head, (start, end), seen))

    def head(self, operand: Operand, batch: str, head: str) -> str:
        """The address of a head of an operand."""
        e, item = self.e, Source(operand.narrow or self.spec.scalar).item
        place = e.add(e.mul(batch, operand.batch), e.mul(head, operand.head))
        return e.offset(e.buffer(operand.slot), e.mul(e.add(place, operand.start), item))

    def at_row(self, base: str, operand: Operand, row: str) -> str:
        """The address of a row of a head."""
        item = Source(operand.narrow or self.spec.scalar).item
        return self.e.offset(base, self.e.mul(self.e.mul(row, operand.row), item))

    def put_tile(self, chain: TileChain, values: Sequence[str]) -> None:
        """Store the thread's numbers of a tile of rows by columns, to read as columns by rows."""
        e, pitch = self.e, self.pitch
        own = e.add(e.mul("%lane", pitch), e.mul(chain.corner[0], FLOAT))
        first = e.offset(self.weights, own)
        for number, value in enumerate(values):
            i, j = divmod(number, chain.wide)
            e.store(value, e.offset(first, j * LANES * pitch + i * FLOAT), "float", FLOAT)

    def store(
        self,
        operand: Operand,
        base: str,
        rows: tuple[str, str],
        result: tuple[TileChain, list[str]],
    ) -> None:
        """Store the thread's results in rows from the first on; zeros lose their sign."""
        e, (tile, sums) = self.e, result
        wide = count(tile.spec.columns)
        for number, value in enumerate(sums):
            i, j = divmod(number, tile.wide)
            row = e.add(rows[0], e.add(tile.corner[0], i))
            column = e.add("%lane", j * LANES)
            there = e.value(f"icmp slt i64 {row}, {rows[1]}")
            inside = e.value(f"icmp slt i64 {column}, {wide}")
            place = e.mul(e.add(e.mul(row, operand.row), e.mul(column, operand.column)), FLOAT)
            value = e.value(f"fadd float {value}, {literal(0.0)}")

            def put(value: str = value, place: str = place) -> None:
                e.store(value, e.offset(base, place), "float", FLOAT)

            e.when(e.value(f"and i1 {there}, {inside}"), put)
