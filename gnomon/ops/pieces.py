"""Into which pieces logits are cut, by the memory that each way takes.

Two terms make the memory: the tile of logits, which shrinks with every cut, and the partial sums of
slopes that wait for their partners in the tree, which do not. Time hardly enters: any cut costs one
product more than none, because logits are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from gnomon.errors import ArgumentError
from gnomon.ir.node import Shape
from gnomon.ops.logits import Cut, sums_of

STRATEGIES = ("auto", "full", "batch", "vocab")
ROW_NUMBERS = 24
"""Numbers kept per row besides those per block."""
BLOCK_NUMBERS = 5
"""Numbers kept per row and block of columns."""
ALIGNMENT = 1 << 13
"""Bytes that are lost between values."""
ENOUGH = 1.25
"""More pieces must save at least this factor."""


class Problem(NamedTuple):
    """The sizes of a loss: rows, inputs per row, classes, bytes of one number.

    Tensors that come in narrower numbers are there twice.
    """

    rows: Shape
    width: int
    classes: int
    item: int
    narrow: bool = False

    def memory(self, cut: Cut | None) -> int:
        """Bytes beside x, weight and their slopes, forward and backward together."""
        n, d, v = prod(self.rows), self.width, self.classes
        kept = n * (ROW_NUMBERS + BLOCK_NUMBERS * self.blocks)
        kept += 2 * (n + v) * d if self.narrow else 0
        if cut is None:
            return self.item * (n * v + kept) + ALIGNMENT
        down, across = cut
        tile = n // down * (v // across)
        waiting = waiting_sums(across) * (n // down * d) + waiting_sums(down) * v * d + down * v
        return self.item * (tile + waiting + kept) + ALIGNMENT

    @property
    def blocks(self) -> int:
        """The leaves of the sum over classes."""
        return sums_of(self.rows, self.classes).columns

    def cuts(self, strategy: str, most_rows: int | None) -> Iterator[Cut]:
        """The ways to cut that a strategy allows, the coarsest first."""
        sums = sums_of(self.rows, self.classes)
        downs = powers(sums.rows[0]) if strategy != "vocab" else powers(min(2, sums.rows[0]))
        acrosses = powers(sums.columns) if strategy != "batch" else [1]
        few = prod(self.rows) if most_rows is None else most_rows
        fitting = [down for down in downs if prod(self.rows) // down <= few]
        found = [(down, across) for down in fitting or downs[-1:] for across in acrosses]
        return iter(sorted(found, key=lambda cut: (cut[0] * cut[1], cut[0])))


def powers(most: int) -> list[int]:
    """1, 2, 4, ..., most."""
    return [1 << k for k in range(most.bit_length())]


def waiting_sums(pieces: int) -> int:
    """How many partial sums wait at most beside the one that lies where the result will be.

    >>> waiting_sums(1), waiting_sums(2), waiting_sums(16)
    (0, 0, 3)
    """
    return max(pieces.bit_length() - 2, 0)


def choose_cut(
    problem: Problem, strategy: str, limit: int | None, most_rows: int | None = None
) -> Cut | None:
    """The cut that a strategy makes, within a limit of bytes; None is none.

    Without a limit "auto" cuts when logits would be larger than inputs and slopes. Pieces have
    `most_rows` rows or fewer, if leaves can be had as small as that.
    """
    cuts: list[Cut | None] = []
    if strategy != "full":
        cuts += problem.cuts(strategy, most_rows)
    if strategy in ("full", "auto"):
        cuts.insert(0, None)
    costs = [problem.memory(cut) for cut in cuts]
    if limit is not None:
        for cut, cost in zip(cuts, costs, strict=True):
            if cost <= limit:
                return cut
        raise ArgumentError(
            f"linear_cross_entropy: max_memory {limit} is too little: strategy {strategy!r} needs "
            f"{min(costs)} bytes here. Allow more, or have sizes that larger powers of two divide."
        )
    parameters = (prod(problem.rows) + problem.classes) * problem.width * problem.item
    if cuts[0] is None and (strategy == "full" or costs[0] <= parameters):
        return None
    least = min(costs)
    return next(cut for cut, cost in zip(cuts, costs, strict=True) if cost <= ENOUGH * least)
