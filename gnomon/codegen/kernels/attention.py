"""Attention forward: softmax over blocks of keys as they come, scores never in memory as a whole.

For each block of queries, and blocks of keys ascending: the running maximum and sum of each query
are brought up to date, what was gathered so far is scaled down, and the block's values are added
in one chain over its keys. A query that sees no key gives 0, and a zero is stored as +0.0. What a
block is: attention_parts.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import inf

from gnomon.codegen.emitter import KERNEL, LANES, Emitter, LLVMModule, vector
from gnomon.codegen.kernels.attention_parts import (
    BLOCK_KEYS,
    BLOCK_QUERIES,
    AttentionSpec,
    Parts,
    falling_exp,
    keys_seen,
    panels,
    queries_of,
)
from gnomon.codegen.kernels.attention_row import emit_row, is_row
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.kernels.team_attention import TeamAttention, takes
from gnomon.codegen.llvm_algebra import LlvmAlgebra
from gnomon.codegen.machine import Machine
from gnomon.codegen.math import FUNCTIONS


def emit_attention(module: LLVMModule, name: str, spec: AttentionSpec, machine: Machine) -> int:
    """Define kernel `name`, which writes out and lse; gives the bytes of scratch per thread."""
    if takes(spec, machine):
        return TeamAttention(module, name, spec, machine).write()
    if is_row(spec):
        return emit_row(module, name, spec, machine)
    return Forward(Parts(module, name, spec, machine)).write()


@dataclass(frozen=True)
class SoftmaxBlock:
    """A softmax over 16 queries and a block of keys: scores, masks, last keys seen."""

    parts: Parts
    e: Emitter
    scores: str
    mask: str
    limits: str

    def larger(self, hidden: bool, key: str, top: str) -> list[str]:
        """The maximum of `top` and a key's scores, to which the mask is added in memory first.

        A score that is NaN may be passed over: its weight will be NaN.
        """
        parts, e, a, spec = self.parts, self.e, self.parts.algebra(self.e), self.parts.spec
        place = (key, parts.tile.columns)
        score = parts.value_at(e, self.scores, place)
        if spec.mask is not None:
            score = a.fma(score, a.const(spec.scale), parts.value_at(e, self.mask, place))
            parts.put(e, score, self.scores, place)
        if hidden:
            score = self.hide(key, score, a.const(-inf))
        return [a.select(a.less(top, score), score, top)]

    def hide(self, key: str, value: str, instead: str) -> str:
        """Select the value where a key is visible, else `instead`."""
        if not self.parts.spec.causal:
            return value
        key = self.parts.spread(self.e, key)
        seen = self.e.value(f"icmp sle {vector('i32')} {key}, {self.limits}")
        return self.parts.algebra(self.e).select(seen, value, instead)

    def weight(self, a: LlvmAlgebra, score: str, base: str) -> str:
        """exp(score - base)."""
        spec = self.parts.spec
        if spec.mask is not None:
            return falling_exp(a, a.sub(score, base))
        return falling_exp(a, a.fma(score, a.const(spec.scale), a.neg(base)))

    def weigh(self, base: str, key: str, total: str) -> list[str]:
        """Emit a key's weights, over its scores in memory; gives the sums with them added."""
        parts, e, a = self.parts, self.e, self.parts.algebra(self.e)
        place = (key, parts.tile.columns)
        weight = self.weight(a, parts.value_at(e, self.scores, place), base)
        weight = self.hide(key, weight, a.const(0.0))
        parts.put(e, weight, self.scores, place)
        return [a.add(total, weight)]

    def weigh_pair(self, base: str, key: str, total: str) -> list[str]:
        """Emit the weights of two keys that all queries see; gives the sums with them added."""
        parts, e, a = self.parts, self.e, self.parts.algebra(self.e)
        places = [(at, parts.tile.columns) for at in (key, e.add(key, 1))]
        scores = [parts.value_at(e, self.scores, place) for place in places]
        weights = self.weight(
            parts.wide(e), parts.concatenated(e, *scores), parts.concatenated(e, base, base)
        )
        for place, weight in zip(places, parts.halves(e, weights), strict=True):
            parts.put(e, weight, self.scores, place)
            total = a.add(total, weight)
        return [total]


