"""LBFGS's estimate of the inverse Hessian: a table of past steps, applied to a gradient.

The two-loop recursion (Nocedal, Mathematics of Computation 35, 1980) reads the number of steps as a
value, so that a growing history needs no program of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from gnomon.dtypes import int64
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import elementwise
from gnomon.ops.control_primitives import call
from gnomon.ops.elementwise import remainder
from gnomon.ops.indexing import take
from gnomon.ops.linalg import dot
from gnomon.ops.logic import where
from gnomon.optim.optimizer import rule
from gnomon.tensor.creation import tensor, zeros
from gnomon.tensor.functions import FUNCTIONS, apply
from gnomon.tensor.tensor import Tensor

__all__ = ["Curvature"]

FIRST_ROWS, FIRST_NUMBERS = 8, 1 << 20
"""The initial rows of the tables, or as many as hold FIRST_NUMBERS elements if these are more.
Tables double when they are full, and each size has a program of its own.
"""
Nodes = Sequence[Node]


class Curvature:
    """Past steps and the changes of the gradient in them, the oldest in row `first`."""

    def __init__(self, most: int, like: Tensor) -> None:
        self.most, self.like = most, like
        self.first = self.count = 0
        rows = min(most, max(FIRST_ROWS, FIRST_NUMBERS // max(like.shape[0], 1)))
        self.changes, self.steps, self.inverses = self._tables(rows)
        self.rows: list[tuple[Tensor, Tensor, float]] = []
        """The rows of the tables, the oldest first, as in PyTorch's state."""

    @classmethod
    def of(cls, kept: dict[str, Any], most: int, like: Tensor) -> Curvature:
        """Make the estimate of a loaded state; `like` is a gradient of the same size and dtype."""
        made = cls(most, like)
        for row in zip(kept["old_dirs"], kept["old_stps"], kept["ro"], strict=True):
            made.append(*row)
        return made

    def is_of(self, kept: dict[str, Any], most: int) -> bool:
        """Whether a state holds the steps of this estimate."""
        mine, theirs = [row[0] for row in self.rows], kept.get("old_dirs", ())
        return most == self.most and len(mine) == len(theirs) and all(map(is_, mine, theirs))

    def lists(self) -> dict[str, list[Any]]:
        """The state's entries, under PyTorch's names."""
        names = ("old_dirs", "old_stps", "ro")
        return {name: [row[k] for row in self.rows] for k, name in enumerate(names)}

    def append(self, change: Tensor, step: Tensor, inverse: float) -> None:
        """Add a step, in place of the oldest one if `most` steps are stored."""
        if self.count == len(self.inverses) < self.most:
            self._grow()
        length = len(self.inverses)
        at = (self.first + self.count) % length
        number = tensor([inverse], dtype=self.like.dtype)
        for table, row in ((self.changes, change), (self.steps, step)):
            table.index_copy_(0, tensor([at]), row[None])
        self.inverses.index_copy_(0, tensor([at]), number)
        self.rows = [*self.rows, self._row(at, inverse)][-length:]
        if self.count < length:
            self.count += 1
        else:
            self.first = (self.first + 1) % length

    def direction(self, slope: Tensor, scale: float) -> Tensor:
        """Minus the inverse Hessian estimate times the slope; scale: its diagonal without steps."""
        numbers = tensor(self.first), tensor(self.count), tensor(scale, dtype=slope.dtype)
        return apply(descent, (slope, self.changes, self.steps, self.inverses, *numbers))

    def _tables(self, length: int) -> tuple[Tensor, Tensor, Tensor]:
        """Create empty tables of `length` rows."""
        size, dtype = self.like.shape[0], self.like.dtype
        wide = (zeros(length, size, dtype=dtype) for _ in range(2))
        return (*wide, zeros(length, dtype=dtype))

    def _grow(self) -> None:
        """Double full tables, up to `most` rows."""
        more = self._tables(min(len(self.inverses), self.most - len(self.inverses)))
        old = self.changes, self.steps, self.inverses
        both = zip(old, more, strict=True)
        self.changes, self.steps, self.inverses = map(FUNCTIONS["cat"], both)
        self.rows = [self._row(k, inverse) for k, (*_, inverse) in enumerate(self.rows)]

    def _row(self, at: int, inverse: float) -> tuple[Tensor, Tensor, float]:
        """Row `at` of the tables."""
        return self.changes[at], self.steps[at], inverse


@rule
def descent(
    slope: Node,
    changes: Node,
    steps: Node,
    inverses: Node,
    first: Node,
    count: Node,
    scale: Node,
) -> Node:
    """The two-loop recursion: from the last step back to the oldest, then forward again."""
    fixed = (changes, steps, inverses, first)
    began = (count, -slope, inverses * 0.0)
    _, q, shares = while_loop(is_left, step_back, began, fixed)
    zero = count.arena.node("const", (), value=0, dtype=int64)
    return while_loop(is_ahead, step_forward, (zero, q * scale), (*fixed, count, shares))[1]


def is_left(k: Node, *_: Node) -> Node:
    """Whether steps remain."""
    return elementwise("gt", k, 0)


def step_back(
    k: Node, q: Node, shares: Node, changes: Node, steps: Node, inverses: Node, first: Node
) -> Nodes:
    """Do an iteration of the first loop, on step k - 1."""
    k = k - 1
    at = remainder(first + k, inverses.shape[0])
    share = dot(row(steps, at), q) * row(inverses, at)
    rows = k.arena.node("iota", (), size=inverses.shape[0], dtype=int64)
    return k, q - row(changes, at) * share, where(elementwise("eq", rows, k), share, shares)


def is_ahead(
    k: Node, _r: Node, _changes: Node, _steps: Node, _inverses: Node, _first: Node, count: Node,
    _shares: Node,
) -> Node:  # fmt: skip
    """Whether steps remain in the second loop."""
    return elementwise("lt", k, count)


def step_forward(
    k: Node, r: Node, changes: Node, steps: Node, inverses: Node, first: Node, _: Node, shares: Node
) -> Nodes:
    """Do an iteration of the second loop, on step k."""
    at = remainder(first + k, inverses.shape[0])
    share = row(shares, k) - dot(row(changes, at), r) * row(inverses, at)
    return k + 1, r + row(steps, at) * share


def row(table: Node, at: Node) -> Node:
    """A row of a table."""
    return take(table, at, axis=0)


def while_loop(
    test: Callable[..., Node], body: Callable[..., Nodes], carried: Nodes, fixed: Nodes
) -> Nodes:
    """Run body on the carried and fixed values while test holds; return the carried values."""
    inputs = (*carried, *fixed)
    graphs = {
        "test": graph_of(lambda *leaves: [test(*leaves)], inputs),
        "body": graph_of(body, inputs),
    }
    return call("while", inputs, **graphs, carried=len(carried))


def graph_of(function: Callable[..., Nodes], inputs: Nodes) -> Graph:
    """Capture a function of nodes as a closed graph."""
    arena = Arena()
    leaves = [arena.input(x.shape, x.dtype) for x in inputs]
    return Graph(leaves, function(*leaves))
