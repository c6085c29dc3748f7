"""Factorizations of complex matrices as operations name them, and what is computed from factors.

Values and gradients are in ops/complex_factors.py; functions by real matrices of twice the size are
in complex_matrices.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.dtypes import dtype_of
from gnomon.errors import ShapeError
from gnomon.ops.arguments import choice
from gnomon.ops.complex_factors import (
    complex_cholesky_factor,
    complex_determinant,
    complex_eigen,
    complex_eigen_hermitian,
    complex_eliminated,
    complex_log_determinant,
    complex_orthogonal,
    complex_singular,
    complex_triangle,
)
from gnomon.ops.elimination import rows_of
from gnomon.tensor.complex_math import complex_abs, complex_log
from gnomon.tensor.complex_matrices import complex_inverse, complex_matrix_rank, complex_pinverse
from gnomon.tensor.complex_tensor import Complex, as_complex, cast, compose
from gnomon.tensor.creation import eye, zeros
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.functions import FUNCTIONS, apply
from gnomon.tensor.standard import broadcast_shapes
from gnomon.tensor.state import is_eager
from gnomon.tensor.tensor import Tensor, node_of

Order = float | str
Results = tuple[Any, ...]


def matrix(name: str, x: Any, square: bool = False) -> Complex:
    """The tensor, refused without matrices, or square ones, in the last two axes."""
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise ShapeError(f"linalg.{name}: needs {kind} in the last two axes: got {tuple(x.shape)}.")
    return x


def of_pairs(function: Callable[..., Any], *xs: Complex, **settings: Any) -> Any:
    """The results of a function on pairs (real, imaginary), as complex tensors."""
    return apply(function, [x._pair for x in xs], settings)


def broadcast(a: Any, b: Any) -> tuple[Complex, Complex]:
    """Two complex matrices, their batches broadcast."""
    kind = (a if isinstance(a, Complex) else b).dtype
    a, b = as_complex(a, kind), as_complex(b, kind)
    batch = broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    return a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])


def upper_part(x: Complex, k: int = 0) -> Complex:
    """The triangle on and above a diagonal."""
    return FUNCTIONS["triu"](x, k)


# determinants


def complex_det(x: Complex) -> Complex:
    """The determinant."""
    return Complex((of_pairs(complex_determinant, matrix("det", x, square=True)),))


def complex_slogdet(x: Complex) -> Results:
    """The determinant's direction, and the logarithm of its absolute value."""
    sign, size = of_pairs(complex_log_determinant, matrix("slogdet", x, square=True))
    return Complex((sign,)), size


def complex_logdet(x: Complex) -> Complex:
    """The logarithm of the determinant."""
    sign, size = complex_slogdet(x)
    return complex_log(sign) + size


# factors


def complex_cholesky_ex(x: Complex, *, upper: bool = False, check_errors: bool = False) -> Results:
    """The factor of cholesky, and the number of the first non-positive leading minor, or 0."""
    x = matrix("cholesky", x, square=True)
    x = x.mH if upper else x
    low, failed = of_pairs(complex_cholesky_factor, x, check=bool(check_errors))
    made = Complex((low,))
    return made.mH if upper else made, failed


def complex_cholesky(x: Complex, upper: bool = False) -> Complex:
    """The triangular factor L of x = L · Lᴴ."""
    return complex_cholesky_ex(x, upper=upper, check_errors=True)[0]


def complex_qr(x: Complex, mode: str = "reduced") -> Results:
    """The factors Q, with orthonormal columns, and R, upper triangular."""
    choice("linalg.qr", "mode", mode, ("reduced", "complete", "r"))
    both = of_pairs(complex_orthogonal, matrix("qr", x), complete=mode == "complete")
    q, r = (Complex((part,)) for part in both)
    return zeros(0, dtype=x.dtype) if mode == "r" else q, r


def complex_svd(x: Complex, full_matrices: bool = True) -> Results:
    """Left singular vectors, singular values in descending order, right ones as conjugated rows."""
    m, n = matrix("svd", x).shape[-2:]
    both, s = of_pairs(complex_singular, x, full=bool(full_matrices))
    k, vectors = min(m, n), Complex((both,))
    u = vectors[..., :m, : m if full_matrices else k]
    return u, s, vectors[..., m:, : n if full_matrices else k].mH


def complex_svdvals(x: Complex) -> Tensor:
    """The singular values."""
    return complex_svd(x, full_matrices=False)[1]


def complex_eigh(x: Complex, UPLO: str = "L") -> Results:
    """Eigenvalues of a Hermitian matrix, from the smallest, and its eigenvectors as columns."""
    lower = choice("linalg.eigh", "UPLO", UPLO.upper(), ("L", "U")) == "L"
    values, vectors = of_pairs(complex_eigen_hermitian, matrix("eigh", x, square=True), lower=lower)
    return values, Complex((vectors,))


