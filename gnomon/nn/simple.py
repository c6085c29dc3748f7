"""Layers without weights (and PReLU): activations, pooling, shapes, dropout. Generated from a table.

Each row is a name, the function it calls, and its arguments with their defaults, in PyTorch's order.
"""

from __future__ import annotations

from typing import Any

import gnomon as gn
from gnomon.nn import functional as F
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.tensor.tensor import Tensor

REQUIRED = object()


class Simple(Module):
    """Base of layers that call one function with fixed arguments."""

    function = ""
    defaults: dict[str, Any] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        given = dict(zip(self.defaults, args, strict=False)) | kwargs
        unknown = given.keys() - self.defaults.keys()
        missing = [k for k, v in self.defaults.items() if v is REQUIRED and k not in given]
        if unknown or missing or len(args) > len(self.defaults):
            takes = ", ".join(self.defaults) or "no arguments"
            raise TypeError(f"{type(self).__name__} takes {takes}: got {args} {kwargs}")
        self.options = {**self.defaults, **given}
        for name, value in self.options.items():
            setattr(self, name, value)

    def forward(self, *xs: Tensor) -> Tensor:
        """The function of the inputs."""
        return getattr(F, self.function)(
            *xs, **{name: getattr(self, name) for name in self.options}
        )

    def extra_repr(self) -> str:
        """The arguments."""
        return ", ".join(f"{name}={value}" for name, value in self.options.items())


def layer(name: str, function: str, **defaults: Any) -> type[Module]:
    """A class of the family."""
    body = {"function": function, "defaults": defaults, "__module__": __name__}
    body["__doc__"] = f"Module for nn.functional.{function}."
    return type(name, (Simple,), body)


ReLU = layer("ReLU", "relu", inplace=False)
ReLU6 = layer("ReLU6", "relu6", inplace=False)
ELU = layer("ELU", "elu", alpha=1.0, inplace=False)
SELU = layer("SELU", "selu", inplace=False)
CELU = layer("CELU", "celu", alpha=1.0, inplace=False)
GELU = layer("GELU", "gelu", approximate="none")
SiLU = layer("SiLU", "silu", inplace=False)
Mish = layer("Mish", "mish", inplace=False)
LeakyReLU = layer("LeakyReLU", "leaky_relu", negative_slope=0.01, inplace=False)
Hardtanh = layer("Hardtanh", "hardtanh", min_val=-1.0, max_val=1.0, inplace=False)
Hardsigmoid = layer("Hardsigmoid", "hardsigmoid")
Hardswish = layer("Hardswish", "hardswish")
Sigmoid = layer("Sigmoid", "sigmoid")
Tanh = layer("Tanh", "tanh")
Softsign = layer("Softsign", "softsign")
Softplus = layer("Softplus", "softplus", beta=1.0, threshold=20.0)
LogSigmoid = layer("LogSigmoid", "logsigmoid")
Tanhshrink = layer("Tanhshrink", "tanhshrink")
Softshrink = layer("Softshrink", "softshrink", lambd=0.5)
Hardshrink = layer("Hardshrink", "hardshrink", lambd=0.5)
Threshold = layer("Threshold", "threshold", threshold=REQUIRED, value=REQUIRED)
GLU = layer("GLU", "glu", dim=-1)
Softmax = layer("Softmax", "softmax", dim=-1)
Softmin = layer("Softmin", "softmin", dim=-1)
LogSoftmax = layer("LogSoftmax", "log_softmax", dim=-1)

