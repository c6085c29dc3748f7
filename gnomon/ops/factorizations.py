"""Factorizations of matrices: values by LAPACK (lapack.py), gradients by formulas over operations.

Sources: M. Giles, "An extended collection of matrix derivative results" (2008), and M. Seeger and
others, "Auto-differentiating linear algebra" (2017). Where a factorization is not unique, and where
singular values or eigenvalues coincide, a gradient is defined only for results that do not depend
on the choice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.dtypes import bool_, int32
from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.ops.arguments import choice, floats_only, wide
from gnomon.ops.creation import eye, like, zeros
from gnomon.ops.diagonals import tril, triu
from gnomon.ops.joining import cat
from gnomon.ops.lapack import called
from gnomon.ops.linalg import matmul
from gnomon.ops.primitives import unsqueeze
from gnomon.ops.registry import internal, op
from gnomon.ops.scalars import where
from gnomon.ops.view_parts import part
from gnomon.ops.views import matrix_transpose as turned

Gradients = Sequence[Node | None]


def matrices(name: str, x: Node, square: bool = False) -> Node:
    """Matrices in the dtype in which they are computed; raises for other dtypes and shapes."""
    floats_only(f"linalg.{name}", x)
    if x.rank < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise ShapeError(f"linalg.{name}: needs {kind} in the last two axes: got {x.shape}.")
    return wide(x)


def columns(x: Node, start: int, stop: int) -> Node:
    """A range of columns of a matrix."""
    return part(x, x.rank - 1, start, stop)


def lines(x: Node, start: int, stop: int) -> Node:
    """A range of rows of a matrix."""
    return part(x, x.rank - 2, start, stop)


def scaled_columns(x: Node, s: Node) -> Node:
    """The product x · diag(s)."""
    return x * unsqueeze(s, s.rank - 1)


def skew(x: Node) -> Node:
    """The difference of x and its transpose."""
    return x - turned(x)


def differences(s: Node, rest: float) -> Node:
    """The differences of all pairs of values, column − row; `rest` on the diagonal."""
    return where(on_diagonal(s), rest, unsqueeze(s, s.rank - 1) - unsqueeze(s, s.rank))


def on_diagonal(s: Node) -> Node:
    """A boolean square matrix, True on the diagonal, with as many columns as s has values."""
    return eye(s.arena, s.shape[-1], dtype=bool_)


# triangles


def triangular_gradient(
    g: Node, y: Node, a: Node, b: Node, upper: bool, unit: bool = False
) -> tuple[Node, Node]:
    """The gradients of a and b in y = solve(a, b), for a triangle a (Giles 2008, 2.3.1)."""
    gb = triangular(turned(a), g, upper=not upper, unit=unit)
    keep = triu if upper else tril
    sign = 1 if upper else -1
    return keep(-matmul(gb, turned(y)), sign if unit else 0), gb


@internal(gradient=triangular_gradient)
def triangular(a: Node, b: Node, upper: bool, unit: bool = False) -> Node:
    """Solve a · x = b for x, where a is a triangle; both are matrices of the same batch."""
    return called("triangular", a, b, gives=[(b.shape[-2:], b.dtype)], upper=upper, unit=unit)[0]


# Cholesky


def cholesky_gradient(
    gs: Gradients, ys: Sequence[Node], x: Node, *, upper: bool = False, **_: bool
) -> Node:
    """The gradient L⁻ᵀ Φ(Lᵀ g) L⁻¹, made symmetric; Φ: the lower triangle, half the diagonal."""
    (gradient,) = [g for g in gs if g is not None]
    low, g = (wide(turned(v) if upper else v) for v in (ys[0], gradient))
    product = matmul(turned(low), g)
    phi = (tril(product) + tril(product, -1)) * 0.5
    half = triangular(turned(low), phi, upper=True)
    both = triangular(turned(low), turned(half), upper=True)
    return cast((both + turned(both)) * 0.5, x.dtype)


@op(
    gradient=cholesky_gradient,
    linalg=True,
    alone=True,
    prompt=True,
    results=("L", "info"),
    complex="formula",
)
def cholesky_ex(x: Node, *, upper: bool = False, check_errors: bool = False) -> tuple[Node, Node]:
    """Result of cholesky, and the order of the first leading minor that is not positive, or 0.

    Shapes: x (*b, n, n) -> (*b, n, n), (*b)

    The factor is NaN where there is none.

    >>> gn.linalg.cholesky_ex(tensor([[1.0, 2.0], [2.0, 1.0]])).info
    Tensor(2, dtype=gnomon.int32)
    """
    wide_x = matrices("cholesky", x, square=True)
    gives = [(x.shape[-2:], wide_x.dtype), ((), int32)]
    wide_x = turned(wide_x) if upper else wide_x
    low, failed = called("cholesky", wide_x, gives=gives, check=bool(check_errors))
    return cast(turned(low) if upper else low, x.dtype), failed


@op(reference=np.linalg.cholesky, linalg=True, prompt=True, complex="formula")
def cholesky(x: Node, upper: bool = False) -> Node:
    """The lower triangle L of L · Lᵀ = x, for x symmetric positive definite; or the upper one, Lᵀ.

    Shapes: x (*b, n, n) -> (*b, n, n)

    Only the triangle asked for is read. Gradient: Giles 2008, section 2.2.

    >>> cholesky(tensor([[4.0, 2.0], [2.0, 5.0]]))
    Tensor([[2., 0.],
            [1., 2.]])
    >>> cholesky(tensor([[1.0, 2.0], [2.0, 1.0]]))
    Traceback (most recent call last):
    gnomon.errors.LinAlgError: linalg.cholesky: the matrix is not positive definite: its leading
    minor of order 2 is not positive. Add to its diagonal, or use cholesky_ex.
    """
    return cholesky_ex(x, upper=upper, check_errors=True)[0]


# QR


def orthogonal_gradient(gs: Gradients, ys: Sequence[Node], x: Node, complete: bool) -> Node:
    """(g_Q + Q · M) R⁻ᵀ, M the lower triangle of R g_Rᵀ − g_Qᵀ Q, made symmetric (Seeger 2017)."""
    q, r = ys
    gq, gr = (like(y, 0.0, None, y.shape) if g is None else g for g, y in zip(gs, ys, strict=True))
    n, m = x.shape[-1], r.shape[-2]
    if complete and x.shape[-2] > n:
        q, gq, r, gr, m = columns(q, 0, n), columns(gq, 0, n), lines(r, 0, n), lines(gr, 0, n), n
    right = columns(gr, m, n)  # of a wide matrix, the columns that have no part in Q
    gq = gq + matmul(columns(x, m, n), turned(right)) if m < n else gq
    inner = matmul(r_square := columns(r, 0, m), turned(columns(gr, 0, m))) - matmul(turned(gq), q)
    both = gq + matmul(q, tril(inner) + turned(tril(inner, -1)))
    left = turned(triangular(r_square, turned(both), upper=True))
    return cat([left, matmul(q, right)], -1) if m < n else left


@internal(gradient=orthogonal_gradient)
def orthogonal(x: Node, complete: bool) -> tuple[Node, Node]:
    """The factors Q and R of a matrix."""
    m, n = x.shape[-2:]
    k = m if complete else min(m, n)
    gives = [((m, k), x.dtype), ((k, n), x.dtype)]
    q, r = called("qr", x, gives=gives, complete=complete)
    return q, r


@op(reference=np.linalg.qr, linalg=True, results=("Q", "R"), complex="formula", spelled="A=x")
def qr(x: Node, mode: str = "reduced") -> tuple[Node, Node]:
    """Q with orthonormal columns and an upper triangle R such that Q · R = x.

    Shapes: x (*b, m, n) -> (*b, m, min(m, n)), (*b, min(m, n), n) if mode == "reduced"; x (*b, m,
    n) -> (*b, m, m), (*b, m, n) if mode == "complete"; x (*b, m, n) -> (0), (*b, min(m, n), n) if
    mode == "r"

    The columns that "complete" adds to Q of a tall matrix have no gradient.

    >>> q, r = qr(tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> r
    Tensor([[-5. , -2.2],
            [ 0. ,  0.4]])
    >>> (q @ r).round(decimals=4)
    Tensor([[3., 1.],
            [4., 2.]])
    """
    choice("linalg.qr", "mode", mode, ("reduced", "complete", "r"))
    q, r = orthogonal(matrices("qr", x), complete=mode == "complete")
    q = zeros(x.arena, (0,), x.dtype) if mode == "r" else q
    return cast(q, x.dtype), cast(r, x.dtype)


# singular values and eigenvalues


def svd_gradient(gs: Gradients, ys: Sequence[Node], x: Node, full_matrices: bool = True) -> Node:
    """U (diag(g_S) + skew(Uᵀ g_U)/E S + S skew(Vᵀ g_V)/E) Vᵀ, and what is orthogonal to U and V."""
    k = ys[1].shape[-1]
    (u, s, vt), (gu, gs_, gvt) = map(wide, ys), (None if g is None else wide(g) for g in gs)
    u, v = columns(u, 0, k), columns(turned(vt), 0, k)
    if gs_ is not None:
        return cast(matmul(scaled_columns(u, gs_), turned(v)), x.dtype)
    total = unsqueeze(s, s.rank - 1) + unsqueeze(s, s.rank)
    gaps = differences(s, 1.0) * where(on_diagonal(s), 1.0, total)
    if gu is not None:
        return cast(through_vectors(columns(gu, 0, k), u, s, v, gaps), x.dtype)
    # xᵀ has the same values, and the vectors of the other side
    made = through_vectors(columns(turned(gvt), 0, k), v, s, u, gaps)
    return cast(turned(made), x.dtype)


def through_vectors(g: Node, u: Node, s: Node, v: Node, gaps: Node) -> Node:
    """The gradient (U skew(Uᵀ g)/E S + (g − U Uᵀ g)/S) Vᵀ, where g is the gradient of U."""
    along = matmul(turned(u), g)
    inner = scaled_columns(skew(along) / gaps, s)
    beside = scaled_columns(g - matmul(u, along), 1.0 / s)
    return matmul(matmul(u, inner) + beside, turned(v))


@op(
    reference=np.linalg.svd,
    gradient=svd_gradient,
    linalg=True,
    alone=True,
    prompt=True,
    results=("U", "S", "Vh"),
    complex="formula",
    hints=("driver",),
    spelled="A=x",
)
def svd(x: Node, full_matrices: bool = True) -> tuple[Node, Node, Node]:
    """U, S and Vᵀ such that U · diag(S) · Vᵀ = x: orthonormal columns, and S ≥ 0 descending.

    Shapes: x (*b, m, n) -> (*b, m, m), (*b, min(m, n)), (*b, n, n) if full_matrices else (*b, m,
    min(m, n)), (*b, min(m, n)), (*b, min(m, n), n)

    The columns that full_matrices adds have no gradient.

    >>> u, s, vh = gn.linalg.svd(tensor([[0.0, 2.0], [3.0, 0.0]]))
    >>> s
    Tensor([3., 2.])
    """
    wide_x = matrices("svd", x)
    (m, n), kind = x.shape[-2:], wide_x.dtype
    k = min(m, n)
    sizes = [(m, m if full_matrices else k), (k,), (n if full_matrices else k, n)]
    gives = [(shape, kind) for shape in sizes]
    u, s, vt = called("svd", wide_x, gives=gives, full=bool(full_matrices))
    return cast(u, x.dtype), cast(s, x.dtype), cast(vt, x.dtype)


@op(
    reference=np.linalg.svdvals,
    linalg=True,
    alone=True,
    prompt=True,
    complex="formula",
    hints=("driver",),
    spelled="A=x",
)
def svdvals(x: Node) -> Node:
    """Singular values, in descending order.

    Shapes: x (*b, m, n) -> (*b, min(m, n))

    >>> gn.linalg.svdvals(tensor([[0.0, 2.0], [3.0, 0.0]]))
    Tensor([3., 2.])
    """
    return svd(x, full_matrices=False)[1]


def eigh_gradient(gs: Gradients, ys: Sequence[Node], x: Node, UPLO: str = "L") -> Node:
    """The gradient V (diag(g_λ) + Vᵀ g_V / E) Vᵀ, E the differences of eigenvalues (Giles 2008).

    The gradient is symmetrized: a step along it leaves a symmetric matrix symmetric.
    """
    values, vectors = map(wide, ys)
    if gs[0] is not None:
        inner = scaled_columns(vectors, wide(gs[0]))
    else:
        (gradient,) = [g for g in gs if g is not None]
        product = matmul(turned(vectors), wide(gradient))
        inner = matmul(vectors, (product - turned(product)) / (2.0 * differences(values, np.inf)))
    return cast(matmul(inner, turned(vectors)), x.dtype)


@op(
    reference=np.linalg.eigh,
    gradient=eigh_gradient,
    linalg=True,
    alone=True,
    prompt=True,
    results=("eigenvalues", "eigenvectors"),
    complex="formula",
)
def eigh(x: Node, UPLO: str = "L") -> tuple[Node, Node]:
    """Eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as columns.

    Shapes: x (*b, n, n) -> (*b, n), (*b, n, n)

    Only the lower triangle is read, or with UPLO="U" the upper one.

    >>> gn.linalg.eigh(tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    Tensor([1., 3.])
    """
    wide_x = matrices("eigh", x, square=True)
    n, kind = x.shape[-1], wide_x.dtype
    made = called("eigh", wide_x, gives=[((n,), kind), ((n, n), kind)], lower=is_lower(UPLO))
    return cast(made[0], x.dtype), cast(made[1], x.dtype)


def is_lower(triangle: str) -> bool:
    """Whether a triangle, "L" or "U", is the lower one."""
    return choice("linalg.eigh", "UPLO", triangle.upper(), ("L", "U")) == "L"


@op(reference=np.linalg.eigvalsh, linalg=True, alone=True, prompt=True, complex="formula")
def eigvalsh(x: Node, UPLO: str = "L") -> Node:
    """Eigenvalues of a symmetric matrix, in ascending order.

    Shapes: x (*b, n, n) -> (*b, n)

    >>> gn.linalg.eigvalsh(tensor([[2.0, 1.0], [1.0, 2.0]]))
    Tensor([1., 3.])
    """
    return eigh(x, UPLO)[0]
