"""Linear equations: solutions, inverses, determinants and least squares.

Sources of gradients: M. Giles, "An extended collection of matrix derivative results" (2008);
G. Golub and V. Pereyra (1973) for the pseudoinverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import int64
from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import joint_shape, wide
from gnomon.ops.creation import eye, ones, zeros
from gnomon.ops.factorizations import (
    eigh,
    matrices,
    scaled_columns,
    svd,
    svdvals,
    triangular,
    turned,
)
from gnomon.ops.lapack import called
from gnomon.ops.linalg import alike, matmul
from gnomon.ops.primitives import expand, reshape, unsqueeze
from gnomon.ops.reductions import fold
from gnomon.ops.registry import internal, op
from gnomon.ops.scalars import where

Threshold = Node | float | None


def same_batches(name: str, a: Node, b: Node) -> tuple[Node, Node]:
    """Two matrices of floats in one dtype, with their batches broadcast."""
    a, b = alike(f"linalg.{name}", matrices(name, a), matrices(name, b))
    batch = joint_shape(f"linalg.{name}", [a.shape[:-2], b.shape[:-2]])
    return expand(a, (*batch, *a.shape[-2:])), expand(b, (*batch, *b.shape[-2:]))


def fitting_sides(name: str, a: Node, b: Node, left: bool) -> None:
    """Refuse equations whose right sides have another size."""
    if a.shape[-1] != b.shape[-2 if left else -1]:
        side = "rows" if left else "columns"
        raise ShapeError(
            f"linalg.{name}: B must have {a.shape[-1]} {side} as A {a.shape} has: got {b.shape}."
        )


def identity(x: Node) -> Node:
    """The identity matrix for each matrix of a batch."""
    return expand(eye(x.arena, x.shape[-1], dtype=x.dtype), x.shape)


# triangles


@op(linalg=True, alone=True, complex="formula", spelled="input=A")
def solve_triangular(
    A: Node, B: Node, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Node:
    """Solve A · x = B, or x · A = B, for a triangular A; only its triangle is read.

    Shapes: A (..., n, n), B (..., n, k) -> (..., n, k) if left; A (..., n, n), B
    (..., k, n) -> (..., k, n) if not left

    A 0 on the diagonal gives infinities and NaN.

    >>> gn.linalg.solve_triangular(
    ...     tensor([[2.0, 9.0], [1.0, 4.0]]), tensor([[2.0], [9.0]]), upper=False
    ... )
    Tensor([[1.],
            [2.]])
    """
    kind = B.dtype
    a, b = same_batches("solve_triangular", matrices("solve_triangular", A, square=True), B)
    fitting_sides("solve_triangular", a, b, left)
    if left:
        return cast(triangular(a, b, upper=bool(upper), unit=bool(unitriangular)), kind)
    made = triangular(turned(a), turned(b), upper=not upper, unit=bool(unitriangular))
    return cast(turned(made), kind)


@op(complex="formula", spelled="input2=L")
def cholesky_solve(x: Node, L: Node, upper: bool = False) -> Node:
    """Solve A · y = x by the factor L of A = L · Lᵀ, or of A = Lᵀ · L if upper.

    Shapes: x (..., n, k), L (..., n, n) -> (..., n, k)

    >>> cholesky_solve(tensor([[8.0]]), tensor([[2.0]]))
    Tensor([[2.]])
    """
    low = turned(L) if upper else L
    half = solve_triangular(low, x, upper=False)
    return solve_triangular(turned(low), half, upper=True)


numpys: Any = np.linalg
"""numpy's functions, as references."""


def inverse_of_square(x: Any, upper: bool = False) -> Any:
    """Compute with numpy the inverse of x · xᵀ, or of xᵀ · x if `upper`."""
    return numpys.inv(x.mT @ x if upper else x @ x.mT)


@op(reference=inverse_of_square, complex="formula")
def cholesky_inverse(x: Node, upper: bool = False) -> Node:
    """The inverse of x · xᵀ, or of xᵀ · x if upper, by the Cholesky factor x.

    Shapes: x (*b, n, n) -> (*b, n, n)

    >>> cholesky_inverse(tensor([[2.0]]))
    Tensor([[0.25]])
    """
    one = identity(matrices("cholesky_inverse", x, square=True))
    return cast(cholesky_solve(one, x, upper), x.dtype)


def solved_gradient(g: Node, y: Node, a: Node, b: Node) -> tuple[Node, Node]:
    """The gradients of solve: A⁻ᵀ g for b, and −(A⁻ᵀ g) yᵀ for A (Giles 2008, section 2.3.1)."""
    gb = solved(turned(a), g)
    return -matmul(gb, turned(y)), gb


@internal(gradient=solved_gradient)
def solved(a: Node, b: Node) -> Node:
    """Solve a · x = b for x."""
    return called("solve", a, b, gives=[(b.shape[-2:], b.dtype)])[0]


