"""Into how many leaves a reduced axis is cut: the part of canonical order that a node carries.

The count follows from the axis's role and its global size alone, never from a layout; every
rewrite keeps it (design: docs/concepts.md, "Canonical order").
"""

from __future__ import annotations

ROWS = (1, 16)
"""(smallest leaf, most leaves) of batch rows, heads and experts."""
SEQUENCE = (128, 4)
"""The same for tokens within a row."""
OTHERS = (128, 16)
"""The same for contracted, hidden and vocabulary axes."""


def leaves(size: int, role: tuple[int, int]) -> int:
    """The largest 2^d that divides size, is at most `most`, leaving pieces of `smallest` or more.

    >>> leaves(4096, OTHERS), leaves(384, OTHERS), leaves(12, ROWS), leaves(96, OTHERS)
    (16, 2, 4, 1)
    """
    smallest, most = role
    count = 1
    while count < most and size % (2 * count) == 0 and size // (2 * count) >= smallest:
        count *= 2
    return count


def role_in_reduce(axis: int, rank: int) -> tuple[int, int]:
    """The role of a folded axis: the first is rows, the second of three or more is tokens."""
    if axis == 0:
        return ROWS
    if axis == rank - 1:
        return OTHERS
    return SEQUENCE if axis == 1 else ROWS


def role_in_contract(left: int, right: int, left_rank: int, right_rank: int) -> tuple[int, int]:
    """The role of a summed letter, from its axis in each operand.

    A letter that leads both operands is rows (a weight's gradient); one that stands inside both, at
    the same axis, is tokens; any other is a contracted axis.
    """
    if left == right == 0:
        return ROWS
    inside = left < left_rank - 1 and right < right_rank - 1
    return SEQUENCE if left == right and inside else OTHERS
