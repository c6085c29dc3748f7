"""A scaled tensor plus a scaled product: of matrices, of a matrix and a vector, of two vectors."""

from __future__ import annotations

import math

import numpy as np

from gnomon.dtypes import promote
from gnomon.errors import DtypeError
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar
from gnomon.ops.linalg import bmm, mm, mv, outer
from gnomon.ops.registry import op


def plus(start: Node, product: Node, beta: Scalar, alpha: Scalar) -> Node:
    """beta · start + alpha · product; the fraction of a factor of integers is cut off."""
    if not any(x.dtype.is_floating_point or x.dtype.is_complex for x in (start, product)):
        beta, alpha = cut_off(beta), cut_off(alpha)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else (start if beta == 1 else start * beta) + product


def cut_off(factor: Scalar) -> Scalar:
    """A factor of integers without its fraction."""
    if not isinstance(factor, float):
        return factor
    if not math.isfinite(factor):
        raise DtypeError(f"addmm: a factor of integers must be finite: got {factor}.")
    return int(factor)


@op(
    reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    autocast="narrow",
    complex="formula",
)
def addmm(x: Node, mat1: Node, mat2: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · (mat1 @ mat2).

    Shapes: x (...), mat1 (n, k), mat2 (k, m) -> (n, m)

    >>> addmm(ones(1), tensor([[1.0, 2.0]]), tensor([[3.0], [4.0]]), beta=10)
    Tensor([[21.]])
    """
    return plus(x, mm(mat1, mat2), beta, alpha)


@op(reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b), complex="formula")
def addmv(x: Node, mat: Node, vec: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · (mat @ vec).

    Shapes: x (...), mat (n, k), vec (k) -> (n)

    >>> addmv(tensor([1.0]), tensor([[1.0, 2.0]]), tensor([3.0, 4.0]))
    Tensor([12.])
    """
    return plus(x, mv(mat, vec), beta, alpha)


@op(reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * np.outer(a, b), complex="formula")
def addr(x: Node, vec1: Node, vec2: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · outer(vec1, vec2).

    Shapes: x (...), vec1 (n), vec2 (m) -> (n, m)

    >>> addr(zeros(2, 2), tensor([1.0, 2.0]), tensor([3.0, 4.0]))
    Tensor([[3., 4.],
            [6., 8.]])
    >>> addr(zeros(1, 1, dtype=int64), arange(1), arange(1), beta=0.5)
    Traceback (most recent call last):
    gnomon.errors.DtypeError: addr: beta must be an integer for integers: got 0.5.
    """
    product = outer(vec1, vec2)
    for word, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, float) and promote(x.dtype, product.dtype).is_integer:
            raise DtypeError(f"addr: {word} must be an integer for integers: got {factor}.")
    return plus(x, product, beta, alpha)


@op(
    reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    autocast="narrow",
    complex="formula",
)
def baddbmm(x: Node, batch1: Node, batch2: Node, *, beta: Scalar = 1, alpha: Scalar = 1) -> Node:
    """beta · x + alpha · (batch1 @ batch2).

    Shapes: x (...), batch1 (b, n, k), batch2 (b, k, m) -> (b, n, m)

    >>> baddbmm(ones(1), ones(2, 1, 3), ones(2, 3, 1)).flatten()
    Tensor([4., 4.])
    """
    return plus(x, bmm(batch1, batch2), beta, alpha)