def np_solve(a: np.ndarray, b: np.ndarray, left: bool = True):
    """Compute solve with numpy."""
    vector = b.ndim == 1 or b.shape == a.shape[:-1]
    b = b[..., None] if vector else b
    made = np.linalg.solve(a, b) if left else np.linalg.solve(a.mT, b.mT).mT
    return made[..., 0] if vector else made


@op(reference=np_solve, linalg=True, alone=True, prompt=True, complex="formula")
def solve(A: Node, B: Node, *, left: bool = True) -> Node:
    """Solve A · x = B, or x · A = B.

    Shapes: A (..., n, n), B (..., n, k) -> (..., n, k) if B.ndim > 1 and B.shape != A.shape[:-1]
    and left; A (..., n, n), B (*b, n) -> (..., n) if B.ndim == 1 or B.shape == A.shape[:-1]; A
    (..., n, n), B (..., k, n) -> (..., k, n) if not left

    B holds one vector per matrix if its shape is that of A without the last axis.

    >>> gn.linalg.solve(tensor([[2.0, 1.0], [1.0, 1.0]]), tensor([3.0, 2.0]))
    Tensor([1., 1.])
    >>> gn.linalg.solve(ones(2, 2), ones(2))
    Traceback (most recent call last):
    gnomon.errors.LinAlgError: linalg.solve: there is no result: Singular matrix. Look for NaN and
    dependent rows.
    """
    vector = B.rank == 1 or B.shape == A.shape[:-1]
    kind, b = B.dtype, unsqueeze(B, B.rank) if vector else B
    left = left or vector
    a, b = same_batches("solve", matrices("solve", A, square=True), b)
    fitting_sides("solve", a, b, left)
    x = solved(a, b) if left else turned(solved(turned(a), turned(b)))
    return cast(reshape(x, x.shape[:-1]) if vector else x, kind)


@op(reference=np.linalg.inv, linalg=("inv",), prompt=True, complex="formula", spelled="A=x")
def inverse(x: Node) -> Node:
    """The inverse matrix.

    Shapes: x (*b, n, n) -> (*b, n, n)

    >>> inverse(tensor([[2.0, 1.0], [1.0, 1.0]]))
    Tensor([[ 1., -1.],
            [-1.,  2.]])
    """
    wide_x = matrices("inv", x, square=True)
    return cast(solved(wide_x, identity(wide_x)), x.dtype)


# determinants


def det_gradient(g: Node, y: Node, x: Node) -> Node:
    """The gradient of a determinant: g · det · A⁻ᵀ (Giles 2008, section 2.2.4)."""
    return spread(x, g * y)


def spread(x: Node, g: Node) -> Node:
    """The product g · A⁻ᵀ, for one number g per matrix."""
    made = solved(turned(wide(x)), identity(wide(x)))
    return cast(made * reshape(wide(g), (*g.shape, 1, 1)), x.dtype)


@op(reference=np.linalg.det, gradient=det_gradient, linalg=True, complex="formula", spelled="A=x")
def det(x: Node) -> Node:
    """The determinant.

    Shapes: x (*b, n, n) -> (*b)

    >>> det(tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor(-2.)
    """
    wide_x = matrices("det", x, square=True)
    if not x.shape[-1]:
        return ones(x.arena, x.shape[:-2], x.dtype)
    return cast(called("det", wide_x, gives=[((), wide_x.dtype)])[0], x.dtype)


def slogdet_gradient(gs: Sequence[Node | None], ys: Sequence[Node], x: Node) -> Node | None:
    """The gradient of slogdet: g · A⁻ᵀ for the logarithm; the sign has none."""
    return None if gs[1] is None else spread(x, gs[1])


@op(
    reference=np.linalg.slogdet,
    gradient=slogdet_gradient,
    linalg=True,
    results=("sign", "logabsdet"),
    complex="formula",
    spelled="A=x",
)
def slogdet(x: Node) -> tuple[Node, Node]:
    """The sign of the determinant, and the logarithm of its absolute value.

    Shapes: x (*b, n, n) -> (*b), (*b)

    >>> slogdet(tensor([[0.0, 1.0], [1.0, 0.0]]))
    slogdet(sign=Tensor(-1.), logabsdet=Tensor(0.))
    """
    wide_x = matrices("slogdet", x, square=True)
    if not x.shape[-1]:
        return det(x), det(x) * 0.0
    sign, size = called("slogdet", wide_x, gives=[((), wide_x.dtype)] * 2)
    return cast(sign, x.dtype), cast(size, x.dtype)


@op(reference=lambda x: np.log(np.linalg.det(x)), complex="formula")
def logdet(x: Node) -> Node:
    """The logarithm of the determinant; NaN if that is negative.

    Shapes: x (*b, n, n) -> (*b)

    >>> logdet(tensor([[1.0, 0.0], [0.0, 1.0]]))
    Tensor(0.)
    """
    sign, size = slogdet(x)
    return where(elementwise("lt", sign, 0.0), float("nan"), size)


