"""A last layer and its cross-entropy as one module, which need not hold all logits at once."""

from __future__ import annotations

from math import prod
from typing import Any

from gnomon.nn import functional as F
from gnomon.nn.functional import LinearCrossEntropyOptions
from gnomon.nn.linear import Linear
from gnomon.nn.module import Module
from gnomon.tensor.tensor import Tensor


class LinearCrossEntropyLoss(Module):
    """The cross entropy of a Linear; further keywords are functional.linear_cross_entropy's.

    Shapes: input (*s, in_features), target (*s) -> ()

    >>> LinearCrossEntropyLoss(2, 4)(tensor([[1.0, 0.0]]), tensor([3])).shape
    Size([])
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: object = None,
        dtype: object = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
        **named: Any,
    ) -> None:
        super().__init__()
        self.in_features, self.num_classes = in_features, num_classes
        self.out_features = tuple(out_features)
        self.reduction, self.ignore_index = reduction, ignore_index
        self.label_smoothing, self.options, self.named = label_smoothing, options, named
        self.register_buffer("weight", weight)
        outputs = num_classes * prod(self.out_features)
        self.linear = Linear(in_features, outputs, bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the input's classes."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(*shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
            **self.named,
        )

    def extra_repr(self) -> str:
        """The settings as text."""
        names = ("in_features", "num_classes", "out_features")
        settings = ("reduction", "ignore_index", "label_smoothing", "options")
        shown = [f"{name}={getattr(self, name)}" for name in names]
        shown.append(f"bias={self.linear.bias is not None}")
        return ", ".join([*shown, *(f"{name}={getattr(self, name)}" for name in settings)])
