"""Activations, losses, pooling and other modules without parameters, from tables."""

from __future__ import annotations

from typing import Any

from gnomon.nn import functional as F
from gnomon.nn.parameter import Parameter
from gnomon.nn.tables import REQUIRED, Settings, module_of
from gnomon.tensor.creation import full
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

# elementwise

ReLU = module_of("ReLU", F.relu, inplace=False)
ReLU6 = module_of("ReLU6", F.relu6, inplace=False)
LeakyReLU = module_of("LeakyReLU", F.leaky_relu, negative_slope=0.01, inplace=False)
ELU = module_of("ELU", F.elu, alpha=1.0, inplace=False)
CELU = module_of("CELU", F.celu, alpha=1.0, inplace=False)
SELU = module_of("SELU", F.selu, inplace=False)
GELU = module_of("GELU", F.gelu, approximate="none")
SiLU = module_of("SiLU", F.silu, inplace=False)
Mish = module_of("Mish", F.mish, inplace=False)
Sigmoid = module_of("Sigmoid", F.sigmoid)
Tanh = module_of("Tanh", F.tanh)
Softplus = module_of("Softplus", F.softplus, beta=1.0, threshold=20.0)
Softsign = module_of("Softsign", F.softsign)
Softshrink = module_of("Softshrink", F.softshrink, lambd=0.5)
Hardshrink = module_of("Hardshrink", F.hardshrink, lambd=0.5)
Hardtanh = module_of("Hardtanh", F.hardtanh, min_val=-1.0, max_val=1.0, inplace=False)
Hardswish = module_of("Hardswish", F.hardswish, inplace=False)
Hardsigmoid = module_of("Hardsigmoid", F.hardsigmoid, inplace=False)
Tanhshrink = module_of("Tanhshrink", F.tanhshrink)
LogSigmoid = module_of("LogSigmoid", F.logsigmoid)
Threshold = module_of("Threshold", F.threshold, threshold=REQUIRED, value=REQUIRED, inplace=False)
GLU = module_of("GLU", F.glu, dim=-1)
Softmax = module_of("Softmax", F.softmax, dim=None)
LogSoftmax = module_of("LogSoftmax", F.log_softmax, dim=None)
Softmax2d = module_of("Softmax2d", lambda input: F.softmax(input, dim=-3))
Softmin = module_of("Softmin", F.softmin, dim=None)


class PReLU(Settings):
    """x where it is positive, a learned share of it elsewhere."""

    SETTINGS = {"num_parameters": 1, "init": 0.25}  # noqa: RUF012

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.weight = Parameter(full((self.num_parameters,), float(self.init)))

    def forward(self, input: Tensor) -> Tensor:
        """x, or its share."""
        return F.prelu(input, self.weight)


# losses

MSELoss = module_of("MSELoss", F.mse_loss, reduction="mean")
L1Loss = module_of("L1Loss", F.l1_loss, reduction="mean")
SmoothL1Loss = module_of("SmoothL1Loss", F.smooth_l1_loss, reduction="mean", beta=1.0)
HuberLoss = module_of("HuberLoss", F.huber_loss, reduction="mean", delta=1.0)
KLDivLoss = module_of("KLDivLoss", F.kl_div, reduction="mean", log_target=False)
SoftMarginLoss = module_of("SoftMarginLoss", F.soft_margin_loss, reduction="mean")
PoissonNLLLoss = module_of(
    "PoissonNLLLoss", F.poisson_nll_loss, log_input=True, full=False, eps=1e-8, reduction="mean"
)
GaussianNLLLoss = module_of(
    "GaussianNLLLoss", F.gaussian_nll_loss, full=False, eps=1e-6, reduction="mean"
)
CosineEmbeddingLoss = module_of(
    "CosineEmbeddingLoss", F.cosine_embedding_loss, margin=0.0, reduction="mean"
)
MarginRankingLoss = module_of(
    "MarginRankingLoss", F.margin_ranking_loss, margin=0.0, reduction="mean"
)
HingeEmbeddingLoss = module_of(
    "HingeEmbeddingLoss", F.hinge_embedding_loss, margin=1.0, reduction="mean"
)
TripletMarginLoss = module_of(
    "TripletMarginLoss", F.triplet_margin_loss, margin=1.0, p=2.0, swap=False, reduction="mean"
)


