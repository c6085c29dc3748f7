"""Eigenvalues of any square matrix, which are complex: LAPACK's, on the host, without gradients."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from gnomon.errors import DtypeError, GradientError, LinAlgError, ShapeError
from gnomon.tensor.tensor import Tensor, from_array

EigenPairs = namedtuple("EigenPairs", ("eigenvalues", "eigenvectors"))
KINDS = {"float32": "complex64", "complex64": "complex64"} | dict.fromkeys(
    ("float64", "complex128"), "complex128"
)
"""Dtypes of matrices -> those of their eigenvalues."""


def eig(A: Tensor) -> EigenPairs:
    """Eigenvalues and eigenvectors of length 1; symmetric matrices have eigh, with gradients.

    >>> import gnomon as gn
    >>> eig(gn.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.imag.abs()
    Tensor([1., 1.])
    """
    array = checked("eig", A)
    values, vectors = np.linalg.eig(array)
    return EigenPairs(as_complex(values, A), as_complex(vectors, A))


def eigvals(A: Tensor) -> Tensor:
    """Eigenvalues.

    >>> import gnomon as gn
    >>> eigvals(gn.tensor([[2.0, 1.0], [0.0, 2.0]]))
    Tensor([2.+0.j, 2.+0.j])
    """
    return as_complex(np.linalg.eigvals(checked("eigvals", A)), A)


def checked(name: str, A: Tensor) -> np.ndarray:
    """Square matrices as numpy has them."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(
            f"linalg.{name}: A must be batches of square matrices: got {tuple(A.shape)}."
        )
    if A.dtype.name not in KINDS:
        raise DtypeError(f"linalg.{name}: expected one of {', '.join(KINDS)}: got {A.dtype.name}.")
    if A.requires_grad:
        raise GradientError(
            f"linalg.{name}: eigenvalues of matrices that are not symmetric have no gradients "
            "here. Take detach() of A, or eigh."
        )
    array = A.numpy()
    if not np.isfinite(array).all():
        raise LinAlgError(f"linalg.{name}: input tensor should not contain infs or NaNs.")
    return array


def as_complex(found: np.ndarray, A: Tensor) -> Tensor:
    """Results in the complex dtype of a matrix, real or not."""
    return from_array(found.astype(KINDS[A.dtype.name]))
