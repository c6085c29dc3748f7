"""Reductions of rows of logits for losses, and their gradients, as two regions and an operation.

Each region is defined here by the functions of logits.py. With a `cut` it is computed in chunks
(logit_chunks.py), with the same bits: a chunk holds whole leaves of every sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.joining import stack
from gnomon.ops.logit_chunks import look_through, slope_chunks
from gnomon.ops.logits import (
    LogitCut,
    LogitTensors,
    before_cap,
    in_blocks,
    logits_of,
    per_row,
    slope_of_bias,
    slope_of_weight,
    slope_of_x,
    slopes_of,
    statistics,
    sums_of,
    tensors_of,
    weighted,
)
from gnomon.ops.primitives import reshape
from gnomon.ops.reductions import fold
from gnomon.ops.registry import internal, op
from gnomon.ops.statistics import top
from gnomon.ops.view_primitives import permute


def blocks_first(x: Node) -> Node:
    """x with its last axis moved to the front."""
    return permute(x, (x.rank - 1, *range(x.rank - 1)))


@internal(chunked=look_through)
def logit_blocks(
    given: Sequence[Node | None], *, softcap: float | None, spread: bool, cut: LogitCut | None
) -> tuple[Node, ...]:
    """The statistics of each block of logits' columns: (blocks, ...) each."""
    tensors = tensors_of(given)
    y = logits_of(tensors, softcap)
    y = in_blocks(y, sums_of(y.shape[:-1], y.shape[-1]).columns)
    found = statistics(y, tensors.beside, spread)
    return tuple(blocks_first(x) for x in found)


def joined_blocks(found: Sequence[Node], target: bool) -> Node:
    """Combine the statistics of blocks to numbers per row: log of the sum of exponentials first."""
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
    """The gradient of logit_rows, as one region; gradients of shares are computed in full."""
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
    """The k-th of several numbers per row."""
    k %= packed.shape[0]
    bounds = ((k, k + 1, 1), *((0, n, 1) for n in packed.shape[1:]))
    if packed.shape[0] > 1:
        packed = packed.arena.node("slice", (packed,), bounds=bounds)
    return reshape(packed, packed.shape[1:])


@op(gradient=logit_rows_rule)
def logit_rows(
    given: Sequence[Node | None], *, softcap: float | None, spread: bool, cut: LogitCut | None
) -> Node:
    """The reductions of each row of logits that a loss needs.

    Shapes: given (?) -> (?)

    Results: the logarithm of the sum of exponentials; the logit of the row's class, if it has one;
    with `spread` the sum of all logits, by class weights; the sum by shares, if there are any.

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
    """Refuse a list that does not describe the tensors behind logits."""
    names, nodes = LogitTensors._fields, [isinstance(x, Node) for x in given]
    if not 3 <= len(nodes) <= len(names) or not all(nodes[:3]):
        shapes = [x.shape if isinstance(x, Node) else x for x in given]
        raise ArgumentError(
            f"logit_rows: given is a list of {', '.join(names)}, None for what is not there: got "
            f"{shapes}. Pass x, weight and columns at least."
        )


def is_cut(cut: Sequence[object], given: Sequence[Node | None]) -> bool:
    """Whether `cut` gives valid numbers of pieces of rows and columns."""
    tensors = tensors_of(given)
    most = prod(tensors.x.shape[:-1]), tensors.weight.shape[0]
    return (
        isinstance(cut, tuple)
        and len(cut) in (2, 3)
        and all(type(n) is int and 0 < n <= end for n, end in zip(cut, most, strict=False))
    )


def rows_of(packed: Node) -> list[Node]:
    """All numbers per row, as a list."""
    return [row_of(packed, k) for k in range(packed.shape[0])]


@internal(chunked=slope_chunks)
def logit_slopes(
    given: Sequence[Node | None],
    lse: Node,
    g: Node,
    *,
    softcap: float | None,
    spread: bool,
    cut: LogitCut | None,
) -> tuple[Node, ...]:
    """The gradients of x, weight and bias, from those of logit_rows and its first result."""
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
