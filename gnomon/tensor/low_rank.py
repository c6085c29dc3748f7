"""Factors of a matrix that is nearly of low rank, by random directions: svd_lowrank, pca_lowrank.

Halko, Martinsson, Tropp: Finding structure with randomness, 2011, algorithms 4.4 and 5.1. Draws
are Gnomon's own, so results agree with PyTorch's as far as the rank is low.
"""

from __future__ import annotations

from gnomon.errors import ArgumentError
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.matrices import Svd
from gnomon.tensor.random import randn
from gnomon.tensor.tensor import Tensor


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> Svd:
    """U, S and V of U · diag(S) · Vᵀ, which is near A, or near A - M; of q singular values.

    niter: how often directions are turned towards the largest ones.

    >>> import gnomon as gn
    >>> u, s, v = svd_lowrank(gn.ones(4, 3), q=1)
    >>> gn.allclose(u * s @ v.mT, gn.ones(4, 3))
    True
    """
    rest = A if M is None else A - M
    wide = A.shape[-2] < A.shape[-1]
    rest = rest.mH if wide else rest
    basis = directions(rest, 6 if q is None else q, 2 if niter is None else niter)
    u, s, vh = FUNCTIONS["svd"](basis.mH @ rest, full_matrices=False)
    u, v = basis @ u, vh.mH
    return Svd(v, s, u) if wide else Svd(u, s, v)


def directions(A: Tensor, count: int, niter: int) -> Tensor:
    """Orthogonal columns that span approximately the range of A."""
    basis = orthogonal(A @ randn(A.shape[-1], count, dtype=A.dtype))
    for _ in range(niter):
        basis = orthogonal(A @ orthogonal(A.mH @ basis))
    return basis


def orthogonal(x: Tensor) -> Tensor:
    """Orthogonal columns that span the columns of a matrix."""
    return FUNCTIONS["qr"](x)[0]


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Svd:
    """The q principal components of rows: svd_lowrank of them less their mean.

    >>> import gnomon as gn
    >>> pca_lowrank(gn.tensor([[1.0, 2.0], [3.0, 2.0]]), q=1).S
    Tensor([1.4142])
    """
    most = min(A.shape[-2:])
    if q is not None and not 0 <= q <= most:
        raise ArgumentError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}"
        )
    if niter < 0:
        raise ArgumentError(f"niter(={niter}) must be non-negative integer")
    rest = A - A.mean(dim=-2, keepdim=True) if center else A
    return svd_lowrank(rest, min(6, most) if q is None else q, niter)
