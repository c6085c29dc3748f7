"""A line search for a point that meets the strong Wolfe conditions.

It first brackets such a point, then shrinks the interval, both by cubic interpolation.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from gnomon.tensor.tensor import Tensor

ENOUGH, FLATTER, LEAST = 1e-4, 0.9, 1e-9
"""The constants of the decrease and the curvature conditions, and the least interval."""


class Point(NamedTuple):
    """A point on the line: its distance, loss, gradient, and slope along the line."""

    size: float
    loss: float
    slope: Tensor
    along: float


Probe = Callable[[float], Point]


def cubic_minimum(one: Point, two: Point, bounds: tuple[float, float] | None = None) -> float:
    """The minimum within bounds of the cubic through two points and their slopes."""
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
    """Search for the best point with about `calls` calls of probe at most.

    longest: the largest magnitude in the direction.
    """
    bracket, done, used = bracketed(probe, start, size, calls)
    bracket.sort(key=lambda point: point.loss)
    stalled = False
    while not done and used < calls:
        low, high = bracket
        if abs(high.size - low.size) * longest < LEAST:
            break
        tried, stalled = next_size(low, high, stalled)
        new = probe(tried)
        used += 1
        if too_high(new, start) or new.loss >= low.loss:
            bracket = sorted((low, new), key=lambda point: point.loss)
            continue
        done = is_flat(new, start)
        turned = not done and new.along * (high.size - low.size) >= 0
        bracket = [new, low if turned else high]
    return bracket[0]


def bracketed(probe: Probe, start: Point, size: float, calls: int) -> tuple[list[Point], bool, int]:
    """Find two points around a good one, or a good one; return whether, and the number of calls."""
    before, new = start, probe(size)
    for used in range(calls):
        if too_high(new, start) or (used > 1 and new.loss >= before.loss):
            return [before, new], False, used
        if is_flat(new, start):
            return [new], True, used
        if new.along >= 0:
            return [before, new], False, used
        bounds = new.size + 0.01 * (new.size - before.size), new.size * 10
        before, new = new, probe(cubic_minimum(before, new, bounds))
    return [start, new], False, calls


def too_high(new: Point, start: Point) -> bool:
    """Whether the loss does not meet the sufficient-decrease condition."""
    return new.loss > start.loss + ENOUGH * new.size * start.along


def is_flat(new: Point, start: Point) -> bool:
    """Whether the slope meets the curvature condition."""
    return abs(new.along) <= -FLATTER * start.along


def next_size(low: Point, high: Point, stalled: bool) -> tuple[float, bool]:
    """The next size to try, and whether it is near an end; a second time it is moved inwards."""
    left, right = sorted((low.size, high.size))
    size, margin = cubic_minimum(low, high), 0.1 * (right - left)
    if min(right - size, size - left) >= margin:
        return size, False
    if not stalled and left < size < right:
        return size, True
    return (right - margin if right - size < size - left else left + margin), False
