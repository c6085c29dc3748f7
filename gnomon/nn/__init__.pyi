"""What gnomon.nn offers; written by tools/stubs.py."""

import builtins
from typing import Any
_bool = builtins.bool
_float = builtins.float
_int = builtins.int
_type = builtins.type
class AdaptiveAvgPool1d(Module):
    """avg over bins that cut each of the last 1 axes evenly. As a module."""
    def __init__(self, output_size: Any) -> None: ...
class AdaptiveAvgPool2d(Module):
    """avg over bins that cut each of the last 2 axes evenly. As a module."""
    def __init__(self, output_size: Any) -> None: ...
class AdaptiveMaxPool1d(Module):
    """max over bins that cut each of the last 1 axes evenly. As a module."""
    def __init__(self, output_size: Any) -> None: ...
class AdaptiveMaxPool2d(Module):
    """max over bins that cut each of the last 2 axes evenly. As a module."""
    def __init__(self, output_size: Any) -> None: ...
from gnomon.nn.activations import AlphaDropout as AlphaDropout
class AvgPool1d(Module):
    """The mean of every window over the last 1 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ...) -> None: ...
class AvgPool2d(Module):
    """The mean of every window over the last 2 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ..., divisor_override: Any = ...) -> None: ...
class BCELoss(Module):
    """−log of the chance that x gives to a yes-or-no answer. As a module."""
    def __init__(self, weight: Any = ..., reduction: Any = ...) -> None: ...
class BCEWithLogitsLoss(Module):
    """binary_cross_entropy of sigmoid(x), without its overflow. As a module."""
    def __init__(self, weight: Any = ..., reduction: Any = ..., pos_weight: Any = ...) -> None: ...
from gnomon.nn.normalization import BatchNorm1d as BatchNorm1d
from gnomon.nn.normalization import BatchNorm2d as BatchNorm2d
from gnomon.nn.normalization import BatchNorm3d as BatchNorm3d
from gnomon.nn.linear import Bilinear as Bilinear
from gnomon.nn.parameter import Buffer as Buffer
class CELU(Module):
    """elu whose slope is continuous for every alpha. As a module."""
    def __init__(self, alpha: Any = ..., inplace: Any = ...) -> None: ...
class CTCLoss(Module):
    """How unlikely texts are: log_probs (t, n, c) of each class at each step, or (t, c) of one. As a module."""
    def __init__(self, blank: Any = ..., reduction: Any = ..., zero_infinity: Any = ...) -> None: ...
class ChannelShuffle(Module):
    """Channels dealt out in turn: the first of every group, then the second, ... As a module."""
    def __init__(self, groups: Any) -> None: ...
class CircularPad1d(Module):
    """Borders around the last 1 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
class CircularPad2d(Module):
    """Borders around the last 2 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