def complex_eigvalsh(x: Complex, UPLO: str = "L") -> Tensor:
    """The eigenvalues of a Hermitian matrix."""
    return complex_eigh(x, UPLO)[0]


def eigen(x: Any) -> Results:
    """Eigenvalues and eigenvectors of any square matrix, real or complex, computed at once."""
    real = not isinstance(x, Complex)
    both = of_pairs(complex_eigen, compose(x) if real else x, real=real)
    if is_eager():
        evaluate([node_of(part) for part in both])
    return tuple([Complex((part,)) for part in both])


def complex_householder_product(x: Any, tau: Any) -> Complex:
    """The first columns of Π (1 − tau_k v_k v_kᴴ), v_k below the diagonal of x, 1 on it."""
    m, n = matrix("householder_product", x).shape[-2:]
    if m < n:
        raise ShapeError(
            "linalg.householder_product: needs at least as many rows as columns: got "
            f"{tuple(x.shape)}."
        )
    one = eye(m, n, dtype=x.dtype)
    low = FUNCTIONS["tril"](x, -1) + one
    made: Any = one.expand(*x.shape)
    for k in reversed(range(tau.shape[-1])):
        v = low[..., k : k + 1]
        made = made - v @ (v.mH @ made) * tau[..., k, None, None]
    return made


# LU


def complex_lu_factor_ex(x: Complex, *, pivot: bool = True, check_errors: bool = False) -> Results:
    """L and U in one matrix, the row exchanges, and the number of the first zero pivot."""
    return eliminated("lu_factor", x, pivot, "lu_factor_ex" if check_errors else "")


def eliminated(name: str, x: Complex, pivot: bool, check: str) -> Results:
    """L and U in one matrix, the row exchanges, and the number of the first zero pivot."""
    made = of_pairs(complex_eliminated, matrix(name, x), pivot=bool(pivot), check=check)
    return Complex((made[0],)), *made[1:]


def complex_lu_factor(x: Complex, *, pivot: bool = True) -> Results:
    """L and U in one matrix, and the row exchanges."""
    return complex_lu_factor_ex(x, pivot=pivot)[:2]


def rows_in_order(LU: Any, pivots: Tensor, name: str) -> Tensor:
    """The permutation of rows from row exchanges."""
    wanted = (*LU.shape[:-2], min(LU.shape[-2:]))
    if not pivots.dtype.is_integer or tuple(pivots.shape) != wanted:
        raise ShapeError(
            f"{name}: pivots of factors of {tuple(LU.shape)} are int32 of {wanted}: got "
            f"{pivots.dtype.name} of {tuple(pivots.shape)}. Give both results of lu_factor."
        )
    return apply(rows_of, [pivots], {"count": LU.shape[-2], "caller": name})


