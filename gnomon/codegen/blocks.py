"""Long sums in blocks: a chain has canonical.BLOCK terms at most, and blocks a binary tree.

Code meets blocks one by one. Each is joined with the neighbours that wait for it, as digits of a
binary counter carry; the last takes all that still wait. Absent neighbours change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gnomon.codegen.block import neutral
from gnomon.codegen.emitter import Emitter
from gnomon.codegen.folds import SLOT, Folds
from gnomon.codegen.lifted import Lifted, is_lifted
from gnomon.ir.node import Node
from gnomon.ops import canonical

MOST_WAIT = 40
"""Totals that wait at once: one for each binary digit of the number of blocks."""
ENOUGH = 14
"""Digits where leaves are measured at run time: levels of three such axes fit a word."""
LEVELS = 6
"""Levels of an axis, at least: its chains, and one for each bit of the number of a leaf."""


@dataclass(frozen=True)
class Folded:
    """A summed axis of a chain: its size and its number of leaves."""

    size: int
    leaves: int = field(metadata={"follows": "size"})

    @property
    def leaf(self) -> int:
        """The size of a leaf."""
        return self.size // self.leaves

    @property
    def digits(self) -> int:
        """The bits that a block number within its leaf takes; an upper bound for a runtime size."""
        if is_lifted(self.leaf) and not self.leaf > canonical.BLOCK << ENOUGH:
            return ENOUGH
        digits = 0
        while self.leaf > canonical.BLOCK << digits:
            digits += 1
        return digits

    @property
    def levels(self) -> int:
        """The number of levels of the reduction tree over this axis."""
        return LEVELS + self.digits


def is_cut(folds: Sequence[Node], terms: int | Lifted) -> bool:
    """Whether chains of `terms` terms are cut into blocks, which matters only if a fold rounds.

    A number of terms that is known only at run time may need it; a single block is the whole chain.
    """
    return any(map(rounds, folds)) and (is_lifted(terms) or terms > canonical.BLOCK)


def rounds(fold: Node) -> bool:
    """Whether a fold rounds, so that its order can be seen in its result."""
    return fold.params["monoid"] in ("add", "mul") and neutral(fold)[0].is_floating_point


def scratch_of(chains: int) -> int:
    """Bytes of the stack of pending block totals of `chains` chains."""
    return MOST_WAIT * chains * SLOT


State = Sequence[tuple[str, str]]
"""The LLVM type and the first value of each total."""


class ChainBlocks:
    """Writes the blocks of chains that run side by side."""

    def __init__(
        self, e: Emitter, state: State, combine: Callable[[int, str, str], str], table: str
    ) -> None:
        """Set up the stack; combine(j, older, newer) joins totals of chain j; table: scratch."""
        self.e, self.state, self.combine, self.table = e, state, combine, table
        self.last: int | Lifted | str = 0

    @classmethod
    def of(cls, folds: Folds, owners: Sequence[Node], reserve: Callable[[int], str]) -> ChainBlocks:
        """The block writer for the chains of these folds."""
        state = [folds.start(fold) for fold in owners]
        table = reserve(scratch_of(len(owners)))
        return cls(folds.e, state, lambda j, *pair: folds.combine(owners[j], *pair), table)

    def over(
        self,
        count: int | Lifted,
        length: int,
        high: str,
        one: Callable[[str, str], Sequence[str]],
    ) -> list[str]:
        """Emit `count` blocks; returns the last one's totals, with those before it on the stack.

        one(first, end) gives the totals of a block; each has a length, and the last ends at high.
        """
        e, self.last = self.e, count - 1

        def block(k: str, *_: str) -> Sequence[str]:
            first = e.mul(k, length)
            totals = one(first, e.least(e.add(first, length), high))
            e.when(e.value(f"icmp slt i64 {k}, {self.last}"), lambda: self._put(k, totals))
            return totals

        return e.loop(0, count, 1, block, self.state)

    def joined(self, totals: Sequence[str]) -> list[str]:
        """Combine the last block's totals with all pending ones."""
        waiting = self._ones(str(self.last))
        return self._taken(totals, waiting, waiting)

    def _put(self, k: str, totals: Sequence[str]) -> None:
        """Combine block k with the pending totals that it completes, and push the result."""
        e, waiting = self.e, self._ones(k)
        ended = e.call("i64", "llvm.cttz.i64", ("i64", e.value(f"xor i64 {k}, -1")), ("i1", "true"))
        totals, below = self._taken(totals, waiting, ended), e.sub(waiting, ended)
        for (kind, _), total, place in zip(self.state, totals, self._places(below), strict=True):
            e.store(total, place, kind, 8)

    def _taken(self, totals: Sequence[str], waiting: str, count: str) -> list[str]:
        """Combine `totals` with the newest `count` pending totals."""
        e, kinds = self.e, [kind for kind, _ in self.state]

        def one(k: str, *newer: str) -> list[str]:
            places = self._places(e.sub(e.sub(waiting, 1), k))
            older = [e.load(*pair, 8) for pair in zip(places, kinds, strict=True)]
            return [self.combine(j, *pair) for j, pair in enumerate(zip(older, newer, strict=True))]

        return e.loop(0, count, 1, one, list(zip(kinds, totals, strict=True)))

    def _places(self, k: str) -> list[str]:
        """The addresses of the k-th pending total of every chain."""
        first = self.e.offset(self.table, self.e.mul(k, len(self.state) * SLOT))
        return [self.e.offset(first, SLOT * j) for j in range(len(self.state))]

    def _ones(self, number: str) -> str:
        """The number of pending totals before a block: the set bits of its number."""
        return self.e.call("i64", "llvm.ctpop.i64", ("i64", number))