class CircularPad3d(Module):
    """Borders around the last 3 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
class ConstantPad1d(Module):
    """Borders around the last 1 axes. As a module."""
    def __init__(self, padding: Any, value: Any = ...) -> None: ...
class ConstantPad2d(Module):
    """Borders around the last 2 axes. As a module."""
    def __init__(self, padding: Any, value: Any = ...) -> None: ...
class ConstantPad3d(Module):
    """Borders around the last 3 axes. As a module."""
    def __init__(self, padding: Any, value: Any = ...) -> None: ...
from gnomon.nn.convolution import Conv1d as Conv1d
from gnomon.nn.convolution import Conv2d as Conv2d
from gnomon.nn.convolution import Conv3d as Conv3d
from gnomon.nn.convolution import ConvTranspose1d as ConvTranspose1d
from gnomon.nn.convolution import ConvTranspose2d as ConvTranspose2d
from gnomon.nn.convolution import ConvTranspose3d as ConvTranspose3d
class CosineEmbeddingLoss(Module):
    """1 − cosine of the rows where the target is 1, max(0, cosine − margin) where it is −1. As a module."""
    def __init__(self, margin: Any = ..., reduction: Any = ...) -> None: ...
class CosineSimilarity(Module):
    """The cosine of the angle between rows of x and y along an axis; lengths count as at least eps. As a module."""
    def __init__(self, dim: Any = ..., eps: Any = ...) -> None: ...
class CrossEntropyLoss(Module):
    """−log of the chance that softmax(x) gives to the right class, or to each by its share. As a module."""
    def __init__(self, weight: Any = ..., ignore_index: Any = ..., reduction: Any = ..., label_smoothing: Any = ...) -> None: ...
from gnomon.nn.activations import Dropout as Dropout
from gnomon.nn.activations import Dropout1d as Dropout1d
from gnomon.nn.activations import Dropout2d as Dropout2d
from gnomon.nn.activations import Dropout3d as Dropout3d
from gnomon.nn.activations import Dropped as Dropped
class ELU(Module):
    """x, bending to −alpha below 0. As a module."""
    def __init__(self, alpha: Any = ..., inplace: Any = ...) -> None: ...
from gnomon.nn.embedding import Embedding as Embedding
from gnomon.nn.embedding import EmbeddingBag as EmbeddingBag
class Flatten(Module):
    """A run of axes as one. As a module."""
    def __init__(self, start_dim: Any = ..., end_dim: Any = ...) -> None: ...
class Fold(Module):
    """Columns added back to where their windows lie in an image: PyTorch's nn.functional.fold. As a module."""
    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> None: ...
class GELU(Module):
    """x times the probability that a normal number lies below it. As a module."""
    def __init__(self, approximate: Any = ...) -> None: ...
class GLU(Module):
    """The first half of an axis, gated by the sigmoid of the second. As a module."""
    def __init__(self, dim: Any = ...) -> None: ...
from gnomon.nn.recurrent import GRU as GRU
from gnomon.nn.recurrent import GRUCell as GRUCell
class GaussianNLLLoss(Module):
    """−log of the density at target of a normal distribution with mean x and this variance. As a module."""
    def __init__(self, full: Any = ..., eps: Any = ..., reduction: Any = ...) -> None: ...
from gnomon.nn.normalization import GroupNorm as GroupNorm
class Hardshrink(Module):
    """x, and 0 where it is nearer to 0 than lambd. As a module."""
    def __init__(self, lambd: Any = ...) -> None: ...
class Hardsigmoid(Module):
    """A sigmoid made of three lines. As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
class Hardswish(Module):
    """x times a sigmoid made of three lines. As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
class Hardtanh(Module):
    """x between two bounds; on the bounds the gradient is 0. As a module."""
    def __init__(self, min_val: Any = ..., max_val: Any = ..., inplace: Any = ...) -> None: ...
class HingeEmbeddingLoss(Module):
    """x where the target is 1, max(0, margin − x) where it is −1. As a module."""
    def __init__(self, margin: Any = ..., reduction: Any = ...) -> None: ...
class HuberLoss(Module):
    """Half the squared difference, growing only linearly beyond delta. As a module."""
    def __init__(self, reduction: Any = ..., delta: Any = ...) -> None: ...
from gnomon.nn.linear import Identity as Identity
from gnomon.nn.normalization import InstanceNorm1d as InstanceNorm1d
from gnomon.nn.normalization import InstanceNorm2d as InstanceNorm2d
from gnomon.nn.normalization import InstanceNorm3d as InstanceNorm3d
class KLDivLoss(Module):
    """target · (log(target) − x), where x is a logarithm already. As a module."""
    def __init__(self, reduction: Any = ..., log_target: Any = ...) -> None: ...
class L1Loss(Module):
    """The absolute difference. As a module."""
    def __init__(self, reduction: Any = ...) -> None: ...
from gnomon.nn.recurrent import LSTM as LSTM
from gnomon.nn.recurrent import LSTMCell as LSTMCell
from gnomon.nn.normalization import LayerNorm as LayerNorm
class LeakyReLU(Module):
    """x, flattened below 0. As a module."""
    def __init__(self, negative_slope: Any = ..., inplace: Any = ...) -> None: ...
