"""Attention of one query: keys and values are read once for all heads that share them, unpacked.

The same order as attention.py, and so the same bits. Keys are lanes while scores are counted: a
tile of them is transposed into scratch memory, where each head of the group meets it. Values are
added row by row, columns in lanes. What a mask hides at the end of a block is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from gnomon.codegen.emitter import KERNEL, LANES, Emitter, LLVMModule, mask, splat, vector
from gnomon.codegen.kernels.attention_parts import (
    BLOCK_KEYS,
    AttentionSpec,
    Operand,
    Parts,
    falling_exp,
)
from gnomon.codegen.kernels.sharing import part
from gnomon.codegen.kernels.transposing import BLOCK, halves, read_turned
from gnomon.codegen.kernels.units import widened
from gnomon.codegen.machine import Machine
from gnomon.codegen.math import FUNCTIONS

TOGETHER = 64
"""Keys of a tile, whose chains go on side by side."""
AHEAD = 32
"""Keys and values that are asked for ahead, into the second cache."""
LINE = 64
"""Bytes of a line of memory."""


def is_row(spec: AttentionSpec) -> bool:
    """Whether there is one query, and a head's values are contiguous in memory."""
    return spec.queries == 1 and spec.k.column == spec.v.column == 1


def emit_row(module: LLVMModule, name: str, spec: AttentionSpec, machine: Machine) -> int:
    """Define kernel `name`, which writes out and lse; gives the bytes of scratch per thread."""
    return AttentionRowWriter(Parts(module, name, spec, machine), machine).write()


