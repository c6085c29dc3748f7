"""A search along a line for a point that meets the strong Wolfe conditions.

First an interval is found that must hold one, then it shrinks, both by
cubics through what is known.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from gnomon.tensor.tensor import Tensor

ENOUGH, FLATTER, LEAST = 1e-4, 0.9, 1e-9
"""Shares of the first slope: that the loss falls by, that may be left; the shortest interval."""


class Point(NamedTuple):
    """A place on the line: how far, the loss, its slope, and the slope along the line."""

    size: float
    loss: float
    slope: Tensor
    along: float


Probe = Callable[[float], Point]


def cubic_minimum(one: Point, two: Point, bounds: tuple[float, float] | None = None) -> float:
    """The least place of the cubic through two points with their slopes, within bounds."""
    left, right = (one, two) if one.size <= two.size else (two, one)
    low, high = bounds or (left.size, right.size)
    if left.size == right.size:
        return low
    mean = one.along + two.along - 3 * (one.loss - two.loss) / (one.size - two.size)
    under = mean * mean - one.along * two.along
    if under < 0:
        return (low + high) / 2.0
    root, width = sqrt(under), right.size - left.size
    whole = right.along - left.along + 2 * root
    share = (right.along + root - mean) / whole if whole else 0.5
    return min(max(right.size - width * share, low), high)


def strong_wolfe(probe: Probe, start: Point, size: float, longest: float, calls: int) -> Point:
    """Search for the best point with at most about `calls` calls of probe.

    longest: the largest magnitude of the direction.
    """
    bracket, done, used = bracketed(probe, start, size, calls)
    bracket.sort(key=lambda point: point.loss)
    stalled = False
    while not done and used < calls:
        low, high = bracket
        if abs(high.size - low.size) * longest < LEAST:
            break
        tried, stalled = inside(low, high, stalled)
        new = probe(tried)
        used += 1
        if worse(new, start) or new.loss >= low.loss:
            bracket = sorted((low, new), key=lambda point: point.loss)
            continue
        done = flat(new, start)
        turned = not done and new.along * (high.size - low.size) >= 0
        bracket = [new, low if turned else high]
    return bracket[0]


def bracketed(probe: Probe, start: Point, size: float, calls: int) -> tuple[list[Point], bool, int]:
    """Two points around a good one, or a good one itself; whether it is; how often was called."""
    before, new = start, probe(size)
    for used in range(calls):
        if worse(new, start) or (used > 1 and new.loss >= before.loss):
            return [before, new], False, used
        if flat(new, start):
            return [new], True, used
        if new.along >= 0:
            return [before, new], False, used
        bounds = new.size + 0.01 * (new.size - before.size), new.size * 10
        before, new = new, probe(cubic_minimum(before, new, bounds))
    return [start, new], False, calls


def worse(new: Point, start: Point) -> bool:
    """Whether the loss has not fallen enough."""
    return new.loss > start.loss + ENOUGH * new.size * start.along


def flat(new: Point, start: Point) -> bool:
    """Whether the slope is small enough."""
    return abs(new.along) <= -FLATTER * start.along


def inside(low: Point, high: Point, stalled: bool) -> tuple[float, bool]:
    """The size to try, and whether it is near an end; twice near an end it is moved inwards."""
    left, right = sorted((low.size, high.size))
    size, margin = cubic_minimum(low, high), 0.1 * (right - left)
    if min(right - size, size - left) >= margin:
        return size, False
    if not stalled and left < size < right:
        return size, True
    return (right - margin if right - size < size - left else left + margin), False
