"""Folds of values: with each other, over 64 lanes, over leaves.

One order, for every kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gnomon.codegen import scalar
from gnomon.codegen.block import ScalarValues, neutral
from gnomon.codegen.emitter import LANES, Emitter, vector
from gnomon.codegen.lifted import Lifted, is_lifted
from gnomon.ir.node import Node

COMBINE = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum", "and": "and", "or": "or"}
"""Monoid -> the scalar function that folds two values."""
SLOT = LANES * 8
"""Bytes of a vector of any dtype in scratch memory."""


class Folds:
    """Writes folds of vectors."""

    def __init__(self, e: Emitter) -> None:
        self.e = e

    def combine(self, fold: Node, a: str, b: str) -> str:
        """a folded with b, a the earlier."""
        dtype = neutral(fold)[0]
        return scalar.apply(self.e, COMBINE[fold.params["monoid"]], [a, b], dtype, dtype)

    def accumulate(self, fold: Node, total: str, value: str, on: str | None) -> str:
        """A total, folded with a value in the lanes that are on."""
        if on is not None:
            dtype, start = neutral(fold)
            kind = vector(scalar.register(dtype))
            value = self.e.value(f"select {vector('i1')} {on}, {kind} {value}, {kind} {start}")
        return self.combine(fold, total, value)

    def lanes(self, fold: Node, totals: Sequence[str]) -> str:
        """64 lanes to one value, by halving: l with l + 32, 16, 8, 4, 2, 1."""
        return self.whole(fold, [self.sixteen(fold, totals)])

    def sixteen(self, fold: Node, totals: Sequence[str]) -> str:
        """64 lanes folded to sixteen: the first two halvings."""
        a, b, c, d = totals
        return self.combine(fold, self.combine(fold, a, c), self.combine(fold, b, d))

    def whole(self, fold: Node, parts: Sequence[str]) -> str:
        """Sixteen lanes of each leaf to one value: lanes by halving, then leaves by their tree.

        Leaves are halved two and two into one vector, until one holds all of them side by side.
        """
        kind, half = scalar.register(neutral(fold)[0]), LANES // 2
        while len(parts) > 1:
            older = [k for k in range(2 * LANES) if k // half % 2 == 0]
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [
                self.combine(
                    fold,
                    self.e.shuffle(*pair, older, kind),
                    self.e.shuffle(*pair, [k + half for k in older], kind),
                )
                for pair in pairs
            ]
            half //= 2
        (total,), steps = parts, [8, 4, 2, 1]
        inside = [step for step in steps if step <= half]
        for step in (*inside, *(step for step in reversed(steps) if step > half)):
            other = self.e.shuffle(total, total, [k ^ step for k in range(LANES)], kind)
            total = self.combine(fold, total, other)
        return self.e.shuffle(total, total, [0] * LANES, kind)

    def tree(self, fold: Node, parts: list[str]) -> str:
        """The perfect binary tree over a power of two of values."""
        while len(parts) > 1:
            parts = [self.combine(fold, parts[k], parts[k + 1]) for k in range(0, len(parts), 2)]
        return parts[0]

    def result(self, fold: Node, total: str) -> str:
        """A fold's value in its own dtype, rounded once."""
        return scalar.apply(self.e, "cast", [total], neutral(fold)[0], fold.dtype)

    def lifted(self, fold: Node, values: ScalarValues) -> list[str]:
        """The operands of a fold at each position, in the dtype in which it accumulates."""
        body, dtype = fold.inputs[1], neutral(fold)[0]
        return [scalar.apply(self.e, "cast", [v], body.dtype, dtype) for v in values.vectors(body)]

    def start(self, fold: Node) -> tuple[str, str]:
        """The LLVM type of a fold's totals, and their first value."""
        dtype, start = neutral(fold)
        return vector(scalar.register(dtype)), start

    def spill(self, fold: Node, value: str, table: str, k: str) -> None:
        """Store a leaf's total in a table."""
        e, kind = self.e, scalar.register(neutral(fold)[0])
        if kind == "i1":
            value, kind = e.value(f"zext {vector('i1')} {value} to {vector('i8')}"), "i8"
        e.store(value, e.offset(table, e.mul(k, SLOT)), vector(kind), 8)

    def spilled(self, fold: Node, table: str, leaves: int | Lifted) -> str:
        """The total of all leaves: the perfect binary tree over them."""
        if is_lifted(leaves):
            self._climb(fold, table, leaves)
            return self._unspill(fold, table)
        return self.tree(fold, self.row(fold, table, leaves))

    def row(self, fold: Node, table: str, leaves: int) -> list[str]:
        """The totals of all leaves, loaded from a table."""
        return [self._unspill(fold, self.e.offset(table, k * SLOT)) for k in range(leaves)]

    def _climb(self, fold: Node, table: str, leaves: Lifted) -> None:
        """Fold neighbours in the table until the first entry holds the total."""
        e = self.e

        def pair(k: str) -> None:
            first = e.offset(table, e.mul(k, 2 * SLOT))
            one, other = (self._unspill(fold, x) for x in (first, e.offset(first, SLOT)))
            self.spill(fold, self.combine(fold, one, other), table, k)

        climb(e, leaves, pair)

    def _unspill(self, fold: Node, place: str) -> str:
        """Load a leaf's total from a table."""
        kind = scalar.register(neutral(fold)[0])
        if kind != "i1":
            return self.e.load(place, vector(kind), 8)
        byte = self.e.load(place, vector("i8"), 8)
        return self.e.value(f"icmp ne {vector('i8')} {byte}, zeroinitializer")


def climb(e: Emitter, leaves: Lifted, pair: Callable[[str], None]) -> None:
    """Emit the perfect binary tree over a table: pair(k) puts 2 k and 2 k + 1 into k, by levels.

    The number of leaves is a power of two that is a runtime argument.
    """

    def level(k: str) -> None:
        e.loop(0, e.value(f"lshr i64 {leaves}, {e.add(k, 1)}"), 1, pair)

    e.loop(0, e.call("i64", "llvm.cttz.i64", ("i64", str(leaves)), ("i1", "true")), 1, level)
