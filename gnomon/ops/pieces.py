"""Choose the pieces into which logits are cut, by the memory that each choice takes.

Memory has two terms: the tile of logits, which shrinks with every cut, and the partial sums of
gradients that wait for their partners in the tree, which do not. Cutting costs one product more,
because logits are recomputed; two sweeps cost two more, without waiting sums. 16-bit gradients have
no room for partial sums, so for them there are sweeps only.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from gnomon.errors import ArgumentError
from gnomon.ir.node import Shape
from gnomon.ops.logits import LogitCut, sums_of

STRATEGIES = ("auto", "full", "batch", "vocab")
ROW_NUMBERS = 24
"""The numbers that are stored per row, besides those per block."""
BLOCK_NUMBERS = 5
"""The numbers that are stored per row and block of columns."""
ALIGNMENT = 1 << 13
"""The bytes that alignment may add."""
ENOUGH = 1.25
"""The factor of memory that more pieces must save at least."""
SMALL = 1 / 64
"""Sweeps are not cut finer to save less than this share of tensors and gradients."""
WORTH = 4 << 20
"""Sweeps are not cut finer to save fewer bytes than this."""
LEAST_ROWS = 32
"""The fewest rows of a piece of a sweep, since each piece reads the weight, if memory allows."""


class LossSizes(NamedTuple):
    """The sizes of a loss: rows, width, classes; bytes of a sum, and of an element of x."""

    rows: Shape
    width: int
    classes: int
    item: int
    given: int

    @property
    def parameters(self) -> int:
        """The bytes of x and weight."""
        return (prod(self.rows) + self.classes) * self.width * self.given

    def memory(self, cut: LogitCut | None) -> int:
        """The bytes that a cut takes besides x, weight and gradients, forward and backward."""
        n, d, v = prod(self.rows), self.width, self.classes
        kept = n * (ROW_NUMBERS + BLOCK_NUMBERS * self.blocks) + 2 * v
        if cut is None:
            return self.item * (n * v + kept) + ALIGNMENT
        down, across, sweeps = cut
        tile = -(-n // down) * -(-v // across)
        if sweeps:
            tile = max(-(-n // down) * v, n * -(-v // across))
            return self.item * (tile + kept) + ALIGNMENT
        waiting = waiting_sums(across) * (n // down * d) + waiting_sums(down) * v * d + down * v
        return self.item * (tile + waiting + kept) + ALIGNMENT

    @property
    def blocks(self) -> int:
        """The number of leaves of the sum over classes."""
        return sums_of(self.rows, self.classes).columns

    def cuts(self, strategy: str, most_rows: int | None) -> Iterator[LogitCut]:
        """The cuts that a strategy allows, the coarsest first."""
        sums = sums_of(self.rows, self.classes)
        downs = powers(sums.rows[0]) if strategy != "vocab" else powers(min(2, sums.rows[0]))
        acrosses = powers(sums.columns) if strategy != "batch" else [1]
        few = prod(self.rows) if most_rows is None else most_rows
        fitting = [down for down in downs if prod(self.rows) // down <= few]
        found = [LogitCut(down, across) for down in fitting or downs[-1:] for across in acrosses]
        return iter(sorted(found, key=lambda cut: (cut.down * cut.across, cut.down)))

    def sweeps(self, most_rows: int | None, least_rows: int) -> Iterator[LogitCut]:
        """Sweeps with as many pieces of rows as of columns, the coarsest first."""
        rows = prod(self.rows)
        fewest = 2 if most_rows is None else max(-(-rows // most_rows), 2)
        most = max(rows // least_rows, fewest)
        return (
            LogitCut(n, min(n, self.classes), True) for n in powers(2 * most - 1) if n >= fewest
        )


def powers(most: int) -> list[int]:
    """The powers of two 1, 2, 4, ... up to `most`."""
    return [1 << k for k in range(most.bit_length())]


def waiting_sums(pieces: int) -> int:
    """The most partial sums that are pending, besides the one in the result's buffer.

    >>> waiting_sums(1), waiting_sums(2), waiting_sums(16)
    (0, 0, 3)
    """
    return max(pieces.bit_length() - 2, 0)


def choose_cut(
    problem: LossSizes, strategy: str, limit: int | None, most_rows: int | None = None
) -> LogitCut | None:
    """Choose a strategy's cut within a limit of bytes; None means no cut.

    Without a limit "auto" cuts when logits would be larger than inputs and gradients, for 16-bit
    tensors when they would add much. Chunks have at most `most_rows` rows, if leaves can be that
    small.
    """
    cuts: list[LogitCut | None] = [None] if strategy in ("full", "auto") else []
    narrow = problem.given < problem.item
    if strategy != "full" and not narrow:
        cuts += problem.cuts(strategy, most_rows)
    if strategy != "full" and (narrow or limit is not None):
        cuts += problem.sweeps(most_rows, LEAST_ROWS if limit is None else 1)
    costs = [problem.memory(cut) for cut in cuts]
    if limit is not None:
        for cut, cost in zip(cuts, costs, strict=True):
            if cost <= limit:
                return cut
        raise ArgumentError(
            f"linear_cross_entropy: max_memory {limit} is too little: strategy {strategy!r} needs "
            f"{min(costs)} bytes here. Allow more, or have sizes that larger powers of two divide."
        )
    if strategy == "full" or (strategy == "auto" and costs[0] <= problem.parameters and not narrow):
        return None
    enough = max(WORTH, 2 * SMALL * problem.parameters) if narrow else 0
    enough = max(enough, ENOUGH * min(costs))
    return next(cut for cut, cost in zip(cuts, costs, strict=True) if cost <= enough)
