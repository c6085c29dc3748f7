"""Functions of complex matrices by real ones: a + ib stands as blocks [[a, -b], [b, a]].

Products and inverses of such matrices are such matrices, and each of their singular values and
eigenvalues is there twice. Factors are not: they are in complex_factorizations.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.tensor.complex_tensor import Complex, as_complex, compose
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor


def doubled(x: Complex) -> Tensor:
    """The real matrix of twice the size, with a 2 × 2 block for each number."""
    re, im = x.real, x.imag
    blocks = FUNCTIONS["stack"](
        [FUNCTIONS["stack"]([re, -im], -1), FUNCTIONS["stack"]([im, re], -1)], -2
    )
    rows, columns = x.shape[-2:]
    return FUNCTIONS["movedim"](blocks, -2, -3).reshape(*x.shape[:-2], 2 * rows, 2 * columns)


def hermitian_of(x: Complex) -> Complex:
    """A Hermitian matrix, whose diagonal's imaginary parts are not read, without these."""
    return compose(x.real, FUNCTIONS["tril"](x.imag, -1) + FUNCTIONS["triu"](x.imag, 1))


def halved(x: Tensor) -> Complex:
    """The complex matrix of a real one of 2 × 2 blocks."""
    return compose(x[..., ::2, ::2], x[..., 1::2, ::2])


def complex_inverse(x: Complex) -> Complex:
    """The inverse."""
    return halved(FUNCTIONS["inverse"](doubled(x)))


def complex_matrix_exp(x: Complex) -> Complex:
    """e to the power of a matrix."""
    return halved(FUNCTIONS["matrix_exp"](doubled(x)))


def complex_solve(A: Any, B: Any, *, left: bool = True) -> Complex:
    """x of A · x = B, or of x · A = B."""
    kind = (A if isinstance(A, Complex) else B).dtype
    A, B = as_complex(A, kind), as_complex(B, kind)
    vector = B.ndim == 1 or B.shape == A.shape[:-1]
    made = halved(
        FUNCTIONS["solve"](doubled(A), doubled(B.unsqueeze(-1) if vector else B), left=left)
    )
    return made.squeeze(-1) if vector else made


def tolerance(x: Complex, atol: Any, rtol: Any) -> Any:
    """The relative tolerance for a matrix, if none is given."""
    if rtol is not None or isinstance(atol, Tensor) or atol:
        return rtol
    return max(x.shape[-2:]) * float(np.finfo(x.dtype.to_real().numpy).eps)


def complex_pinverse(
    x: Complex, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Complex:
    """The pseudoinverse."""
    rtol = tolerance(x, atol, rcond if rtol is None else rtol)
    x = hermitian_of(x) if hermitian else x
    return halved(FUNCTIONS["pinverse"](doubled(x), hermitian=hermitian, atol=atol, rtol=rtol))


def complex_matrix_rank(
    x: Complex, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The number of singular values above a threshold."""
    atol = atol if tol is None else tol
    rtol = tolerance(x, atol, rtol)
    x = hermitian_of(x) if hermitian else x
    return FUNCTIONS["matrix_rank"](doubled(x), hermitian=hermitian, atol=atol, rtol=rtol) // 2
