"""Logits x · weightᵀ: the reductions per row that losses need, and gradients from these.

The callers say which logits are computed at once: regions in logit_rows.py, chunks in
logit_chunks.py. The loss itself is in linear_cross_entropy.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gnomon.dtypes import accumulator
from gnomon.ir.node import Node, Shape
from gnomon.ir.operators import elementwise
from gnomon.ops.arguments import wide
from gnomon.ops.canonical import CONTRACTED, leaves, role_in_contract
from gnomon.ops.primitives import contract, reduce, reshape
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS
from gnomon.ops.statistics import top


class Beside(NamedTuple):
    """Tensors that are read together with logits."""

    columns: Node
    target: Node | None = None
    classes: Node | None = None
    shares: Node | None = None


class LogitTensors(NamedTuple):
    """The tensors from which logits follow; rows are x's leading axes, columns are classes."""

    x: Node
    weight: Node
    columns: Node
    """The number of each column."""
    target: Node | None = None
    """The class of each row, or None."""
    bias: Node | None = None
    classes: Node | None = None
    """The weight of each class, or None."""
    shares: Node | None = None
    """The share of each class in each row, or None."""

    @property
    def beside(self) -> Beside:
        """The tensors that are read together with logits."""
        return Beside(self.columns, self.target, self.classes, self.shares)


def tensors_of(given: Sequence[Node | None]) -> LogitTensors:
    """The tensors behind logits by name, from a list whose first three are never None."""
    x, weight, columns, *others = given
    assert x is not None, "logit_rows looked"
    assert weight is not None, "logit_rows looked"
    assert columns is not None, "logit_rows looked"
    return LogitTensors(x, weight, columns, *others)


class Sums(NamedTuple):
    """The leaves of gradients' sums: along each axis of rows, and along columns."""

    rows: tuple[int, ...]
    columns: int


class LogitCut(NamedTuple):
    """The number of pieces of rows and columns: powers of two that divide their leaves.

    With `sweeps`, any numbers are allowed: gradients of x are computed by chunks of rows, then
    those of the weight by chunks of columns. No partial sum has to be stored, but logits are
    computed a third time.
    """

    down: int
    across: int
    sweeps: bool = False


def sums_of(rows: Shape, columns: int) -> Sums:
    """The leaves of gradients' sums in canonical order, for the given rows and columns.

    >>> sums_of((2048,), 32768), sums_of((8, 256), 50257)
    (Sums(rows=(16,), columns=16), Sums(rows=(8, 2), columns=1))
    """
    rank = len(rows) + 1
    counts = (leaves(n, role_in_contract(k, k, rank, rank)) for k, n in enumerate(rows))
    return Sums(tuple(counts), leaves(columns, CONTRACTED))


def logits_of(given: LogitTensors, softcap: float | None) -> Node:
    """The logits (..., classes), with softcap if it is not None."""
    names = LETTERS[: given.x.rank - 1]
    y = contract(f"{names}z,yz->{names}y", wide(given.x), wide(given.weight))
    y = y if given.bias is None else y + given.bias
    return y if softcap is None else elementwise("tanh", y / softcap) * softcap


def in_blocks(y: Node, blocks: int) -> Node:
    """The last axis reshaped to (blocks, columns of a block)."""
    return reshape(y, (*y.shape[:-1], blocks, y.shape[-1] // blocks))


def is_target(y: Node, beside: Beside, target: Node) -> Node:
    """A mask (..., blocks, columns) of the columns that are their row's class."""
    return elementwise("eq", in_blocks(beside.columns, y.shape[-2]), per_row(target))


def per_row(value: Node) -> Node:
    """A value per row, reshaped to broadcast with (blocks, columns)."""
    return reshape(value, (*value.shape, 1, 1))


def weighted(y: Node, beside: Beside) -> Node:
    """The logits, or values of their shape, times the weights of classes, if any."""
    return y if beside.classes is None else y * in_blocks(beside.classes, y.shape[-2])


def statistics(y: Node, beside: Beside, spread: bool) -> list[Node]:
    """The statistics of each block of each row: (..., blocks) each.

    The maximum, and the sum of exponentials relative to it; the logit of the row's class (−inf if
    it is in another block); the sum of logits by class weights; their sum by shares too.
    """
    last = (y.rank - 1,)
    below = elementwise("exp", y - top(y, last))
    found = [reduce("max", y, last), reduce("add", below, last)]
    if beside.target is not None:
        here = is_target(y, beside, beside.target)
        found.append(reduce("max", where(here, y, float("-inf")), last))
    if spread:
        found.append(reduce("add", weighted(y, beside), last))
    if beside.shares is not None:
        mixed = in_blocks(beside.shares, y.shape[-2]) * weighted(y, beside)
        found.append(reduce("add", mixed, last))
    return found


def slopes_of(y: Node, beside: Beside, lse: Node, parts: Sequence[Node], spread: bool) -> Node:
    """The gradients of logits, (..., blocks, columns), from those of the reductions per row.

    A row with a gradient of 0 gives 0, whatever its logits are.
    """
    live = elementwise("ne", parts[0], 0.0)
    for part in parts[1:]:
        live = elementwise("or", live, elementwise("ne", part, 0.0))
    whole, *rest = (per_row(part) for part in parts)
    total = elementwise("exp", y - per_row(lse)) * whole
    if beside.target is not None:
        here = is_target(y, beside, beside.target)
        total = total + where(here, rest.pop(0), 0.0)
    if spread:
        total = total + weighted(rest.pop(0), beside)
    if beside.shares is not None:
        shares = in_blocks(beside.shares, y.shape[-2])
        total = total + weighted(shares, beside) * rest.pop(0)
    return where(per_row(live), total, 0.0)


def before_cap(slopes: Node, y: Node, softcap: float | None) -> Node:
    """The gradients of logits before softcap, from those after it."""
    if softcap is None:
        return slopes
    share = y / softcap
    return slopes * (1.0 - share * share)


def slope_of_x(slopes: Node, weight: Node, sums: Sums) -> Node:
    """The gradient of x: a sum over columns."""
    names = LETTERS[: slopes.rank - 1]
    return product(f"{names}y,yz->{names}z", slopes, wide(weight), (sums.columns,))


def slope_of_weight(slopes: Node, x: Node, sums: Sums) -> Node:
    """The gradient of weight: a sum over rows."""
    names = LETTERS[: slopes.rank - 1]
    return product(f"{names}y,{names}z->yz", slopes, wide(x), sums.rows)


def product(spec: str, a: Node, b: Node, counts: tuple[int, ...]) -> Node:
    """A contraction with given leaves, since a piece has part of the whole's leaves."""
    return a.arena.node("contract", (a, b), spec=spec, leaves=counts, dtype=accumulator(a.dtype))


def slope_of_bias(slopes: Node, sums: Sums) -> Node:
    """The gradient of a bias: logits' gradients summed over rows, the innermost axis first."""
    for axis in reversed(range(slopes.rank - 1)):
        slopes = slopes.arena.node(
            "reduce",
            (slopes,),
            monoid="add",
            axis=axis,
            leaves=sums.rows[axis],
            lanes=False,
            dtype=slopes.dtype,
        )
    return slopes
