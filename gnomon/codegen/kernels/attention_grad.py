"""The gradient of attention: scores are recomputed, block by block, never stored as a whole.

One thread has a head of keys and all queries that meet it. For each query head of the group and
each block of queries, ascending, all blocks of keys that it sees, ascending:

    P = exp(scale * q k^T - lse)      dV += P^T dO      dP = dO v^T
    dS = P * (dP - D) * scale         dK += dS^T q      dQ += dS k       D = sum of dO * O in a row

dQ is one chain over all keys. dK and dV are chains over the queries of a leaf; leaves, and then the
heads of a group, are added in canonical order (order.py). A zero is stored as +0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.kernels.attention_parts import (
    BLOCK_KEYS,
    BLOCK_QUERIES,
    SEEN_TOGETHER,
    Parts,
    keys_seen,
    panels,
    queries_of,
)
from gnomon.codegen.kernels.attention_slopes import (
    VIRTUAL_LANES,
    AttentionGradSpec,
    QueryBlock,
    write_delta,
    write_fold,
    write_weights,
)
from gnomon.codegen.kernels.order import Letter, combine_counts, depths
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.kernels.tally import additions
from gnomon.codegen.kernels.team_attention_grad import TeamAttentionGrad, takes_grad
from gnomon.codegen.lifted import Lifted, by_caller
from gnomon.codegen.machine import Machine


def emit_attention_grad(
    module: LLVMModule, name: str, spec: AttentionGradSpec, machine: Machine
) -> int:
    """Define kernel `name`, which writes dq, dk and dv; gives the bytes of scratch per thread."""
    if takes_grad(spec.forward, machine):
        return TeamAttentionGrad(module, name, spec, machine).write()
    return Backward(Parts(module, name, spec.forward, machine), spec).write()


class Backward:
    """Writes the gradient kernel.

    Queries are rows of A and keys columns of B, so a tile of weights is, as it stands, a panel of
    B for the products with dO and q, and tiles of dS are rows of A for the product with k.
    """

    def __init__(self, parts: Parts, grads: AttentionGradSpec) -> None:
        self.parts, self.grads, self.spec, self.tile = parts, grads, parts.spec, parts.tile
        tile, spec = self.tile, self.spec
        self.rows = panels(BLOCK_QUERIES, tile.rows)
        self.columns = BLOCK_KEYS // tile.columns
        self.wide, self.deep = (
            panels(width, tile.rows) for width in (spec.width, spec.value_width)
        )
        # values: a square's panel, a panel of dK and dQ, one of dV, all of dK and dV
        self.square = self.rows * tile.rows * tile.columns
        self.pitch = panels(spec.width, tile.columns) * tile.columns
        self.width_panel = self.wide * tile.rows * tile.columns
        self.value_panel = self.deep * tile.rows * tile.columns
        self.key_panels = spec.key_blocks * self.columns
        self.level = self.key_panels * (self.width_panel + self.value_panel)
        self.letters = [(spec.group, spec.leaves[0]), (spec.queries, spec.leaves[1])]

    def write(self) -> int:
        """Write the kernel; the bytes of scratch per thread."""
        parts, spec, grads = self.parts, self.spec, self.grads
        self.define_packers()
        self.reserve()
        parts.multiplier("score", "begin", "extend")
        parts.multiplier("along", pitch=self.pitch)
        parts.filler()
        parts.turner()
        parts.row_writer("write_dq", spec.width, grads.dq.column, self.pitch)
        parts.row_writer("write_dk", spec.width, grads.dk.column)
        parts.row_writer("write_dv", spec.value_width, grads.dv.column)
        write_delta(parts, replace(grads.dout, row=spec.value_width, column=1))
        write_weights(parts)
        write_fold(parts)
        self.kernel()
        return parts.bytes

    def define_packers(self) -> None:
        """Define the packers: keys and values as columns of B, queries and dO as rows."""
        parts, spec, tile = self.parts, self.spec, self.tile
        sizes = spec.keys, spec.width
        parts.packer("pack_k", tile.columns, spec.k, sizes)
        parts.packer("pack_v", tile.columns, spec.v, (spec.keys, spec.value_width))
        parts.packer("pack_k_across", tile.columns, spec.k, sizes, across=True)
        parts.liner("lines_q", spec.q, (spec.queries, spec.width))
        parts.liner("lines_dout", self.grads.dout, (spec.queries, spec.value_width))
        if spec.mask is not None:
            sizes = spec.queries, spec.keys
            parts.packer("pack_mask", tile.columns, spec.mask, sizes, across=True)

    def reserve(self) -> None:
        """Reserve the kernel's scratch memory."""
        parts, spec, tile = self.parts, self.spec, self.tile
        keys = spec.key_blocks * BLOCK_KEYS
        # the last tile may take rows that are not there
        queries = BLOCK_QUERIES + tile.rows
        sizes = {
            "k": keys * spec.width,
            "v": keys * spec.value_width,
            "k_across": keys * self.pitch,
            "q": queries * spec.width,
            "dout": queries * spec.value_width,
            "weights": self.square,
            "mask": 0 if spec.mask is None else BLOCK_QUERIES * tile.columns,
            "slopes": self.columns * self.square,
            "dq": queries * self.pitch,
            "delta": BLOCK_QUERIES,
            "products": -(-spec.value_width // VIRTUAL_LANES) * VIRTUAL_LANES,
            "levels": height(self.letters) * self.level,
        }
        for label, values in sizes.items():
            parts.reserve(label, values)

    # the kernel

    def kernel(self) -> None:
        """Write the kernel: each thread computes a run of key heads."""
        e = self.e = self.parts.module.function(self.parts.name, KERNEL)
        low, high = part(e, self.spec.pairs, "%thread", "%threads")
        e.loop(low, high, 1, self.pair)
        e.ret()

    def pair(self, number: str) -> None:
        """Compute the gradients of a key head from all query heads that share it."""
        e, parts, spec = self.e, self.parts, self.spec
        batch, head = e.divided(number, spec.key_heads)
        self.pack_keys(batch, head)
        leaves = spec.leaves[1]

        def leaf(index: str, depth: str) -> list[str]:
            level = parts.skip(e, parts.at(e, "levels"), (depth, self.level))
            if not spec.queries:
                parts.fill(e, level, self.level)
            inner = e.value(f"udiv i64 {index}, {leaves}")
            query_head = e.add(e.mul(head, spec.group), inner)
            first = e.mul(e.value(f"urem i64 {index}, {leaves}"), spec.blocks_per_leaf)
            last = e.add(first, spec.blocks_per_leaf)
            e.loop(first, last, 1, lambda block: self.one_block((batch, query_head), block, level))
            return [self.combine(index, depth)]

        e.loop(0, spec.group * leaves, 1, leaf, [("i64", "0")])
        self.store_keys(batch, head)

    def seen_by(self, index: str) -> str:
        """The number of key panels that the queries of this leaf see under the causal mask."""
        e, spec, columns = self.e, self.spec, self.tile.columns
        if not spec.queries:
            return "0"
        leaf = e.value(f"urem i64 {index}, {spec.leaves[1]}")
        seen = keys_seen(e, self.parts.spec, e.mul(e.add(leaf, 1), spec.leaf))
        return e.value(f"udiv i64 {e.add(seen, columns - 1)}, {columns}")

    def stretches(self, level: str) -> tuple[tuple[str, int], ...]:
        """The addresses of dK and dV at a level of the stack, and the number of values in each."""
        values = self.parts.skip(self.e, level, (self.key_panels, self.width_panel))
        return (level, self.width_panel), (values, self.value_panel)

    def combine(self, index: str, depth: str) -> str:
        """Emit the additions of partial dK and dV that follow a leaf; gives the stack's depth."""
        e, parts = self.e, self.parts
        pops, seen = additions(e, self.letters, index), self.seen_by(index)

        def pop(done: str) -> None:
            newer = parts.skip(e, parts.at(e, "levels"), (e.sub(depth, done), self.level))
            older = parts.skip(e, newer, (-1, self.level))
            # later leaves see more, and there are 2^done newer ones
            had = self.seen_by(e.sub(index, e.value(f"shl i64 1, {done}")))
            for (old, size), (new, _) in zip(
                self.stretches(older), self.stretches(newer), strict=True
            ):
                numbers = (("i64", e.mul(count, size)) for count in (had, seen))
                parts.call(e, "fold", ("ptr", old), ("ptr", new), *numbers)

        e.loop(0, pops, 1, pop)
        return e.add(e.sub(depth, pops), 1)

    def pack_keys(self, batch: str, head: str) -> None:
        """Copy keys and values into panels, for all blocks."""
        e, parts, spec, tile = self.e, self.parts, self.spec, self.tile
        k, v = parts.head(e, spec.k, batch, head), parts.head(e, spec.v, batch, head)
        count = panels(spec.keys, tile.columns)
        parts.pack(e, "pack_k", k, (0, count), (0, spec.width), parts.at(e, "k"))
        parts.pack(e, "pack_v", v, (0, count), (0, spec.value_width), parts.at(e, "v"))

        def block(key: str) -> None:
            length = e.least(e.sub(str(spec.keys), key), BLOCK_KEYS)
            into = parts.skip(e, parts.at(e, "k_across"), (key, self.pitch))
            wide = self.pitch // tile.columns
            parts.pack(e, "pack_k_across", k, (0, wide), (key, length), into)

        e.loop(0, spec.keys, BLOCK_KEYS, block)

    def one_block(self, where: tuple[str, str], number: str, level: str) -> None:
        """Compute a block of queries against all blocks of keys that it sees."""
        e, parts, spec, tile = self.e, self.parts, self.spec, self.tile
        start, end = queries_of(e, parts.spec, number)
        count = e.sub(end, start)
        self.pack_queries(where, start, count)
        parts.fill(e, parts.at(e, "dq"), e.mul(count, self.pitch))
        lse = parts.lse(e, *where, start)
        masks = None if spec.mask is None else parts.head(e, spec.mask, *where)
        first = e.value(f"icmp eq i64 {e.value(f'urem i64 {start}, {spec.leaf}')}, 0")
        known = e.value(f"select i1 {first}, i64 0, i64 {keys_seen(e, parts.spec, start)}")
        block = QueryBlock(start, count, known, lse, masks)
        seen = keys_seen(e, parts.spec, end)

        def meet(key: str) -> None:
            length = e.least(e.sub(seen, key), BLOCK_KEYS)

            def panel(column: str) -> None:
                self.one_panel(e.add(key, column), block, level)

            e.loop(0, length, tile.columns, panel)
            self.add_to_dq(key, length, (start, count))

        e.loop(0, seen, BLOCK_KEYS, meet)
        self.store_dq(where, start, count)

    def pack_queries(self, where: tuple[str, str], start: str, count: str) -> None:
        """Emit the packing of a block of q and dO, and delta, the sums of dO * O in its rows."""
        e, parts, spec, dout = self.e, self.parts, self.spec, self.grads.dout
        q, slope = parts.head(e, spec.q, *where), parts.head(e, dout, *where)
        parts.pack(e, "lines_q", q, (0, 1), (start, count), parts.at(e, "q"))
        parts.pack(e, "lines_dout", slope, (0, 1), (start, count), parts.at(e, "dout"))
        out = parts.skip(e, parts.head(e, spec.out, *where), (start, spec.out.row))
        places = (parts.at(e, label) for label in ("products", "delta"))
        pointers = (parts.at(e, "dout"), out, *places)
        parts.call(e, "delta", *(("ptr", p) for p in pointers), ("i64", count))

    def one_panel(self, key: str, block: QueryBlock, level: str) -> None:
        """Emit P and dS of a panel of keys and a block of queries, and add to its dV and dK."""
        e, parts, spec, tile = self.e, self.parts, self.spec, self.tile
        number = e.value(f"udiv i64 {key}, {tile.columns}")
        inside = e.value(f"urem i64 {number}, {self.columns}")
        limit = e.sub(e.add(block.start, spec.keys - spec.queries), key)
        first = self.first_query(limit)
        left = e.sub(block.count, first)
        weights = parts.at(e, "weights")
        slopes = parts.skip(e, parts.at(e, "slopes"), (inside, self.square))
        seeing = e.most(e.sub("0", limit), 0) if spec.causal else "0"
        self.scores(key, seeing, block.count, (weights, slopes))
        mask = weights if block.masks is None else parts.at(e, "mask")
        if block.masks is not None:
            steps = (e.add(block.start, first), left)
            parts.pack(e, "pack_mask", block.masks, (key, 1), steps, mask)
        weights, slopes = (parts.skip(e, x, (first, tile.columns)) for x in (weights, slopes))
        sums = [parts.skip(e, x, (first, 1)) for x in (block.lse, parts.at(e, "delta"))]
        pointers = [("ptr", p) for p in (weights, slopes, mask, *sums)]
        parts.call(e, "weigh", *pointers, ("i64", left), ("i64", e.add(limit, first)))
        dv = parts.skip(e, level, (self.key_panels, self.width_panel), (number, self.value_panel))
        dk = parts.skip(e, level, (number, self.width_panel))

        def gather(way: str) -> None:
            for lines, count, right, into in (
                ("dout", spec.value_width, weights, dv),
                ("q", spec.width, slopes, dk),
            ):
                a = (parts.skip(e, parts.at(e, lines), (first, count)), count, count)
                parts.multiply(e, a, right, left, into, way)

        met = e.value(f"icmp slt i64 {key}, {block.known}")
        e.when(met, lambda: gather("extend"))
        e.when(e.value(f"xor i1 {met}, true"), lambda: gather("begin"))

    def first_query(self, limit: str) -> str:
        """The first query of a block that sees a panel of keys; the block's first sees `limit`."""
        if not self.spec.causal:
            return "0"
        return self.e.most(self.parts.together(self.e, self.e.sub("0", limit)), 0)

    def scores(self, key: str, first: str, count: str, into: tuple[str, str]) -> None:
        """Emit the scores and dP of a panel of keys, for queries from `first` on."""
        e, parts, spec = self.e, self.parts, self.spec
        rows = e.sub(count, first)
        sides = (("q", "k", spec.width), ("dout", "v", spec.value_width))
        for (left, right, width), target in zip(sides, into, strict=True):
            a = parts.skip(e, parts.at(e, left), (first, width))
            b = parts.skip(e, parts.at(e, right), (key, width))
            target = parts.skip(e, target, (first, self.tile.columns))
            parts.multiply(e, (a, rows, width), b, width, target)

    def add_to_dq(self, key: str, length: str, queries: tuple[str, str]) -> None:
        """Add a block of keys to dQ, in groups of queries that see the same keys."""
        e, parts, spec, columns = self.e, self.parts, self.spec, self.tile.columns
        start, count = queries
        limit = e.sub(e.add(start, spec.keys - spec.queries), key)
        packed = e.least(e.sub(str(spec.keys), key), BLOCK_KEYS)
        k = parts.skip(e, parts.at(e, "k_across"), (key, self.pitch))

        def group(first: str) -> None:
            rows = e.least(e.sub(count, first), SEEN_TOGETHER)
            met = parts.keys_met(e, limit, first, length)
            slopes = parts.skip(e, parts.at(e, "slopes"), (first, columns))
            sums = parts.skip(e, parts.at(e, "dq"), (first, self.pitch))

            def panel(column: str) -> None:
                right = parts.skip(e, k, (e.mul(column, packed), 1))
                into = parts.skip(e, sums, (column, 1))
                parts.multiply(e, (slopes, rows, self.square), right, met, into, "along")

            e.loop(0, spec.width, columns, panel)

        e.loop(0, count, SEEN_TOGETHER, group)

    def store_dq(self, where: tuple[str, str], start: str, count: str) -> None:
        """Write a block of dQ."""
        e, parts, dq = self.e, self.parts, self.grads.dq
        base = parts.skip(e, parts.head(e, dq, *where), (start, dq.row))
        parts.write_rows(e, "write_dq", parts.at(e, "dq"), (base, dq.row), count)

    def store_keys(self, batch: str, head: str) -> None:
        """Write dK and dV of one head."""
        e, parts, columns = self.e, self.parts, self.tile.columns
        level = parts.at(e, "levels")
        parts_of = (
            ("write_dk", self.grads.dk, level, self.width_panel),
            (
                "write_dv",
                self.grads.dv,
                parts.skip(e, level, (self.key_panels, self.width_panel)),
                self.value_panel,
            ),
        )
        for name, operand, sums, size in parts_of:
            base = parts.head(e, operand, batch, head)

            def panel(
                key: str, name=name, operand=operand, sums=sums, size=size, base=base
            ) -> None:
                index = e.value(f"udiv i64 {key}, {columns}")
                source = parts.skip(e, sums, (index, size))
                target = parts.skip(e, base, (key, operand.row))
                rows = e.least(e.sub(str(self.spec.keys), key), columns)
                parts.write_rows(e, name, source, (target, operand.row), rows)

            e.loop(0, self.spec.keys, columns, panel)


def height(letters: Sequence[Letter]) -> int | Lifted:
    """The most partial sums of dK and dV that are on the stack at once."""

    def most(*flat: int) -> tuple[int]:
        nest = list(zip(flat[::2], flat[1::2], strict=True))
        return (max(depths(combine_counts(nest))) + 1,)

    return by_caller(most, 1, *(number for letter in letters for number in letter))[0]
