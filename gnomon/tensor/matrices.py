"""PyTorch's functions on matrices that gn.linalg has in another form, and what comes down to it.

This file loads when one of its names is first used.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, ShapeError
from gnomon.tensor.creation import ones_like, zeros
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor, from_array

Svd = namedtuple("Svd", ("U", "S", "V"))
Solved = namedtuple("Solved", ("solution", "cloned_coefficient"))
Reflected = namedtuple("Reflected", ("a", "tau"))
Nearest = namedtuple("Nearest", ("solution", "residuals", "rank", "singular_values"))
DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
"""LAPACK's ways of least squares, which tell different things besides the solution."""


def decomposed(input: Tensor, some: bool = True, compute_uv: bool = True) -> Svd:
    """U, S and V of U · diag(S) · Vᴴ = input.

    >>> import gnomon as gn
    >>> decomposed(gn.tensor([[3.0, 0.0], [0.0, 2.0]])).S
    Tensor([3., 2.])
    """
    u, s, vh = FUNCTIONS["svd"](input, full_matrices=not some)
    return Svd(u, s, vh.mH) if compute_uv else Svd(u * 0, s, vh.mH * 0)


decomposed.__name__ = decomposed.__qualname__ = "svd"
globals()[decomposed.__name__] = decomposed


def lu(self: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """L and U in one matrix, the row exchanges, and with get_infos the first zero pivot."""
    made = FUNCTIONS["lu_factor_ex"](self, pivot=pivot)
    return tuple(made) if get_infos else tuple(made)[:2]


def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """x of A · x = b from the factors of A.

    >>> import gnomon as gn
    >>> lu_solve(gn.tensor([[6.0]]), *gn.linalg.lu_factor(gn.tensor([[2.0]])))
    Tensor([[3.]])
    """
    return FUNCTIONS["lu_solution"](LU_data, LU_pivots, input)


def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Solved:
    """x of A · x = b, where A is a triangle, and A.

    >>> import gnomon as gn
    >>> triangular_solve(gn.tensor([[6.0]]), gn.tensor([[2.0]])).solution
    Tensor([[3.]])
    """
    side = A.mT if transpose else A
    solve, up = FUNCTIONS["solve_triangular"], upper != transpose
    return Solved(solve(side, input, upper=up, unitriangular=unitriangular), A.clone())


def geqrf(input: Tensor) -> Reflected:
    """R of QR with the reflections that make Q below it, and their factors."""
    raw = np.linalg.qr(input.numpy(force=True), "raw")
    return Reflected(*(from_array(np.ascontiguousarray(x)) for x in (raw[0].mT, raw[1])))


def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """The product Q · other, or other · Q, with Q from reflections; Qᵀ with transpose."""
    missing = input.shape[-2] - input.shape[-1]
    square = FUNCTIONS["pad"](input, (0, missing))
    q = FUNCTIONS["householder_product"](square, tau)
    q = q.mH if transpose else q
    return q @ other if left else other @ q


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices, in the order that needs the fewest multiplications.

    The first may be a row, the last a column.

    >>> import gnomon as gn
    >>> multi_dot([gn.ones(2, 3), gn.ones(3, 4), gn.ones(4)])
    Tensor([12., 12.])
    """
    if len(tensors) < 2:
        raise ShapeError(f"linalg.multi_dot: needs at least two matrices: got {len(tensors)}.")
    found = [*tensors]
    for x in found:
        if not isinstance(x, Tensor):
            raise ArgumentError(f"linalg.multi_dot: expected tensors: got {type(x).__name__}.")
    row, column = found[0].ndim == 1, found[-1].ndim == 1
    found[0] = found[0][None] if row else found[0]
    found[-1] = found[-1][:, None] if column else found[-1]
    if any(x.ndim != 2 for x in found):
        shapes = [tuple(x.shape) for x in tensors]
        raise ShapeError(f"linalg.multi_dot: needs matrices: got {shapes}.")
    sizes = [found[0].shape[0], *(x.shape[1] for x in found)]
    made = product(found, best_cuts(sizes), 0, len(found) - 1)
    made = made[0] if row else made
    return made[..., 0] if column else made


def chain_matmul(*matrices: Tensor) -> Tensor:
    """multi_dot of the arguments; a single one unchanged."""
    if not matrices:
        raise ArgumentError("chain_matmul: needs a matrix: got none.")
    return multi_dot(matrices) if len(matrices) > 1 else matrices[0]


def best_cuts(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """The positions at which a chain of matrices is split with the fewest multiplications."""
    count = len(sizes) - 1
    cost, cuts = {(k, k): 0 for k in range(count)}, {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            each = {
                k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            }
            cuts[i, j] = min(each, key=lambda k: each[k])
            cost[i, j] = each[cuts[i, j]]
    return cuts


def product(xs: Sequence[Tensor], cuts: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    """The product of the matrices i to j of a chain, by the chosen splits."""
    if i == j:
        return xs[i]
    k = cuts[i, j]
    return product(xs, cuts, i, k) @ product(xs, cuts, k + 1, j)


def nearest(
    input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Nearest:
    """The x for which A · x is nearest to b, of least length, and what PyTorch's driver tells.

    The solution is the pseudoinverse of A, the input, times b. All but gels tell the rank, gelsd
    and gelss singular values and, as gels, the squared residuals of matrices of full rank; the rest
    is empty.

    >>> import gnomon as gn
    >>> found = nearest(gn.tensor([[1.0], [1.0]]), gn.tensor([[1.0], [3.0]]), driver="gelsd")
    >>> found.solution, found.residuals
    (Tensor([[2.]]), Tensor([2.]))
    """
    if driver not in (None, *DRIVERS):
        raise ArgumentError(
            f"linalg.lstsq: parameter `driver` should be one of {', '.join(DRIVERS)}: got {driver}."
        )
    A, alone = input, b.ndim == 1 or tuple(b.shape) == tuple(input.shape[:-1])
    b = b[..., None] if alone else b
    x, rank = FUNCTIONS["lstsq"](A, b, rcond)
    residuals, values = zeros(0, dtype=A.dtype), zeros(0, dtype=A.dtype)
    if driver in ("gelsd", "gelss"):
        values = FUNCTIONS["svdvals"](A)
    full = driver == "gels" or (len(values) and bool((rank == A.shape[-1]).all()))
    if full and A.shape[-2] > A.shape[-1]:
        residuals = ((A @ x - b).abs() ** 2).sum(-2)
    ranks = zeros(0, dtype=rank.dtype) if driver == "gels" else rank
    return Nearest(x[..., 0] if alone else x, residuals, ranks, values)


nearest.__name__ = nearest.__qualname__ = "lstsq"


def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The inverse of tensordot by a tensor over its last axes, its first `ind` axes as rows.

    >>> import gnomon as gn
    >>> tuple(tensorinv(gn.eye(6).reshape(2, 3, 6), 2).shape)
    (6, 2, 3)
    """
    rows, columns = math.prod(input.shape[:ind]), math.prod(input.shape[ind:])
    made = FUNCTIONS["inverse"](input.reshape(rows, columns))
    return made.reshape(*input.shape[ind:], *input.shape[:ind])


def tensorsolve(input: Tensor, other: Tensor, dims: Any = None) -> Tensor:
    """x whose product with a tensor over all its axes is the other.

    >>> import gnomon as gn
    >>> tensorsolve(gn.eye(6).reshape(2, 3, 6), gn.ones(2, 3))
    Tensor([1., 1., 1., 1., 1., 1.])
    """
    last = () if dims is None else tuple(range(input.ndim - len(dims), input.ndim))
    A = input if dims is None else input.movedim(tuple(dims), last)
    sizes = A.shape[other.ndim :]
    made = FUNCTIONS["solve"](A.reshape(other.numel(), math.prod(sizes)), other.reshape(-1))
    return made.reshape(sizes)


def powers(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers of elements as columns, from the zeroth up.

    >>> import gnomon as gn
    >>> powers(gn.tensor([2.0, 3.0]), N=3)
    Tensor([[1., 2., 4.],
            [1., 3., 9.]])
    """
    x = x if x.ndim else x.reshape(1)
    count = x.shape[-1] if N is None else N
    if not x.numel() or not count:
        return zeros(*x.shape, count, dtype=x.dtype)
    ones = ones_like(x * 1)[..., None].expand(*x.shape, max(count, 1))
    first = FUNCTIONS["where"](from_array(np.arange(max(count, 1))) > 0, x[..., None], ones)
    return first.cumprod(-1)[..., :count]


powers.__name__ = powers.__qualname__ = "vander"