POOL = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
MaxPool1d = layer(
    "MaxPool1d", "max_pool1d", **POOL, dilation=1, return_indices=False, ceil_mode=False
)
MaxPool2d = layer(
    "MaxPool2d", "max_pool2d", **POOL, dilation=1, return_indices=False, ceil_mode=False
)
AvgPool1d = layer("AvgPool1d", "avg_pool1d", **POOL, ceil_mode=False, count_include_pad=True)
AvgPool2d = layer("AvgPool2d", "avg_pool2d", **POOL, ceil_mode=False, count_include_pad=True)
AdaptiveAvgPool1d = layer("AdaptiveAvgPool1d", "adaptive_avg_pool1d", output_size=REQUIRED)
AdaptiveAvgPool2d = layer("AdaptiveAvgPool2d", "adaptive_avg_pool2d", output_size=REQUIRED)
AdaptiveMaxPool1d = layer("AdaptiveMaxPool1d", "adaptive_max_pool1d", output_size=REQUIRED)
AdaptiveMaxPool2d = layer("AdaptiveMaxPool2d", "adaptive_max_pool2d", output_size=REQUIRED)
Upsample = layer(
    "Upsample", "interpolate", size=None, scale_factor=None, mode="nearest", align_corners=None
)
PixelShuffle = layer("PixelShuffle", "pixel_shuffle", upscale_factor=REQUIRED)
PixelUnshuffle = layer("PixelUnshuffle", "pixel_unshuffle", downscale_factor=REQUIRED)
CosineSimilarity = layer("CosineSimilarity", "cosine_similarity", dim=1, eps=1e-8)
PairwiseDistance = layer("PairwiseDistance", "pairwise_distance", p=2.0, eps=1e-6, keepdim=False)


class Dropout(Module):
    """Zero elements with probability p when training."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p, self.inplace = p, inplace

    def forward(self, x: Tensor) -> Tensor:
        """x, with elements dropped."""
        return F.dropout(x, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"


class Flatten(Module):
    """Several axes as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        """x, flattened."""
        return gn.flatten(x, self.start_dim, self.end_dim)


class Unflatten(Module):
    """One axis as several."""

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        """x, unflattened."""
        return gn.unflatten(x, self.dim, self.unflattened_size)


class PReLU(Module):
    """ReLU whose slope below zero is learned."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(gn.full((num_parameters,), init))

    def forward(self, x: Tensor) -> Tensor:
        """x where positive, else x times the slope."""
        return F.prelu(x, self.weight)


def loss(name: str, function: str, **defaults: Any) -> type[Module]:
    """A loss of the family; `weight` and `pos_weight` are buffers."""
    return layer(name, function, **defaults, reduction="mean")


class Weighted(Simple):
    """Base of losses that hold weights, which move and are saved with the module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("weight", "pos_weight"):
            if name in self.options:
                value = self.options[name]
                self.__dict__.pop(name, None)
                self.register_buffer(name, value)


def weighted(name: str, function: str, **defaults: Any) -> type[Module]:
    """A class of the family with weights."""
    body = {"function": function, "defaults": defaults, "__module__": __name__}
    body["__doc__"] = f"Module for nn.functional.{function}."
    return type(name, (Weighted,), body)


MSELoss = loss("MSELoss", "mse_loss")
L1Loss = loss("L1Loss", "l1_loss")
SmoothL1Loss = layer("SmoothL1Loss", "smooth_l1_loss", reduction="mean", beta=1.0)
HuberLoss = layer("HuberLoss", "huber_loss", reduction="mean", delta=1.0)
KLDivLoss = layer("KLDivLoss", "kl_div", reduction="mean", log_target=False)
HingeEmbeddingLoss = loss("HingeEmbeddingLoss", "hinge_embedding_loss", margin=1.0)
MarginRankingLoss = loss("MarginRankingLoss", "margin_ranking_loss", margin=0.0)
CosineEmbeddingLoss = loss("CosineEmbeddingLoss", "cosine_embedding_loss", margin=0.0)
SoftMarginLoss = loss("SoftMarginLoss", "soft_margin_loss")
TripletMarginLoss = loss(
    "TripletMarginLoss", "triplet_margin_loss", margin=1.0, p=2.0, eps=1e-6, swap=False
)
CrossEntropyLoss = weighted(
    "CrossEntropyLoss",
    "cross_entropy",
    weight=None,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
)
NLLLoss = weighted("NLLLoss", "nll_loss", weight=None, ignore_index=-100, reduction="mean")
BCELoss = weighted("BCELoss", "binary_cross_entropy", weight=None, reduction="mean")
BCEWithLogitsLoss = weighted(
    "BCEWithLogitsLoss",
    "binary_cross_entropy_with_logits",
    weight=None,
    reduction="mean",
    pos_weight=None,
)

__all__ = sorted(
    name
    for name, value in globals().items()
    if isinstance(value, type)
    and issubclass(value, Module)
    and name not in ("Module", "Simple", "Weighted")
)
