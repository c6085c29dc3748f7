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
class AdaptiveAvgPool3d(Module):
    """avg over bins that cut each of the last 3 axes evenly. As a module."""
    def __init__(self, output_size: Any) -> None: ...
from gnomon.nn.adaptive_softmax import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
class AdaptiveMaxPool1d(Module):
    """max over bins that cut each of the last 1 axes evenly. As a module."""
    def __init__(self, output_size: Any, return_indices: Any = ...) -> None: ...
class AdaptiveMaxPool2d(Module):
    """max over bins that cut each of the last 2 axes evenly. As a module."""
    def __init__(self, output_size: Any, return_indices: Any = ...) -> None: ...
class AdaptiveMaxPool3d(Module):
    """max over bins that cut each of the last 3 axes evenly. As a module."""
    def __init__(self, output_size: Any, return_indices: Any = ...) -> None: ...
from gnomon.nn.activations import AlphaDropout as AlphaDropout
class AvgPool1d(Module):
    """The mean of every window over the last 1 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ...) -> None: ...
class AvgPool2d(Module):
    """The mean of every window over the last 2 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ..., divisor_override: Any = ...) -> None: ...
class AvgPool3d(Module):
    """The mean of every window over the last 3 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ..., divisor_override: Any = ...) -> None: ...
class BCELoss(Module):
    """−log of the chance that x gives to a yes-or-no answer. As a module."""
    def __init__(self, weight: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
class BCEWithLogitsLoss(Module):
    """binary_cross_entropy of sigmoid(x), without its overflow. As a module."""
    def __init__(self, weight: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: Any = ..., pos_weight: Any = ...) -> None: ...
from gnomon.nn.normalization import BatchNorm1d as BatchNorm1d
from gnomon.nn.normalization import BatchNorm2d as BatchNorm2d
from gnomon.nn.normalization import BatchNorm3d as BatchNorm3d
from gnomon.nn.linear import Bilinear as Bilinear
from gnomon.nn.parameter import Buffer as Buffer
class CELU(Module):
    """elu whose slope is continuous for every alpha (Barron 2017, arXiv:1704.07483). As a module."""
    def __init__(self, alpha: Any = ..., inplace: Any = ...) -> None: ...
class CTCLoss(Module):
    """The CTC loss: minus the log-probability of target texts, without an alignment. As a module."""
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
    def __init__(self, margin: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
class CosineSimilarity(Module):
    """The cosine of the angle between rows of x and y along an axis; lengths count as at least eps. As a module."""
    def __init__(self, dim: Any = ..., eps: Any = ...) -> None: ...
class CrossEntropyLoss(Module):
    """−log of the chance that softmax(x) gives to the right class, or to each by its share. As a module."""
    def __init__(self, weight: Any = ..., size_average: Any = ..., ignore_index: Any = ..., reduce: Any = ..., reduction: Any = ..., label_smoothing: Any = ...) -> None: ...
from gnomon.nn.normalization import CrossMapLRN2d as CrossMapLRN2d
from gnomon.nn.parallel import DataParallel as DataParallel
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
from gnomon.nn.activations import FeatureAlphaDropout as FeatureAlphaDropout
class Flatten(Module):
    """A run of axes as one. As a module."""
    def __init__(self, start_dim: Any = ..., end_dim: Any = ...) -> None: ...
class Fold(Module):
    """Columns added back to where their windows lie in an image: PyTorch's nn.functional.fold. As a module."""
    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> None: ...
class FractionalMaxPool2d(Module):
    """The largest of windows over the last 2 axes that begin by chance. As a module."""
    def __init__(self, kernel_size: Any, return_indices: Any = ..., output_size: Any = ..., output_ratio: Any = ..., _random_samples: Any = ...) -> None: ...
class FractionalMaxPool3d(Module):
    """The largest of windows over the last 3 axes that begin by chance. As a module."""
    def __init__(self, kernel_size: Any, return_indices: Any = ..., output_size: Any = ..., output_ratio: Any = ..., _random_samples: Any = ...) -> None: ...