from gnomon.nn.linear import Linear as Linear
from gnomon.nn.linear_cross_entropy import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from gnomon.nn.functional import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from gnomon.nn.normalization import LocalResponseNorm as LocalResponseNorm
class LogSigmoid(Module):
    """log(sigmoid(x)). As a module."""
    def __init__(self) -> None: ...
class LogSoftmax(Module):
    """The logarithm of softmax. As a module."""
    def __init__(self, dim: Any = ...) -> None: ...
class MSELoss(Module):
    """The squared difference. As a module."""
    def __init__(self, reduction: Any = ...) -> None: ...
class MarginRankingLoss(Module):
    """max(0, margin − target · (x − y)): x is to lie above y where the target is 1. As a module."""
    def __init__(self, margin: Any = ..., reduction: Any = ...) -> None: ...
class MaxPool1d(Module):
    """The largest of every window over the last 1 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., return_indices: Any = ..., ceil_mode: Any = ...) -> None: ...
class MaxPool2d(Module):
    """The largest of every window over the last 2 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., return_indices: Any = ..., ceil_mode: Any = ...) -> None: ...
class Mish(Module):
    """x · tanh(softplus(x)). As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
from gnomon.nn.module import Module as Module
from gnomon.nn.containers import ModuleDict as ModuleDict
from gnomon.nn.containers import ModuleList as ModuleList
class MultiLabelSoftMarginLoss(Module):
    """binary_cross_entropy_with_logits, averaged over the classes of every row. As a module."""
    def __init__(self, weight: Any = ..., reduction: Any = ...) -> None: ...
class MultiMarginLoss(Module):
    """max(0, margin − x of the target + x of each other class)^p, averaged over the classes. As a module."""
    def __init__(self, p: Any = ..., margin: Any = ..., weight: Any = ..., reduction: Any = ...) -> None: ...
from gnomon.nn.attention import MultiheadAttention as MultiheadAttention
class NLLLoss(Module):
    """−x at the right class, where x holds logarithms of chances. As a module."""
    def __init__(self, weight: Any = ..., ignore_index: Any = ..., reduction: Any = ...) -> None: ...
from gnomon.nn.activations import PReLU as PReLU
class PairwiseDistance(Module):
    """The p-norm of x − y + eps along the last axis. As a module."""
    def __init__(self, p: Any = ..., eps: Any = ..., keepdim: Any = ...) -> None: ...
from gnomon.nn.parameter import Parameter as Parameter
from gnomon.nn.containers import ParameterDict as ParameterDict
from gnomon.nn.containers import ParameterList as ParameterList
class PixelShuffle(Module):
    """Channels spread out into finer pixels. As a module."""
    def __init__(self, upscale_factor: Any) -> None: ...
class PixelUnshuffle(Module):
    """Blocks of pixels gathered into channels. As a module."""
    def __init__(self, downscale_factor: Any) -> None: ...
class PoissonNLLLoss(Module):
    """−log of the chance of target under a Poisson distribution whose mean is exp(x), or x. As a module."""
    def __init__(self, log_input: Any = ..., full: Any = ..., eps: Any = ..., reduction: Any = ...) -> None: ...
from gnomon.nn.normalization import RMSNorm as RMSNorm
from gnomon.nn.recurrent import RNN as RNN
from gnomon.nn.recurrent import RNNCell as RNNCell
class ReLU(Module):
    """x, but nothing below 0. As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
class ReLU6(Module):
    """x between 0 and 6. As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
class ReflectionPad1d(Module):
    """Borders around the last 1 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
class ReflectionPad2d(Module):
    """Borders around the last 2 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
class ReflectionPad3d(Module):
    """Borders around the last 3 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
class ReplicationPad1d(Module):
    """Borders around the last 1 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
class ReplicationPad2d(Module):
    """Borders around the last 2 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
class ReplicationPad3d(Module):
    """Borders around the last 3 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
from gnomon.nn.table_batched import RowOptimizer as RowOptimizer
class SELU(Module):
    """elu scaled so that layers keep mean 0 and variance 1. As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
