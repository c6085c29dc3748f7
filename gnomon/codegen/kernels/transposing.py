"""Squares of values transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.codegen.emitter import BITS, Emitter, splat, vector

BLOCK = {"float": 8, "i32": 8, "double": 4}
"""Side of the squares that are transposed in registers."""


def transpose(e: Emitter, scalar: str, rows: Sequence[str]) -> list[str]:
    """Transpose a square of 8 floats or 4 doubles by shuffles that every machine has.

    First inside 128-bit halves, by ever larger units, then halves change places.
    """
    side, half = len(rows), len(rows) // 2
    values = inside_halves(e, scalar, rows)
    halves = [[*range(low, low + half), *range(side + low, side + low + half)] for low in (0, half)]
    return in_order(exchange(e, scalar, values, half, halves))


def read_turned(e: Emitter, scalar: str, rows: Sequence[str], align: int) -> list[str]:
    """Load a square whose rows are at these addresses, transposed.

    Rows are read by halves, those that will share a vector together, which spares the last step.
    """
    side, half = len(rows), len(rows) // 2
    values = []
    for column in (0, half):
        for low in range(half):
            kind, place = vector(scalar, half), column * BITS[scalar] // 8
            pair = (e.load(e.offset(rows[low + x], place), kind, align) for x in (0, half))
            values.append(e.shuffle(*pair, range(side), scalar, half))
    return in_order(inside_halves(e, scalar, values))


def inside_halves(e: Emitter, scalar: str, rows: Sequence[str]) -> list[str]:
    """Transpose both halves of all vectors separately, exchanging ever larger units."""
    values, half, unit = list(rows), len(rows) // 2, 1
    while unit < half:
        values = exchange(e, scalar, values, unit, [mixed(half, unit, high) for high in (0, 1)])
        unit *= 2
    return values


def in_order(values: Sequence[str]) -> list[str]:
    """The columns of a transposed square in order, after the exchanges of units."""
    half = len(values) // 2
    first = (0, 2, 1, 3) if half == 4 else (0, 1)
    return [values[at + low] for low in (0, half) for at in first]


def halves(e: Emitter, pairs: str, lanes: int) -> tuple[str, str]:
    """The even and the odd lanes of pairs of bfloat, each widened to floats."""
    kind, wide = vector("i32", lanes), vector("float", lanes)
    even = e.value(f"shl {kind} {pairs}, {splat(16, 'i32', lanes)}")
    odd = e.value(f"and {kind} {pairs}, {splat(-65536, 'i32', lanes)}")
    first, second = (e.value(f"bitcast {kind} {x} to {wide}") for x in (even, odd))
    return first, second


def exchange(
    e: Emitter, scalar: str, values: Sequence[str], unit: int, orders: Sequence[Sequence[int]]
) -> list[str]:
    """Replace each pair of vectors whose numbers differ by `unit` by two shuffles of it."""
    result = list(values)
    for low in range(len(values)):
        if low & unit == 0:
            pair = values[low], values[low + unit]
            for number, order in zip((low, low + unit), orders, strict=True):
                result[number] = e.shuffle(*pair, order, scalar, len(values))
    return result


def mixed(half: int, unit: int, high: int) -> list[int]:
    """Interleave two vectors by units, from the lower or higher part of each 128-bit half.

    >>> mixed(4, 1, 0), mixed(4, 2, 1)
    ([0, 8, 1, 9, 4, 12, 5, 13], [2, 3, 10, 11, 6, 7, 14, 15])
    """
    pairs = half // (2 * unit)
    return [
        vector_start + start + high * half // 2 + pair * unit + lane
        for start in (0, half)
        for pair in range(pairs)
        for vector_start in (0, 2 * half)
        for lane in range(unit)
    ]
