"""Grouped products: runs of rows, each times a matrix of its own, as for experts.

Groups are runs along one axis, given by their end positions, which are known only at run time. A
hand-written kernel claims the regions `grouped_rows` and `grouped_steps`
(gnomon/codegen/kernels/grouped.py); their bodies, which multiply all pairs, are the definition. The
assignment to groups is not made here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnomon.dtypes import accumulator, int64
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.ir.node import Arena, Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import floats_only
from gnomon.ops.facts import Claim, Counted
from gnomon.ops.joining import cat
from gnomon.ops.linalg import alike, bmm
from gnomon.ops.lookup_primitives import gather, within
from gnomon.ops.primitives import before_widening, contract, reduce, reshape, unsqueeze
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.view_parts import part
from gnomon.ops.view_primitives import permute

Op = Callable[[Node, Node, Node], Node]
"""A product of two operands by groups, which end at positions in the third."""


def np_grouped_rows(x: np.ndarray, mats: np.ndarray, ends: np.ndarray):
    """Compute grouped_rows with numpy."""
    y = np.zeros((len(x), mats.shape[2]), np.result_type(x, mats))
    for group, (low, high) in enumerate(runs_of(ends[:, -1:])):
        y[low:high] = x[low:high] @ mats[group]
    return y


def np_grouped_steps(x: np.ndarray, y: np.ndarray, ends: np.ndarray):
    """Compute grouped_steps with numpy."""
    parts = [x[:, low:high] @ y[low:high] for low, high in runs_of(ends)]
    shape = (*ends.shape, x.shape[0], y.shape[1])
    return np.reshape(parts, shape).sum(1) if parts else np.zeros((0, *shape[2:]), x.dtype)


def np_grouped_mm(mat_a: np.ndarray, mat_b: np.ndarray, offs: np.ndarray | None = None):
    """Compute grouped_mm with numpy."""
    if offs is None:
        return mat_a @ mat_b
    ends = np.reshape(offs, (len(offs), -1))
    if mat_a.ndim == mat_b.ndim:
        return np_grouped_steps(mat_a, mat_b, ends)
    if mat_a.ndim == 2:
        return np_grouped_rows(mat_a, mat_b, ends)
    return np_grouped_rows(mat_b.T, mat_a.swapaxes(1, 2), ends).T


def runs_of(ends: np.ndarray) -> list[tuple[int, int]]:
    """The bounds of runs, from their ends."""
    flat = [int(end) for end in ends.reshape(-1)]
    return list(zip([0, *flat[:-1]], flat, strict=True))


@op(reference=np_grouped_mm)
def grouped_mm(mat_a: Node, mat_b: Node, offs: Node | None = None) -> Node:
    """One matrix product per group; groups are runs along an axis that end at offs.

    Shapes: mat_a (t, k), mat_b (g, k, n), offs (g) -> (t, n); mat_a (g, m, k), mat_b (k, t), offs
    (g) -> (m, t); mat_a (m, t), mat_b (t, n), offs (g, *l) -> (g, m, n); mat_a (g, m, k), mat_b (g,
    k, n) -> (g, m, n)

    A matrix and a stack (g, k, n): rows of the matrix are grouped. A stack and a matrix (k, n):
    columns of the matrix are grouped. Two matrices: the summed axis is grouped, and the result is a
    stack. Two stacks have no offs. Rows or columns of no group give 0.

    offs (g, l) gives the ends of l runs of each group, l a power of two: sums over a group are
    computed run by run and then by a tree, so that they do not depend on the group's other members
    when runs are blocks of tokens.

    >>> grouped_mm(ones(3, 1), tensor([[[1.0]], [[10.0]]]), tensor([2, 3]))
    Tensor([[ 1.],
            [ 1.],
            [10.]])
    """
    mat_a, mat_b = alike("grouped_mm", mat_a, mat_b)
    ranks = mat_a.rank, mat_b.rank
    check_grouped(mat_a, mat_b, offs)
    if offs is None:
        return bmm(mat_a, mat_b)
    ends = reshape(cast(offs, int64), (offs.shape[0], offs.size // max(offs.shape[0], 1) or 1))
    grouped = mat_b.shape[1] if ranks == (3, 2) else mat_a.shape[0 if ranks == (2, 3) else 1]
    ends = within(ends, grouped + 1)
    if ranks == (2, 3):
        y = grouped_rows(mat_a, mat_b, ends)
    elif ranks == (3, 2):
        y = turned(grouped_rows(turned(mat_b), turned(mat_a), ends))
    else:
        y = grouped_steps(mat_a, mat_b, ends)
    return cast(y, mat_a.dtype)


def check_grouped(mat_a: Node, mat_b: Node, offs: Node | None) -> None:
    """Refuse ranks, sizes or offsets that do not describe groups."""
    floats_only("grouped_mm", mat_a, mat_b)
    ranks, shapes = (mat_a.rank, mat_b.rank), f"got {mat_a.shape} and {mat_b.shape}"
    if not {*ranks} <= {2, 3}:
        raise ShapeError(f"grouped_mm: needs matrices or stacks of them: {shapes}.")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise ShapeError(f"grouped_mm: inner sizes differ: {shapes}.")
    if (offs is None) != (ranks == (3, 3)):
        raise ArgumentError(f"grouped_mm: offs go with a matrix, not with two stacks: {shapes}.")
    if offs is None:
        return
    if not offs.dtype.is_integer:
        raise DtypeError(f"grouped_mm: offs are positions, integers: got {offs.dtype.name}.")
    stack = next((x for x in (mat_a, mat_b) if x.rank == 3), None)
    runs = offs.shape[1] if offs.rank == 2 else 1
    if offs.rank not in (1, 2) or runs < 1 or runs & (runs - 1):
        raise ShapeError(
            f"grouped_mm: offs must be (groups) or (groups, a power of two): got {offs.shape}."
        )
    if stack is not None and stack.shape[0] != offs.shape[0]:
        raise ShapeError(f"grouped_mm: {offs.shape[0]} groups, but a stack {stack.shape}.")


def turned(x: Node) -> Node:
    """x with its last two axes exchanged."""
    return permute(x, (*range(x.rank - 2), x.rank - 1, x.rank - 2))


# what kernels claim


def gradients_of_rows(rows: Op, steps: Op, g: Node, x: Node, mats: Node, ends: Node):
    """The gradients of a product of rows: of the rows by rows, of the matrices by steps."""
    g = narrow_gradient(g, x)
    gradient = rows(g, cast(turned(mats), g.dtype), ends)
    of_mats = steps(cast(turned(x), g.dtype), g, ends)
    return cast(gradient, x.dtype), cast(of_mats, mats.dtype), None


def gradients_of_steps(rows: Op, g: Node, x: Node, y: Node, ends: Node):
    """The gradients of a product of steps, both by rows."""
    g = narrow_gradient(g, x)
    left = turned(rows(cast(y, g.dtype), turned(g), ends))
    right = rows(cast(turned(x), g.dtype), g, ends)
    return cast(left, x.dtype), cast(right, y.dtype), None


def rows_rule(g: Node, _result: Node, *operands: Node):
    """The gradients of grouped_rows."""
    return gradients_of_rows(grouped_rows, grouped_steps, g, *operands)


def steps_rule(g: Node, _result: Node, *operands: Node):
    """The gradients of grouped_steps."""
    return gradients_of_steps(grouped_rows, g, *operands)


def narrow_gradient(g: Node, x: Node) -> Node:
    """A gradient cast back to the dtype of its factor, if it was only widened from that."""
    return before_widening(g, x.dtype)


@op(
    reference=np_grouped_rows,
    gradient=rows_rule,
    claim=Claim("grouped_rows", (2, 3), floats=False, sums=True, counted=Counted(0, 0, 2)),
)
def grouped_rows(x: Node, mats: Node, ends: Node) -> Node:
    """Multiply each row by the matrix of its group, a run of rows, in the dtype of sums.

    Shapes: x (t, k), mats (g, k, n), ends (g, l) -> (t, n)

    >>> grouped_rows(ones(3, 1), tensor([[[1.0]], [[10.0]]]), tensor([[2], [3]])).flatten()
    Tensor([ 1.,  1., 10.])
    >>> grouped_rows(ones(3, 1), ones(2, 1, 1), tensor([2, 3]))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: grouped_rows: ends must be (groups, runs): got (2,).
    """
    if ends.rank != 2:
        raise ShapeError(f"grouped_rows: ends must be (groups, runs): got {ends.shape}.")
    runs = ends.shape[1]
    first, last = bounds_of(ends)
    every = contract("tk,gkn->tgn", x, mats, accumulator(x.dtype))
    places = reshape(count_up(x.arena, x.shape[0]), (x.shape[0], 1))
    in_run = inside_runs(places, reshape(first, (1, first.size)), reshape(last, (1, last.size)))
    mine = reduce("or", reshape(in_run, (x.shape[0], ends.shape[0], runs)), (2,))
    number = reshape(count_up(x.arena, ends.shape[0]), (1, ends.shape[0]))
    group = reduce("max", where(mine, number, 0), (1,))
    return where(unsqueeze(reduce("or", mine, (1,)), 1), gather("tgn,t->tn", every, group), 0.0)


@op(
    reference=np_grouped_steps,
    gradient=steps_rule,
    claim=Claim("grouped_steps", (2, 3), floats=False),
)
def grouped_steps(x: Node, y: Node, ends: Node) -> Node:
    """The product over each group's steps, in the dtype of sums; 0 for an empty group.

    Shapes: x (m, t), y (t, n), ends (g, l) -> (g, m, n)

    Each of a group's l runs is one chain; their sums are added by a tree.

    >>> grouped_steps(ones(1, 3), ones(3, 1), tensor([[2], [3]])).flatten()
    Tensor([2., 1.])
    """
    groups, runs = ends.shape
    steps, wide = x.shape[1], accumulator(x.dtype)
    first, last = (reshape(v, (ends.size, 1)) for v in bounds_of(ends))
    # every run from its own beginning, since products may go in pairs from there
    places = first + reshape(count_up(x.arena, steps), (1, steps))
    mine, shown = inside_runs(places, first, last), elementwise("minimum", places, steps - 1)
    left = where(unsqueeze(mine, 0), gather("ms,rt->mrt", x, shown), -0.0)
    right = where(unsqueeze(mine, 2), gather("sn,rt->rtn", y, shown), 0.0)
    sums = x.arena.node("contract", (left, right), spec="mrt,rtn->rmn", leaves=(1,), dtype=wide)
    sums = reshape(sums, (groups, runs, x.shape[0], y.shape[1]))
    # the tree alone; +0 makes a sum of nothing what it shows as
    whole = x.arena.node(
        "reduce", (sums,), monoid="add", axis=1, leaves=runs, lanes=False, dtype=wide
    )
    return whole + 0.0


def bounds_of(ends: Node) -> tuple[Node, Node]:
    """The first and last position of each run, of all groups."""
    last = reshape(ends, (ends.size,))
    return cat([count_up(ends.arena, 1), part(last, 0, 0, max(ends.size - 1, 0))], 0), last


def count_up(arena: Arena, size: int) -> Node:
    """The integers 0, 1, 2, ... below `size`."""
    return arena.node("iota", (), size=size, dtype=int64)


def inside_runs(places: Node, first: Node, last: Node) -> Node:
    """A mask of the positions that are inside of runs."""
    return elementwise("and", elementwise("ge", places, first), elementwise("lt", places, last))