from gnomon.nn.containers import Sequential as Sequential
class SiLU(Module):
    """x · sigmoid(x). As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
class Sigmoid(Module):
    """1 / (1 + exp(−x)). As a module."""
    def __init__(self) -> None: ...
class SmoothL1Loss(Module):
    """The absolute difference, rounded off within beta of 0. As a module."""
    def __init__(self, reduction: Any = ..., beta: Any = ...) -> None: ...
class SoftMarginLoss(Module):
    """log(1 + exp(−target · x)), targets 1 or −1. As a module."""
    def __init__(self, reduction: Any = ...) -> None: ...
class Softmax(Module):
    """exp(x) as shares of their sum along an axis. As a module."""
    def __init__(self, dim: Any = ...) -> None: ...
class Softmax2d(Module):
    """Softmax2d As a module."""
    def __init__(self) -> None: ...
class Softmin(Module):
    """softmax of -x. As a module."""
    def __init__(self, dim: Any = ...) -> None: ...
class Softplus(Module):
    """log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold. As a module."""
    def __init__(self, beta: Any = ..., threshold: Any = ...) -> None: ...
class Softshrink(Module):
    """x moved towards 0 by lambd, and 0 when it was nearer. As a module."""
    def __init__(self, lambd: Any = ...) -> None: ...
class Softsign(Module):
    """x / (1 + |x|). As a module."""
    def __init__(self) -> None: ...
from gnomon.nn.table_batched import TableBatchedEmbeddingBags as TableBatchedEmbeddingBags
from gnomon.nn.table_batched import TableSpec as TableSpec
class Tanh(Module):
    """The hyperbolic tangent. As a module."""
    def __init__(self) -> None: ...
class Tanhshrink(Module):
    """x − tanh(x). As a module."""
    def __init__(self) -> None: ...
class Threshold(Module):
    """x above a threshold, a value elsewhere. As a module."""
    def __init__(self, threshold: Any, value: Any, inplace: Any = ...) -> None: ...
from gnomon.nn.transformer import Transformer as Transformer
from gnomon.nn.transformer import TransformerDecoder as TransformerDecoder
from gnomon.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from gnomon.nn.transformer import TransformerEncoder as TransformerEncoder
from gnomon.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer
class TripletMarginLoss(Module):
    """max(0, distance to the positive − distance to the negative + margin). As a module."""
    def __init__(self, margin: Any = ..., p: Any = ..., swap: Any = ..., reduction: Any = ...) -> None: ...
class Unflatten(Module):
    """One axis as several. As a module."""
    def __init__(self, dim: Any, unflattened_size: Any) -> None: ...
class Unfold(Module):
    """Every window of an image as a column: PyTorch's nn.functional.unfold. As a module."""
    def __init__(self, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> None: ...
class Upsample(Module):
    """x (n, c, ...) resized over its last axes, to sizes or by factors. As a module."""
    def __init__(self, size: Any = ..., scale_factor: Any = ..., mode: Any = ..., align_corners: Any = ...) -> None: ...
class UpsamplingBilinear2d(Module):
    """x (n, c, ...) resized over its last axes, to sizes or by factors. As a module."""
    def __init__(self, size: Any = ..., scale_factor: Any = ..., mode: Any = ..., align_corners: Any = ...) -> None: ...
class UpsamplingNearest2d(Module):
    """x (n, c, ...) resized over its last axes, to sizes or by factors. As a module."""
    def __init__(self, size: Any = ..., scale_factor: Any = ..., mode: Any = ...) -> None: ...
from gnomon.nn.activations import Weighted as Weighted
class ZeroPad1d(Module):
    """Borders around the last 1 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
class ZeroPad2d(Module):
    """Borders around the last 2 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
class ZeroPad3d(Module):
    """Borders around the last 3 axes. As a module."""
    def __init__(self, padding: Any) -> None: ...
from gnomon.nn import functional as functional
from gnomon.nn import init as init
from gnomon.nn import utils as utils
