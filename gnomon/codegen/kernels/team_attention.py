"""Attention forward by teams of threads: the order of attention.py, and so its bits.

Block by block of keys, the scores of a team's queries go to shared memory; in the softmax a thread
has a query, and four threads share its keys; the weighted values are a second product. A query's
sum is added by each of its four threads, key by key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from gnomon.codegen.emitter import LANES, literal
from gnomon.codegen.kernels.attention_parts import (
    BLOCK_KEYS,
    BLOCK_QUERIES,
    AttentionSpec,
    falling_exp,
)
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.kernels.staging import STEPS
from gnomon.codegen.kernels.team_parts import FLOAT, PARTS, QUERIES, ROW, WIDEST, TeamParts
from gnomon.codegen.kernels.tile_chain import is_tiled
from gnomon.codegen.kernels.units import Source, widened
from gnomon.codegen.machine import Machine
from gnomon.codegen.math import FUNCTIONS

__all__ = ["TeamAttention", "scores_of", "takes"]


def takes(spec: AttentionSpec, machine: Machine) -> bool:
    """Whether a machine's teams compute an attention region."""
    return is_tiled(machine) and spec.scalar == "float" and spec.value_width <= WIDEST


def scores_of(spec: AttentionSpec) -> MatmulSpec:
    """The product of a head's queries and keys."""
    q, k = spec.q, spec.k
    return MatmulSpec(
        spec.scalar,
        (),
        (Axis(spec.queries, a=q.row),),
        (Axis(spec.keys, b=k.row),),
        (Axis(spec.width, a=q.column, b=k.column),),
        narrow=(q.narrow, k.narrow),
    )


def mixture_of(spec: AttentionSpec) -> MatmulSpec:
    """The product of weights, which are in shared memory, and a head's values."""
    v = spec.v
    return MatmulSpec(
        spec.scalar,
        (),
        (Axis(spec.queries),),
        (Axis(spec.value_width, b=v.column),),
        (Axis(spec.keys, b=v.row),),
        narrow=("", v.narrow),
    )


