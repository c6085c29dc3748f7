"""Batch norm over the rows of all ranks."""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import accumulator
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F
from gnomon.nn.module import Module
from gnomon.nn.normalization import BatchNorm
from gnomon.nn.own_rows import layout_of_rows, normalized_apart
from gnomon.runtime.comm.groups import ProcessGroup, default_group
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import full
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.meetings import summed
from gnomon.tensor.tensor import Tensor


class SyncBatchNorm(BatchNorm):
    """Batch norm by the statistics of all ranks in training; of one rank, like BatchNorm.

    Shapes: input (n, num_features, *s) -> (n, num_features, *s)

    Ranks may have different numbers of rows.

    >>> SyncBatchNorm(1)(tensor([[1.0], [5.0]]))
    Tensor([[-1.],
            [ 1.]], grad_fn=<BatchNormTrainingBackward>)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: ProcessGroup | None = None,
        device: object = None,
        dtype: object = None,
        *,
        bias: bool = True,
    ) -> None:
        settings = (num_features, eps, momentum, affine, track_running_stats)
        super().__init__(*settings, device, dtype, bias=bias)
        self.process_group = process_group

    def check(self, input: Tensor) -> None:
        """Refuse inputs without a channel axis."""
        if input.ndim < 2:
            raise ArgumentError(f"expected at least 2D input (got {input.ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        group = self.process_group or default_group()
        own = self.training or self.running_mean is None
        if group is None or group.size() == 1 or not own:
            return super().forward(input)
        self.check(input)
        rows = layout_of_rows(input)
        if rows:
            return normalized_apart(
                input, rows, lambda x: self.normalized(group, x), self.weight, self.bias
            )
        return self.normalized(group, input, self.weight, self.bias)

    def normalized(
        self,
        group: ProcessGroup,
        input: Tensor,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """The rank's rows, normalized by all ranks' statistics; updates running statistics."""
        mean, var, count = moments(group, input)
        if self.training and self.track_running_stats:
            kept, new = (self.running_mean, self.running_var), (mean, var * (count / (count - 1)))
            share = self.share()
            with no_grad():
                for running, value in zip(kept, new, strict=True):
                    F.follow(running, value.detach(), share)
        return F.batch_norm(input, mean, var, weight, bias, False, 0.0, self.eps)

    @classmethod
    def convert_sync_batchnorm(
        cls, module: Module, process_group: ProcessGroup | None = None
    ) -> Module:
        """Replace the BatchNorms of a module by SyncBatchNorms with the same parameters."""
        if isinstance(module, BatchNorm):
            settings = (module.num_features, module.eps, module.momentum, module.affine)
            made = cls(*settings, module.track_running_stats, process_group)
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            return made.train(module.training)
        for name, inner in list(module._modules.items()):
            if inner is not None:
                module.add_module(name, cls.convert_sync_batchnorm(inner, process_group))
        return module


def moments(group: ProcessGroup, x: Tensor) -> tuple[Tensor, Tensor, Any]:
    """The mean and variance per channel of all ranks' rows, and the number of elements."""
    wide, axes = x.to(accumulator(x.dtype)), tuple(k for k in range(x.ndim) if k != 1)
    own = full((1,), x.numel() / max(x.shape[1], 1), dtype=wide.dtype)
    total = summed(group, FUNCTIONS["cat"]([wide.sum(dim=axes), own]))
    mean, count = total[:-1] / total[-1], total[-1].detach()
    away = wide - mean.reshape(-1, *(1,) * (x.ndim - 2))
    return mean, summed(group, (away * away).sum(dim=axes)) / count, count
