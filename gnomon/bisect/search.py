"""The search for what makes a run wrong: halves of a list, then halves of a count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["first_wrong", "guilty"]

MOST = 2**30
"""No run applies an optimisation more often."""


def guilty(names: Sequence[str], is_right_without: Callable[[Sequence[str]], bool]) -> list[str]:
    """The least of the names without which a run is right, where it is right without all of them.

    One of n is found in log2(n) runs, and one more that makes sure.

    >>> guilty("abcdefgh", lambda left_out: "f" in left_out)
    ['f']
    >>> guilty("abcdefgh", lambda left_out: {"b", "f"} <= {*left_out})
    ['b', 'f']
    """
    left = list(names)
    while len(left) > 1:
        half = left[: len(left) // 2]
        left = half if is_right_without(half) else left[len(half) :]
    if is_right_without(left):
        return left
    return several(list(names), is_right_without)


def several(names: list[str], is_right_without: Callable[[Sequence[str]], bool]) -> list[str]:
    """The names that cannot be put back one by one: each run leaves out all that are not yet."""
    kept = list(names)
    for name in names:
        fewer = [each for each in kept if each != name]
        if is_right_without(fewer):
            kept = fewer
    return kept


def first_wrong(count: int, is_right_from: Callable[[int], bool]) -> int:
    """Find the first of `count` applications that makes a run wrong, counted from one.

    is_right_from: whether a run is right that leaves out all applications from a number on.
    A count of 0 is that of a run that ended before it could say so: it is doubled until it serves.

    >>> first_wrong(50, lambda number: number <= 37)
    37
    >>> first_wrong(0, lambda number: number <= 37)
    37
    """
    low, high = 1, count or 1
    while not count and is_right_from(2 * high) and high < MOST:
        high *= 2
    high = high if count else 2 * high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_right_from(middle) else (low, middle - 1)
    return low
