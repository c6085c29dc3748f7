"""Eigenvalues of any square matrix, which are complex: LAPACK's."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gnomon.errors import DtypeError, ShapeError
from gnomon.lazy import complex_factorizations
from gnomon.tensor.tensor import Tensor

EigenPairs = namedtuple("EigenPairs", ("eigenvalues", "eigenvectors"))
KINDS = ("float32", "complex64", "float64", "complex128")
"""Dtypes of matrices that have eigenvalues."""


def eig(input: Tensor) -> EigenPairs:
    """Eigenvalues and eigenvectors of length 1; Hermitian matrices have eigh.

    A gradient is that of what no phase of a vector changes: a loss that depends on one is refused.

    >>> import gnomon as gn
    >>> eig(gn.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.imag.abs()
    Tensor([1., 1.])
    """
    return EigenPairs(*pairs("eig", input))


def eigvals(input: Tensor) -> Tensor:
    """Eigenvalues: those of eig, also where nobody asks for vectors.

    >>> import gnomon as gn
    >>> eigvals(gn.tensor([[2.0, 1.0], [0.0, 2.0]]))
    Tensor([2.+0.j, 2.+0.j])
    """
    return pairs("eigvals", input)[0]


def pairs(name: str, A: Tensor) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a square matrix."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(
            f"linalg.{name}: A must be batches of square matrices: got {tuple(A.shape)}."
        )
    if A.dtype.name not in KINDS:
        raise DtypeError(f"linalg.{name}: expected one of {', '.join(KINDS)}: got {A.dtype.name}.")
    return complex_factorizations.eigen(A)