# least squares


def threshold(s: Node, shape: Sequence[int], atol: Threshold, rtol: Threshold) -> Node:
    """The size up to which singular values count as 0: max(atol, rtol · the largest)."""
    if rtol is None:
        given = isinstance(atol, Node) or bool(atol)
        rtol = 0.0 if given else float(np.finfo(s.dtype.numpy).eps) * max(shape[-2:])
    largest = fold("max", s, (s.rank - 1,), True)
    both = [unsqueeze(v, v.rank) if isinstance(v, Node) else v for v in (atol or 0.0, rtol)]
    return elementwise("maximum", largest * both[1], both[0])


def inverted_gradient(g: Node, y: Node, x: Node, *_: object, **__: object) -> Node:
    """The gradient of the pseudoinverse Y (Golub and Pereyra 1973)."""
    gt, yt = turned(g), turned(y)
    beside = matmul(gt, y) - matmul(matmul(x, y), matmul(gt, y))
    first = matmul(matmul(yt, g), yt)
    before = matmul(yt, matmul(y, gt) - matmul(matmul(y, gt), matmul(y, x)))
    return matmul(beside, yt) + before - first


@internal(gradient=inverted_gradient)
def inverted(x: Node, atol: Threshold, rtol: Threshold, hermitian: bool) -> Node:
    """The pseudoinverse V · diag(1 / s) · Uᵀ, over singular values that are not nearly 0."""
    if hermitian:
        s, u = eigh(x)
        v = u
    else:
        u, s, vt = svd(x, full_matrices=False)
        v = turned(vt)
    size = elementwise("abs", s) if hermitian else s
    kept = elementwise("gt", size, threshold(size, x.shape, atol, rtol))
    return matmul(scaled_columns(v, where(kept, 1.0 / where(kept, s, 1.0), 0.0)), turned(u))


def pseudoinverse(x: Any, rcond: Any = None, **_: Any) -> Any:
    """Compute the pseudoinverse with numpy."""
    return numpys.pinv(x, rcond)


@op(reference=pseudoinverse, linalg=("pinv",), prompt=True, complex="formula")
def pinverse(
    x: Node,
    rcond: Threshold = None,
    hermitian: bool = False,
    *,
    atol: Threshold = None,
    rtol: Threshold = None,
) -> Node:
    """The pseudoinverse: V · diag(1 / S) · Uᵀ over singular values above max(atol, rtol · largest).

    Shapes: x (*b, m, n) -> (*b, n, m)

    rtol defaults to max(m, n) times the dtype's epsilon, if atol is not given. hermitian: x is
    symmetric, and only its lower triangle is read.

    >>> pinverse(tensor([[2.0, 0.0], [0.0, 0.0]]))
    Tensor([[0.5, 0. ],
            [0. , 0. ]])
    """
    wide_x, rtol = matrices("pinv", x), rcond if rtol is None else rtol
    if not x.size:
        return turned(x)
    return cast(inverted(wide_x, atol, rtol, hermitian), x.dtype)


@op(linalg=True, alone=True, prompt=True, complex="formula")
def matrix_rank(
    x: Node,
    tol: Threshold = None,
    hermitian: bool = False,
    *,
    atol: Threshold = None,
    rtol: Threshold = None,
) -> Node:
    """The number of singular values above max(atol, rtol · largest).

    Shapes: x (*b, m, n) -> (*b)

    >>> gn.linalg.matrix_rank(ones(3, 3))
    Tensor(1)
    """
    wide_x, atol = matrices("matrix_rank", x), atol if tol is None else tol
    if not x.size:
        return zeros(x.arena, x.shape[:-2], int64)
    s = elementwise("abs", eigh(wide_x)[0]) if hermitian else svdvals(wide_x)
    above = elementwise("gt", s, threshold(s, x.shape, atol, rtol))
    return fold("add", cast(above, int64), (s.rank - 1,), False)


@op(linalg=True, alone=True, prompt=True, results=("solution", "rank"), complex="formula")
def lstsq(A: Node, B: Node, rcond: float | None = None) -> tuple[Node, Node]:
    """The least-squares solution x of A · x = B of smallest norm, and the rank of A.

    Shapes: A (*b, m, n), B (*b, m, k) -> (*b, n, k), (*b)

    Computed by the pseudoinverse of A; PyTorch's residuals and singular values are left out.

    >>> gn.linalg.lstsq(tensor([[1.0], [1.0]]), tensor([[1.0], [3.0]])).solution
    Tensor([[2.]])
    """
    a, b = same_batches("lstsq", A, B)
    return cast(matmul(pinverse(a, rcond), b), A.dtype), matrix_rank(a, rtol=rcond)
