"""Rows of modules: how each is made and what it is given; not part of the table of ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.parity.record import Maker, between, exactly, integers, normal


@dataclass(frozen=True)
class Layer:
    """A module under one set of options; `build(nn)` makes it, `call(module, *tensors)` runs it."""

    name: str
    build: Callable[[Any], Any]
    makers: tuple[Maker, ...]
    call: Callable[..., Any] = lambda module, *tensors: module(*tensors)
    slack: float = 1.0


def layer(text: str, *makers: Maker, **options: Any) -> Layer:
    """The layer that a constructor call, written as text, makes."""
    return Layer(text, lambda nn: eval(f"nn.{text}", {"nn": nn}), makers, **options)


ROWS = normal(5, 4)
TOKENS = normal(2, 3, 8)
IMAGES = normal(2, 4, 6, 5)
PADDING = exactly([[0, 0, 0], [0, 0, 1]], "bool")
PLAIN = (
    *("ReLU()", "ReLU6()", "LeakyReLU(0.2)", "ELU()", "SELU()", "GELU()", "GELU('tanh')"),
    *("SiLU()", "Mish()", "Sigmoid()", "Tanh()", "Softplus()", "Softsign()", "Hardtanh()"),
    *("Hardswish()", "LogSigmoid()", "Identity()", "Softmax(dim=-1)"),
    *("LogSoftmax(dim=1)", "GLU()", "PReLU()", "Flatten()", "Unflatten(1, (2, 2))"),
    *("Dropout(0.0)", "Linear(4, 3)", "Linear(4, 3, bias=False)", "LayerNorm(4)"),
    *("LayerNorm(4, elementwise_affine=False)", "LayerNorm(4, bias=False)", "RMSNorm(4)"),
    *("BatchNorm1d(4)", "BatchNorm1d(4, affine=False)", "GroupNorm(2, 4)"),
    *("BatchNorm1d(4, track_running_stats=False)", "BatchNorm1d(4, momentum=None)"),
    "Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))",
)
PICTURED = (
    *("Softmax2d()", "CircularPad2d(2)", "ChannelShuffle(2)", "ZeroPad2d((1, 0, 2, 1))"),
    *("UpsamplingNearest2d(scale_factor=2)", "UpsamplingBilinear2d(size=(7, 8))"),
    *("Conv2d(4, 3, 3)", "Conv2d(4, 6, 3, stride=2, padding=1, groups=2, bias=False)"),
    *("Conv2d(4, 3, 3, padding=1, padding_mode='reflect')", "Conv2d(4, 3, (3, 1), padding='same')"),
    *("ConvTranspose2d(4, 3, 2, stride=2)", "ConvTranspose2d(4, 3, 3, 2, 1, output_padding=1)"),
    *("BatchNorm2d(4)", "InstanceNorm2d(4)", "InstanceNorm2d(4, affine=True)", "GroupNorm(2, 4)"),
    *("MaxPool2d(2)", "MaxPool2d(3, stride=2, padding=1)", "AvgPool2d(2)", "AdaptiveAvgPool2d(1)"),
    *("AdaptiveAvgPool2d((3, 2))", "Upsample(scale_factor=2)", "ZeroPad2d(1)", "Dropout2d(0.0)"),
    *("Upsample(scale_factor=2, mode='bilinear', align_corners=True)", "PixelShuffle(2)"),
    *(
        "LPPool2d(2, 3)",
        "LPPool2d(3.0, 2, stride=1)",
        "FeatureAlphaDropout(0.0)",
        "RReLU(0.3, 0.3)",
    ),
    *("AdaptiveMaxPool2d(2)", "AdaptiveMaxPool2d((3, None), return_indices=True)"),
    "MaxPool2d(2, return_indices=True)",
    *("ReflectionPad2d(1)", "LayerNorm([4, 6, 5])", "Flatten(2)"),
)
ATTENDING = (
    *("MultiheadAttention(8, 2)", "MultiheadAttention(8, 2, batch_first=True)"),
    *("MultiheadAttention(8, 4, bias=False, batch_first=True)",),
    "MultiheadAttention(8, 2, add_bias_kv=True)",
)


def attend(module: Any, x: Any) -> Any:
    return module(x, x, x)


def attend_twice(module: Any, x: Any) -> Any:
    return module(x, x)


def attend_cross(module: Any, x: Any, y: Any) -> Any:
    return module(x, y, y, average_attn_weights=False)


def attend_padded(module: Any, x: Any, padding: Any) -> Any:
    return module(x, x, x, key_padding_mask=padding, need_weights=False)[0]


CLASSES = exactly([0, 8, 3, 2, 6], "int64")
VOLUMES = normal(2, 4, 4, 5, 6)
SOLID = (
    *("MaxPool3d(2)", "MaxPool3d(3, 2, 1, ceil_mode=True, return_indices=True)", "AvgPool3d(2)"),
    *("AvgPool3d(3, 2, 1, count_include_pad=False)", "AvgPool3d(2, divisor_override=3)"),
    *("AdaptiveAvgPool3d(2)", "AdaptiveAvgPool3d((3, None, 2))", "AdaptiveMaxPool3d(2)"),
    *("LPPool3d(2, 2)", "BatchNorm3d(4)", "InstanceNorm3d(4)", "Conv3d(4, 2, 2)"),
)


def unpooled(module: Any, x: Any) -> Any:
    """A pool and its way back."""
    return module[1](*module[0](x))


LAYERS = [
    *(layer(text, VOLUMES) for text in SOLID),
    layer(
        "ModuleList([nn.MaxPool3d(2, return_indices=True), nn.MaxUnpool3d(2)])",
        normal(2, 4, 4, 6, 8),
        call=unpooled,
    ),
    layer(
        "AdaptiveLogSoftmaxWithLoss(4, 9, [2, 5], div_value=2.0)",
        ROWS,
        CLASSES,
    ),
    layer(
        "AdaptiveLogSoftmaxWithLoss(4, 9, [2, 5], 2.0, True)",
        ROWS,
        CLASSES,
    ),
    layer("MultiLabelMarginLoss()", ROWS, exactly([[0, 2, -1, 1]] * 5, "int64")),
    layer("TripletMarginWithDistanceLoss(swap=True)", ROWS, normal(5, 4), normal(5, 4)),
    *(layer(text, ROWS) for text in PLAIN),
    *(layer(text, IMAGES) for text in PICTURED),
    # torch's slope is 1/6 of a float32 there
    layer("Hardsigmoid()", ROWS, slack=1e4),
    *(layer(text, TOKENS, call=attend) for text in ATTENDING),
    layer("MultiheadAttention(8, 2, kdim=6, vdim=6)", TOKENS, normal(2, 3, 6), call=attend_cross),
    layer("MultiheadAttention(8, 1, batch_first=True)", TOKENS, PADDING, call=attend_padded),
    layer("TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)", TOKENS),
    layer("TransformerEncoderLayer(8, 2, 12, 0.0, 'gelu', norm_first=True)", TOKENS),
    layer("Embedding(7, 3)", integers(0, 7, 2, 5)),
    layer("Embedding(7, 3, padding_idx=0)", integers(0, 7, 2, 5)),
    layer("EmbeddingBag(7, 3)", integers(0, 7, 2, 5)),
    layer(
        "EmbeddingBag(7, 3, mode='sum', padding_idx=2)",
        integers(0, 7, 6),
        exactly([0, 2, 2], "int64"),
    ),
    layer("LinearCrossEntropyLoss(4, 6, bias=True)", ROWS, integers(0, 6, 5)),
    layer("LinearCrossEntropyLoss(4, 6, out_features=(2,))", ROWS, integers(0, 6, 5, 2)),
    layer("Conv1d(8, 4, 2, padding=1)", normal(2, 8, 5)),
    layer("ConvTranspose1d(8, 4, 2)", normal(2, 8, 5)),
    layer("MaxPool1d(2)", normal(2, 8, 5)),
    layer("AvgPool1d(2)", normal(2, 8, 5)),
    layer("AdaptiveAvgPool1d(2)", normal(2, 8, 5)),
    layer("Bilinear(4, 3, 2)", ROWS, normal(5, 3)),
    layer("GRUCell(4, 3)", ROWS, normal(5, 3)),
    layer("LSTMCell(4, 3)", ROWS),
    layer("RNNCell(4, 3)", ROWS),
    layer("GRU(8, 5, batch_first=True)", TOKENS),
    layer("GRU(8, 5, bias=False)", normal(3, 8)),
    layer("LSTM(8, 5, num_layers=2)", TOKENS),
    layer("LSTM(8, 5, num_layers=2, bidirectional=True)", TOKENS),
    layer("RNN(8, 5, 2, 'relu')", TOKENS),
    layer("TransformerDecoderLayer(8, 2, 12, dropout=0.0)", TOKENS, call=attend_twice),
    layer("Transformer(8, 2, 1, 1, 12, 0.0, batch_first=True)", TOKENS, call=attend_twice),
    layer("CosineSimilarity(dim=1)", ROWS, normal(5, 4)),
    layer("PairwiseDistance()", ROWS, normal(5, 4)),
    layer("MSELoss()", ROWS, normal(5, 4)),
    layer("L1Loss(reduction='sum')", ROWS, normal(5, 4)),
    layer("SmoothL1Loss(beta=0.5)", ROWS, normal(5, 4)),
    layer("HuberLoss()", ROWS, normal(5, 4)),
    layer("CrossEntropyLoss(ignore_index=1, label_smoothing=0.1)", ROWS, integers(0, 4, 5)),
    layer("NLLLoss()", ROWS, integers(0, 4, 5)),
    layer("BCELoss()", between(0.1, 0.9, 5), exactly([0, 1, 1, 0, 1], "float64")),
    layer("BCEWithLogitsLoss()", ROWS, between(0.0, 1.0, 5, 4)),
    layer("KLDivLoss(reduction='batchmean')", ROWS, between(0.1, 0.9, 5, 4)),
    layer("TripletMarginLoss()", ROWS, normal(5, 4), normal(5, 4)),
]
