"""The small functions of attention's gradient: what is done to a square of scores, and to sums.

Which squares and which sums: attention_grad.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from gnomon.codegen.emitter import LANES, Emitter, vector
from gnomon.codegen.kernels.attention_parts import AttentionSpec, Operand, Parts, falling_exp

VIRTUAL_LANES = 64
"""The number of partial sums of a row of dO * O."""


@dataclass(frozen=True)
class AttentionGradSpec:
    """The forward description, with this kernel's slots, and the four gradients' operands."""

    forward: AttentionSpec
    dout: Operand
    dq: Operand
    dk: Operand
    dv: Operand


@dataclass(frozen=True)
class QueryBlock:
    """A block of queries: the first, their number, addresses of sums and masks, as SSA names."""

    start: str
    count: str
    known: str
    """The number of keys seen by earlier blocks of its leaf."""
    lse: str
    masks: str | None


def write_delta(parts: Parts, dout: Operand) -> None:
    """Define delta(dout, out, products, count, target): the sum of dO * O in each row.

    Products go to 64 virtual lanes by their number; lanes are added by halves.
    """
    spec = parts.spec
    pointers = [("ptr", label) for label in ("dout", "out", "products", "target")]
    e = parts.start("delta", *pointers, ("i64", "count"))
    width, item, scalar = spec.value_width, parts.item, spec.scalar
    rounds = -(-width // VIRTUAL_LANES)
    parts.fill(e, "%products", rounds * VIRTUAL_LANES)
    whole = width // LANES * LANES if dout.column == spec.out.column == 1 else 0

    def product(row: str, kind: str, column: str) -> None:
        x, y = (
            e.load(parts.skip(e, base, (row, at.row), (column, at.column)), kind, item)
            for base, at in (("%dout", dout), ("%out", spec.out))
        )
        value = e.value(f"fmul {kind} {x}, {y}")
        e.store(value, parts.skip(e, "%products", (column, 1)), kind, item)

    def one(row: str) -> None:
        e.loop(0, whole, LANES, lambda column: product(row, vector(scalar), column))
        e.loop(whole, width, 1, lambda column: product(row, scalar, column))
        e.store(sum_of_lanes(parts, e, rounds), parts.skip(e, "%target", (row, 1)), scalar, item)

    e.loop(0, "%count", 1, one)
    e.ret()


def sum_of_lanes(parts: Parts, e: Emitter, rounds: int) -> str:
    """The sum of the lanes of the products, as one scalar."""
    a = parts.algebra(e)
    lanes = [parts.value_at(e, "%products", (lane, 1)) for lane in range(0, 64, LANES)]
    for number in range(1, rounds):
        for k in range(len(lanes)):
            place = number * VIRTUAL_LANES + k * LANES
            lanes[k] = a.add(lanes[k], parts.value_at(e, "%products", (place, 1)))
    total = a.add(a.add(lanes[0], lanes[2]), a.add(lanes[1], lanes[3]))
    half = LANES // 2
    while half:
        order = [*range(half, 2 * half), *range(LANES - half)]
        total = a.add(total, e.shuffle(total, total, order, parts.spec.scalar))
        half //= 2
    return e.value(f"extractelement {vector(parts.spec.scalar)} {total}, i32 0")


def write_weights(parts: Parts) -> None:
    """Define weigh(scores, slopes, mask, lse, delta, count, limit): scores become P, dP becomes dS.

    Rows are queries; `limit` is the last key that the first of them sees, from the panel's own.
    Rows that see all keys of the panel come two at a time, after the others.
    """
    columns = parts.tile.columns
    pointers = [("ptr", label) for label in ("scores", "slopes", "mask", "lse", "delta")]
    e = parts.start("weigh", *pointers, ("i64", "count"), ("i64", "limit"))
    single = "0"
    if parts.spec.causal:
        single = e.most(e.least(e.sub(str(columns - 1), "%limit"), "%count"), 0)
    single = e.add(single, e.value(f"and i64 {e.sub('%count', single)}, 1"))
    lanes = range(0, columns, LANES)

    def one(row: str) -> None:
        for lane in lanes:
            place = (row, columns), (lane, 1)
            weight, slope = probabilities(parts, e, [place], [row])
            if parts.spec.causal:
                limit = parts.spread(e, e.add("%limit", row))
                key = f"<{', '.join(f'i32 {lane + k}' for k in range(LANES))}>"
                seen = e.value(f"icmp sle {vector('i32')} {key}, {limit}")
                a = parts.algebra(e)
                weight, slope = (a.select(seen, x, a.const(0.0)) for x in (weight, slope))
            parts.put(e, weight, "%scores", *place)
            parts.put(e, slope, "%slopes", *place)

    def two(row: str) -> None:
        rows = row, e.add(row, 1)
        for lane in lanes:
            places = [((at, columns), (lane, 1)) for at in rows]
            made = probabilities(parts, e, places, rows)
            for base, values in zip(("%scores", "%slopes"), made, strict=True):
                for place, value in zip(places, parts.halves(e, values), strict=True):
                    parts.put(e, value, base, *place)

    e.loop(0, single, 1, one)
    e.loop(single, "%count", 2, two)
    e.ret()


def probabilities(
    parts: Parts, e: Emitter, places: Sequence, rows: Sequence[str]
) -> tuple[str, str]:
    """P and dS of 16 keys and one query, or two queries side by side in a vector of 32 lanes."""
    pair, spec = len(rows) == 2, parts.spec
    a = parts.wide(e) if pair else parts.algebra(e)
    scale = a.const(spec.scale)

    def join(values: list[str]) -> str:
        return parts.concatenated(e, *values) if pair else values[0]

    def read(base: str) -> str:
        return join([parts.value_at(e, base, *place) for place in places])

    def spread(base: str) -> str:
        ones = [e.load(parts.skip(e, base, (row, 1)), spec.scalar, parts.item) for row in rows]
        return join([e.broadcast(one, spec.scalar) for one in ones])

    score, less = read("%scores"), a.neg(spread("%lse"))
    if spec.mask is None:
        weight = falling_exp(a, a.fma(score, scale, less))
    else:
        score = a.fma(score, scale, read("%mask"))
        weight = falling_exp(a, a.add(score, less))
        weight = a.select(a.equal(score, a.const(-inf)), a.const(0.0), weight)
    slope = a.mul(weight, a.sub(read("%slopes"), spread("%delta")))
    return weight, a.mul(slope, scale)


def write_fold(parts: Parts) -> None:
    """Define fold(older, newer, both, values): older += newer up to `both`, then copy newer."""
    kind = vector(parts.spec.scalar)
    pointers = ("ptr", "older"), ("ptr", "newer")
    e = parts.start("fold", *pointers, ("i64", "both"), ("i64", "values"))

    def add(index: str) -> None:
        old, new = (parts.value_at(e, x, (index, 1)) for x in ("%older", "%newer"))
        parts.put(e, e.value(f"fadd {kind} {old}, {new}"), "%older", (index, 1))

    def copy(index: str) -> None:
        parts.put(e, parts.value_at(e, "%newer", (index, 1)), "%older", (index, 1))

    e.loop(0, "%both", LANES, add)
    e.loop("%both", "%values", LANES, copy)
    e.ret()