class Weighted(Settings):
    """A loss whose weights are kept as buffers, so that they follow the module's dtype."""

    WEIGHTS = ("weight",)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.WEIGHTS and name not in self._buffers:
            self.register_buffer(name, value)
        else:
            super().__setattr__(name, value)


def weighted(name: str, function: Any, weights: tuple[str, ...], **settings: Any) -> type:
    """A class of losses with weights."""
    made = module_of(name, function, **settings)
    body = {"WEIGHTS": weights, "__doc__": made.__doc__, "__module__": "gnomon.nn"}
    return type(name, (Weighted, made), body)


CrossEntropyLoss = weighted(
    "CrossEntropyLoss",
    F.cross_entropy,
    ("weight",),
    weight=None,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
)
MultiLabelSoftMarginLoss = weighted(
    *("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss, ("weight",)),
    weight=None,
    reduction="mean",
)
MultiMarginLoss = weighted(
    *("MultiMarginLoss", F.multi_margin_loss, ("weight",)),
    p=1,
    margin=1.0,
    weight=None,
    reduction="mean",
)
NLLLoss = weighted(
    "NLLLoss", F.nll_loss, ("weight",), weight=None, ignore_index=-100, reduction="mean"
)
CTCLoss = module_of("CTCLoss", F.ctc_loss, blank=0, reduction="mean", zero_infinity=False)
BCELoss = weighted("BCELoss", F.binary_cross_entropy, ("weight",), weight=None, reduction="mean")
BCEWithLogitsLoss = weighted(
    "BCEWithLogitsLoss",
    F.binary_cross_entropy_with_logits,
    ("weight", "pos_weight"),
    weight=None,
    reduction="mean",
    pos_weight=None,
)

# shapes and distances

Flatten = module_of("Flatten", FUNCTIONS["flatten"], start_dim=1, end_dim=-1)
CosineSimilarity = module_of("CosineSimilarity", F.cosine_similarity, dim=1, eps=1e-8)
PairwiseDistance = module_of(
    "PairwiseDistance", F.pairwise_distance, p=2.0, eps=1e-6, keepdim=False
)
PixelShuffle = module_of("PixelShuffle", F.pixel_shuffle, upscale_factor=REQUIRED)
PixelUnshuffle = module_of("PixelUnshuffle", F.pixel_unshuffle, downscale_factor=REQUIRED)
Upsample = module_of(
    "Upsample", F.interpolate, size=None, scale_factor=None, mode="nearest", align_corners=None
)
UpsamplingNearest2d = module_of(
    "UpsamplingNearest2d", F.interpolate, size=None, scale_factor=None, mode="nearest"
)
UpsamplingBilinear2d = module_of(
    *("UpsamplingBilinear2d", F.interpolate),
    size=None,
    scale_factor=None,
    mode="bilinear",
    align_corners=True,
)
ChannelShuffle = module_of("ChannelShuffle", F.channel_shuffle, groups=REQUIRED)
Unfold = module_of("Unfold", F.unfold, kernel_size=REQUIRED, dilation=1, padding=0, stride=1)
Fold = module_of(
    *("Fold", F.fold), output_size=REQUIRED, kernel_size=REQUIRED, dilation=1, padding=0, stride=1
)


def unflatten(input: Tensor, dim: int, unflattened_size: Any) -> Tensor:
    """One axis as several."""
    return FUNCTIONS["unflatten"](input, dim, unflattened_size)


Unflatten = module_of("Unflatten", unflatten, dim=REQUIRED, unflattened_size=REQUIRED)

# pooling

POOL = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
LARGEST = {**POOL, "dilation": 1, "return_indices": False, "ceil_mode": False}
AVERAGE = {**POOL, "ceil_mode": False, "count_include_pad": True}
MaxPool1d = module_of("MaxPool1d", F.max_pool1d, **LARGEST)
MaxPool2d = module_of("MaxPool2d", F.max_pool2d, **LARGEST)
AvgPool1d = module_of("AvgPool1d", F.avg_pool1d, **AVERAGE)
AvgPool2d = module_of("AvgPool2d", F.avg_pool2d, **AVERAGE, divisor_override=None)
AdaptiveAvgPool1d = module_of("AdaptiveAvgPool1d", F.adaptive_avg_pool1d, output_size=REQUIRED)
AdaptiveAvgPool2d = module_of("AdaptiveAvgPool2d", F.adaptive_avg_pool2d, output_size=REQUIRED)
AdaptiveMaxPool1d = module_of("AdaptiveMaxPool1d", F.adaptive_max_pool1d, output_size=REQUIRED)
AdaptiveMaxPool2d = module_of("AdaptiveMaxPool2d", F.adaptive_max_pool2d, output_size=REQUIRED)

# borders


def bordered(mode: str, count: int) -> Any:
    """A function that pads the last axes."""

    def pad(input: Tensor, padding: Any, value: float | None = None) -> Tensor:
        widths = (padding,) * (2 * count) if isinstance(padding, int) else tuple(padding)
        return F.pad(input, widths, mode, value)

    pad.__doc__ = f"Borders around the last {count} axes."
    return pad


ZeroPad1d = module_of("ZeroPad1d", bordered("constant", 1), padding=REQUIRED)
ZeroPad3d = module_of("ZeroPad3d", bordered("constant", 3), padding=REQUIRED)
ConstantPad3d = module_of("ConstantPad3d", bordered("constant", 3), padding=REQUIRED, value=0.0)
ReflectionPad3d = module_of("ReflectionPad3d", bordered("reflect", 3), padding=REQUIRED)
ReplicationPad3d = module_of("ReplicationPad3d", bordered("replicate", 3), padding=REQUIRED)
CircularPad1d = module_of("CircularPad1d", bordered("circular", 1), padding=REQUIRED)
CircularPad2d = module_of("CircularPad2d", bordered("circular", 2), padding=REQUIRED)
CircularPad3d = module_of("CircularPad3d", bordered("circular", 3), padding=REQUIRED)
ZeroPad2d = module_of("ZeroPad2d", bordered("constant", 2), padding=REQUIRED)
ConstantPad1d = module_of("ConstantPad1d", bordered("constant", 1), padding=REQUIRED, value=0.0)
ConstantPad2d = module_of("ConstantPad2d", bordered("constant", 2), padding=REQUIRED, value=0.0)
ReflectionPad1d = module_of("ReflectionPad1d", bordered("reflect", 1), padding=REQUIRED)
ReflectionPad2d = module_of("ReflectionPad2d", bordered("reflect", 2), padding=REQUIRED)
ReplicationPad1d = module_of("ReplicationPad1d", bordered("replicate", 1), padding=REQUIRED)
ReplicationPad2d = module_of("ReplicationPad2d", bordered("replicate", 2), padding=REQUIRED)


# chance


class Dropped(Settings):
    """A dropout: it acts in training only."""

    SETTINGS = {"p": 0.5, "inplace": False}  # noqa: RUF012

    def forward(self, input: Tensor) -> Tensor:
        """The input, parts of it set to 0 in training."""
        return type(self).FUNCTION(input, self.p, self.training, self.inplace)


class Dropout(Dropped):
    """Elements set to 0 by chance."""

    FUNCTION = staticmethod(F.dropout)


class Dropout1d(Dropped):
    """Channels set to 0 by chance."""

    FUNCTION = staticmethod(F.dropout1d)


class Dropout2d(Dropout1d):
    """Channels set to 0 by chance."""


class Dropout3d(Dropout1d):
    """Channels set to 0 by chance."""


class AlphaDropout(Dropped):
    """Dropout that keeps mean and variance after SELU."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, parts of it replaced in training."""
        return F.alpha_dropout(input, self.p, self.training)
