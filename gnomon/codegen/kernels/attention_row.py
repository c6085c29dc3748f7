"""Attention of one query: keys and values are read once, unpacked.

The same order as attention.py, and so the same bits. Keys are lanes while scores are counted: rows
of keys are transposed in registers, many chains side by side. Values are added row by row, columns
in lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf

from gnomon.codegen.emitter import KERNEL, LANES, Emitter, LLVMModule, literal, mask, splat, vector
from gnomon.codegen.kernels.attention_parts import BLOCK_KEYS, AttentionSpec, Operand, Parts
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.kernels.transposing import BLOCK, halves, read_turned
from gnomon.codegen.kernels.units import widened
from gnomon.codegen.machine import Machine
from gnomon.codegen.math import FUNCTIONS

TOGETHER = 32
"""Keys whose chains go on side by side."""
WIDE = 64
"""Columns of values whose sums stay in registers."""
LINE = 64
"""Bytes of a line of memory."""


def is_row(spec: AttentionSpec) -> bool:
    """Whether there is one query, and a head's values are contiguous in memory."""
    return spec.queries == 1 and spec.k.column == spec.v.column == 1


def emit_row(module: LLVMModule, name: str, spec: AttentionSpec, machine: Machine) -> int:
    """Define kernel `name`, which writes out and lse; gives the bytes of scratch per thread."""
    return AttentionRowWriter(Parts(module, name, spec, machine)).write()


