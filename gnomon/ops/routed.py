"""Products of routed rows with matrices of their own, block by block: experts and their gradients.

Rows come in blocks, stretches of the global order of tokens (decision 0066), and are sorted by
group within each block; `ends` gives for each block the end of each group's run, counted from the
block's start. So a block is computed in place, and a sum over a group is one chain per block and a
perfect tree over blocks. Groups may be distributed: then each share of them has rows of its own, as
when rows travel to the ranks of their groups. A hand-written kernel claims the regions
`routed_rows` and `routed_steps` (gnomon/codegen/kernels/grouped.py); their bodies, which multiply
all pairs, are the definition. Groups that are runs of one axis are in grouped.py.
"""

from __future__ import annotations

from math import prod

import numpy as np

from gnomon.dtypes import accumulator, int64
from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import floats_only
from gnomon.ops.facts import Claim
from gnomon.ops.grouped import (
    count_up,
    gradients_of_rows,
    gradients_of_steps,
    inside_runs,
    np_grouped_rows,
    np_grouped_steps,
)
from gnomon.ops.joining import cat
from gnomon.ops.linalg import alike
from gnomon.ops.lookup_primitives import gather, within
from gnomon.ops.primitives import contract, reduce, reshape, unsqueeze
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.view_primitives import slice_

SHARES = "p"
"""The letter of the axis of shares."""


