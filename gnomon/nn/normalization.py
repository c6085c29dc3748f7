"""Layers that bring values to mean 0 or size 1."""

from __future__ import annotations

from collections.abc import Sequence

import gnomon as gn
from gnomon.errors import ShapeError
from gnomon.nn import functional as F
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.tensor.tensor import Tensor


def sizes(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape as a tuple."""
    return (shape,) if isinstance(shape, int) else tuple(shape)


class LayerNorm(Module):
    """Standardize over the last axes, then scale and shift."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps = sizes(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        made = {"dtype": dtype, "device": device}
        self.weight = (
            Parameter(gn.ones(self.normalized_shape, **made)) if elementwise_affine else None
        )
        shifted = elementwise_affine and bias
        self.bias = Parameter(gn.zeros(self.normalized_shape, **made)) if shifted else None

    def forward(self, x: Tensor) -> Tensor:
        """x, standardized."""
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class RMSNorm(Module):
    """Divide by the root of the mean square over the last axes, then scale."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps = sizes(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        given = gn.ones(self.normalized_shape, dtype=dtype, device=device)
        self.weight = Parameter(given) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        """x, scaled."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Standardize groups of channels of each sample."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        super().__init__()
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Parameter(gn.ones(num_channels)) if affine else None
        self.bias = Parameter(gn.zeros(num_channels)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        """x, standardized."""
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}"


class BatchNorm(Module):
    """Standardize channels by the batch when training, by running values otherwise."""

    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = Parameter(gn.ones(num_features)) if affine else None
        self.bias = Parameter(gn.zeros(num_features)) if affine else None
        tracked = track_running_stats
        self.register_buffer("running_mean", gn.zeros(num_features) if tracked else None)
        self.register_buffer("running_var", gn.ones(num_features) if tracked else None)
        count = gn.tensor(0, dtype=gn.int64) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    def forward(self, x: Tensor) -> Tensor:
        """x, standardized per channel."""
        if x.ndim not in self.ranks:
            name, wanted = type(self).__name__, " or ".join(map(str, self.ranks))
            raise ShapeError(f"{name}: needs {wanted} axes: got {tuple(x.shape)}.")
        momentum = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if momentum is None:
                momentum = 1 / float(self.num_batches_tracked)
        by_batch = self.training or self.running_mean is None
        running = (self.running_mean, self.running_var)
        return F.batch_norm(
            x,
            *running,
            self.weight,
            self.bias,
            by_batch,
            0.0 if momentum is None else momentum,
            self.eps,
        )

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        )


class BatchNorm1d(BatchNorm):
    """Batch normalization of (n, c) or (n, c, length)."""

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch normalization of (n, c, height, width)."""

    ranks = (4,)


class BatchNorm3d(BatchNorm):
    """Batch normalization of (n, c, depth, height, width)."""

    ranks = (5,)


class InstanceNorm(Module):
    """Standardize each channel of each sample."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = Parameter(gn.ones(num_features)) if affine else None
        self.bias = Parameter(gn.zeros(num_features)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        """x, standardized."""
        return F.instance_norm(x, None, None, self.weight, self.bias, True, self.momentum, self.eps)


class InstanceNorm1d(InstanceNorm):
    """Instance normalization of (n, c, length)."""


class InstanceNorm2d(InstanceNorm):
    """Instance normalization of (n, c, height, width)."""