class TeamAttention(TeamParts):
    """Writer of the forward kernel."""

    def write(self) -> int:
        """Write the kernel; it needs no scratch memory."""
        e, spec = self.e, self.spec
        self.scores, self.values = self.tile(scores_of(spec)), self.mixture(mixture_of(spec))
        self.share_memory(self.scores, self.values)
        groups = BLOCK_QUERIES // QUERIES * spec.query_blocks
        self.shares.tasks(
            e, spec.batch * spec.heads * groups, lambda n: self.unit(n, groups, self.group)
        )
        e.ret()
        return 0

    def group(self, batch: str, head: str, queries: tuple[str, str], seen: str) -> None:
        """Emit the attention of a group of queries to the keys that it sees."""
        e, spec, a = self.e, self.spec, self.algebra
        of_keys = e.value(f"udiv i64 {head}, {spec.group}")
        q, k, v = (
            self.head(operand, batch, which)
            for operand, which in ((spec.q, head), (spec.k, of_keys), (spec.v, of_keys))
        )
        mask = self.head(spec.mask, batch, head) if spec.mask else ""
        self.scores.bases = [q, k]
        start = queries[0]

        def block(key: str, top: str, total: str, *sums: str) -> list[str]:
            count = e.least(e.sub(seen, key), BLOCK_KEYS)
            self.scores.origin = start, key
            self.store_scores()
            limit = e.add(e.sub(e.add(start, spec.keys - spec.queries), key), self.query)
            places = self.mask_of(mask, queries, key) if spec.mask else None
            highest = self.highest(count, limit, places)
            old, top = top, a.maximum(top, highest)
            base = a.select(a.equal(top, a.const(-inf)), a.const(0.0), top)
            shrink = FUNCTIONS["exp"](a, a.sub(old, base))
            self.put_factor(shrink)
            self.weigh(base, count, limit)
            total = self.summed(a.mul(total, shrink), count)
            self.values.bases = [self.at_row(v, spec.v, key)]
            self.values.origin = ("0",)
            scaled = self.by_rows(sums, lambda x, factor: a.mul(x, factor))
            return [top, total, *self.values.over(count, scaled)]

        begun = [("float", literal(-inf)), ("float", literal(0.0)), *self.values.empty]
        top, total, *sums = e.loop(0, seen, BLOCK_KEYS, block, begun)
        none = a.equal(total, a.const(0.0))
        self.put_factor(a.select(none, a.const(1.0), total))
        self.team.meet()
        sums = self.by_rows(sums, lambda x, divisor: a.div(x, divisor))
        self.store(spec.out, self.head(spec.out, batch, head), queries, (self.values, sums))
        lse = a.add(top, FUNCTIONS["log"](a, total))
        self.store_lse(e.add(e.mul(batch, spec.heads), head), queries, lse)
        self.team.meet()

    # memory

    def place(self, key: str) -> str:
        """The address of the thread's query at a key of the tile of scores."""
        e = self.e
        row = e.mul(key, self.pitch)
        return e.offset(self.weights, e.add(row, e.mul(self.query, FLOAT)))

    def store_scores(self) -> None:
        """Emit the tile of scores, and its stores to shared memory."""
        tile = self.scores
        tile.begin()
        _, *sums = tile.chain("0", 1, "0", tile.empty)
        self.put_tile(tile, sums)
        self.team.meet()

    def mask_of(self, base: str, queries: tuple[str, str], key: str) -> Callable[[str], str]:
        """A function that loads the mask of the thread's query at a key of the block."""
        e, mask = self.e, self.spec.mask
        assert mask is not None
        source = Source(mask.narrow or self.spec.scalar)
        query = e.least(e.add(queries[0], self.query), e.sub(queries[1], 1))
        row = e.add(e.mul(query, mask.row), e.mul(key, mask.column))
        first = e.offset(base, e.mul(row, source.item))

        def at(key: str) -> str:
            place = e.offset(first, e.mul(e.mul(key, mask.column), source.item))
            return widened(e, source, e.load(place, source.memory, source.item), LANES)

        return at

    def put_factor(self, value: str) -> None:
        """Store a number of the thread's query, for the threads that have its sums."""
        e = self.e
        e.store(value, e.offset(self.factors, e.mul(self.query, FLOAT)), "float", FLOAT)

    def by_rows(self, sums: Sequence[str], change: Callable[[str, str], str]) -> list[str]:
        """Change sums by the numbers of their queries."""
        e, tile = self.e, self.values
        first = e.offset(self.factors, e.mul(tile.corner[0], FLOAT))
        factors = [e.load(e.offset(first, i * FLOAT), "float", FLOAT) for i in range(tile.high)]
        return [change(x, factors[number // tile.wide]) for number, x in enumerate(sums)]

    # softmax

    def highest(self, count: str, limit: str, mask: Callable[[str], str] | None) -> str:
        """The highest score of the thread's query in a block, scaled and masked.

        A score that is NaN may be passed over: its weight will be NaN.
        """
        e, a, spec = self.e, self.algebra, self.spec

        def one(key: str, top: str) -> list[str]:
            score = e.load(self.place(key), "float", FLOAT)
            if mask:
                score = a.fma(score, a.const(spec.scale), mask(key))
                e.store(score, self.place(key), "float", FLOAT)
            if spec.causal:
                seen = e.value(f"icmp sle i64 {key}, {limit}")
                score = a.select(seen, score, a.const(-inf))
            return [a.select(a.less(top, score), score, top)]

        (own,) = e.loop(self.part, count, PARTS, one, [("float", literal(-inf))])
        first = e.offset(self.rows, e.mul(self.query, FLOAT))
        e.store(own, e.offset(first, e.mul(self.part, ROW)), "float", FLOAT)
        self.team.meet()
        top, *others = [e.load(e.offset(first, k * ROW), "float", FLOAT) for k in range(PARTS)]
        for other in others:
            top = a.select(a.less(top, other), other, top)
        return top if mask else a.mul(top, a.const(spec.scale))

    def whole(self, count: str) -> str:
        """A number of keys rounded up to whole buffers, as far as which weights are zeros."""
        return self.e.value(f"and i64 {self.e.add(count, STEPS - 1)}, {-STEPS}")

    def weigh(self, base: str, count: str, limit: str) -> None:
        """Emit the weights of the thread's keys, over their scores."""
        e, a, spec = self.e, self.algebra, self.spec
        last = e.sub(count, 1)
        last = e.least(last, limit) if spec.causal else last

        def one(key: str) -> None:
            score = e.load(self.place(key), "float", FLOAT)
            if spec.mask is not None:
                weight = falling_exp(a, a.sub(score, base))
            else:
                weight = falling_exp(a, a.fma(score, a.const(spec.scale), a.neg(base)))
            seen = e.value(f"icmp sle i64 {key}, {last}")
            e.store(a.select(seen, weight, a.const(0.0)), self.place(key), "float", FLOAT)

        e.loop(self.part, self.whole(count), PARTS, one)
        self.team.meet()

    def summed(self, total: str, count: str) -> str:
        """The sum of the weights of the thread's query, added to another, key by key."""
        e, a = self.e, self.algebra

        def some(key: str, total: str) -> list[str]:
            for k in range(PARTS):
                total = a.add(total, e.load(self.place(e.add(key, k)), "float", FLOAT))
            return [total]

        return e.loop(0, self.whole(count), PARTS, some, [("float", total)])[0]

    # results

    def store_lse(self, head: str, queries: tuple[str, str], value: str) -> None:
        """Store log(sum(exp(scores))) of the thread's query."""
        e, spec = self.e, self.spec
        query = e.add(queries[0], self.query)
        there = e.value(f"icmp slt i64 {query}, {queries[1]}")
        first = e.value(f"icmp eq i64 {self.part}, 0")
        place = e.add(e.mul(head, spec.queries), query)

        def put() -> None:
            e.store(value, e.offset(e.buffer(spec.lse), e.mul(place, FLOAT)), "float", FLOAT)

        e.when(e.value(f"and i1 {there}, {first}"), put)
