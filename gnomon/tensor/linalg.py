"""gn.linalg: products and lengths under the names of the standard's extension.

Factorizations, inverses and eigenvalues are not here.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.errors import ArgumentError
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_transpose",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

cross = FUNCTIONS["cross"]
matmul = FUNCTIONS["matmul"]
matrix_transpose = FUNCTIONS["matrix_transpose"]
outer = FUNCTIONS["outer"]
tensordot = FUNCTIONS["tensordot"]
vecdot = FUNCTIONS["vecdot"]
vector_norm = FUNCTIONS["vector_norm"]

Axes = int | Sequence[int] | None


def diagonal(x: Tensor, /, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A diagonal of the last two axes."""
    return FUNCTIONS["diagonal"](x, offset, dim1, dim2)


def trace(x: Tensor, /, *, offset: int = 0, dtype: object = None) -> Tensor:
    """The sum of a diagonal of the last two axes."""
    return FUNCTIONS["sum"](diagonal(x, offset=offset), -1, dtype=dtype)


def matrix_norm(
    x: Tensor, /, ord: str = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False
) -> Tensor:
    """The root of the sum of squares of a matrix."""
    if ord != "fro":
        raise ArgumentError(f'matrix_norm: only ord="fro" is known: got {ord!r}.')
    return vector_norm(x, 2, tuple(dim), keepdim)


def norm(
    x: Tensor, /, ord: float | str | None = None, dim: Axes = None, keepdim: bool = False
) -> Tensor:
    """The length of a vector, or of all elements; with two axes or "fro", of matrices."""
    if ord == "fro" or (isinstance(dim, Sequence) and len(dim) == 2 and ord is not None):
        return matrix_norm(x, ord, (-2, -1) if dim is None else dim, keepdim)
    if ord is not None and dim is None and x.ndim > 1:
        raise ArgumentError(f"norm: ord {ord!r} of a matrix is not known. Name one axis.")
    return vector_norm(x, 2 if ord is None else ord, dim, keepdim)
