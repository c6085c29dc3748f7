"""Losses from logits x · weightᵀ: the numbers per row that they need, and slopes from these.

Two regions, each by its definition here. With a `cut` they are computed piece by piece
(gnomon/schedule/chunks.py), to the same bits: a piece holds whole leaves of what is summed. The
loss itself is in linear_cross_entropy.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from gnomon.dtypes import accumulator
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node, Shape
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import wide
from gnomon.ops.canonical import CONTRACTED, leaves, role_in_contract
from gnomon.ops.joining import stack
from gnomon.ops.primitives import contract, reduce, reshape
from gnomon.ops.reductions import fold
from gnomon.ops.registry import internal, op
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS
from gnomon.ops.statistics import top
from gnomon.ops.view_primitives import permute


class Beside(NamedTuple):
    """The tensors that are read beside logits."""

    columns: Node
    target: Node | None = None
    classes: Node | None = None
    shares: Node | None = None


class LogitTensors(NamedTuple):
    """The tensors behind logits; rows are x's leading axes, columns are classes."""

    x: Node
    weight: Node
    columns: Node
    """The number of each column."""
    target: Node | None = None
    """The class of each row."""
    bias: Node | None = None
    classes: Node | None = None
    """A weight per class."""
    shares: Node | None = None
    """A share of each class, per row."""

    @property
    def beside(self) -> Beside:
        """The tensors that are read beside logits."""
        return Beside(self.columns, self.target, self.classes, self.shares)


def tensors_of(given: Sequence[Node | None]) -> LogitTensors:
    """The tensors behind logits, by name: the first three are always there."""
    x, weight, columns, *others = given
    assert x is not None, "logit_rows looked"
    assert weight is not None, "logit_rows looked"
    assert columns is not None, "logit_rows looked"
    return LogitTensors(x, weight, columns, *others)


class Sums(NamedTuple):
    """Into how many leaves the sums of slopes are cut: along each axis of rows, along columns."""

    rows: tuple[int, ...]
    columns: int


class LogitCut(NamedTuple):
    """Into how many pieces rows and columns are cut: powers of two that divide their leaves.

    With `sweeps`, any numbers: slopes of x are made by pieces of rows, then those of the weight by
    pieces of columns. No partial sum waits, but logits are computed a third time.
    """

    down: int
    across: int
    sweeps: bool = False


def sums_of(rows: Shape, columns: int) -> Sums:
    """The leaves that the sizes of a program give.

    >>> sums_of((2048,), 32768), sums_of((8, 256), 50257)
    (Sums(rows=(16,), columns=16), Sums(rows=(8, 2), columns=1))
    """
    rank = len(rows) + 1
    counts = (leaves(n, role_in_contract(k, k, rank, rank)) for k, n in enumerate(rows))
    return Sums(tuple(counts), leaves(columns, CONTRACTED))


def logits_of(given: LogitTensors, softcap: float | None) -> Node:
    """The logits (..., classes), capped if asked for."""
    names = LETTERS[: given.x.rank - 1]
    y = contract(f"{names}z,yz->{names}y", wide(given.x), wide(given.weight))
    y = y if given.bias is None else y + given.bias
    return y if softcap is None else elementwise("tanh", y / softcap) * softcap