class AttentionRowWriter:
    """Writer of the attention kernel for one query."""

    def __init__(self, parts: Parts, machine: Machine) -> None:
        self.parts, self.spec, self.scalar = parts, parts.spec, parts.spec.scalar
        self.padded = -(-self.spec.value_width // LANES) * LANES
        # heads that share keys and what they see of them
        shared = self.spec.mask is None or self.spec.mask.head == 0
        self.group = self.spec.group if shared else 1
        # values of scratch memory of each head of a group
        self.per_head = {"q": self.spec.width, "results": self.padded, "scores": BLOCK_KEYS}
        self.per_head |= dict.fromkeys(("top", "total", "shrink"), LANES)
        self.free = machine.registers * 3 // 4 * machine.lanes(self.scalar) // LANES
        """Vectors of sums that stay in registers."""
        most = min(4, max(1, self.free // 3))
        self.together = int(-(-self.group // -(-self.group // most)))
        """Heads whose sums are carried past the values together."""

    def write(self) -> int:
        """Write the kernel; the bytes of scratch per thread."""
        parts, spec = self.parts, self.spec
        for label, values in self.per_head.items():
            parts.reserve(label, values * self.group)
        parts.reserve("mask", BLOCK_KEYS)
        parts.reserve("tile", TOGETHER * spec.width)
        parts.filler()
        self.write_transpose()
        self.write_scores()
        for heads in sorted({1, self.together}):
            self.write_gather(heads)
        self.kernel()
        return parts.bytes

    def of(self, label: str, head: str) -> str:
        """The address of a head's scratch memory."""
        return self.parts.skip(self.e, self.parts.at(self.e, label), (head, self.per_head[label]))

    # scores

    def write_transpose(self) -> None:
        """Define transpose(keys, tile, count), which transposes up to TOGETHER keys."""
        parts, spec, k = self.parts, self.spec, self.spec.k
        e = parts.start("transpose", ("ptr", "keys"), ("ptr", "tile"), ("i64", "count"))
        item, side = parts.source(k).item, BLOCK[self.scalar]
        last, wide = e.sub("%count", 1), side * (2 if k.narrow else 1)

        def strip(key: str) -> None:
            # what is behind the last key is it once more
            numbers = [e.least(e.add(key, n), last) for n in range(side)]
            rows = [parts.skip(e, "%keys", (n, k.row), item=item) for n in numbers]
            goal, done = parts.skip(e, "%tile", (key, 1)), 0
            for step, body in ((LINE // item, self.line), (wide, self.square), (1, self.column)):
                end = spec.width // step * step
                e.loop(done, end, step, partial(body, e, rows, goal))
                done = end

        e.loop(0, "%count", side, strip)
        e.ret()

    def line(self, e: Emitter, rows: Sequence[str], goal: str, first: str) -> None:
        """Transpose a cache line of each row, and prefetch that of the next tile."""
        k, item = self.spec.k, self.parts.source(self.spec.k).item
        for row in rows:
            e.prefetch(self.parts.skip(e, row, (first, 1), (AHEAD, k.row), item=item), near=2)
        for start in range(0, LINE // item, BLOCK[self.scalar] * (2 if k.narrow else 1)):
            self.square(e, rows, goal, e.add(first, start))

    def square(self, e: Emitter, rows: Sequence[str], goal: str, first: str) -> None:
        """Transpose a square of the keys in registers."""
        k, item = self.spec.k, self.parts.source(self.spec.k).item
        places = [self.parts.skip(e, row, (first, 1), item=item) for row in rows]
        columns = read_turned(e, "i32" if k.narrow else self.scalar, places, item)
        if k.narrow:
            columns = [x for pair in columns for x in halves(e, pair, len(rows))]
        for number, column in enumerate(columns):
            self.put_column(e, column, goal, e.add(first, number))

    def column(self, e: Emitter, rows: Sequence[str], goal: str, place: str) -> None:
        """Transpose a column, with lanes loaded one by one."""
        source, value = self.parts.source(self.spec.k), "poison"
        kind = vector(source.memory, len(rows))
        for lane, row in enumerate(rows):
            at = self.parts.skip(e, row, (place, 1), item=source.item)
            one = e.load(at, source.memory, source.item)
            value = e.value(f"insertelement {kind} {value}, {source.memory} {one}, i32 {lane}")
        self.put_column(e, widened(e, source, value, len(rows)), goal, place)

    def put_column(self, e: Emitter, column: str, goal: str, place: str) -> None:
        """Store a part of a column of the tile."""
        at = self.parts.skip(e, goal, (place, TOGETHER))
        e.store(column, at, vector(self.scalar, BLOCK[self.scalar]), self.parts.item)

    def write_scores(self) -> None:
        """Define scores(q, tile, scores), the products of a tile's keys with q."""
        parts, kind, groups = self.parts, vector(self.scalar), range(0, TOGETHER, LANES)
        e = parts.start("scores", ("ptr", "q"), ("ptr", "tile"), ("ptr", "scores"))

        def step(place: str, *sums: str) -> list[str]:
            q = e.load(parts.skip(e, "%q", (place, 1)), self.scalar, parts.item)
            q = e.broadcast(q, self.scalar)
            keys = [parts.value_at(e, "%tile", (place, TOGETHER), (group, 1)) for group in groups]
            pairs = zip(keys, sums, strict=True)
            return [e.fma(q, key, total, self.scalar) for key, total in pairs]

        first = [(kind, splat(-0.0, self.scalar))] * len(groups)
        for group, total in zip(groups, e.loop(0, self.spec.width, 1, step, first), strict=True):
            parts.put(e, total, "%scores", (group, 1))
        e.ret()

    # softmax

    def each_key(
        self, count: str, body: Callable, state: Sequence[tuple[str, str]] = ()
    ) -> list[str]:
        """Emit a loop over a block's keys in groups of 16; gives the final state."""
        e, parts = self.e, self.parts

        def some(key: str, *values: str) -> list[str] | None:
            left = parts.spread(e, e.sub(count, key))
            there = e.value(f"icmp slt {vector('i32')} {parts.lane_numbers()}, {left}")
            return body(key, there, *values)

        return e.loop(0, count, LANES, some, state)

    def look(self, key: str, count: str) -> str:
        """Emit the copy of a block's mask; gives the number of keys up to the last visible one."""
        e, parts, operand = self.e, self.parts, self.spec.mask
        if operand is None:
            return count
        masks = parts.skip(e, self.place(operand, self.heads[0]), (key, operand.column))
        self.copy_line(masks, operand.column, parts.at(e, "mask"), 1, count)
        kind, never = vector("i32"), splat(-inf, self.scalar)

        def some(key: str, there: str, seen: str) -> list[str]:
            value = parts.value_at(e, parts.at(e, "mask"), (key, 1))
            shown = e.value(f"fcmp une {vector(self.scalar)} {value}, {never}")
            number = e.value(f"add {kind} {parts.spread(e, e.add(key, 1))}, {parts.lane_numbers()}")
            number = e.filled(number, e.both(there, shown), "i32", "zeroinitializer")
            return [e.call(kind, f"llvm.smax.v{LANES}i32", (kind, seen), (kind, number))]

        (seen,) = self.each_key(count, some, [(kind, "zeroinitializer")])
        last = e.call("i32", f"llvm.vector.reduce.smax.v{LANES}i32", (kind, seen))
        return e.value(f"zext i32 {last} to i64")

    def soften(self, count: str, head: str) -> None:
        """Emit a head's softmax of a block: weights, maximum, and the factor of its older sums."""
        e, parts, spec, a = self.e, self.parts, self.spec, self.parts.algebra(self.e)
        kind, scale, never = vector(self.scalar), a.const(spec.scale), a.const(-inf)
        masked, masks = spec.mask is not None, parts.at(e, "mask")
        scores, highest_at, shrink_at = (self.of(x, head) for x in ("scores", "top", "shrink"))

        def larger(key: str, there: str, highest: str) -> list[str]:
            score = parts.value_at(e, scores, (key, 1))
            if masked:
                score = a.fma(score, scale, parts.value_at(e, masks, (key, 1)))
                parts.put(e, score, scores, (key, 1))
            score = a.select(there, score, never)
            return [a.select(a.less(highest, score), score, highest)]

        (highest,) = self.each_key(count, larger, [(kind, never)])
        for half in (8, 4, 2, 1):
            order = [*range(half, LANES), *range(half)]
            other = e.shuffle(highest, highest, order, self.scalar)
            highest = a.select(a.less(highest, other), other, highest)
        top = parts.value_at(e, highest_at)
        new = a.maximum(top, highest if masked else a.mul(highest, scale))
        base = a.select(a.equal(new, never), a.const(0.0), new)
        parts.put(e, new, highest_at)
        parts.put(e, FUNCTIONS["exp"](a, a.sub(top, base)), shrink_at)

        def weigh(key: str, _there: str) -> None:
            score = parts.value_at(e, scores, (key, 1))
            less = a.sub(score, base) if masked else a.fma(score, scale, a.neg(base))
            parts.put(e, falling_exp(a, less), scores, (key, 1))

        self.each_key(count, weigh)

    # values

    def write_gather(self, heads: int) -> None:
        """Define gatherN(values, weights, results, total, shrink, count): add a tile."""
        names = ("values", "weights", "results", "total", "shrink")
        pointers = (("ptr", name) for name in names)
        e = self.parts.start(f"gather{heads}", *pointers, ("i64", "count"))
        columns = range(0, self.padded, LANES)
        passes = max(1, -(-len(columns) * heads // self.free))
        for number in range(passes):
            low, high = (len(columns) * k // passes for k in (number, number + 1))
            self.gather(e, heads, columns[low:high], [] if number else ["%total"])
        e.ret()

    def gather(self, e: Emitter, heads: int, columns: Sequence[int], also: Sequence[str]) -> None:
        """Add the weighted values of all keys in some columns; the weights are added to `also`."""
        parts, kind, v = self.parts, vector(self.scalar), self.spec.v
        source, width, places, sums = parts.source(v), self.spec.value_width, [], []
        for head in map(str, range(heads)):
            here = [parts.skip(e, "%results", (head, self.padded), (c, 1)) for c in columns]
            here += [parts.skip(e, at, (head, LANES)) for at in also]
            factor = parts.value_at(e, "%shrink", (head, LANES))
            sums += [e.value(f"fmul {kind} {parts.value_at(e, at)}, {factor}") for at in here]
            places += here

        def one(key: str, *sums: str) -> list[str]:
            row = parts.skip(e, "%values", (key, v.row), item=source.item)
            made, values, rest = [], [], iter(sums)
            for column in columns:
                at, left = parts.skip(e, row, (column, 1), item=source.item), width - column
                if column * source.item % LINE == 0:
                    e.prefetch(parts.skip(e, at, (AHEAD, v.row), item=source.item), near=2)
                if left < LANES:
                    value = e.load_masked(at, mask(left), source.memory)
                else:
                    value = e.load(at, vector(source.memory), source.item)
                values.append(widened(e, source, value, LANES))
            for head in range(heads):
                at = parts.skip(e, "%weights", (key, 1), (str(head), BLOCK_KEYS))
                weight = e.broadcast(e.load(at, self.scalar, parts.item), self.scalar)
                made += [e.fma(weight, value, next(rest), self.scalar) for value in values]
                made += [e.value(f"fadd {kind} {next(rest)}, {weight}") for _ in also]
            return made

        sums = e.loop(0, "%count", 1, one, [(kind, x) for x in sums])
        for at, total in zip(places, sums, strict=True):
            parts.put(e, total, at)

    # the kernel

    def kernel(self) -> None:
        """Write the kernel: each thread computes a run of heads, in groups."""
        spec, group = self.spec, self.group
        e = self.e = self.parts.module.function(self.parts.name, KERNEL)
        low, high = part(e, spec.batch * spec.heads, "%thread", "%threads")

        def some(number: str) -> None:
            done = e.mul(number, group)
            self.heads = e.most(e.sub(low, done), 0), e.least(e.sub(high, done), group)
            self.batch, self.first = e.divided(done, spec.heads)
            self.some_heads()

        def all_groups() -> None:
            last = e.value(f"udiv i64 {e.add(high, group - 1)}, {group}")
            e.loop(e.value(f"udiv i64 {low}, {group}"), last, 1, some)

        e.when(e.value(f"icmp slt i64 {low}, {high}"), all_groups)
        e.ret()

    def some_heads(self) -> None:
        """Emit the attention of query heads that share a key head."""
        e, parts, spec = self.e, self.parts, self.spec
        shared = e.value(f"udiv i64 {self.first}, {spec.group}")
        keys, values = (parts.head(e, x, self.batch, shared) for x in (spec.k, spec.v))
        e.loop(*self.heads, 1, self.begin)
        e.loop(0, spec.keys, BLOCK_KEYS, partial(self.block, keys, values))
        e.loop(*self.heads, 1, self.close)

    def place(self, operand: Operand, head: str) -> str:
        """The address of an operand's values for a head of the group."""
        return self.parts.head(self.e, operand, self.batch, self.e.add(self.first, head))

    def begin(self, head: str) -> None:
        """Emit the copy of a head's query, and its initial maximum and sums."""
        e, parts, q, a = self.e, self.parts, self.spec.q, self.parts.algebra(self.e)
        self.copy_line(self.place(q, head), q.column, self.of("q", head), 1, self.spec.width)
        parts.fill(e, self.of("results", head), self.padded)
        parts.put(e, a.const(-inf), self.of("top", head))
        parts.put(e, a.const(0.0), self.of("total", head))

    def block(self, keys: str, values: str, key: str) -> None:
        """Emit the work on a block of keys; keys behind the last visible one are skipped."""
        e, parts, spec = self.e, self.parts, self.spec
        count = e.least(e.sub(str(spec.keys), key), BLOCK_KEYS)
        seen = self.look(key, count)

        def tiles(base: str, x: Operand, body: Callable[[str, str, str], None]) -> None:
            def one(first: str) -> None:
                rows = parts.skip(e, base, (e.add(key, first), x.row), item=parts.source(x).item)
                body(rows, first, e.least(e.sub(seen, first), TOGETHER))

            e.loop(0, seen, TOGETHER, one)

        def some() -> None:
            tiles(keys, spec.k, self.score)
            e.loop(*self.heads, 1, partial(self.soften, seen))
            tiles(values, spec.v, self.add_values)

        e.when(e.value(f"icmp sgt i64 {seen}, 0"), some)

    def score(self, keys: str, first: str, count: str) -> None:
        """Emit the scores of a tile."""
        e, parts, tile = self.e, self.parts, self.parts.at(self.e, "tile")
        parts.call(e, "transpose", ("ptr", keys), ("ptr", tile), ("i64", count))

        def one(head: str) -> None:
            goal = parts.skip(e, self.of("scores", head), (first, 1))
            pointers = self.of("q", head), tile, goal
            parts.call(e, "scores", *(("ptr", p) for p in pointers))

        e.loop(*self.heads, 1, one)

    def add_values(self, values: str, first: str, count: str) -> None:
        """Emit the addition of a tile's weighted values to the heads' results."""
        e, parts, together = self.e, self.parts, self.together
        low, high = self.heads
        labels = ("scores", "results", "total", "shrink")

        def some(heads: int, head: str) -> None:
            weights, *sums = (self.of(label, head) for label in labels)
            pointers = values, parts.skip(e, weights, (first, 1)), *sums
            parts.call(e, f"gather{heads}", *(("ptr", p) for p in pointers), ("i64", count))
            # the block's next tile goes on
            for number in range(heads):
                parts.put(e, splat(1.0, self.scalar), sums[-1], (number, LANES))

        if together > 1:
            left = e.value(f"urem i64 {e.sub(high, low)}, {together}")
            whole = e.sub(high, left)
            e.loop(low, whole, together, partial(some, together))
            low = whole
        e.loop(low, high, 1, partial(some, 1))

    def close(self, head: str) -> None:
        """Emit the stores of the results and of log(sum(exp)) for a gradient."""
        e, parts, spec, a = self.e, self.parts, self.spec, self.parts.algebra(self.e)
        results, top, total = (self.of(label, head) for label in ("results", "top", "total"))
        total = parts.value_at(e, total)
        divisor = a.select(a.equal(total, a.const(0.0)), a.const(1.0), total)

        def one(column: str) -> None:
            value = parts.value_at(e, results, (column, 1))
            parts.put(e, a.add(a.div(value, divisor), a.const(0.0)), results, (column, 1))

        e.loop(0, spec.value_width, LANES, one)
        self.copy_line(results, 1, self.place(spec.out, head), spec.out.column, spec.value_width)
        last = a.add(parts.value_at(e, top), FUNCTIONS["log"](a, total))
        value = e.value(f"extractelement {vector(self.scalar)} {last}, i32 0")
        goal = parts.lse(e, self.batch, e.add(self.first, head), "0")
        e.store(value, goal, self.scalar, parts.item)

    def copy_line(self, source: str, step: int, goal: str, steps: int, count: str | int) -> None:
        """Emit a strided copy of `count` values; `step`, `steps`: strides of source and goal."""
        e, parts = self.e, self.parts

        def one(kind: str, place: str) -> None:
            value = e.load(parts.skip(e, source, (place, step)), kind, parts.item)
            e.store(value, parts.skip(e, goal, (place, steps)), kind, parts.item)

        whole = e.value(f"and i64 {count}, {-LANES}") if step == steps == 1 else "0"
        e.loop(0, whole, LANES, partial(one, vector(self.scalar)))
        e.loop(whole, count, 1, partial(one, self.scalar))
