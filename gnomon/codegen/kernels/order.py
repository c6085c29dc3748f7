"""The one order in which a sum of products is taken, as a program for a stack.

The summed letters are nested, outermost first. The innermost is cut into leaves, each a chain of
fused multiply-adds that starts at -0.0; leaves are combined by a perfect binary tree. Results for
successive indices of the next letter out are a plain chain of additions inside that letter's leaf,
then its tree. Streamed, that is a stack: push each chunk (a leaf of the innermost letter), then pop
two and push older + newer as often as `combine_counts` says. How many leaves a letter has is
decided elsewhere (ops/canonical.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

Letter = tuple[int, int]
"""A summed letter: its size, and how many equal leaves it is cut into."""


def combine_counts(letters: Sequence[Letter]) -> list[int]:
    """The number of pairwise additions on the stack of sums after each chunk is pushed.

    >>> combine_counts([(512, 4)]), combine_counts([(3, 1), (256, 2)])
    ([0, 1, 0, 2], [0, 1, 0, 2, 0, 2])
    """
    if not prod(size for size, _ in letters):
        return []
    *outer, (_, leaves) = letters or [(1, 1)]
    counts = [trailing_ones(leaf) for leaf in range(leaves)]
    for size, leaves in reversed(outer):
        owed = [additions_after(index, size // leaves) for index in range(size)]
        counts = [c for more in owed for c in (*counts[:-1], counts[-1] + more)]
    return counts


def additions_after(index: int, chain: int) -> int:
    """The number of additions after an index of an outer letter: to its chain, then in the tree."""
    done = (index + 1) % chain == 0
    return (index % chain != 0) + (trailing_ones(index // chain) if done else 0)


def trailing_ones(number: int) -> int:
    """The number of subtrees that a leaf of a binary tree completes.

    >>> [trailing_ones(n) for n in range(8)]
    [0, 1, 0, 2, 0, 1, 0, 3]
    """
    return (number ^ (number + 1)).bit_length() - 1


def chunk_length(letters: Sequence[Letter]) -> int:
    """The number of products in one chunk's chain: the innermost letter's leaf.

    >>> chunk_length([(3, 1), (256, 2)]), chunk_length([])
    (128, 1)
    """
    size, leaves = letters[-1] if letters else (1, 1)
    assert size % leaves == 0, f"order: {leaves} leaves do not divide {size}."
    return size // leaves


def depths(counts: Sequence[int]) -> list[int]:
    """The numbers of partial sums on the stack before each chunk, and after the last.

    >>> depths([0, 1, 0, 2])
    [0, 1, 1, 2, 1]
    """
    return [0, *accumulate(1 - count for count in counts)]
