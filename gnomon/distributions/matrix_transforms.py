"""Transforms onto chances and triangular matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.parameters import LIMITS
from gnomon.distributions.transform import Shape, Transform
from gnomon.errors import ShapeError
from gnomon.nn import functional as F
from gnomon.tensor.size import Size
from gnomon.tensor.tensor import Tensor


def countdown(x: Tensor) -> Tensor:
    """The logarithms of n, n − 1, … 1 for vectors of n elements."""
    return gn.arange(x.shape[-1], 0, -1, dtype=x.dtype).log()


class StickBreakingTransform(Transform):
    """Real vectors as chances: each takes a share of what is left of a stick."""

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True
    said = ()

    def _call(self, x: Tensor) -> Tensor:
        """The value of StickBreakingTransform at x."""
        share = (x - countdown(x)).sigmoid()
        left = (1 - share).cumprod(-1)
        return F.pad(share, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of StickBreakingTransform at y."""
        shares = y[..., :-1]
        left = (1 - shares.cumsum(-1)).clamp(min=LIMITS[y.dtype].tiny)
        return shares.log() - left.log() + countdown(shares)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of StickBreakingTransform at x, with value y."""
        x = x - countdown(x)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Shape) -> Any:
        """The shape of values of StickBreakingTransform, from that of arguments."""
        return Size((*vectors(shape)[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Shape) -> Any:
        """The shape of arguments of StickBreakingTransform, from that of values."""
        return Size((*vectors(shape)[:-1], shape[-1] - 1))


def vectors(shape: Shape) -> Shape:
    """The shape of vectors."""
    if not shape:
        raise ShapeError("StickBreakingTransform: needs vectors: got a number.")
    return shape


class LowerCholeskyTransform(Transform):
    """Square matrices as lower triangles with a positive diagonal, its logarithm taken as given."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky
    said = ()

    def _call(self, x: Tensor) -> Tensor:
        """The value of LowerCholeskyTransform at x."""
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of LowerCholeskyTransform at y."""
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices as positive definite ones."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite
    said = ()

    def _call(self, x: Tensor) -> Tensor:
        """The value of PositiveDefiniteTransform at x."""
        low = LowerCholeskyTransform()(x)
        return low @ low.mT

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of PositiveDefiniteTransform at y."""
        return LowerCholeskyTransform().inv(gn.linalg.cholesky(y))


def triangle_places(count: int) -> np.ndarray:
    """The place of each element below the diagonal in a vector of them, row by row; others last."""
    places = np.full((count, count), count * (count - 1) // 2)
    places[np.tril_indices(count, -1)] = np.arange(count * (count - 1) // 2)
    return places


def to_triangle(x: Tensor, count: int) -> Tensor:
    """Vectors as the elements below the diagonals of matrices, zeros elsewhere."""
    places = gn.tensor(triangle_places(count).reshape(-1))
    made = F.pad(x, [0, 1]).index_select(-1, places)
    return made.reshape((*x.shape[:-1], count, count))


def from_triangle(x: Tensor, diagonal: int) -> Tensor:
    """The elements below a diagonal, row by row."""
    rows, columns = np.tril_indices(x.shape[-1], diagonal)
    flat = x.reshape((*x.shape[:-2], x.shape[-2] * x.shape[-1]))
    return flat.index_select(-1, gn.tensor(rows * x.shape[-1] + columns))


class CorrCholeskyTransform(Transform):
    """Real vectors as triangles of correlation matrices, whose rows have length 1."""

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True
    said = ()

    def _call(self, x: Tensor) -> Tensor:
        """The value of CorrCholeskyTransform at x."""
        count = self.forward_shape(x.shape)[-1]
        r = to_triangle(x.tanh(), count)
        left = (1 - r**2).sqrt().cumprod(-1)[..., :-1]
        return (r + gn.eye(count, dtype=x.dtype)) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of CorrCholeskyTransform at y."""
        left = F.pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        return (from_triangle(y, -1) / from_triangle(left, -1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of CorrCholeskyTransform at x, with value y."""
        left = from_triangle(1 - (y * y).cumsum(-1), -2)
        slopes = 2 * (math.log(2) - x - F.softplus(-2 * x))
        return 0.5 * left.log().sum(-1) + slopes.sum(-1)

    def forward_shape(self, shape: Shape) -> Any:
        """The shape of values of CorrCholeskyTransform, from that of arguments."""
        count = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5) if shape else 0
        if not shape or count * (count - 1) // 2 != shape[-1]:
            raise ShapeError(
                f"CorrCholeskyTransform: a vector has n·(n − 1)/2 elements: got {tuple(shape)}."
            )
        return Size((*shape[:-1], count, count))

    def inverse_shape(self, shape: Shape) -> Any:
        """The shape of arguments of CorrCholeskyTransform, from that of values."""
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ShapeError(f"CorrCholeskyTransform: needs square matrices: got {tuple(shape)}.")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))
