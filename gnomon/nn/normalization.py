"""Layer, RMS, group, instance and batch norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnomon.dtypes import int64
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import ones, zeros
from gnomon.tensor.tensor import Tensor


def add_affine(module: Module, shape: Sequence[int], weight: bool, bias: bool) -> None:
    """Add a weight of ones and a bias of zeros to a module, or None for them."""
    for name, wanted, make in (("weight", weight, ones), ("bias", bias, zeros)):
        if wanted:
            setattr(module, name, Parameter(make(*shape)))
        else:
            module.register_parameter(name, None)


class LayerNorm(Module):
    """Normalize over the last axes, then scale and shift.

    Shapes: input (..., *normalized_shape) -> (..., *normalized_shape)

    >>> LayerNorm(2)(tensor([[1.0, 5.0]]))
    Tensor([[-1.,  1.]], grad_fn=<LayerNormBackward>)
    """

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
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape, self.eps = tuple(shape), eps
        self.elementwise_affine = elementwise_affine
        add_affine(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias)
        if dtype is not None:
            self.to(dtype)

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The settings as text."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide by the root mean square over the last axes, then scale.

    Shapes: input (..., *normalized_shape) -> (..., *normalized_shape)

    >>> RMSNorm(2)(tensor([[3.0, 4.0]]))
    Tensor([[0.8485, 1.1314]], grad_fn=<RmsNormBackward>)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape, self.eps = tuple(shape), eps
        self.elementwise_affine = elementwise_affine
        add_affine(self, self.normalized_shape, elementwise_affine, False)
        del self._parameters["bias"]
        if dtype is not None:
            self.to(dtype)

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The settings as text."""
        affine = self.elementwise_affine
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={affine}"


class GroupNorm(Module):
    """Normalize groups of channels in each sample, then scale and shift.

    Shapes: input (n, num_channels, *s) -> (n, num_channels, *s)

    >>> GroupNorm(1, 2)(tensor([[1.0, 5.0]]))
    Tensor([[-1.,  1.]], grad_fn=<GroupNormBackward>)
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: object = None,
        dtype: object = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ArgumentError("GroupNorm: num_channels must be divisible by num_groups")
        self.num_groups, self.num_channels, self.eps, self.affine = (
            *(num_groups, num_channels),
            *(eps, affine),
        )
        give_affine(self, num_channels, affine, bias)
        if dtype is not None:
            self.to(dtype)

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The settings as text."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


def give_affine(module: Module, channels: int, wanted: bool, bias: bool = True) -> None:
    """Add a weight and a bias per channel to a module, only the weight, or None for them."""
    add_affine(module, (channels,), wanted, wanted and bias)


def reset_affine(module: Module) -> None:
    """Set a module's weight to 1 and its bias to 0, if it has them."""
    with no_grad():
        for name, value in (("weight", 1.0), ("bias", 0.0)):
            if (found := module._parameters.get(name)) is not None:
                found.fill_(value)


class Running(Module):
    """Base of normalizations per channel with running statistics."""

    RANKS: tuple[int, ...] = ()
    _version = 2  # batches are counted since

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: object = None,
        dtype: object = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        give_affine(self, num_features, affine, bias)
        if track_running_stats:
            self.register_buffer("running_mean", zeros(num_features))
            self.register_buffer("running_var", ones(num_features))
            self.register_buffer("num_batches_tracked", zeros((), dtype=int64))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        if dtype is not None:
            self.to(dtype)

    def reset_running_stats(self) -> None:
        """Reset the running statistics: mean 0, variance 1, count 0."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the running statistics; set the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        reset_affine(self)

    def check(self, input: Tensor) -> None:
        """Refuse inputs with another number of axes."""
        if self.RANKS and input.ndim not in self.RANKS:
            ranks = " or ".join(f"{rank}D" for rank in self.RANKS)
            raise ArgumentError(f"expected {ranks} input (got {input.ndim}D input)")

    def share(self) -> Any:
        """The step size of running statistics towards new ones; counts the batch in training."""
        if not (self.training and self.track_running_stats):
            return 0.0
        with no_grad():
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return 1.0 / self.num_batches_tracked.to(self.running_mean.dtype)
        return self.momentum

    def extra_repr(self) -> str:
        """The settings as text."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm(Running):
    """Base of batch norms: the batch's statistics in training, running ones in evaluation."""

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        self.check(input)
        own = self.training or self.running_mean is None
        kept = (self.running_mean, self.running_var)
        if own and not (self.training and self.track_running_stats):
            kept = (None, None)
        return F.batch_norm(input, *kept, self.weight, self.bias, own, self.share(), self.eps)