def in_blocks(y: Node, blocks: int) -> Node:
    """The last axis as (blocks, columns of a block)."""
    return reshape(y, (*y.shape[:-1], blocks, y.shape[-1] // blocks))


def is_target(y: Node, beside: Beside, target: Node) -> Node:
    """Whether a column of (..., blocks, columns) is its row's class."""
    return elementwise("eq", in_blocks(beside.columns, y.shape[-2]), per_row(target))


def per_row(value: Node) -> Node:
    """A value per row beside (blocks, columns)."""
    return reshape(value, (*value.shape, 1, 1))


def weighted(y: Node, beside: Beside) -> Node:
    """y, each class by its weight."""
    return y if beside.classes is None else y * in_blocks(beside.classes, y.shape[-2])


def statistics(y: Node, beside: Beside, spread: bool) -> list[Node]:
    """The statistics of each row's blocks: (..., blocks) each.

    The maximum, and the sum of exponentials below it; the logit of the row's class (−inf where it
    is in another block); the sum of logits by class weights; their sum by shares too.
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


def blocks_first(x: Node) -> Node:
    """The last axis moved to the front."""
    return permute(x, (x.rank - 1, *range(x.rank - 1)))


@internal(chunked="look_through")
def logit_blocks(
    given: Sequence[Node | None], *, softcap: float | None, spread: bool, cut: LogitCut | None
) -> tuple[Node, ...]:
    """The statistics of logits: (blocks, ...) each."""
    tensors = tensors_of(given)
    y = logits_of(tensors, softcap)
    y = in_blocks(y, sums_of(y.shape[:-1], y.shape[-1]).columns)
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
    cut: LogitCut | None,
) -> tuple[Node | None, ...]:
    """Slopes as one region, which is computed piece by piece too; shares have theirs in full."""
    tensors = tensors_of(given)
    lse = row_of(y, 0)
    made = logit_slopes(given, lse, g, softcap=softcap, spread=spread, cut=cut)
    slopes: dict[str, Node] = dict(zip(("x", "weight", "bias"), made, strict=False))
    if tensors.shares is not None:
        y = in_blocks(logits_of(tensors, softcap), 1)
        by_shares = weighted(y, tensors.beside) * per_row(row_of(g, -1))
        slopes["shares"] = reshape(by_shares, tensors.shares.shape)
    named = zip(LogitTensors._fields, given, strict=False)
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
    given: Sequence[Node | None], *, softcap: float | None, spread: bool, cut: LogitCut | None
) -> Node:
    """Reduce each row of logits: log of the sum of exponentials, and what a loss asks for besides.

    Shapes: given (?) -> (?)

    First the logarithm; the logit of its class if it has one; with `spread` the sum of all logits,
    by class weights; the sum by shares if there are any.

    >>> row = [tensor([[1.0, 0.0]]), zeros(4, 2), arange(4), None]
    >>> logit_rows(row, softcap=None, spread=False, cut=None)
    Tensor([[1.3863]])
    >>> logit_rows(row, softcap=None, spread=False, cut=(0, 1))
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: logit_rows: cut is pieces of rows and of columns: got (0, 1).
    """
    check_given(given)
    if cut is not None and not is_cut(cut, given):
        raise ArgumentError(f"logit_rows: cut is pieces of rows and of columns: got {cut!r}.")
    found = logit_blocks(given, softcap=softcap, spread=spread, cut=cut)
    return joined_blocks(found, tensors_of(given).target is not None)


def check_given(given: Sequence[Node | None]) -> None:
    """Refuse a list that does not say what logits are made of."""
    names, nodes = LogitTensors._fields, [isinstance(x, Node) for x in given]
    if not 3 <= len(nodes) <= len(names) or not all(nodes[:3]):
        shapes = [x.shape if isinstance(x, Node) else x for x in given]
        raise ArgumentError(
            f"logit_rows: given is a list of {', '.join(names)}, None for what is not there: got "
            f"{shapes}. Pass x, weight and columns at least."
        )


def is_cut(cut: Sequence[object], given: Sequence[Node | None]) -> bool:
    """Whether this says into how many pieces rows and columns are cut."""
    tensors = tensors_of(given)
    most = prod(tensors.x.shape[:-1]), tensors.weight.shape[0]
    return (
        isinstance(cut, tuple)
        and len(cut) in (2, 3)
        and all(type(n) is int and 0 < n <= end for n, end in zip(cut, most, strict=False))
    )


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
        here = is_target(y, beside, beside.target)
        total = total + where(here, rest.pop(0), 0.0)
    if spread:
        total = total + weighted(rest.pop(0), beside)
    if beside.shares is not None:
        shares = in_blocks(beside.shares, y.shape[-2])
        total = total + weighted(shares, beside) * rest.pop(0)
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
    return product(f"{names}y,yz->{names}z", slopes, wide(weight), (sums.columns,))


def slope_of_weight(slopes: Node, x: Node, sums: Sums) -> Node:
    """The slope of weight: a sum over rows."""
    names = LETTERS[: slopes.rank - 1]
    return product(f"{names}y,{names}z->yz", slopes, wide(x), sums.rows)


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


@internal(chunked="slope_chunks")
def logit_slopes(
    given: Sequence[Node | None],
    lse: Node,
    g: Node,
    *,
    softcap: float | None,
    spread: bool,
    cut: LogitCut | None,
) -> tuple[Node, ...]:
    """The slopes of x, weight and bias, from those of logit_rows, and its first number."""
    tensors = tensors_of(given)
    sums = sums_of(tensors.x.shape[:-1], tensors.weight.shape[0])
    y = in_blocks(logits_of(tensors, softcap), 1)
    slopes = before_cap(slopes_of(y, tensors.beside, lse, rows_of(g), spread), y, softcap)
    slopes = reshape(slopes, (*lse.shape, tensors.weight.shape[0]))
    made = [
        cast(slope_of_x(slopes, tensors.weight, sums), tensors.x.dtype),
        cast(slope_of_weight(slopes, tensors.x, sums), tensors.weight.dtype),
    ]
    if tensors.bias is not None:
        made.append(slope_of_bias(slopes, sums))
    return tuple(made)