def complex_lu_unpack(
    LU_data: Complex, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Results:
    """P, L and U of lu, from the results of lu_factor."""
    m, n = matrix("lu_unpack", LU_data).shape[-2:]
    k, kind = min(m, n), LU_data.dtype
    real = FUNCTIONS["lu_unpack"](LU_data.real, LU_pivots, False, unpack_pivots)
    exchanged = as_complex(real[0], kind)
    if not unpack_data:
        return exchanged, as_complex(real[1], kind), as_complex(real[2], kind)
    low = FUNCTIONS["tril"](LU_data[..., :k], -1) + eye(m, k, dtype=kind)
    return exchanged, low, upper_part(LU_data[..., :k, :])


def complex_lu_decomposition(x: Complex, *, pivot: bool = True) -> Results:
    """P, L and U of P · L · U = x."""
    return complex_lu_unpack(*complex_lu_factor(x, pivot=pivot))


def complex_lu_solution(
    LU: Any, pivots: Tensor, B: Any, *, left: bool = True, adjoint: bool = False
) -> Complex:
    """x of A · x = B from the results of lu_factor; of x · A = B; with adjoint, of Aᴴ."""
    if not left:
        return complex_lu_solution(LU, pivots, B.mH, adjoint=not adjoint).mH
    order = rows_in_order(matrix("lu_solve", LU, square=True), pivots, "lu_solve")
    both, rows = broadcast(LU, B)
    fitting("lu_solve", both, rows, True)
    order = order.expand(*both.shape[:-1]).unsqueeze(-1)
    if adjoint:
        half = triangular(both.mH, rows, upper=False)
        made = triangular(both.mH, half, upper=True, unit=True)
        return made.gather(-2, order.argsort(-2).expand(*made.shape))
    half = triangular(both, rows.gather(-2, order.expand(*rows.shape)), upper=False, unit=True)
    return triangular(both, half, upper=True)


# equations


def fitting(name: str, a: Any, b: Any, left: bool) -> None:
    """Refuse equations whose sides' sizes differ."""
    if a.shape[-1] != b.shape[-2 if left else -1]:
        side = "rows" if left else "columns"
        raise ShapeError(
            f"linalg.{name}: B must have {a.shape[-1]} {side} as A {tuple(a.shape)} has: got "
            f"{tuple(b.shape)}."
        )


def triangular(a: Complex, b: Complex, upper: bool, unit: bool = False) -> Complex:
    """x of a · x = b, where a is a triangle."""
    return Complex((of_pairs(complex_triangle, a, b, upper=bool(upper), unit=bool(unit)),))


def complex_solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Complex:
    """x of A · x = B, or of x · A = B; only one triangle of A is read."""
    a, b = broadcast(matrix("solve_triangular", A, square=True), matrix("solve_triangular", B))
    fitting("solve_triangular", a, b, left)
    if left:
        return triangular(a, b, upper, unitriangular)
    return triangular(a.mT, b.mT, not upper, unitriangular).mT


def complex_cholesky_solve(x: Any, L: Any, upper: bool = False) -> Complex:
    """y of L · Lᴴ · y = x, L a factor of cholesky."""
    low = L.mH if upper else L
    half = complex_solve_triangular(low, x, upper=False)
    return complex_solve_triangular(low.mH, half, upper=True)


def complex_cholesky_inverse(x: Complex, upper: bool = False) -> Complex:
    """The inverse of x · xᴴ, x a factor of cholesky."""
    n = matrix("cholesky_inverse", x, square=True).shape[-1]
    return complex_cholesky_solve(eye(n, dtype=x.dtype).expand(*x.shape), x, upper)


def complex_solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Results:
    """The solution of solve, and the number of the first zero pivot, from 1; 0 without one."""
    kind = (A if isinstance(A, Complex) else B).dtype
    A = as_complex(matrix("solve_ex", A, square=True), kind)
    both, pivots, failed = eliminated("solve_ex", A, True, "solve_ex" if check_errors else "")
    vector = B.ndim == 1 or B.shape == A.shape[:-1]
    rows = B.unsqueeze(-1) if vector else B
    made = complex_lu_solution(both, pivots, rows, left=left or vector)
    return made.squeeze(-1) if vector else made, failed


def complex_inv_ex(x: Complex, *, check_errors: bool = False) -> Results:
    """The inverse, and the number of the first zero pivot, from 1; 0 without one."""
    n = matrix("inv_ex", x, square=True).shape[-1]
    one = eye(n, dtype=x.dtype).expand(*x.shape)
    return complex_solve_ex(x, one, check_errors=check_errors)


def complex_lstsq(A: Any, B: Any, rcond: float | None = None) -> Results:
    """The x for which A · x is nearest to B, of least length, and the rank of A."""
    a, b = broadcast(A, B)
    return complex_pinverse(a, rcond) @ b, complex_matrix_rank(a, rtol=rcond)


# powers and sizes


def complex_matrix_power(x: Complex, n: int) -> Complex:
    """The product of n matrices x, of −n inverses of it, or the identity."""
    size = matrix("matrix_power", x, square=True).shape[-1]
    if n == 0:
        return eye(size, dtype=x.dtype).expand(*x.shape).clone()
    square = complex_inverse(x) if n < 0 else x
    made = None
    for bit in reversed(f"{abs(n):b}"):
        if bit == "1":
            made = square if made is None else made @ square
        square = square @ square
    return made


def complex_matrix_norm(
    x: Complex,
    ord: Order = "fro",
    axis: Sequence[int] = (-2, -1),
    keepdims: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The size of a matrix; nuc, 2 and −2 by its singular values."""
    x = x if dtype is None else cast(x, dtype_of(dtype))
    if ord not in ("nuc", 2, -2):
        return FUNCTIONS["matrix_norm"](complex_abs(x), ord, axis, keepdims)
    sizes = complex_svdvals(x.movedim(tuple(axis), (-2, -1)))
    made = sizes.sum(-1) if ord == "nuc" else sizes.amax(-1) if ord == 2 else sizes.amin(-1)
    folded = {k % x.ndim for k in axis}
    kept = [1 if k in folded else size for k, size in enumerate(x.shape)]
    return made.reshape(kept) if keepdims else made


def complex_norm(
    x: Complex, p: Order = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None
) -> Tensor:
    """The p-norm of sizes; "nuc" is the sum of a matrix's singular values."""
    x = x if dtype is None else as_complex(x, dtype)
    if p == "nuc":
        return complex_matrix_norm(x, "nuc", (-2, -1) if axis is None else axis, keepdims)
    return FUNCTIONS["norm"](complex_abs(x), p, axis, keepdims)


def complex_condition_number(x: Complex, p: Order | None = None) -> Tensor:
    """The norm of a matrix times that of its inverse; infinite without one."""
    if p in (None, 2, -2):
        s = complex_svdvals(x)
        return s.amin(-1) / s.amax(-1) if p == -2 else s.amax(-1) / s.amin(-1)
    inverse, failed = complex_inv_ex(matrix("cond", x, square=True))
    made = complex_matrix_norm(x, p) * complex_matrix_norm(inverse, p)
    return FUNCTIONS["where"](failed > 0, float("inf"), made)