class Forward:
    """Writes the forward kernel.

    Keys are rows of A and queries columns of B, so a tile of scores has queries in its lanes; it
    is then, as it stands, a panel of B for the product with the values.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts, self.spec, self.tile = parts, parts.spec, parts.tile
        self.key_panels = panels(BLOCK_KEYS, self.tile.rows)
        self.value_panels = panels(self.spec.value_width, self.tile.rows)
        self.query_panels = BLOCK_QUERIES // self.tile.columns
        # values in scratch: a block of keys, of values, a panel of queries, of results
        self.key_block = BLOCK_KEYS * self.spec.width
        self.value_block = BLOCK_KEYS * self.spec.value_width
        self.query_panel = self.spec.width * self.tile.columns
        self.result = self.value_panels * self.tile.rows * self.tile.columns

    def write(self) -> int:
        """Write the kernel and all its functions; the bytes of scratch per thread."""
        parts, spec, tile = self.parts, self.spec, self.tile
        parts.packer("pack_q", tile.columns, spec.q, (spec.queries, spec.width))
        parts.liner("lines_k", spec.k, (spec.keys, spec.width))
        parts.liner("lines_v", spec.v, (spec.keys, spec.value_width))
        # the last tile may take rows that are not there
        parts.reserve("k", spec.key_blocks * self.key_block + tile.rows * spec.width)
        parts.reserve("v", spec.key_blocks * self.value_block)
        parts.reserve("q", self.query_panels * self.query_panel)
        parts.reserve("scores", self.key_panels * tile.rows * tile.columns)
        for label in ("top", "sum"):
            parts.reserve(label, BLOCK_QUERIES)
        parts.reserve("shrink", tile.columns)
        parts.reserve("results", self.query_panels * self.result)
        if spec.mask is not None:
            parts.packer("pack_mask", tile.columns, spec.mask, (spec.queries, spec.keys))
            parts.reserve("mask", tile.columns * BLOCK_KEYS)
        parts.multiplier("score", "grow")
        parts.filler()
        parts.turner()
        parts.row_writer("write_out", spec.value_width, spec.out.column)
        self.write_softmax()
        self.write_close()
        self.kernel()
        return parts.bytes

    def write_softmax(self) -> None:
        """Write softmax(scores, mask, top, sum, shrink, keys, limit) of a panel and a block.

        `limit` is the last key that the first query sees, counted from the block's first. What was
        gathered before has yet to be multiplied by `shrink`.
        """
        parts = self.parts
        pointers = [("ptr", label) for label in ("scores", "mask", "top", "sum", "shrink")]
        e = parts.start("softmax", *pointers, ("i64", "keys"), ("i64", "limit"))
        parts.each_group(e, lambda lane: self.softmax_group(e, lane))
        e.ret()

    def softmax_group(self, e: Emitter, lane: str) -> None:
        """Compute the softmax of 16 queries: first keys that all see, in pairs, then the others."""
        parts, a, kind = self.parts, self.parts.algebra(e), vector(self.spec.scalar)
        never, masked = a.const(-inf), self.spec.mask is not None
        seen, some = self.seen_by_all(e, lane), self.seen_by_any(e, lane)
        scores, mask = (parts.skip(e, base, (lane, 1)) for base in ("%scores", "%mask"))
        block = SoftmaxBlock(parts, e, scores, mask, self.limits(e, lane))
        (highest,) = e.loop(0, seen, 1, partial(block.larger, False), [(kind, never)])
        (highest,) = e.loop(seen, some, 1, partial(block.larger, True), [(kind, highest)])
        old = parts.value_at(e, "%top", (lane, 1))
        top = a.maximum(old, highest if masked else a.mul(highest, a.const(self.spec.scale)))
        # with nothing seen yet, any finite number will do
        base = a.select(a.equal(top, never), a.const(0.0), top)
        shrink = FUNCTIONS["exp"](a, a.sub(old, base))
        total = a.mul(parts.value_at(e, "%sum", (lane, 1)), shrink)
        pairs = e.value(f"and i64 {seen}, -2")
        (total,) = e.loop(0, pairs, 2, partial(block.weigh_pair, base), [(kind, total)])
        (total,) = e.loop(pairs, some, 1, partial(block.weigh, base), [(kind, total)])
        zero, places = a.const(0.0), (parts.tile.columns,)
        e.loop(some, "%keys", 1, lambda key: parts.put(e, zero, scores, (key, *places)))
        parts.put(e, top, "%top", (lane, 1))
        parts.put(e, total, "%sum", (lane, 1))
        parts.put(e, shrink, "%shrink", (lane, 1))

    def limits(self, e: Emitter, lane: str) -> str:
        """The number of the last key that each of 16 queries sees, as a vector."""
        limit = self.parts.spread(e, e.add("%limit", lane))
        return e.value(f"add {vector('i32')} {limit}, {self.parts.lane_numbers()}")

    def seen_by_all(self, e: Emitter, lane: str) -> str:
        """The number of keys that all of 16 queries see."""
        if not self.spec.causal:
            return "%keys"
        return e.most(e.least(e.add(e.add("%limit", lane), 1), "%keys"), 0)

    def seen_by_any(self, e: Emitter, lane: str) -> str:
        """The number of keys that any of 16 queries sees."""
        if not self.spec.causal:
            return "%keys"
        return e.most(e.least(e.add(e.add("%limit", lane), LANES), "%keys"), 0)

    def rescale(self, e: Emitter, lane: str, change) -> None:
        """Apply `change` to the weighted sums of 16 queries, in all columns of the values."""
        parts, columns = self.parts, self.tile.columns

        def one(row: str) -> None:
            place = (row, columns), (lane, 1)
            parts.put(e, change(parts.value_at(e, "%results", *place)), "%results", *place)

        e.loop(0, self.spec.value_width, 1, one)

    def write_close(self) -> None:
        """Define close(top, sum, results): divide by sums; top becomes log(sum(exp(scores)))."""
        parts = self.parts
        e = parts.start("close", *(("ptr", label) for label in ("top", "sum", "results")))

        def group(lane: str) -> None:
            a = parts.algebra(e)
            total = parts.value_at(e, "%sum", (lane, 1))
            divisor = a.select(a.equal(total, a.const(0.0)), a.const(1.0), total)
            self.rescale(e, lane, lambda value: a.div(value, divisor))
            top = parts.value_at(e, "%top", (lane, 1))
            parts.put(e, a.add(top, FUNCTIONS["log"](a, total)), "%top", (lane, 1))

        parts.each_group(e, group)
        e.ret()

    def kernel(self) -> None:
        """Write the kernel: each thread computes a run of query blocks, over heads and batches."""
        parts, spec = self.parts, self.spec
        e = self.e = parts.module.function(parts.name, KERNEL)
        per_pair = spec.group * spec.query_blocks
        low, high = part(e, spec.pairs * per_pair, "%thread", "%threads")

        def pair(number: str) -> None:
            done = e.mul(number, per_pair)
            self.pack_pair(number)
            first, last = e.most(e.sub(low, done), 0), e.least(e.sub(high, done), per_pair)
            e.loop(first, last, 1, lambda unit: self.one_block(number, unit))

        if per_pair and spec.pairs:
            last = e.value(f"udiv i64 {e.add(high, per_pair - 1)}, {per_pair}")
            some = e.value(f"icmp slt i64 {low}, {high}")
            last = e.value(f"select i1 {some}, i64 {last}, i64 0")
            e.loop(e.value(f"udiv i64 {low}, {per_pair}"), last, 1, pair)
        e.ret()

    def pack_pair(self, number: str) -> None:
        """Emit the packing of one head's keys and values into panels, block by block."""
        e, parts, spec = self.e, self.parts, self.spec
        batch, head = e.divided(number, spec.key_heads)
        k, v = parts.head(e, spec.k, batch, head), parts.head(e, spec.v, batch, head)

        def block(index: str) -> None:
            start = e.mul(index, BLOCK_KEYS)
            length = e.least(e.sub(str(spec.keys), start), BLOCK_KEYS)
            into = parts.skip(e, parts.at(e, "k"), (index, self.key_block))
            parts.pack(e, "lines_k", k, (0, 1), (start, length), into)
            into = parts.skip(e, parts.at(e, "v"), (index, self.value_block))
            parts.pack(e, "lines_v", v, (0, 1), (start, length), into)

        e.loop(0, spec.key_blocks, 1, block)

    def one_block(self, pair: str, unit: str) -> None:
        """Compute a block of queries against all blocks of keys that it sees."""
        e, parts, spec, columns = self.e, self.parts, self.spec, self.tile.columns
        batch, head = e.divided(pair, spec.key_heads)
        inner = e.value(f"udiv i64 {unit}, {spec.query_blocks}")
        head = e.add(e.mul(head, spec.group), inner)
        start, end = queries_of(e, parts.spec, parts.balanced(e, unit))
        count = e.sub(end, start)
        wide = e.value(f"udiv i64 {e.add(count, columns - 1)}, {columns}")
        q = parts.head(e, spec.q, batch, head)
        parts.pack(e, "pack_q", q, (start, wide), (0, spec.width), parts.at(e, "q"))
        parts.fill(e, parts.at(e, "results"), self.query_panels * self.result)
        self.begin()
        seen = keys_seen(e, parts.spec, end)
        masks = None if spec.mask is None else parts.head(e, spec.mask, batch, head)
        e.loop(0, seen, BLOCK_KEYS, lambda key: self.meet(key, seen, (start, wide), masks))
        self.store(batch, head, start, count)

    def begin(self) -> None:
        """Emit the initial maximum and sum of each query."""
        e, parts = self.e, self.parts
        a = parts.algebra(e)
        for lane in range(0, BLOCK_QUERIES, LANES):
            parts.put(e, a.const(-inf), parts.at(e, "top"), (lane, 1))
            parts.put(e, a.const(0.0), parts.at(e, "sum"), (lane, 1))

    def meet(self, key: str, seen: str, queries: tuple[str, str], masks: str | None) -> None:
        """Emit the scores, softmax and weighted values of one block of keys for all queries."""
        e, parts, spec, columns = self.e, self.parts, self.spec, self.tile.columns
        start, wide = queries
        block = e.value(f"udiv i64 {key}, {BLOCK_KEYS}")
        met = e.least(e.sub(seen, key), BLOCK_KEYS)
        k = parts.skip(e, parts.at(e, "k"), (block, self.key_block))
        v = parts.skip(e, parts.at(e, "v"), (block, self.value_block))
        limit = e.sub(e.add(start, spec.keys - spec.queries), key)
        scores = parts.at(e, "scores")
        mask = scores if masks is None else parts.at(e, "mask")
        shrink = parts.at(e, "shrink")

        def panel(index: str) -> None:
            q = parts.skip(e, parts.at(e, "q"), (index, self.query_panel))
            results = parts.skip(e, parts.at(e, "results"), (index, self.result))
            first = e.mul(index, columns)
            count = parts.keys_met(e, limit, first, met)
            if masks is not None:
                parts.pack(e, "pack_mask", masks, (e.add(start, first), 1), (key, count), mask)
            # softmax hides what is not counted of these
            seen = count
            if spec.causal:
                seen = e.most(e.least(e.add(e.add(limit, first), columns), count), 0)
            parts.multiply(e, (k, seen, spec.width), q, spec.width, scores)
            states = [parts.skip(e, parts.at(e, s), (first, 1)) for s in ("top", "sum")]
            parts.call(
                e, "softmax", ("ptr", scores), ("ptr", mask), *(("ptr", at) for at in states),
                ("ptr", shrink), ("i64", count), ("i64", e.add(limit, first)),
            )  # fmt: skip
            a = (v, spec.value_width, spec.value_width)
            parts.multiply(e, a, scores, count, results, "grow", shrink)

        e.loop(0, wide, 1, panel)

    def store(self, batch: str, head: str, start: str, count: str) -> None:
        """Emit the stores of the block's results, and of log(sum(exp)) for the gradient."""
        e, parts, spec, columns = self.e, self.parts, self.spec, self.tile.columns
        out = parts.skip(e, parts.head(e, spec.out, batch, head), (start, spec.out.row))
        lse = parts.lse(e, batch, head, start)

        def panel(first: str) -> None:
            index = e.value(f"udiv i64 {first}, {columns}")
            results = parts.skip(e, parts.at(e, "results"), (index, self.result))
            states = [parts.skip(e, parts.at(e, s), (first, 1)) for s in ("top", "sum")]
            parts.call(e, "close", *(("ptr", p) for p in (*states, results)))
            rows = e.least(e.sub(count, first), columns)
            target = parts.skip(e, out, (first, spec.out.row))
            parts.write_rows(e, "write_out", results, (target, spec.out.row), rows)

        def one(row: str) -> None:
            value = e.load(parts.skip(e, parts.at(e, "top"), (row, 1)), spec.scalar, parts.item)
            e.store(value, parts.skip(e, lse, (row, 1)), spec.scalar, parts.item)

        e.loop(0, count, columns, panel)
        e.loop(0, count, 1, one)
