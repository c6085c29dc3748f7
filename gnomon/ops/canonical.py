"""Canonical order: the number of leaves into which a reduced axis is cut.

The count follows from the axis's role and its global size alone, never from a layout; every rewrite
keeps it (design: docs/concepts.md, "Canonical order").
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gnomon.ir.memo import memo

NUMERICS = 3
"""The version of all orders and roundings: with another one, a program has other bits.

1 had no blocks in chains; 2 cut contracted axes of less than 512 into fewer leaves.
"""
Role = tuple[tuple[int, int], ...]
"""Pairs of the smallest leaf and the most leaves; the pair that gives most leaves counts."""
ROWS: Role = ((1, 16),)
"""The role of batch rows, heads and experts."""
SEQUENCE: Role = ((128, 4),)
"""The role of tokens within a row."""
CONTRACTED: Role = ((32, 4), (128, 16))
"""The role of summed axes of products: four ranks share a width of 128, or heads merged into one.
"""
OTHERS: Role = ((128, 16),)
"""The role of hidden and vocabulary axes that are folded."""
BLOCK = 64
"""The most terms of a block; a longer chain is cut into blocks, joined by a binary tree."""


def leaves(size: int, role: Role) -> int:
    """The largest 2^d that divides size, is at most `most`, leaving pieces of `smallest` or more.

    >>> leaves(4096, OTHERS), leaves(384, OTHERS), leaves(12, ROWS), leaves(96, OTHERS)
    (16, 2, 4, 1)
    >>> leaves(4096, CONTRACTED), leaves(384, CONTRACTED), leaves(128, CONTRACTED)
    (16, 4, 4)
    """
    if type(size) is not int:
        varying: Any = size  # one that is known when a program runs
        return varying.late(counts_of(role))
    return max(most_leaves(size, *pair) for pair in role)


@memo
@cache
def counts_of(role: Role) -> Callable[[int], int]:
    """A function from a size to its leaves in this role."""
    return lambda size: leaves(size, role)


def most_leaves(size: int, smallest: int, most: int) -> int:
    """The largest 2^d up to `most` that divides size into pieces of `smallest` or more."""
    count = 1
    while count < most and size % (2 * count) == 0 and size // (2 * count) >= smallest:
        count *= 2
    return count


def role_in_reduce(axis: int, rank: int) -> Role:
    """The role of a folded axis: the first is rows, the second of three or more is tokens."""
    if axis == 0:
        return ROWS
    if axis == rank - 1:
        return OTHERS
    return SEQUENCE if axis == 1 else ROWS


def role_in_contract(left: int, right: int, left_rank: int, right_rank: int) -> Role:
    """The role of a summed letter, from its axis in each operand.

    A letter that leads both operands is rows (a weight's gradient); a letter inside both, at the
    same axis, is tokens; any other is a contracted axis.
    """
    if left == right == 0:
        return ROWS
    inside = left < left_rank - 1 and right < right_rank - 1
    return SEQUENCE if left == right and inside else CONTRACTED
