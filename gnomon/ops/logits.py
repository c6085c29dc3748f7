"""What a loss of classes needs of logits x · weightᵀ: numbers per row, and slopes from these.

Two regions, each by its definition here. With a `cut` they are computed piece by piece
(gnomon/schedule/turns.py), to the same bits: a piece holds whole leaves of what is summed. The loss
itself is in linear_cross_entropy.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gnomon.dtypes import accumulator, int64
from gnomon.ir.node import Node, Shape
from gnomon.ir.operators import elementwise
from gnomon.ops.canonical import OTHERS, leaves, role_in_contract
from gnomon.ops.joining import stack
from gnomon.ops.primitives import contract, reduce, reshape
from gnomon.ops.reductions import fold
from gnomon.ops.registry import internal, op
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS
from gnomon.ops.statistics import top
from gnomon.ops.view_primitives import permute


class Beside(NamedTuple):
    """What is looked at beside logits."""

    starts: Node
    target: Node | None = None
    classes: Node | None = None
    shares: Node | None = None


class Given(NamedTuple):
    """The tensors behind logits; rows are x's leading axes, classes come in blocks of columns."""

    x: Node
    weight: Node
    starts: Node
    """The first column of each block."""
    target: Node | None = None
    """The class of each row."""
    bias: Node | None = None
    classes: Node | None = None
    """A weight per class."""
    shares: Node | None = None
    """A share of each class, per row."""

    @property
    def beside(self) -> Beside:
        """What is looked at beside logits."""
        return Beside(self.starts, self.target, self.classes, self.shares)


class Sums(NamedTuple):
    """Into how many leaves the sums of slopes are cut: along each axis of rows, along columns."""

    rows: tuple[int, ...]
    columns: int


Cut = tuple[int, int]
"""Into how many pieces rows and columns are cut: powers of two that divide their leaves."""


def sums_of(rows: Shape, columns: int) -> Sums:
    """The leaves that the sizes of a program give.

    >>> sums_of((2048,), 32768), sums_of((8, 256), 50257)
    (Sums(rows=(16,), columns=16), Sums(rows=(8, 2), columns=1))
    """
    rank = len(rows) + 1
    counts = (leaves(n, role_in_contract(k, k, rank, rank)) for k, n in enumerate(rows))
    return Sums(tuple(counts), leaves(columns, OTHERS))


def logits_of(given: Given, softcap: float | None) -> Node:
    """The logits (..., classes), capped if asked for."""
    names = LETTERS[: given.x.rank - 1]
    y = contract(f"{names}z,yz->{names}y", given.x, given.weight)
    y = y if given.bias is None else y + given.bias
    return y if softcap is None else elementwise("tanh", y / softcap) * softcap


