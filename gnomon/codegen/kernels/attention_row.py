"""Attention of one query: keys and values are read once, where they lie.

The same order as attention.py, and so the same bits. Keys are lanes while scores are counted: rows
of keys are transposed in registers, many chains side by side. Values are added row by row, columns
in lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from gnomon.codegen.emitter import KERNEL, LANES, Emitter, Module, mask, splat, vector
from gnomon.codegen.kernels.attention_parts import BLOCK_KEYS, AttentionSpec, Operand, Parts
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.kernels.transposing import BLOCK, read_turned
from gnomon.codegen.machine import Machine
from gnomon.codegen.math import FUNCTIONS

TOGETHER = 32
"""Keys whose chains go on side by side."""
WIDE = 64
"""Columns of values whose sums stay in registers."""
LINE = 64
"""Bytes of a line of memory."""


def is_row(spec: AttentionSpec) -> bool:
    """Whether there is one query, and neighbours along heads are neighbours in memory."""
    return spec.queries == 1 and spec.k.column == spec.v.column == 1


def emit_row(module: Module, name: str, spec: AttentionSpec, machine: Machine) -> int:
    """Define kernel `name`, which writes out and lse; gives the bytes of scratch per thread."""
    return Row(Parts(module, name, spec, machine)).write()


class Row:
    """Writes the kernel."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.spec, self.scalar = parts, parts.spec, parts.spec.scalar

    def write(self) -> int:
        """Everything; gives the bytes of scratch."""
        parts, spec = self.parts, self.spec
        parts.reserve("q", spec.width)
        parts.reserve("few", TOGETHER * spec.width)
        parts.reserve("scores", BLOCK_KEYS)
        parts.reserve("mask", BLOCK_KEYS)
        parts.reserve("results", spec.value_width)
        parts.filler()
        self.write_scores("scores", spec.k.row)
        self.write_scores("few_scores", spec.width)
        self.write_gather()
        self.kernel()
        return parts.bytes

    # scores

    def write_scores(self, name: str, far: int) -> None:
        """name(q, keys, scores): the products of some keys, `far` values apart, with q."""
        parts, spec, side = self.parts, self.spec, BLOCK[self.scalar]
        e = parts.start(name, ("ptr", "q"), ("ptr", "keys"), ("ptr", "scores"))
        kind, groups = vector(self.scalar, side), range(0, TOGETHER, side)
        line = LINE // parts.item
        state = [splat(-0.0, self.scalar, side)] * len(groups)
        done = 0
        for step, body in ((line, self.line), (side, self.square), (1, self.column)):
            end = spec.width // step * step
            first = [(kind, value) for value in state]
            state = e.loop(done, end, step, partial(body, e, far), first)
            done = end
        for group, value in zip(groups, state, strict=True):
            e.store(value, parts.skip(e, "%scores", (group, 1)), kind, parts.item)
        e.ret()

    def line(self, e: Emitter, far: int, first: str, *sums: str) -> list[str]:
        """A line of memory of every key; those of the keys after these are asked for."""
        parts, side = self.parts, BLOCK[self.scalar]
        for k in range(TOGETHER):
            e.prefetch(parts.skip(e, "%keys", (first, 1), (TOGETHER + k, far)))
        for start in range(0, LINE // parts.item, side):
            sums = tuple(self.square(e, far, e.add(first, start), *sums))
        return list(sums)

    def square(self, e: Emitter, far: int, first: str, *sums: str) -> list[str]:
        """Several steps of all chains, from columns that are turned."""
        parts, side, made = self.parts, BLOCK[self.scalar], []
        here = parts.skip(e, "%keys", (first, 1))
        for number, total in enumerate(sums):
            rows = [parts.skip(e, here, (number * side + k, far)) for k in range(side)]
            for k, column in enumerate(read_turned(e, self.scalar, rows, parts.item)):
                total = self.step(e, column, e.add(first, k), total)
            made.append(total)
        return made

    def column(self, e: Emitter, far: int, place: str, *sums: str) -> list[str]:
        """One step of all chains, values picked one by one."""
        parts, side, made = self.parts, BLOCK[self.scalar], []
        kind = vector(self.scalar, side)
        for number, total in enumerate(sums):
            value = "poison"
            for k in range(side):
                at = parts.skip(e, "%keys", (number * side + k, far), (place, 1))
                one = e.load(at, self.scalar, parts.item)
                value = e.value(f"insertelement {kind} {value}, {self.scalar} {one}, i32 {k}")
            made.append(self.step(e, value, place, total))
        return made

    def step(self, e: Emitter, column: str, place: str, total: str) -> str:
        """total + a value of q times one of each key."""
        side = BLOCK[self.scalar]
        q = e.load(self.parts.skip(e, "%q", (place, 1)), self.scalar, self.parts.item)
        return e.fma(e.broadcast(q, self.scalar, side), column, total, self.scalar, side)

    def fill_scores(self, e: Emitter, keys: str, count: str) -> None:
        """The scores of a block: many keys at a time, and the last from a copy."""
        parts, row = self.parts, self.spec.k.row
        q, scores, few = (parts.at(e, label) for label in ("q", "scores", "few"))
        whole = e.value(f"and i64 {count}, {-TOGETHER}")

        def some(key: str) -> None:
            places = (q, parts.skip(e, keys, (key, row)), parts.skip(e, scores, (key, 1)))
            parts.call(e, "scores", *(("ptr", place) for place in places))

        def rest() -> None:
            self.copy_rows(e, parts.skip(e, keys, (whole, row)), few, e.sub(count, whole))
            places = (q, few, parts.skip(e, scores, (whole, 1)))
            parts.call(e, "few_scores", *(("ptr", place) for place in places))

        e.loop(0, whole, TOGETHER, some)
        e.when(e.value(f"icmp slt i64 {whole}, {count}"), rest)

    def copy_rows(self, e: Emitter, keys: str, goal: str, count: str) -> None:
        """Copy a few rows of keys."""
        parts, spec = self.parts, self.spec

        def one(row: str, place: str) -> None:
            value = e.load(
                parts.skip(e, keys, (row, spec.k.row), (place, 1)), self.scalar, parts.item
            )
            e.store(
                value, parts.skip(e, goal, (row, spec.width), (place, 1)), self.scalar, parts.item
            )

        e.loop(0, count, 1, lambda row: e.loop(0, spec.width, 1, partial(one, row)))

    def copy_line(self, e: Emitter, source: str, step: int, goal: str, count: str | int) -> None:
        """Copy values that are `step` apart."""
        parts = self.parts

        def one(place: str) -> None:
            value = e.load(parts.skip(e, source, (place, step)), self.scalar, parts.item)
            e.store(value, parts.skip(e, goal, (place, 1)), self.scalar, parts.item)

        e.loop(0, count, 1, one)

    # softmax

    def each_key(
        self, e: Emitter, count: str, body: Callable, state: Sequence[tuple[str, str]] = ()
    ) -> list[str]:
        """body(first key, which of 16 there are, ...) over a block."""
        parts = self.parts

        def some(key: str, *values: str) -> list[str] | None:
            left = parts.spread(e, e.sub(count, key))
            there = e.value(f"icmp slt {vector('i32')} {parts.lane_numbers()}, {left}")
            return body(key, there, *values)

        return e.loop(0, count, LANES, some, state)

    def soften(self, e: Emitter, count: str, top: str, total: str) -> tuple[str, str, str]:
        """Scores become weights; gives the new maximum and sum, and what shrinks older sums."""
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
        """The sum and the weights of a block, one after the other, in every lane."""
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
        """gather(values, weights, results, shrink, count): results shrink and gain a block."""
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
        """The same for some columns, all keys; the last may be fewer than a vector."""
        parts, kind = self.parts, vector(self.scalar)
        lanes = range(0, wide * LANES, LANES)
        places = [parts.skip(e, "%results", (column, 1), (lane, 1)) for lane in lanes]
        sums = [e.value(f"fmul {kind} {e.load(at, kind, parts.item)}, {shrink}") for at in places]

        def one(key: str, *sums: str) -> list[str]:
            weight = e.load(parts.skip(e, "%weights", (key, 1)), self.scalar, parts.item)
            weight = e.broadcast(weight, self.scalar)
            row = parts.skip(e, "%values", (key, self.spec.v.row), (column, 1))
            made = []
            for lane, total in zip(lanes, sums, strict=True):
                at = parts.skip(e, row, (lane, 1))
                value = e.load_masked(at, on, self.scalar) if on else e.load(at, kind, parts.item)
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
        """All keys of one query head."""
        e, parts, spec = self.e, self.parts, self.spec
        batch = e.value(f"udiv i64 {number}, {spec.heads}")
        head = e.value(f"urem i64 {number}, {spec.heads}")
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
        """One block of keys."""
        e, parts, spec = self.e, self.parts, self.spec
        count = e.least(e.sub(str(spec.keys), key), BLOCK_KEYS)
        if masks is not None and spec.mask is not None:
            step = spec.mask.column
            self.copy_line(e, parts.skip(e, masks, (key, step)), step, parts.at(e, "mask"), count)
        self.fill_scores(e, parts.skip(e, k, (key, spec.k.row)), count)
        top, shrink, total = self.soften(e, count, top, total)
        first = e.value(f"extractelement {vector(self.scalar)} {shrink}, i32 0")
        pointers = (
            parts.skip(e, v, (key, spec.v.row)), parts.at(e, "scores"), parts.at(e, "results"),
        )  # fmt: skip
        parts.call(
            e, "gather", *(("ptr", p) for p in pointers), (self.scalar, first), ("i64", count)
        )
        return [top, total]

    def close(self, batch: str, head: str, top: str, total: str) -> None:
        """Write the results, and what a gradient would need of the sums."""
        e, parts, spec = self.e, self.parts, self.spec
        a, results = parts.algebra(e), parts.at(e, "results")
        divisor = a.select(a.equal(total, a.const(0.0)), a.const(1.0), total)

        def one(column: str) -> None:
            value = parts.value_at(e, results, (column, 1))
            parts.put(e, a.add(a.div(value, divisor), a.const(0.0)), results, (column, 1))

        e.loop(0, spec.value_width, LANES, one)
        self.write_line(results, parts.head(e, spec.out, batch, head), spec.out)
        lse = e.load(e.offset("%buffers", 8 * spec.lse), "ptr", 8)
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