def np_routed_rows(x: np.ndarray, mats: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Compute routed_rows with numpy."""
    if ends.ndim == 3:
        shares = zip(x, np.split(mats, len(ends)), ends, strict=True)
        return np.stack([np_routed_rows(*each) for each in shares])
    parts = zip(np.split(x, len(ends)), ends, strict=True)
    return np.concatenate([np_grouped_rows(part, mats, own[:, None]) for part, own in parts])


def np_routed_steps(x: np.ndarray, y: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Compute routed_steps with numpy."""
    if ends.ndim == 3:
        return np.concatenate([np_routed_steps(*each) for each in zip(x, y, ends, strict=True)])
    parts = zip(np.split(x, len(ends), 1), np.split(y, len(ends)), ends, strict=True)
    return np.sum([np_grouped_steps(left, right, own[:, None]) for left, right, own in parts], 0)


@op(reference=np_routed_rows)
def routed_mm(x: Node, mats: Node, ends: Node) -> Node:
    """Multiply each row by the matrix of its group; each block's rows are sorted by group.

    Shapes: x (t, k), mats (g, k, n), ends (l, g) -> (t, n); x (p, t, k), mats (p*g, k, n), ends
    (p, l, g) -> (p, t, n)

    There are as many blocks as rows of ends, a power of two that divides the rows of x; ends says
    where each group ends, counted from the block's start. Rows of no group give 0. The sum over a
    group's rows, a matrix's gradient, is a chain for each block and a tree over blocks: if blocks
    are stretches of a global order, it depends neither on the group's other members nor on where
    blocks are computed. With a leading axis of p shares, the rows of each share have a p-th of the
    groups.

    >>> routed_mm(ones(4, 1), tensor([[[1.0]], [[10.0]]]), tensor([[1, 2], [0, 1]])).flatten()
    Tensor([ 1., 10., 10.,  0.])
    >>> routed_mm(ones(4, 1), ones(2, 1, 1), tensor([[1, 2], [0, 1], [1, 1]]))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: routed_mm: ends must have a power of two of rows that divides the 4 \
of x: got (3, 2).
    """
    x, mats = alike("routed_mm", x, mats)
    floats_only("routed_mm", x, mats)
    check_routed(x, mats, ends)
    ends = within(cast(ends, int64), x.shape[-2] // ends.shape[-2] + 1)
    return cast(routed_rows(x, mats, ends), x.dtype)


def check_routed(x: Node, mats: Node, ends: Node) -> None:
    """Refuse shapes that do not fit each other."""
    came = f"got {x.shape}, {mats.shape} and {ends.shape}"
    ranks = (x.rank, mats.rank, ends.rank)
    fits = ranks in ((2, 3, 2), (3, 3, 3)) and x.shape[:-2] == ends.shape[:-2]
    if not fits or x.shape[-1] != mats.shape[1]:
        raise ShapeError(
            f"routed_mm: needs (t, k), (g, k, n) and (l, g), or (p, t, k), (p*g, k, n) and "
            f"(p, l, g): {came}."
        )
    *shares, blocks, groups = ends.shape
    if prod(shares) * groups != mats.shape[0]:
        raise ShapeError(f"routed_mm: {mats.shape[0]} matrices, but ends {ends.shape}.")
    if blocks < 1 or blocks & (blocks - 1) or x.shape[-2] % blocks:
        raise ShapeError(
            "routed_mm: ends must have a power of two of rows that divides the "
            f"{x.shape[-2]} of x: got {ends.shape}."
        )


def routed_rows_rule(g: Node, _result: Node, *operands: Node):
    """The gradients of routed_rows."""
    return gradients_of_rows(routed_rows, routed_steps, g, *operands)


def routed_steps_rule(g: Node, _result: Node, *operands: Node):
    """The gradients of routed_steps."""
    return gradients_of_steps(routed_rows, g, *operands)


@op(
    reference=np_routed_rows,
    gradient=routed_rows_rule,
    claim=Claim("routed_rows", (2, 3), floats=False, sums=True),
)
def routed_rows(x: Node, mats: Node, ends: Node) -> Node:
    """routed_mm without its checks, in the dtype of sums.

    Shapes: x (t, k), mats (g, k, n), ends (l, g) -> (t, n); x (p, t, k), mats (p*g, k, n), ends
    (p, l, g) -> (p, t, n)

    >>> routed_rows(ones(2, 1), tensor([[[1.0]], [[10.0]]]), tensor([[0, 2]])).flatten()
    Tensor([10., 10.])
    """
    *lead, groups = ends.shape
    rows = x.shape[-2] // lead[-1]
    parts = reshape(x, (*lead, rows, x.shape[-1]))
    p = SHARES if len(lead) > 1 else ""
    own = reshape(mats, (lead[0], groups, *mats.shape[1:])) if p else mats
    every = contract(f"{p}ltk,{p}gkn->{p}ltgn", parts, own, accumulator(x.dtype))
    at, alike = len(lead), (1,) * len(lead)
    first, last = (unsqueeze(v, at) for v in bounds_of(ends))
    mine = inside_runs(reshape(count_up(x.arena, rows), (*alike, rows, 1)), first, last)
    number = reshape(count_up(x.arena, groups), (*alike, 1, groups))
    group = reduce("max", where(mine, number, 0), (at + 1,))
    held = unsqueeze(reduce("or", mine, (at + 1,)), at + 1)
    y = where(held, gather(f"{p}ltgn,{p}lt->{p}ltn", every, group), 0.0)
    return reshape(y, (*x.shape[:-1], mats.shape[2]))


@op(
    reference=np_routed_steps,
    gradient=routed_steps_rule,
    claim=Claim("routed_steps", (2, 3), floats=False, sums=True),
)
def routed_steps(x: Node, y: Node, ends: Node) -> Node:
    """The product over each group's steps, in the dtype of sums; 0 for an empty group.

    Shapes: x (m, t), y (t, n), ends (l, g) -> (g, m, n); x (p, m, t), y (p, t, n), ends (p, l, g)
    -> (p*g, m, n)

    >>> routed_steps(ones(1, 4), ones(4, 1), tensor([[1, 2], [0, 1]])).flatten()
    Tensor([1., 2.])
    """
    (*shares, blocks, groups), wide = ends.shape, accumulator(x.dtype)
    steps, at, p = x.shape[-1] // blocks, len(shares), SHARES if shares else ""
    left = reshape(x, (*x.shape[:-1], blocks, steps))
    right = reshape(y, (*shares, blocks, steps, y.shape[-1]))
    first, last = (unsqueeze(v, at + 2) for v in bounds_of(ends))
    # every run from its own beginning, since products may go in pairs from there
    places = first + reshape(count_up(x.arena, steps), (1,) * (at + 2) + (steps,))
    mine, shown = inside_runs(places, first, last), elementwise("minimum", places, steps - 1)
    left = gather(f"{p}mls,{p}lgt->{p}mlgt", left, shown)
    left = where(unsqueeze(mine, at), left, -0.0)
    right = gather(f"{p}lsn,{p}lgt->{p}lgtn", right, shown)
    right = where(unsqueeze(mine, at + 3), right, 0.0)
    spec = f"{p}mlgt,{p}lgtn->{p}lgmn"
    sums = x.arena.node("contract", (left, right), spec=spec, leaves=(1,), dtype=wide)
    # the tree alone; +0 makes a sum of nothing what it shows as, and stands before the tree, whose
    # nodes on other ranks are pending
    tree = {"leaves": blocks, "lanes": False, "dtype": wide}
    whole = x.arena.node("reduce", (sums + 0.0,), monoid="add", axis=at, **tree)
    return reshape(whole, (prod(shares) * groups, *whole.shape[-2:]))


def bounds_of(ends: Node) -> tuple[Node, Node]:
    """The first position and the end of each run within its block, shaped like `ends`."""
    *lead, groups = ends.shape
    every = [(0, n, 1) for n in lead]
    before = slice_(ends, (*every, (0, max(groups - 1, 0), 1)))
    start = slice_(ends, (*every, (0, min(groups, 1), 1))) * 0
    return cat([start, before], len(lead)), ends


def np_reordered(x: np.ndarray, order: np.ndarray, inverse: np.ndarray):
    """Compute reordered with numpy."""
    return np.take_along_axis(x, order[..., None], 1)


def reordered_rule(g: Node, _result: Node, x: Node, order: Node, inverse: Node):
    """The gradient of reordered: rows moved back."""
    return reordered(g, inverse, order), None, None


@op(reference=np_reordered, gradient=reordered_rule)
def reordered(x: Node, order: Node, inverse: Node) -> Node:
    """Reorder the rows of each block; `inverse` says where each row goes.

    Shapes: x (l, t, d), order (l, s), inverse (l, t) -> (l, s, d)

    Its gradient moves rows back by `inverse`, without a sum. Places that receive no row contain an
    arbitrary one, which the caller must mask.

    >>> x, order = tensor([[[1.0], [2.0], [3.0]]]), tensor([[2, 0, 1]])
    >>> reordered(x, order, tensor([[1, 2, 0]])).flatten()
    Tensor([3., 1., 2.])
    >>> reordered(x, order, tensor([1, 2, 0]))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: reordered: needs (l, t, d), (l, s) and (l, t): got (1, 3, 1), (1, 3) \
and (3,).
    """
    fits = x.rank == 3 and order.rank == 2 and order.shape[0] == x.shape[0]
    if not fits or inverse.shape != x.shape[:2]:
        came = f"got {x.shape}, {order.shape} and {inverse.shape}"
        raise ShapeError(f"reordered: needs (l, t, d), (l, s) and (l, t): {came}.")
    return gather("lsd,lt->ltd", x, order)