class BatchNorm1d(BatchNorm):
    """Batch norm of (n, c) or (n, c, l).

    Shapes: input (n, num_features, *s) -> (n, num_features, *s)

    >>> BatchNorm1d(1)(tensor([[[1.0, 5.0]]]))
    Tensor([[[-1.,  1.]]], grad_fn=<BatchNormTrainingBackward>)
    """

    RANKS = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch norm of images (n, c, h, w).

    Shapes: input (n, num_features, *s) -> (n, num_features, *s)

    >>> BatchNorm2d(1)(tensor([[[[1.0, 5.0]]]]))
    Tensor([[[[-1.,  1.]]]], grad_fn=<BatchNormTrainingBackward>)
    """

    RANKS = (4,)


class BatchNorm3d(BatchNorm):
    """Batch norm of volumes (n, c, d, h, w).

    Shapes: input (n, num_features, *s) -> (n, num_features, *s)

    >>> BatchNorm3d(1)(tensor([[[[[1.0, 5.0]]]]]))
    Tensor([[[[[-1.,  1.]]]]], grad_fn=<BatchNormTrainingBackward>)
    """

    RANKS = (5,)


class InstanceNorm(Running):
    """Base of instance norms: channels normalized in each sample."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: object = None,
        dtype: object = None,
        *,
        bias: bool = True,
    ) -> None:
        settings = (num_features, eps, momentum, affine, track_running_stats)
        super().__init__(*settings, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        self.check(input)
        if self.RANKS and input.ndim == self.RANKS[0]:  # one sample, without a batch
            return self.forward(input.unsqueeze(0)).squeeze(0)
        own = self.training or not self.track_running_stats
        kept = (self.running_mean, self.running_var, self.weight, self.bias)
        share = 0.0 if self.momentum is None else self.momentum  # batches are not counted
        return F.instance_norm(input, *kept, own, share, self.eps)


class InstanceNorm1d(InstanceNorm):
    """Instance norm of (n, c, l) or (c, l).

    Shapes: input (n, num_features, *s) -> (n, num_features, *s)

    >>> InstanceNorm1d(1)(tensor([[[1.0, 5.0]]]))
    Tensor([[[-1.,  1.]]])
    """

    RANKS = (2, 3)


class InstanceNorm2d(InstanceNorm):
    """Instance norm of images (n, c, h, w) or (c, h, w).

    Shapes: input (n, num_features, *s) -> (n, num_features, *s)

    >>> InstanceNorm2d(1)(tensor([[[[1.0, 5.0]]]]))
    Tensor([[[[-1.,  1.]]]])
    """

    RANKS = (3, 4)


class InstanceNorm3d(InstanceNorm):
    """Instance norm of volumes (n, c, d, h, w) or (c, d, h, w).

    Shapes: input (n, num_features, *s) -> (n, num_features, *s)

    >>> InstanceNorm3d(1)(tensor([[[[[1.0, 5.0]]]]]))
    Tensor([[[[[-1.,  1.]]]]])
    """

    RANKS = (4, 5)


class LocalResponseNorm(Module):
    """Divide each element by a norm of its neighbours across channels.

    Shapes: input (n, c, *s) -> (n, c, *s)

    >>> LocalResponseNorm(2)(zeros(1, 2, 3)).shape
    Size([1, 2, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The settings as text."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """LocalResponseNorm of images, by PyTorch's other name.

    Shapes: input (n, c, h, w) -> (n, c, h, w)

    >>> CrossMapLRN2d(2)(zeros(1, 2, 3, 3)).shape
    Size([1, 2, 3, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)
