"""What gnomon.tensor.linalg offers; written by tools/stubs.py."""

import builtins
from collections.abc import Sequence
from gnomon.tensor.eigenvalues import EigenPairs
from gnomon.tensor.matrices import Nearest
from gnomon.tensor.tensor import Tensor
from typing import Any
_bool = builtins.bool
_float = builtins.float
_int = builtins.int
_type = builtins.type
from gnomon.errors import LinAlgError as LinAlgError
def cholesky(x: Tensor, upper: _bool = ...) -> Tensor:
    """The lower triangle L of L · Lᵀ = x, for x symmetric positive definite; or the upper one, Lᵀ."""
def cholesky_ex(x: Tensor, *, upper: _bool = ..., check_errors: _bool = ...) -> tuple[Tensor, Tensor]:
    """Result of cholesky, and the order of the first leading minor that is not positive, or 0."""
def cond(x: Tensor, p: _float | str | None = ...) -> Tensor:
    """The condition number: the norm of x times the norm of its inverse; ∞ if singular."""
def cross(x: Tensor, y: Tensor = ..., axis: _int | None = ..., *, other: Tensor = ..., dim: _int | None = ...) -> Tensor:
    """The cross product of vectors along an axis; None takes the first axis of size 3."""
def det(x: Tensor) -> Tensor:
    """The determinant."""
def diagonal(A: Tensor, *, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """A diagonal of the last two axes."""
def eig(input: Tensor) -> EigenPairs:
    """Eigenvalues and eigenvectors of length 1; Hermitian matrices have eigh."""
def eigh(x: Tensor, UPLO: str = ...) -> tuple[Tensor, Tensor]:
    """Eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as columns."""
def eigvals(input: Tensor) -> Tensor:
    """Eigenvalues: those of eig, also where nobody asks for vectors."""
def eigvalsh(x: Tensor, UPLO: str = ...) -> Tensor:
    """Eigenvalues of a symmetric matrix, in ascending order."""
def householder_product(x: Tensor, tau: Tensor = ..., *, input2: Tensor = ...) -> Tensor:
    """The first columns of Π (1 − tau_k v_k v_kᵀ), v_k below the diagonal of x, 1 on it."""
def inv(x: Tensor) -> Tensor:
    """The inverse matrix."""
def inv_ex(x: Tensor, *, check_errors: _bool = ...) -> tuple[Tensor, Tensor]:
    """The inverse, and the 1-based number of the first pivot that is 0, or 0."""
def lstsq(input: Tensor, b: Tensor, rcond: _float | None = ..., *, driver: str | None = ...) -> Nearest:
    """The x for which A · x is nearest to b, of least length, and what PyTorch's driver tells."""
def lu(x: Tensor, *, pivot: _bool = ...) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U such that P · L · U = x: a permutation, a unit lower and an upper triangle."""
def lu_factor(x: Tensor, *, pivot: _bool = ...) -> tuple[Tensor, Tensor]:
    """L and U in one matrix, and the 1-based row that each step exchanged with its own."""
def lu_factor_ex(x: Tensor, *, pivot: _bool = ..., check_errors: _bool = ...) -> tuple[Tensor, Tensor, Tensor]:
    """Results of lu_factor, and the 1-based number of the first pivot that is 0, or 0."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = ..., adjoint: _bool = ...) -> Tensor:
    """Solve A · x = B, x · A = B or, with adjoint, Aᵀ · x = B by the results of lu_factor."""
def matmul(x: Tensor, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """The matrix product; axes before the last two are batches and broadcast."""
def matrix_exp(x: Tensor) -> Tensor:
    """The matrix exponential Σ xᵏ / k!, by scaling and squaring in float64."""
def matrix_norm(x: Tensor, ord: _float | str = ..., axis: Sequence[_int] = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: Sequence[_int] = ..., keepdim: _bool = ...) -> Tensor:
    """A norm of matrices over two axes."""
def matrix_power(x: Tensor, n: _int) -> Tensor:
    """The n-th power of a matrix; negative n powers its inverse."""
def matrix_rank(x: Tensor, tol: Tensor | _float | None = ..., hermitian: _bool = ..., *, atol: Tensor | _float | None = ..., rtol: Tensor | _float | None = ...) -> Tensor:
    """The number of singular values above max(atol, rtol · largest)."""
def matrix_transpose(x: Tensor) -> Tensor:
    """Exchange the last two axes."""
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices, in the order that needs the fewest multiplications."""
def norm(input: Tensor, ord: _float | str | None = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: object = ...) -> Tensor:
    """The length of a vector, or of all elements; with an order and two axes, of matrices."""
def outer(x: Tensor, y: Tensor = ..., *, other: Tensor = ..., vec2: Tensor = ...) -> Tensor:
    """The outer product of two vectors."""
def pinv(x: Tensor, rcond: Tensor | _float | None = ..., hermitian: _bool = ..., *, atol: Tensor | _float | None = ..., rtol: Tensor | _float | None = ...) -> Tensor:
    """The pseudoinverse: V · diag(1 / S) · Uᵀ over singular values above max(atol, rtol · largest)."""
def qr(x: Tensor, mode: str = ...) -> tuple[Tensor, Tensor]:
    """Q with orthonormal columns and an upper triangle R such that Q · R = x."""
def slogdet(x: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value."""
def solve(A: Tensor, B: Tensor, *, left: _bool = ...) -> Tensor:
    """Solve A · x = B, or x · A = B."""
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = ..., check_errors: _bool = ...) -> tuple[Tensor, Tensor]:
    """Result of solve, and the 1-based number of the first pivot that is 0, or 0."""
def solve_triangular(A: Tensor, B: Tensor, *, upper: _bool, left: _bool = ..., unitriangular: _bool = ...) -> Tensor:
    """Solve A · x = B, or x · A = B, for a triangular A; only its triangle is read."""
def svd(x: Tensor, full_matrices: _bool = ...) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and Vᵀ such that U · diag(S) · Vᵀ = x: orthonormal columns, and S ≥ 0 descending."""
def svdvals(x: Tensor) -> Tensor:
    """Singular values, in descending order."""
def tensordot(x: Tensor, y: Tensor = ..., axes: _int | Sequence[Sequence[_int]] = ..., *, other: Tensor = ..., b: Tensor = ..., dims: _int | Sequence[Sequence[_int]] = ...) -> Tensor:
    """The sum of products over the last axes of x and the first of y, or over the given pairs."""
def tensorinv(input: Tensor, ind: _int = ...) -> Tensor:
    """The inverse of tensordot by a tensor over its last axes, its first `ind` axes as rows."""
def tensorsolve(input: Tensor, other: Tensor, dims: Any = ...) -> Tensor:
    """x whose product with a tensor over all its axes is the other."""
def trace(x: Tensor, *, offset: _int = ..., dtype: object = ...) -> Tensor:
    """The sum of a diagonal of the last two axes."""
def vander(x: Tensor, *, N: _int | None = ...) -> Tensor:
    """The powers of elements as columns, from the zeroth up."""
def vecdot(x: Tensor, y: Tensor = ..., axis: _int = ..., *, other: Tensor = ..., dim: _int = ...) -> Tensor:
    """The dot products along an axis."""
def vector_norm(x: Tensor, ord: _float = ..., axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The norm of vectors over axes: the ord-th root of the sum of |x|^ord."""
