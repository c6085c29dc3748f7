"""Rows of floats rounded to int8 in groups that share a factor: emit_rounding.

Their definition is gnomon/ops/integer_blocks.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from gnomon.codegen.emitter import LANES, Emitter, literal, splat, vector
from gnomon.ops.integer_blocks import MOST

__all__ = ["RoundedRow", "emit_rounding"]

WORDS, FLOATS, NARROW = vector("i32"), vector("float"), vector("i8")
LINE = 4 * LANES
"""Bytes of a vector of floats."""
TESTS = ("ogt float {}, 0.0", "olt float {}, 0x7FF0000000000000")
"""Conditions of a factor that is used."""


class RoundedRow(NamedTuple):
    """The addresses of a rounded row: numbers, factors, sums."""

    numbers: str
    """Its int8."""
    factors: str
    """A float for each group."""
    totals: str
    """The sum of each group's int8, times a number, if parts are not asked for."""
    parts: str
    """The sums of parts of groups as int16, if these are."""


def emit_rounding(
    e: Emitter, source: str, goals: RoundedRow, count: str | int, sizes: tuple[int, int, int]
) -> None:
    """Emit the rounding of `count` groups of float32 to int8.

    sizes: of a group; of the parts whose sums are wanted, or 0; the factor of a group's sum.
    """
    e.loop(0, count, 1, partial(round_group, e, source, goals, sizes))


def round_group(
    e: Emitter, source: str, goals: RoundedRow, sizes: tuple[int, int, int], number: str
) -> None:
    """Emit the rounding of one group."""
    size, part, times = sizes
    start = e.offset(source, e.mul(number, 4 * size))
    values = [e.load(e.offset(start, LINE * k), FLOATS, 4) for k in range(size // LANES)]
    factor = factor_of(e, values)
    e.store(factor, e.offset(goals.factors, e.mul(number, 4)), "float", 4)
    numbers = round_scaled(e, values, factor)
    target = e.offset(goals.numbers, e.mul(number, size))
    for k, q in enumerate(numbers):
        narrow = e.value(f"trunc {WORDS} {q} to {NARROW}")
        e.store(narrow, e.offset(target, LANES * k), NARROW, 1)
    vectors = part // LANES if part else len(numbers)
    sums = [sum_of(e, numbers[k : k + vectors]) for k in range(0, len(numbers), vectors)]
    if not part:
        total = e.value(f"mul i32 {sums[0]}, {times}")
        e.store(total, e.offset(goals.totals, e.mul(number, 4)), "i32", 4)
        return
    start = e.offset(goals.parts, e.mul(number, 2 * len(sums)))
    for k, each in enumerate(sums):
        e.store(e.value(f"trunc i32 {each} to i16"), e.offset(start, 2 * k), "i16", 2)


def factor_of(e: Emitter, values: Sequence[str]) -> str:
    """The largest |x| over 127; compared as integer bits, of which NaN's are largest."""
    most = splat(0, "i32")
    for value in values:
        word = e.value(f"bitcast {FLOATS} {value} to {WORDS}")
        size = e.value(f"and {WORDS} {word}, {splat(0x7FFFFFFF, 'i32')}")
        most = e.call(WORDS, "llvm.smax.v16i32", (WORDS, most), (WORDS, size))
    peak = e.call("i32", "llvm.vector.reduce.smax.v16i32", (WORDS, most))
    largest = e.value(f"bitcast i32 {peak} to float")
    return e.value(f"fdiv float {largest}, {literal(MOST)}")


def round_scaled(e: Emitter, values: Sequence[str], factor: str) -> list[str]:
    """Values over a factor, rounded to integers; 0 if the factor is 0, infinite or NaN."""
    wide, many = e.broadcast(factor), []
    usable = e.value("and i1 {}, {}".format(*(e.value(f"fcmp {x.format(factor)}") for x in TESTS)))
    for value in values:
        ratio = e.value(f"fdiv {FLOATS} {value}, {wide}")
        ratio = e.value(f"select i1 {usable}, {FLOATS} {ratio}, {FLOATS} zeroinitializer")
        near = e.call(FLOATS, "llvm.roundeven.v16f32", (FLOATS, ratio))
        whole = e.value(f"fptosi {FLOATS} {near} to {WORDS}")
        for name, bound in (("smin", MOST), ("smax", -MOST)):
            whole = e.call(
                WORDS, f"llvm.{name}.v16i32", (WORDS, whole), (WORDS, splat(bound, "i32"))
            )
        many.append(whole)
    return many


def sum_of(e: Emitter, numbers: Sequence[str]) -> str:
    """The sum of all lanes of integer vectors."""
    total = numbers[0]
    for each in numbers[1:]:
        total = e.value(f"add {WORDS} {total}, {each}")
    return e.call("i32", "llvm.vector.reduce.add.v16i32", (WORDS, total))
