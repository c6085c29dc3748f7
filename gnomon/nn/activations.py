"""Activations, losses, pooling and other modules without parameters, from tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gnomon.nn import functional as F
from gnomon.nn.module_texts import INPLACE
from gnomon.nn.parameter import Parameter
from gnomon.nn.tables import REQUIRED, ReducedLoss, SettingsModule, module_of
from gnomon.nn.value_checks import check_chance
from gnomon.ops.older_words import OLDER
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
Softmin = module_of("Softmin", F.softmin, dim=None)


def softmax_of_channels(input: Tensor) -> Tensor:
    """softmax over the channels of an image.

    Shapes: input (..., c, h, w) -> (..., c, h, w)

    >>> softmax_of_channels(zeros(2, 1, 1)).flatten()
    Tensor([0.5, 0.5])
    """
    return F.softmax(input, dim=-3)


Softmax2d = module_of("Softmax2d", softmax_of_channels)


class PReLU(SettingsModule):
    """The parametric ReLU: x where it is positive, else x times a learned slope.

    Shapes: input (*s) -> (*s)

    >>> PReLU()(tensor([-2.0, 2.0]))
    Tensor([-0.5,  2. ], grad_fn=<PreluBackward>)
    """

    SETTINGS = {"num_parameters": 1, "init": 0.25}  # noqa: RUF012
    LINE = "num_parameters={num_parameters}"

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__(num_parameters, init)
        self.weight = Parameter(full((num_parameters,), float(init)))
        if dtype is not None:
            self.to(dtype)

    def reset_parameters(self) -> None:
        """Set all slopes to `init`."""
        self.weight.data.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation to the input."""
        return F.prelu(input, self.weight)


# losses


class WeightedLoss(ReducedLoss):
    """Base class for user-defined losses with weights of classes."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: object = None,
        reduce: object = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


OLD = dict.fromkeys(OLDER)
"""The deprecated reduction arguments of losses, at their positions among the settings."""
CLASSES = {"weight": None, "size_average": None, "ignore_index": -100, "reduce": None} | {
    "reduction": "mean"
}
"""The settings of losses whose targets are classes."""
MSELoss = module_of("MSELoss", F.mse_loss, **OLD, reduction="mean")
L1Loss = module_of("L1Loss", F.l1_loss, **OLD, reduction="mean")
SmoothL1Loss = module_of("SmoothL1Loss", F.smooth_l1_loss, **OLD, reduction="mean", beta=1.0)
HuberLoss = module_of("HuberLoss", F.huber_loss, reduction="mean", delta=1.0)
KLDivLoss = module_of("KLDivLoss", F.kl_div, **OLD, reduction="mean", log_target=False)
SoftMarginLoss = module_of("SoftMarginLoss", F.soft_margin_loss, **OLD, reduction="mean")
PoissonNLLLoss = module_of(
    *("PoissonNLLLoss", F.poisson_nll_loss),
    **{"log_input": True, "full": False, "size_average": None, "eps": 1e-8, "reduce": None},
    reduction="mean",
)
GaussianNLLLoss = module_of(
    "GaussianNLLLoss", F.gaussian_nll_loss, full=False, eps=1e-6, reduction="mean"
)
CosineEmbeddingLoss = module_of(
    "CosineEmbeddingLoss", F.cosine_embedding_loss, margin=0.0, **OLD, reduction="mean"
)
MarginRankingLoss = module_of(
    "MarginRankingLoss", F.margin_ranking_loss, margin=0.0, **OLD, reduction="mean"
)
HingeEmbeddingLoss = module_of(
    "HingeEmbeddingLoss", F.hinge_embedding_loss, margin=1.0, **OLD, reduction="mean"
)
TripletMarginLoss = module_of(
    *("TripletMarginLoss", F.triplet_margin_loss),
    **{"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False, **OLD},
    reduction="mean",
)


class Weighted(SettingsModule):
    """Base of losses whose weights are buffers, so that they follow the module's dtype."""

    WEIGHTS = ("weight",)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.WEIGHTS and name not in self._buffers:
            self.register_buffer(name, value)
        else:
            super().__setattr__(name, value)


