"""Functions of nn.functional that are compositions of a few operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.overrides import overridable
from gnomon.tensor.tensor import Tensor


@overridable
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize images; each pixel takes the value of the nearest one.

    Shapes: input (n, c, *s) -> (n, c, *p); p = floor(s * scale_factor)

    >>> upsample_nearest(ones(1, 1, 2), scale_factor=2).shape
    Size([1, 1, 4])
    """
    return FUNCTIONS["interpolate"](input, size, scale_factor, "nearest")


@overridable
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize images by bilinear interpolation with aligned corners.

    Shapes: input (n, c, *s) -> (n, c, *p); p = floor(s * scale_factor)

    >>> upsample_bilinear(ones(1, 1, 2, 2), scale_factor=2).shape
    Size([1, 1, 4, 4])
    """
    return FUNCTIONS["interpolate"](input, size, scale_factor, "bilinear", True)


@overridable
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with a distance function of the caller; by default pairwise_distance.

    Shapes: anchor (*s, d), positive (*s, d), negative (*s, d) -> (*s) if reduction == "none" else
    ()

    >>> triplet_margin_with_distance_loss(tensor([[0.0]]), tensor([[3.0]]), tensor([[1.0]]))
    Tensor(3.)
    """
    if margin <= 0:
        raise ArgumentError(f"triplet_margin_with_distance_loss: margin must be above 0: {margin}.")
    apart = distance_function or FUNCTIONS["pairwise_distance"]
    near, far = apart(anchor, positive), apart(anchor, negative)
    far = FUNCTIONS["minimum"](far, apart(positive, negative)) if swap else far
    # of distances the difference, as a ranking with all targets 1
    target = FUNCTIONS["ones_like"](far).detach()
    ranked = FUNCTIONS["margin_ranking_loss"]
    return ranked(far, near, target, margin=margin, reduction=reduction)
