"""The gradient of attention by teams of threads: the order of attention_grad.py, and so its bits.

A team has 32 queries of a head and computes their dQ, or 32 keys and computes their dK and dV; both
compute scores and dP of a tile anew. P and dS are made in registers, where a thread's scores are,
and go to shared memory as the left factor of the product that follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

from gnomon.codegen.emitter import LANES, LLVMModule
from gnomon.codegen.kernels.attention_parts import (
    BLOCK_KEYS,
    AttentionSpec,
    Operand,
    falling_exp,
    keys_seen,
    queries_of,
)
from gnomon.codegen.kernels.attention_slopes import VIRTUAL_LANES, AttentionGradSpec
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.kernels.sum_stack import SumStack, deepest
from gnomon.codegen.kernels.tally import additions
from gnomon.codegen.kernels.team_attention import scores_of, takes
from gnomon.codegen.kernels.team_parts import FLOAT, QUERIES, WIDEST, MixtureChain, TeamParts
from gnomon.codegen.kernels.tile_chain import TileChain
from gnomon.codegen.kernels.units import Source, widened
from gnomon.codegen.machine import Machine
from gnomon.codegen.shares import TEAM

__all__ = ["TeamAttentionGrad", "takes_grad"]

KEYS = QUERIES
"""Keys of a team."""


def takes_grad(spec: AttentionSpec, machine: Machine) -> bool:
    """Whether a machine's teams compute the gradient of an attention region."""
    return takes(spec, machine) and spec.width <= WIDEST


def product_of(
    rows: tuple[int, Operand | None, int], columns: tuple[int, Operand, int], steps: int
) -> MatmulSpec:
    """The product of two operands, each with its number of rows and its strides.

    The last number of each is 1 where the operand's columns are the steps of the sums, and 0 where
    its rows are.
    """
    (high, a, by_column), (wide, b, across) = rows, columns
    left, down = (a.row, a.column) if a else (0, 0)
    left, down = (left, down) if by_column else (down, left)
    right, along = (b.row, b.column) if across else (b.column, b.row)
    narrow = (a.narrow if a else "", b.narrow)
    return MatmulSpec(
        "float",
        (),
        (Axis(high, a=left),),
        (Axis(wide, b=right),),
        (Axis(steps, a=down, b=along),),
        narrow=narrow,
    )