def weighted(name: str, function: Any, weights: tuple[str, ...], **settings: Any) -> type:
    """A class of losses that call a function with these weights and settings."""
    made = module_of(name, function, **settings)
    body = {"WEIGHTS": weights, "__doc__": made.__doc__, "__module__": "gnomon.nn"}
    return type(name, (Weighted, made), body)


MultiLabelMarginLoss = module_of(
    "MultiLabelMarginLoss", F.multilabel_margin_loss, **OLD, reduction="mean"
)
TripletMarginWithDistanceLoss = module_of(
    *("TripletMarginWithDistanceLoss", F.triplet_margin_with_distance_loss),
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
)
CrossEntropyLoss = weighted(
    *("CrossEntropyLoss", F.cross_entropy, ("weight",)),
    **{**CLASSES, "label_smoothing": 0.0},
)
MultiLabelSoftMarginLoss = weighted(
    *("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss, ("weight",)),
    weight=None,
    **OLD,
    reduction="mean",
)
MultiMarginLoss = weighted(
    *("MultiMarginLoss", F.multi_margin_loss, ("weight",)),
    p=1,
    margin=1.0,
    weight=None,
    **OLD,
    reduction="mean",
)
NLLLoss = weighted("NLLLoss", F.nll_loss, ("weight",), **CLASSES)
CTCLoss = module_of("CTCLoss", F.ctc_loss, blank=0, reduction="mean", zero_infinity=False)
BCELoss = weighted(
    "BCELoss", F.binary_cross_entropy, ("weight",), weight=None, **OLD, reduction="mean"
)
BCEWithLogitsLoss = weighted(
    "BCEWithLogitsLoss",
    F.binary_cross_entropy_with_logits,
    ("weight", "pos_weight"),
    weight=None,
    **OLD,
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
    *("Upsample", F.interpolate),
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
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

# pooling

POOL = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
POOLS = {
    "MaxPool": {**POOL, "dilation": 1, "return_indices": False, "ceil_mode": False},
    "AvgPool": {**POOL, "ceil_mode": False, "count_include_pad": True, "divisor_override": None},
    "LPPool": {
        **{"norm_type": REQUIRED, "kernel_size": REQUIRED},
        **{"stride": None, "ceil_mode": False},
    },
    "AdaptiveAvgPool": {"output_size": REQUIRED},
    "AdaptiveMaxPool": {"output_size": REQUIRED, "return_indices": False},
}
"""The settings of pooling layers, by kind."""
BORDERS = {
    "ZeroPad": ("constant", {}),
    "ConstantPad": ("constant", {"value": 0.0}),
    "ReflectionPad": ("reflect", {}),
    "ReplicationPad": ("replicate", {}),
    "CircularPad": ("circular", {}),
}
"""The mode and further settings of padding layers, by kind."""


def bordered(mode: str, count: int) -> Any:
    """A function of nn.functional that pads the last `count` axes in one mode."""

    def pad(input: Tensor, padding: Any, value: float | None = None) -> Tensor:
        widths = (padding,) * (2 * count) if isinstance(padding, int) else tuple(padding)
        return F.pad(input, widths, mode, value)

    pad.__doc__ = f"Borders around the last {count} axes."
    return pad


def unpooled(count: int) -> Any:
    """A function max_unpool1d, 2d or 3d that takes output_size as its third argument."""
    function = getattr(F, f"max_unpool{count}d")

    def unpool(input: Tensor, indices: Tensor, output_size: Any = None, **kept: Any) -> Tensor:
        return function(input, indices, output_size=output_size, **kept)

    unpool.__doc__ = function.__doc__
    return unpool


def over_axes() -> Iterator[type]:
    """The classes of pooling and padding over one, two and three axes."""
    drawn = dict.fromkeys(("output_size", "output_ratio", "_random_samples"))
    for count in (2, 3):
        name, function = f"FractionalMaxPool{count}d", getattr(F, f"fractional_max_pool{count}d")
        yield module_of(name, function, kernel_size=REQUIRED, return_indices=False, **drawn)
    for count in (1, 2, 3):
        yield module_of(f"MaxUnpool{count}d", unpooled(count), **POOL)
        for kind, settings in POOLS.items():
            words = re.sub(r"([a-z])(?=[A-Z])|(?<=LP)", r"\1_", kind).lower()
            more = {k: v for k, v in settings.items() if k != "divisor_override" or count > 1}
            yield module_of(f"{kind}{count}d", getattr(F, f"{words}{count}d"), **more)
        for kind, (mode, more) in BORDERS.items():
            function = bordered(mode, count)
            yield module_of(f"{kind}{count}d", function, padding=REQUIRED, **more)


globals().update({kind.__name__: kind for kind in over_axes()})


# chance


class Dropped(SettingsModule):
    """Base of dropout layers, which act in training only."""

    SETTINGS = {"p": 0.5, "inplace": False}  # noqa: RUF012
    LINE = "p={p}, inplace={inplace}"

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        if "p" in self.SETTINGS:
            check_chance(type(self).__name__, self.p)

    def forward(self, input: Tensor) -> Tensor:
        """Set parts of the input to 0 in training."""
        return type(self).FUNCTION(input, self.p, self.training, self.inplace)


class RReLU(Dropped):
    """The randomized ReLU: x if positive, else x times a slope, drawn at random in training.

    Shapes: input (*s) -> (*s)

    >>> RReLU(0.25, 0.75).eval()(tensor([-3.0, 1.0]))
    Tensor([-1.5,  1. ])
    """

    SETTINGS = {"lower": 1 / 8, "upper": 1 / 3, "inplace": False}  # noqa: RUF012
    LINE = f"lower={{lower}}, upper={{upper}}{INPLACE}"

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation to the input."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Dropout(Dropped):
    """Set elements to 0 at random in training, and scale up the others.

    Shapes: input (*s) -> (*s)

    >>> Dropout(1.0)(tensor([1.0, 2.0]))
    Tensor([0., 0.])
    """

    FUNCTION = staticmethod(F.dropout)


class Dropout1d(Dropped):
    """Set whole channels to 0 at random in training, and scale up the others.

    Shapes: input (n, c, *s) -> (n, c, *s)

    >>> Dropout1d(1.0)(tensor([[[1.0, 2.0]]]))
    Tensor([[[0., 0.]]])
    """

    FUNCTION = staticmethod(F.dropout1d)


class Dropout2d(Dropout1d):
    """Set whole channels of images to 0 at random in training, and scale up the others.

    Shapes: input (n, c, *s) -> (n, c, *s)

    >>> Dropout2d(1.0)(tensor([[[[1.0, 2.0]]]]))
    Tensor([[[[0., 0.]]]])
    """


class Dropout3d(Dropout1d):
    """Set whole channels of volumes to 0 at random in training, and scale up the others.

    Shapes: input (n, c, *s) -> (n, c, *s)

    >>> Dropout3d(1.0)(tensor([[[[[1.0, 2.0]]]]]))
    Tensor([[[[[0., 0.]]]]])
    """


class AlphaDropout(Dropped):
    """Dropout that keeps mean and variance after SELU.

    Shapes: input (*s) -> (*s)

    >>> AlphaDropout()(ones(2, 3)).shape
    Size([2, 3])
    """

    FUNCTION = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(Dropped):
    """AlphaDropout that drops whole channels.

    Shapes: input (n, c, *s) -> (n, c, *s)

    >>> FeatureAlphaDropout()(ones(2, 3, 4)).shape
    Size([2, 3, 4])
    """

    FUNCTION = staticmethod(F.feature_alpha_dropout)