def in_blocks(y: Node, starts: Node) -> Node:
    """The last axis as (blocks, columns of a block)."""
    return reshape(y, (*y.shape[:-1], starts.size, y.shape[-1] // starts.size))


def columns_of(starts: Node, width: int) -> Node:
    """The number of every column: (blocks, width)."""
    inside = starts.arena.node("iota", (), size=width, dtype=int64)
    return reshape(starts, (starts.size, 1)) + inside


def per_row(value: Node) -> Node:
    """A value per row beside (blocks, columns)."""
    return reshape(value, (*value.shape, 1, 1))


def weighted(y: Node, beside: Beside) -> Node:
    """y, each class by its weight."""
    return y if beside.classes is None else y * in_blocks(beside.classes, beside.starts)


def statistics(y: Node, beside: Beside, spread: bool) -> list[Node]:
    """What each row's blocks hold: (..., blocks) each.

    The maximum, and the sum of exponentials below it; the logit of the row's class (−inf where it
    is in another block); the sum of logits by class weights; their sum by shares too.
    """
    last = (y.rank - 1,)
    below = elementwise("exp", y - top(y, last))
    found = [reduce("max", y, last), reduce("add", below, last)]
    if beside.target is not None:
        here = elementwise("eq", columns_of(beside.starts, y.shape[-1]), per_row(beside.target))
        found.append(reduce("max", where(here, y, float("-inf")), last))
    if spread:
        found.append(reduce("add", weighted(y, beside), last))
    if beside.shares is not None:
        mixed = in_blocks(beside.shares, beside.starts) * weighted(y, beside)
        found.append(reduce("add", mixed, last))
    return found


def blocks_first(x: Node) -> Node:
    """The last axis moved to the front."""
    return permute(x, (x.rank - 1, *range(x.rank - 1)))


@internal
def logit_blocks(
    given: Sequence[Node | None], *, softcap: float | None, spread: bool, cut: Cut | None
) -> tuple[Node, ...]:
    """The statistics of logits: (blocks, ...) each."""
    tensors = Given(*given)
    y = in_blocks(logits_of(tensors, softcap), tensors.starts)
    found = statistics(y, tensors.beside, spread)
    return tuple(blocks_first(x) for x in found)


def joined_blocks(found: Sequence[Node], target: bool) -> Node:
    """Numbers per row from those of its blocks: log of the sum of exponentials first."""
    highest, total, *rest = found
    reference = top(highest, (0,))
    # exponentials are taken below the maximum: what it is has no slope
    below = highest.arena.node("detach", (highest - reference,))
    scaled = total * elementwise("exp", below)
    total = fold("add", scaled, (0,), False)
    rows = [elementwise("log", total) + reshape(reference, total.shape)]
    if target:
        rows.append(fold("max", rest.pop(0), (0,), False))
    return stack([*rows, *(fold("add", x, (0,), False) for x in rest)])


def logit_rows_rule(
    g: Node,
    y: Node,
    given: Sequence[Node | None],
    *,
    softcap: float | None,
    spread: bool,
    cut: Cut | None,
) -> tuple[Node | None, ...]:
    """Slopes as one region, which is computed piece by piece too; shares have theirs in full."""
    tensors = Given(*given)
    lse = row_of(y, 0)
    made = logit_slopes(given, lse, g, softcap=softcap, spread=spread, cut=cut)
    slopes = dict(zip(("x", "weight", "bias"), made, strict=False))
    if tensors.shares is not None:
        y = in_blocks(logits_of(tensors, softcap), tensors.starts)
        by_shares = weighted(y, tensors.beside) * per_row(row_of(g, -1))
        slopes["shares"] = reshape(by_shares, tensors.shares.shape)
    named = zip(Given._fields, given, strict=True)
    return tuple(slopes.get(name) for name, x in named if x is not None)


def row_of(packed: Node, k: int) -> Node:
    """One of several numbers per row."""
    k %= packed.shape[0]
    bounds = ((k, k + 1, 1), *((0, n, 1) for n in packed.shape[1:]))
    if packed.shape[0] > 1:
        packed = packed.arena.node("slice", (packed,), bounds=bounds)
    return reshape(packed, packed.shape[1:])


@op(gradient=logit_rows_rule)
def logit_rows(
    given: Sequence[Node | None], *, softcap: float | None, spread: bool, cut: Cut | None
) -> Node:
    """Of each row of logits: log of the sum of exponentials, and what a loss asks for besides.

    Shapes: given (?) -> (?)

    First the logarithm; the logit of its class if it has one; with `spread` the sum of all logits,
    by class weights; the sum by shares if there are any.
    """
    found = logit_blocks(given, softcap=softcap, spread=spread, cut=cut)
    return joined_blocks(found, Given(*given).target is not None)


def rows_of(packed: Node) -> list[Node]:
    """All numbers per row, apart."""
    return [row_of(packed, k) for k in range(packed.shape[0])]


def slopes_of(y: Node, beside: Beside, lse: Node, parts: Sequence[Node], spread: bool) -> Node:
    """The slopes of logits, (..., blocks, columns), from those of the numbers per row.

    A row whose slopes are all 0 gives 0, whatever its logits hold.
    """
    live = elementwise("ne", parts[0], 0.0)
    for part in parts[1:]:
        live = elementwise("or", live, elementwise("ne", part, 0.0))
    whole, *rest = (per_row(part) for part in parts)
    total = elementwise("exp", y - per_row(lse)) * whole
    if beside.target is not None:
        here = elementwise("eq", columns_of(beside.starts, y.shape[-1]), per_row(beside.target))
        total = total + where(here, rest.pop(0), 0.0)
    if spread:
        total = total + weighted(rest.pop(0), beside)
    if beside.shares is not None:
        total = total + weighted(in_blocks(beside.shares, beside.starts), beside) * rest.pop(0)
    return where(per_row(live), total, 0.0)


def before_cap(slopes: Node, y: Node, softcap: float | None) -> Node:
    """Slopes of what was capped."""
    if softcap is None:
        return slopes
    share = y / softcap
    return slopes * (1.0 - share * share)


def slope_of_x(slopes: Node, weight: Node, sums: Sums) -> Node:
    """The slope of x: a sum over columns."""
    names = LETTERS[: slopes.rank - 1]
    return product(f"{names}y,yz->{names}z", slopes, weight, (sums.columns,))


def slope_of_weight(slopes: Node, x: Node, sums: Sums) -> Node:
    """The slope of weight: a sum over rows."""
    names = LETTERS[: slopes.rank - 1]
    return product(f"{names}y,{names}z->yz", slopes, x, sums.rows)


def product(spec: str, a: Node, b: Node, counts: tuple[int, ...]) -> Node:
    """A contraction whose leaves are given, since those of a piece are part of the whole's."""
    return a.arena.node("contract", (a, b), spec=spec, leaves=counts, dtype=accumulator(a.dtype))


def slope_of_bias(slopes: Node, sums: Sums) -> Node:
    """The slope of a bias: slopes summed over rows, the innermost axis first."""
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


@internal
def logit_slopes(
    given: Sequence[Node | None],
    lse: Node,
    g: Node,
    *,
    softcap: float | None,
    spread: bool,
    cut: Cut | None,
) -> tuple[Node, ...]:
    """The slopes of x, weight and bias, from those of logit_rows, and its first number."""
    tensors = Given(*given)
    sums = sums_of(tensors.x.shape[:-1], tensors.weight.shape[0])
    y = in_blocks(logits_of(tensors, softcap), tensors.starts)
    slopes = before_cap(slopes_of(y, tensors.beside, lse, rows_of(g), spread), y, softcap)
    slopes = reshape(slopes, (*lse.shape, tensors.weight.shape[0]))
    made = [slope_of_x(slopes, tensors.weight, sums), slope_of_weight(slopes, tensors.x, sums)]
    if tensors.bias is not None:
        made.append(slope_of_bias(slopes, sums))
    return tuple(made)
