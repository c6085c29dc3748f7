"""Parameters of distributions: numbers and tensors of one shape, chances and their logits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gnomon as gn
from gnomon.dtypes import bfloat16, float16, float32, float64
from gnomon.errors import ArgumentError
from gnomon.forking import cached_property
from gnomon.tensor.tensor import Tensor

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
EULER = 0.5772156649015329
LIMITS = {dtype: gn.finfo(dtype) for dtype in (float64, float32, bfloat16, float16)}
"""How small and how precise numbers are: asked once, and not in what is compiled."""


class lazy_property(cached_property):
    """A property that is computed once, with gradients also where none are asked for at first."""

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """The attribute's value, computed once with gradients enabled."""
        with gn.enable_grad():
            return super().__get__(owner, kind)


def broadcast_all(*values: Any) -> list[Tensor]:
    """Numbers and tensors as tensors of one shape.

    >>> broadcast_all(gn.zeros(3), 1.0)
    [Tensor([0., 0., 0.]), Tensor([1., 1., 1.])]
    """
    like = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = None if like is None or not like.dtype.is_floating_point else like.dtype
    made = [v if isinstance(v, Tensor) else gn.tensor(float(v), dtype=dtype) for v in values]
    shape = gn.broadcast_shapes(*(tuple(v.shape) for v in made))
    return [v if tuple(v.shape) == shape else v.expand(shape) for v in made]


def clamp_probs(probs: Tensor) -> Tensor:
    """Chances, none of them quite 0 or 1."""
    eps = LIMITS[probs.dtype].eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logarithms of chances; of a chance of yes, minus that of no."""
    chance = clamp_probs(probs)
    return chance.log() - (-chance).log1p() if is_binary else chance.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Chances by their logits."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def one_of(name: str, probs: Any, logits: Any) -> None:
    """Refuse both, or neither, of chances and logits."""
    if (probs is None) == (logits is None):
        raise ArgumentError(f"{name}: needs either probs or logits.")


def open_share(shape: Any, dtype: object) -> Tensor:
    """Uniform draws of (0, 1), neither end among them."""
    return gn.rand(tuple(shape), dtype=dtype) * (1 - 2.0**-23) + 2.0**-24


def xlogy(x: Any, y: Tensor) -> Tensor:
    """x · log(y), and 0 where x is 0, with a gradient that is 0 there too."""
    nothing = (x == 0) & (y == 0) if isinstance(x, Tensor) else (y == 0) & (x == 0)
    return x * y.masked_fill(nothing, 1.0).log()


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """The logarithm of the beta function."""
    return a.lgamma() + b.lgamma() - (a + b).lgamma()


def added(x: Tensor, count: int) -> Tensor:
    """The sum over the last axes, as many as are said."""
    return x.sum(tuple(range(-count, 0))) if count else x


# what packages take of PyTorch's torch.distributions.utils


def standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Numbers of the standard normal distribution."""
    return gn.randn(tuple(shape), dtype=dtype, device=device)


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` axes."""
    if dim == 0:
        return value
    return value.reshape(*value.shape[: value.ndim - dim], -1).sum(-1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of matrices, row after row.

    >>> tril_matrix_to_vec(gn.tensor([[1, 2], [3, 4]]))
    Tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ArgumentError(f"tril_matrix_to_vec: diag ({diag}) provided is outside [{-n}, {n}).")
    rows, columns = gn.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Matrices of lower triangles, 0 above.

    >>> vec_to_tril_matrix(gn.tensor([1, 3, 4]))
    Tensor([[1, 0],
            [3, 4]])
    """
    shifted = 1 + 2 * diag
    root = math.isqrt(shifted**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1))
    n = (root - shifted) // 2
    rows, columns = gn.tril_indices(n, n, diag)
    if len(rows) != vec.shape[-1]:
        raise ArgumentError(
            f"vec_to_tril_matrix: The size of last dimension is {vec.shape[-1]} which cannot be "
            "expressed as the lower triangular part of a square D x D matrix."
        )
    made = gn.zeros((*vec.shape[:-1], n, n), dtype=vec.dtype)
    made[..., rows, columns] = vec
    return made