class GELU(Module):
    """x times the probability that a normal number is below it. As a module."""
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
    """x where the target is 1, max(0, margin − x) where it is −1, their sum elsewhere. As a module."""
    def __init__(self, margin: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
class HuberLoss(Module):
    """Half the squared difference, growing only linearly beyond delta, each times its weight. As a module."""
    def __init__(self, reduction: Any = ..., delta: Any = ...) -> None: ...
from gnomon.nn.linear import Identity as Identity
from gnomon.nn.normalization import InstanceNorm1d as InstanceNorm1d
from gnomon.nn.normalization import InstanceNorm2d as InstanceNorm2d
from gnomon.nn.normalization import InstanceNorm3d as InstanceNorm3d
class KLDivLoss(Module):
    """target · (log(target) − x), where x is a logarithm already. As a module."""
    def __init__(self, size_average: Any = ..., reduce: Any = ..., reduction: Any = ..., log_target: Any = ...) -> None: ...
class L1Loss(Module):
    """The absolute difference, each times its weight; the mean then divides by the weights' sum. As a module."""
    def __init__(self, size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
class LPPool1d(Module):
    """The norm of every window over the last 1 axes. As a module."""
    def __init__(self, norm_type: Any, kernel_size: Any, stride: Any = ..., ceil_mode: Any = ...) -> None: ...
class LPPool2d(Module):
    """The norm of every window over the last 2 axes. As a module."""
    def __init__(self, norm_type: Any, kernel_size: Any, stride: Any = ..., ceil_mode: Any = ...) -> None: ...
class LPPool3d(Module):
    """The norm of every window over the last 3 axes. As a module."""
    def __init__(self, norm_type: Any, kernel_size: Any, stride: Any = ..., ceil_mode: Any = ...) -> None: ...
from gnomon.nn.recurrent import LSTM as LSTM
from gnomon.nn.recurrent import LSTMCell as LSTMCell
from gnomon.nn.normalization import LayerNorm as LayerNorm
from gnomon.nn.lazy_layers import LazyBatchNorm1d as LazyBatchNorm1d
from gnomon.nn.lazy_layers import LazyBatchNorm2d as LazyBatchNorm2d
from gnomon.nn.lazy_layers import LazyBatchNorm3d as LazyBatchNorm3d
from gnomon.nn.lazy_layers import LazyConv1d as LazyConv1d
from gnomon.nn.lazy_layers import LazyConv2d as LazyConv2d
from gnomon.nn.lazy_layers import LazyConv3d as LazyConv3d
from gnomon.nn.lazy_layers import LazyConvTranspose1d as LazyConvTranspose1d
from gnomon.nn.lazy_layers import LazyConvTranspose2d as LazyConvTranspose2d
from gnomon.nn.lazy_layers import LazyConvTranspose3d as LazyConvTranspose3d
from gnomon.nn.lazy_layers import LazyInstanceNorm1d as LazyInstanceNorm1d
from gnomon.nn.lazy_layers import LazyInstanceNorm2d as LazyInstanceNorm2d
from gnomon.nn.lazy_layers import LazyInstanceNorm3d as LazyInstanceNorm3d
from gnomon.nn.lazy_layers import LazyLinear as LazyLinear
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
    """The squared difference, each times its weight; the mean then divides by the weights' sum. As a module."""
    def __init__(self, size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
class MarginRankingLoss(Module):
    """max(0, margin − target · (x − y)): x is to lie above y where the target is 1. As a module."""
    def __init__(self, margin: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
class MaxPool1d(Module):
    """The largest of every window over the last 1 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., return_indices: Any = ..., ceil_mode: Any = ...) -> None: ...
class MaxPool2d(Module):
    """The largest of every window over the last 2 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., return_indices: Any = ..., ceil_mode: Any = ...) -> None: ...
class MaxPool3d(Module):
    """The largest of every window over the last 3 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., return_indices: Any = ..., ceil_mode: Any = ...) -> None: ...
class MaxUnpool1d(Module):
    """Every element at its index in zeros, over the last 1 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ...) -> None: ...
class MaxUnpool2d(Module):
    """Every element at its index in zeros, over the last 2 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ...) -> None: ...
class MaxUnpool3d(Module):
    """Every element at its index in zeros, over the last 3 axes. As a module."""
    def __init__(self, kernel_size: Any, stride: Any = ..., padding: Any = ...) -> None: ...
class Mish(Module):
    """x · tanh(softplus(x)) (Misra 2019, arXiv:1908.08681). As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
from gnomon.nn.module import Module as Module
from gnomon.nn.containers import ModuleDict as ModuleDict
from gnomon.nn.containers import ModuleList as ModuleList
class MultiLabelMarginLoss(Module):
    """max(0, 1 − x of each target, which end at a −1, + x of each other class) / classes. As a module."""
    def __init__(self, size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
class MultiLabelSoftMarginLoss(Module):
    """binary_cross_entropy_with_logits, averaged over the classes of every row. As a module."""
    def __init__(self, weight: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
class MultiMarginLoss(Module):
    """max(0, margin − x of the target + x of each other class)^p, averaged over the classes. As a module."""
    def __init__(self, p: Any = ..., margin: Any = ..., weight: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
from gnomon.nn.attention import MultiheadAttention as MultiheadAttention
class NLLLoss(Module):
    """−x at the right class, where x holds logarithms of chances. As a module."""
    def __init__(self, weight: Any = ..., size_average: Any = ..., ignore_index: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
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
    def __init__(self, log_input: Any = ..., full: Any = ..., size_average: Any = ..., eps: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
from gnomon.nn.normalization import RMSNorm as RMSNorm
from gnomon.nn.recurrent import RNN as RNN
from gnomon.nn.recurrent import RNNCell as RNNCell
from gnomon.nn.activations import RReLU as RReLU
class ReLU(Module):
    """x, but nothing below 0. As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
class ReLU6(Module):
    """x between 0 and 6. As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
from gnomon.nn.tables import ReducedLoss as ReducedLoss
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
    """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118). As a module."""
    def __init__(self, inplace: Any = ...) -> None: ...
class Sigmoid(Module):
    """1 / (1 + exp(−x)). As a module."""
    def __init__(self) -> None: ...
class SmoothL1Loss(Module):
    """The absolute difference, rounded off within beta of 0. As a module."""
    def __init__(self, size_average: Any = ..., reduce: Any = ..., reduction: Any = ..., beta: Any = ...) -> None: ...
class SoftMarginLoss(Module):
    """log(1 + exp(−target · x)), targets 1 or −1. As a module."""
    def __init__(self, size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
class Softmax(Module):
    """exp(x) divided by its sum along an axis. As a module."""
    def __init__(self, dim: Any = ...) -> None: ...
class Softmax2d(Module):
    """softmax over the channels of an image. As a module."""
    def __init__(self) -> None: ...
class Softmin(Module):
    """The softmax of -x. As a module."""
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
from gnomon.nn.synchronized import SyncBatchNorm as SyncBatchNorm
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
    def __init__(self, margin: Any = ..., p: Any = ..., eps: Any = ..., swap: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> None: ...
class TripletMarginWithDistanceLoss(Module):
    """triplet_margin_loss with a distance function of the caller; by default pairwise_distance. As a module."""
    def __init__(self, distance_function: Any = ..., margin: Any = ..., swap: Any = ..., reduction: Any = ...) -> None: ...
from gnomon.nn.linear import Unflatten as Unflatten
class Unfold(Module):
    """Every window of an image as a column: PyTorch's nn.functional.unfold. As a module."""
    def __init__(self, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> None: ...
from gnomon.nn.parameter import UninitializedBuffer as UninitializedBuffer
from gnomon.nn.parameter import UninitializedParameter as UninitializedParameter
class Upsample(Module):
    """x (n, c, ...) resized over its last axes, to sizes or by factors. As a module."""
    def __init__(self, size: Any = ..., scale_factor: Any = ..., mode: Any = ..., align_corners: Any = ..., recompute_scale_factor: Any = ...) -> None: ...
class UpsamplingBilinear2d(Module):
    """x (n, c, ...) resized over its last axes, to sizes or by factors. As a module."""
    def __init__(self, size: Any = ..., scale_factor: Any = ..., mode: Any = ..., align_corners: Any = ...) -> None: ...
class UpsamplingNearest2d(Module):
    """x (n, c, ...) resized over its last axes, to sizes or by factors. As a module."""
    def __init__(self, size: Any = ..., scale_factor: Any = ..., mode: Any = ...) -> None: ...
from gnomon.nn.activations import Weighted as Weighted
from gnomon.nn.activations import WeightedLoss as WeightedLoss
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