class AttentionRowWriter:
    """Writes the kernel."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.spec, self.scalar = parts, parts.spec, parts.spec.scalar

    def write(self) -> int:
        """Write the kernel; the bytes of scratch per thread."""
        parts, spec = self.parts, self.spec
        parts.reserve("q", spec.width)
        parts.reserve("few", TOGETHER * spec.width)
        parts.reserve("scores", BLOCK_KEYS)
        parts.reserve("mask", BLOCK_KEYS)
        parts.reserve("results", spec.value_width)
        parts.filler()
        self.write_scores("scores", spec.k)
        self.write_scores("few_scores", replace(spec.k, row=spec.width, narrow=""))
        self.write_gather()
        self.kernel()
        return parts.bytes

    # scores

    def write_scores(self, name: str, k: Operand) -> None:
        """name(q, keys, scores): the products of some keys with q."""
        parts, spec, side = self.parts, self.spec, BLOCK[self.scalar]
        e = parts.start(name, ("ptr", "q"), ("ptr", "keys"), ("ptr", "scores"))
        kind, groups = vector(self.scalar, side), range(0, TOGETHER, side)
        line, wide = LINE // parts.source(k).item, side * (2 if k.narrow else 1)
        state = [splat(-0.0, self.scalar, side)] * len(groups)
        done = 0
        for step, body in ((line, self.line), (wide, self.square), (1, self.column)):
            end = spec.width // step * step
            first = [(kind, value) for value in state]
            state = e.loop(done, end, step, partial(body, e, k), first)
            done = end
        for group, value in zip(groups, state, strict=True):
            e.store(value, parts.skip(e, "%scores", (group, 1)), kind, parts.item)
        e.ret()

    def line(self, e: Emitter, k: Operand, first: str, *sums: str) -> list[str]:
        """Emit the products along a cache line of each key; gives the sums. Prefetches more."""
        parts, item = self.parts, self.parts.source(k).item
        wide = BLOCK[self.scalar] * (2 if k.narrow else 1)
        for number in range(TOGETHER):
            steps = (first, 1), (TOGETHER + number, k.row)
            e.prefetch(parts.skip(e, "%keys", *steps, item=item))
        for start in range(0, LINE // item, wide):
            sums = tuple(self.square(e, k, e.add(first, start), *sums))
        return list(sums)

    def square(self, e: Emitter, k: Operand, first: str, *sums: str) -> list[str]:
        """Emit several steps of all chains from vectors transposed in registers; gives the sums."""
        parts, side, made = self.parts, BLOCK[self.scalar], []
        item = parts.source(k).item
        here = parts.skip(e, "%keys", (first, 1), item=item)
        for number, total in enumerate(sums):
            places = range(number * side, (number + 1) * side)
            rows = [parts.skip(e, here, (place, k.row), item=item) for place in places]
            columns = read_turned(e, "i32" if k.narrow else self.scalar, rows, item)
            if k.narrow:
                columns = [x for pair in columns for x in halves(e, pair, side)]
            for place, column in enumerate(columns):
                total = self.step(e, column, e.add(first, place), total)
            made.append(total)
        return made

    def column(self, e: Emitter, k: Operand, place: str, *sums: str) -> list[str]:
        """Emit one step of all chains, with lanes loaded one by one; gives the sums."""
        parts, side, made = self.parts, BLOCK[self.scalar], []
        source = parts.source(k)
        kind = vector(source.memory, side)
        for number, total in enumerate(sums):
            value = "poison"
            for lane in range(side):
                steps = (number * side + lane, k.row), (place, 1)
                at = parts.skip(e, "%keys", *steps, item=source.item)
                one = e.load(at, source.memory, source.item)
                value = e.value(f"insertelement {kind} {value}, {source.memory} {one}, i32 {lane}")
            made.append(self.step(e, widened(e, source, value, side), place, total))
        return made

    def step(self, e: Emitter, column: str, place: str, total: str) -> str:
        """total + the products of one value of q with a vector of keys."""
        side = BLOCK[self.scalar]
        q = e.load(self.parts.skip(e, "%q", (place, 1)), self.scalar, self.parts.item)
        return e.fma(e.broadcast(q, self.scalar, side), column, total, self.scalar, side)

    def fill_scores(self, e: Emitter, keys: str, count: str) -> None:
        """Emit the scores of a block: many keys at a time; the last keys are copied first."""
        parts, row, item = self.parts, self.spec.k.row, self.parts.source(self.spec.k).item
        q, scores, few = (parts.at(e, label) for label in ("q", "scores", "few"))
        whole = e.value(f"and i64 {count}, {-TOGETHER}")

        def some(key: str) -> None:
            some_keys = parts.skip(e, keys, (key, row), item=item)
            places = (q, some_keys, parts.skip(e, scores, (key, 1)))
            parts.call(e, "scores", *(("ptr", place) for place in places))

        def rest() -> None:
            last = parts.skip(e, keys, (whole, row), item=item)
            self.copy_rows(e, last, few, e.sub(count, whole))
            places = (q, few, parts.skip(e, scores, (whole, 1)))
            parts.call(e, "few_scores", *(("ptr", place) for place in places))

        e.loop(0, whole, TOGETHER, some)
        e.when(e.value(f"icmp slt i64 {whole}, {count}"), rest)

    def copy_rows(self, e: Emitter, keys: str, goal: str, count: str) -> None:
        """Copy a few rows of keys."""
        parts, spec = self.parts, self.spec
        source = parts.source(spec.k)

        def one(row: str, place: str) -> None:
            at = parts.skip(e, keys, (row, spec.k.row), (place, 1), item=source.item)
            value = widened(e, source, e.load(at, vector(source.memory, 1), source.item), 1)
            goal_at = parts.skip(e, goal, (row, spec.width), (place, 1))
            e.store(value, goal_at, vector(self.scalar, 1), parts.item)

        e.loop(0, count, 1, lambda row: e.loop(0, spec.width, 1, partial(one, row)))

    def copy_line(self, e: Emitter, source: str, step: int, goal: str, count: str | int) -> None:
        """Emit a copy of `count` values that are `step` values apart, side by side."""
        parts = self.parts

        def one(place: str) -> None:
            value = e.load(parts.skip(e, source, (place, step)), self.scalar, parts.item)
            e.store(value, parts.skip(e, goal, (place, 1)), self.scalar, parts.item)

        e.loop(0, count, 1, one)

    # softmax

    def each_key(
        self, e: Emitter, count: str, body: Callable, state: Sequence[tuple[str, str]] = ()
    ) -> list[str]:
        """Emit a loop over a block's keys in groups of 16; gives the final state."""
        parts = self.parts

        def some(key: str, *values: str) -> list[str] | None:
            left = parts.spread(e, e.sub(count, key))
            there = e.value(f"icmp slt {vector('i32')} {parts.lane_numbers()}, {left}")
            return body(key, there, *values)

        return e.loop(0, count, LANES, some, state)

    def soften(self, e: Emitter, count: str, top: str, total: str) -> tuple[str, str, str]:
        """Emit a block's softmax weights; gives the maximum, the sum and older sums' factor."""
        parts, spec, a = self.parts, self.spec, self.parts.algebra(e)
        kind, scale, never = vector(self.scalar), a.const(spec.scale), a.const(-inf)
        scores, masked = parts.at(e, "scores"), spec.mask is not None

        def larger(key: str, there: str, highest: str) -> list[str]:
            score = parts.value_at(e, scores, (key, 1))
            if masked:
                score = a.fma(score, scale, parts.value_at(e, parts.at(e, "mask"), (key, 1)))
                parts.put(e, score, scores, (key, 1))
            score = a.select(there, score, never)
            return [a.select(a.less(highest, score), score, highest)]

        (highest,) = self.each_key(e, count, larger, [(kind, never)])
        for half in (8, 4, 2, 1):
            order = [*range(half, LANES), *range(half)]
            other = e.shuffle(highest, highest, order, self.scalar)
            highest = a.select(a.less(highest, other), other, highest)
        new = a.maximum(top, highest if masked else a.mul(highest, scale))
        base = a.select(a.equal(new, never), a.const(0.0), new)
        shrink = FUNCTIONS["exp"](a, a.sub(top, base))

        def weigh(key: str, _there: str) -> None:
            score = parts.value_at(e, scores, (key, 1))
            less = a.sub(score, base) if masked else a.fma(score, scale, a.neg(base))
            parts.put(e, FUNCTIONS["exp"](a, less), scores, (key, 1))

        self.each_key(e, count, weigh)
        return new, shrink, self.added(e, count, a.mul(total, shrink))

    def added(self, e: Emitter, count: str, total: str) -> str:
        """The sum of a block's weights added to `total` in order, in every lane."""
        parts, kind = self.parts, vector(self.scalar)
        scores = parts.at(e, "scores")

        def one(key: str, total: str) -> list[str]:
            weight = e.load(parts.skip(e, scores, (key, 1)), self.scalar, parts.item)
            return [e.value(f"fadd {self.scalar} {total}, {weight}")]

        first = e.value(f"extractelement {kind} {total}, i32 0")
        (last,) = e.loop(0, count, 1, one, [(self.scalar, first)])
        return e.broadcast(last, self.scalar)

    # values

    def write_gather(self) -> None:
        """Write gather(values, weights, results, shrink, count): scale results, add a block."""
        parts, width = self.parts, self.spec.value_width
        pointers = [("ptr", label) for label in ("values", "weights", "results")]
        e = parts.start("gather", *pointers, (self.scalar, "shrink"), ("i64", "count"))
        shrink = e.broadcast("%shrink", self.scalar)
        whole, most = width // WIDE * WIDE, width // LANES * LANES
        e.loop(0, whole, WIDE, partial(self.gather, e, shrink, WIDE // LANES, None))
        e.loop(whole, most, LANES, partial(self.gather, e, shrink, 1, None))
        left = mask(width - most)
        e.loop(most, width, LANES, partial(self.gather, e, shrink, 1, left))
        e.ret()

    def gather(self, e: Emitter, shrink: str, wide: int, on: str | None, column: str) -> None:
        """Add the weighted values of all keys to some columns; `on` masks lanes past the end."""
        parts, kind, v = self.parts, vector(self.scalar), self.spec.v
        source, lanes = parts.source(v), range(0, wide * LANES, LANES)
        places = [parts.skip(e, "%results", (column, 1), (lane, 1)) for lane in lanes]
        sums = [e.value(f"fmul {kind} {e.load(at, kind, parts.item)}, {shrink}") for at in places]

        def one(key: str, *sums: str) -> list[str]:
            weight = e.load(parts.skip(e, "%weights", (key, 1)), self.scalar, parts.item)
            weight = e.broadcast(weight, self.scalar)
            row = parts.skip(e, "%values", (key, v.row), (column, 1), item=source.item)
            made = []
            for lane, total in zip(lanes, sums, strict=True):
                at, memory = parts.skip(e, row, (lane, 1), item=source.item), source.memory
                value = (
                    e.load_masked(at, on, memory) if on else e.load(at, vector(memory), source.item)
                )
                value = widened(e, source, value, LANES)
                made.append(e.fma(weight, value, total, self.scalar))
            return made

        for at, total in zip(
            places, e.loop(0, "%count", 1, one, [(kind, x) for x in sums]), strict=True
        ):
            e.store(total, at, kind, parts.item)

    # the kernel

    def kernel(self) -> None:
        """Each thread takes a run of heads."""
        spec = self.spec
        e = self.e = self.parts.module.function(self.parts.name, KERNEL)
        low, high = part(e, spec.batch * spec.heads, "%thread", "%threads")
        e.loop(low, high, 1, self.one_head)
        e.ret()

    def one_head(self, number: str) -> None:
        """Emit the attention of one query head over all its keys."""
        e, parts, spec = self.e, self.parts, self.spec
        batch, head = e.divided(number, spec.heads)
        shared = e.value(f"udiv i64 {head}, {spec.group}")
        self.copy_line(
            e, parts.head(e, spec.q, batch, head), spec.q.column, parts.at(e, "q"), spec.width
        )
        padded = -(-spec.value_width // LANES) * LANES
        parts.fill(e, parts.at(e, "results"), padded)
        k, v = parts.head(e, spec.k, batch, shared), parts.head(e, spec.v, batch, shared)
        masks = None if spec.mask is None else parts.head(e, spec.mask, batch, head)
        a, kind = parts.algebra(e), vector(self.scalar)
        start = [(kind, a.const(-inf)), (kind, a.const(0.0))]
        body = partial(self.block, k, v, masks)
        top, total = e.loop(0, spec.keys, BLOCK_KEYS, body, start)
        self.close(batch, head, top, total)

    def block(self, k: str, v: str, masks: str | None, key: str, top: str, total: str) -> list[str]:
        """Emit the work on a block of keys, which is skipped if the mask hides it whole."""
        e, parts, spec, kind = self.e, self.parts, self.spec, vector(self.scalar)
        count = e.least(e.sub(str(spec.keys), key), BLOCK_KEYS)
        meet = partial(self.meet, (k, v), key, count)
        if masks is None or spec.mask is None:
            return meet("0", top, total)
        step, mask = spec.mask.column, parts.at(e, "mask")
        self.copy_line(e, parts.skip(e, masks, (key, step)), step, mask, count)

        def look(place: str, seen: str) -> list[str]:
            value = e.load(parts.skip(e, mask, (place, 1)), self.scalar, parts.item)
            never = literal(-inf, self.scalar)
            there = e.value(f"fcmp une {self.scalar} {value}, {never}")
            return [e.value(f"select i1 {there}, i64 1, i64 {seen}")]

        (seen,) = e.loop(0, count, 1, look, [("i64", "0")])
        return e.loop(0, seen, 1, meet, [(kind, top), (kind, total)])

    def meet(
        self, keys_values: tuple[str, str], key: str, count: str, _: str, top: str, total: str
    ) -> list[str]:
        """Emit the work on a block of keys of which the query sees at least one."""
        e, parts, spec = self.e, self.parts, self.spec
        here, values = (
            parts.skip(e, base, (key, x.row), item=parts.source(x).item)
            for base, x in zip(keys_values, (spec.k, spec.v), strict=True)
        )
        self.fill_scores(e, here, count)
        top, shrink, total = self.soften(e, count, top, total)
        first = e.value(f"extractelement {vector(self.scalar)} {shrink}, i32 0")
        pointers = (values, parts.at(e, "scores"), parts.at(e, "results"))
        parts.call(
            e, "gather", *(("ptr", p) for p in pointers), (self.scalar, first), ("i64", count)
        )
        return [top, total]

    def close(self, batch: str, head: str, top: str, total: str) -> None:
        """Emit the stores of the results and of log(sum(exp)) for a gradient."""
        e, parts, spec = self.e, self.parts, self.spec
        a, results = parts.algebra(e), parts.at(e, "results")
        divisor = a.select(a.equal(total, a.const(0.0)), a.const(1.0), total)

        def one(column: str) -> None:
            value = parts.value_at(e, results, (column, 1))
            parts.put(e, a.add(a.div(value, divisor), a.const(0.0)), results, (column, 1))

        e.loop(0, spec.value_width, LANES, one)
        self.write_line(results, parts.head(e, spec.out, batch, head), spec.out)
        lse = e.buffer(spec.lse)
        last = a.add(top, FUNCTIONS["log"](a, total))
        value = e.value(f"extractelement {vector(self.scalar)} {last}, i32 0")
        flat = e.add(e.mul(batch, spec.heads), head)
        e.store(value, parts.skip(e, lse, (flat, 1)), self.scalar, parts.item)

    def write_line(self, source: str, goal: str, operand: Operand) -> None:
        """Store a row of results."""
        e, parts = self.e, self.parts

        def one(place: str) -> None:
            value = e.load(parts.skip(e, source, (place, 1)), self.scalar, parts.item)
            e.store(value, parts.skip(e, goal, (place, operand.column)), self.scalar, parts.item)

        e.loop(0, self.spec.value_width, 1, one)