class TeamAttentionGrad(TeamParts):
    """Writer of the gradient kernel."""

    def __init__(
        self, module: LLVMModule, name: str, grads: AttentionGradSpec, machine: Machine
    ) -> None:
        super().__init__(module, name, grads.forward, machine)
        self.grads, spec, dout = grads, grads.forward, grads.dout
        queries, keys, values = spec.queries, spec.keys, spec.value_width
        # tiles of queries by keys for dQ, of keys by queries for dK and dV
        self.scores = self.tile(scores_of(spec))
        self.slopes = self.tile(product_of((queries, dout, 1), (keys, spec.v, 1), values))
        self.scores_by_keys = self.tile(
            product_of((keys, spec.k, 1), (queries, spec.q, 1), spec.width)
        )
        self.slopes_by_keys = self.tile(product_of((keys, spec.v, 1), (queries, dout, 1), values))
        self.dq = self.mixture(product_of((queries, None, 0), (spec.width, spec.k, 0), keys))
        self.dk = self.mixture(product_of((keys, None, 0), (spec.width, spec.q, 0), queries))
        self.dv = self.mixture(product_of((keys, None, 0), (values, dout, 0), queries))
        self.letters = [(spec.group, spec.leaves[0]), (queries, spec.leaves[1])]

    def write(self) -> int:
        """Write the kernel; the bytes of scratch that a team needs."""
        e, spec = self.e, self.spec
        chains = self.scores, self.slopes, self.scores_by_keys, self.slopes_by_keys
        self.share_memory(*chains, self.dq, self.dk, self.dv)
        number = self.dk.high * (self.dk.wide + self.dv.wide)
        self.stack = SumStack(e, self.team, "float", number)
        groups = self.groups
        first = spec.batch * spec.heads * groups
        panels = -(-spec.keys // KEYS)

        def unit(number: str) -> None:
            of_queries = e.value(f"icmp slt i64 {number}, {first}")
            e.either(
                of_queries,
                lambda: self.unit(number, groups, self.query_group),
                lambda: self.key_panel(e.sub(number, str(first)), panels),
            )
            self.team.meet()

        self.shares.tasks(e, first + spec.pairs * panels, unit)
        e.ret()
        return self.stack.slot_bytes * deepest(self.letters)

    # P and dS

    def deltas(self, dout: str, out: str, count: str) -> None:
        """Emit the sums of dO * O in rows from these addresses on; a vector of threads has a row.

        Products are in 64 virtual lanes by their number, and lanes are added by halves.
        """
        e, a, spec = self.e, self.algebra, self.spec
        rounds = -(-spec.value_width // VIRTUAL_LANES)

        def product(row: str, column: int) -> str:
            at = e.add("%lane", column)
            exists = e.value(f"icmp slt i64 {at}, {spec.value_width}")
            at = e.least(at, e.sub(str(spec.value_width), 1))
            values = [
                self.value(operand, base, row, at)
                for operand, base in ((self.grads.dout, dout), (spec.out, out))
            ]
            return a.select(exists, a.mul(*values), a.const(-0.0))

        def one(row: str) -> None:
            lanes = [product(row, k) for k in range(0, VIRTUAL_LANES, LANES)]
            for number in range(1, rounds):
                for k in range(len(lanes)):
                    more = product(row, number * VIRTUAL_LANES + k * LANES)
                    lanes[k] = a.add(lanes[k], more)
            total = a.add(a.add(lanes[0], lanes[2]), a.add(lanes[1], lanes[3]))
            for half in (8, 4, 2, 1):
                order = [k ^ half for k in range(LANES)]
                total = a.add(total, e.shuffle(total, total, order, spec.scalar))
            e.store(total, e.offset(self.rows, e.mul(row, FLOAT)), "float", FLOAT)

        e.loop(self.team.member, count, TEAM, one)
        self.team.meet()

    def value(self, operand: Operand, base: str, row: str, column: str) -> str:
        """Load a value of a head, as a float."""
        e, source = self.e, Source(operand.narrow or self.spec.scalar)
        place = e.add(e.mul(row, operand.row), e.mul(column, operand.column))
        loaded = e.load(e.offset(base, e.mul(place, source.item)), source.memory, source.item)
        return widened(e, source, loaded, LANES)

    def sums_of(self, head: str, start: str, query: str) -> tuple[str, str]:
        """The logarithm of a query's sum and its delta; its number is from a block's first on."""
        e = self.e
        at = e.least(e.add(start, query), e.sub(str(self.spec.queries), 1))
        place = e.mul(e.add(e.mul(head, self.spec.queries), at), FLOAT)
        lse = e.load(e.offset(e.buffer(self.spec.lse), place), "float", FLOAT)
        return lse, e.load(e.offset(self.rows, e.mul(query, FLOAT)), "float", FLOAT)

    def probabilities(
        self, score: str, slope: str, sums: tuple[str, str], mask: str | None
    ) -> tuple[str, str]:
        """P and dS of a query and a key."""
        a, (lse, delta) = self.algebra, sums
        scale, less = a.const(self.spec.scale), a.neg(lse)
        if mask is None:
            weight = falling_exp(a, a.fma(score, scale, less))
        else:
            score = a.fma(score, scale, mask)
            weight = falling_exp(a, a.add(score, less))
            weight = a.select(a.equal(score, a.const(-inf)), a.const(0.0), weight)
        return weight, a.mul(a.mul(weight, a.sub(slope, delta)), scale)

    def mask_at(self, base: str, query: str, key: str) -> str | None:
        """The mask of a query and a key; those past the end have the last one's."""
        if self.spec.mask is None:
            return None
        e, spec = self.e, self.spec
        bounds = (query, spec.queries), (key, spec.keys)
        query, key = (e.least(at, e.sub(str(size), 1)) for at, size in bounds)
        return self.value(spec.mask, base, query, key)

    def shown(self, value: str, *conditions: str) -> str:
        """A value where all conditions hold, else zero."""
        a = self.algebra
        for condition in conditions:
            value = a.select(condition, value, a.const(0.0))
        return value

    # dQ

    def query_group(self, batch: str, head: str, queries: tuple[str, str], seen: str) -> None:
        """Emit dQ of a group of queries, one chain over the keys that it sees."""
        e, spec, grads, (start, end) = self.e, self.spec, self.grads, queries
        of_keys = e.value(f"udiv i64 {head}, {spec.group}")
        q, dout, out = (self.head(x, batch, head) for x in (spec.q, grads.dout, spec.out))
        k, v = (self.head(x, batch, of_keys) for x in (spec.k, spec.v))
        mask = self.head(spec.mask, batch, head) if spec.mask else ""
        rows = [self.at_row(x, at, start) for x, at in ((dout, grads.dout), (out, spec.out))]
        self.deltas(*rows, e.sub(end, start))
        self.scores.bases, self.slopes.bases = [q, k], [dout, v]
        flat = e.add(e.mul(batch, spec.heads), head)
        own = [e.add(self.scores.corner[0], i) for i in range(self.scores.high)]
        sums_of = [self.sums_of(flat, start, query) for query in own]

        def block(key: str, *sums: str) -> list[str]:
            last = e.least(e.sub(e.sub(seen, key), 1), BLOCK_KEYS - 1)
            limit = e.sub(e.add(start, spec.keys - spec.queries), key)

            def slope(i: int, j: int, score: str, slope: str) -> str:
                at = e.add("%lane", j * LANES)
                hidden = self.mask_at(mask, e.add(start, own[i]), e.add(key, at))
                _, made = self.probabilities(score, slope, sums_of[i], hidden)
                there = e.value(f"icmp sle i64 {at}, {last}")
                if not spec.causal:
                    return self.shown(made, there)
                sees = e.value(f"icmp sle i64 {at}, {e.add(limit, own[i])}")
                return self.shown(made, there, sees)

            pairs = self.both(self.scores, self.slopes, (start, key))
            self.put_tile(self.scores, [slope(i, j, *pair) for i, j, pair in pairs])
            self.team.meet()
            self.dq.bases, self.dq.origin = [self.at_row(k, spec.k, key)], ("0",)
            return self.dq.over(e.add(last, 1), sums)

        sums = e.loop(0, seen, BLOCK_KEYS, block, self.dq.empty)
        self.store(grads.dq, self.head(grads.dq, batch, head), queries, (self.dq, sums))

    def both(
        self, scores: TileChain, slopes: TileChain, origin: tuple[str, str]
    ) -> list[tuple[int, int, tuple[str, str]]]:
        """Emit a tile of scores and one of dP; the thread's pairs, with row and vector."""
        found = []
        for chain in (scores, slopes):
            chain.origin = origin
            chain.begin()
            found.append(chain.chain("0", 1, "0", chain.empty)[1:])
        pairs = enumerate(zip(*found, strict=True))
        return [(*divmod(number, scores.wide), pair) for number, pair in pairs]

    # dK and dV

    def key_panel(self, number: str, panels: int) -> None:
        """Emit dK and dV of a panel of keys, over all heads of queries and their leaves."""
        e, spec, grads, leaves = self.e, self.spec, self.grads, self.spec.leaves[1]
        pair, panel = e.divided(number, panels)
        batch, head = e.divided(pair, spec.key_heads)
        key = e.mul(panel, KEYS)
        k, v = (self.head(x, batch, head) for x in (spec.k, spec.v))

        def leaf(index: str, depth: str) -> list[str]:
            inner, inside = e.divided(index, leaves)
            of_queries = e.add(e.mul(head, spec.group), inner)
            first = e.mul(inside, spec.blocks_per_leaf)
            block = partial(self.key_block, (batch, of_queries), (k, v), key)
            empty = [*self.dv.empty, *self.dk.empty]
            sums = e.loop(first, e.add(first, spec.blocks_per_leaf), 1, block, empty)
            pops = additions(e, self.letters, index)
            self.stack.keep(self.stack.add_older(sums, "0", (depth, pops)), e.sub(depth, pops))
            return [e.add(e.sub(depth, pops), 1)]

        e.loop(0, spec.group * leaves, 1, leaf, [("i64", "0")])
        slot, most = self.stack.slot("0"), e.least(e.add(key, KEYS), str(spec.keys))
        count = self.dv.high * self.dv.wide
        numbers = range(count), range(count, count + self.dk.high * self.dk.wide)
        for operand, chain, part in zip(
            (grads.dv, grads.dk), (self.dv, self.dk), numbers, strict=True
        ):
            sums = [self.stack.load(slot, at) for at in part]
            self.store(operand, self.head(operand, batch, head), (key, most), (chain, sums))

    def key_block(
        self, where: tuple[str, str], bases: tuple[str, str], key: str, block: str, *sums: str
    ) -> list[str]:
        """Add a block of queries to dV and dK, if some query of it sees one of the keys."""
        e, spec = self.e, self.spec
        start, end = queries_of(e, spec, block)
        seen = keys_seen(e, spec, end)
        sees = e.value(f"zext i1 {e.value(f'icmp slt i64 {key}, {seen}')} to i64")
        carried = [("float", value) for value in sums]

        def some(_: str, *sums: str) -> list[str]:
            return self.gathered(where, bases, key, (start, end), sums)

        return e.loop(0, sees, 1, some, carried)

    def gathered(
        self,
        where: tuple[str, str],
        bases: tuple[str, str],
        key: str,
        queries: tuple[str, str],
        sums: Sequence[str],
    ) -> list[str]:
        """Emit P and dS of a panel of keys and a block of queries, and add to dV and dK."""
        e, spec, grads, (start, end) = self.e, self.spec, self.grads, queries
        batch, head = where
        q, dout, out = (self.head(x, batch, head) for x in (spec.q, grads.dout, spec.out))
        mask = self.head(spec.mask, batch, head) if spec.mask else ""
        count = e.sub(end, start)
        self.deltas(self.at_row(dout, grads.dout, start), self.at_row(out, spec.out, start), count)
        limit = e.sub(e.add(start, spec.keys - spec.queries), key)
        first = "0"
        if spec.causal:
            first = e.most(e.value(f"and i64 {e.sub('0', limit)}, {-QUERIES}"), 0)
        self.scores_by_keys.bases, self.slopes_by_keys.bases = [bases[0], q], [bases[1], dout]
        made = self.both(self.scores_by_keys, self.slopes_by_keys, (key, start))
        flat = e.add(e.mul(batch, spec.heads), head)
        own = [e.add("%lane", j * LANES) for j in range(self.scores_by_keys.wide)]
        sums_of = [self.sums_of(flat, start, query) for query in own]
        weights, slopes = [], []
        for i, j, (score, slope) in made:
            at = e.add(self.scores_by_keys.corner[0], i)
            hidden = self.mask_at(mask, e.add(start, own[j]), e.add(key, at))
            conditions = [e.value(f"icmp slt i64 {own[j]}, {count}")]
            if spec.causal:
                conditions.append(e.value(f"icmp sle i64 {at}, {e.add(limit, own[j])}"))
            pair = self.probabilities(score, slope, sums_of[j], hidden)
            for value, values in zip(pair, (weights, slopes), strict=True):
                values.append(self.shown(value, *conditions))
        half = self.dv.high * self.dv.wide
        steps = first, e.sub(count, first)
        row = e.add(start, first)
        dv = self.mixed(self.dv, weights, self.at_row(dout, grads.dout, row), steps, sums[:half])
        dk = self.mixed(self.dk, slopes, self.at_row(q, spec.q, row), steps, sums[half:])
        return [*dv, *dk]

    def mixed(
        self,
        chain: MixtureChain,
        tile: Sequence[str],
        base: str,
        steps: tuple[str, str],
        sums: Sequence[str],
    ) -> list[str]:
        """Emit a chain over some rows of a tile, from the first on, after these sums."""
        self.put_tile(self.scores_by_keys, tile)
        self.team.meet()
        chain.weights = self.e.offset(self.weights, self.e.mul(steps[0], self.pitch))
        chain.bases, chain.origin = [base], ("0",)
        return chain.over(steps[1], sums)
