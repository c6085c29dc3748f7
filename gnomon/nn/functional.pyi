"""What gnomon.nn.functional offers; written by tools/stubs.py."""

import builtins
from collections.abc import Sequence
from gnomon.tensor.tensor import Tensor
from typing import Any
_bool = builtins.bool
_float = builtins.float
_int = builtins.int
_type = builtins.type
def adaptive_avg_pool1d(x: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor:
    """avg over bins that cut each of the last 1 axes evenly."""
def adaptive_avg_pool2d(x: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor:
    """avg over bins that cut each of the last 2 axes evenly."""
def adaptive_avg_pool3d(x: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor:
    """avg over bins that cut each of the last 3 axes evenly."""
def adaptive_max_pool1d(x: Tensor, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """max over bins that cut each of the last 1 axes evenly."""
def adaptive_max_pool1d_with_indices(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """max over bins that cut each of the last 1 axes evenly."""
def adaptive_max_pool2d(x: Tensor, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """max over bins that cut each of the last 2 axes evenly."""
def adaptive_max_pool2d_with_indices(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """max over bins that cut each of the last 2 axes evenly."""
def adaptive_max_pool3d(x: Tensor, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """max over bins that cut each of the last 3 axes evenly."""
def adaptive_max_pool3d_with_indices(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """max over bins that cut each of the last 3 axes evenly."""
def affine_grid(theta: Tensor, size: Sequence[_int], align_corners: _bool | None = ...) -> Tensor:
    """A grid for grid_sample: affine maps applied to the coordinates of an image or volume."""
def alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Dropout that keeps mean and variance after selu."""
def avg_pool1d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
    """The mean of every window over the last 1 axes."""
def avg_pool2d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
    """The mean of every window over the last 2 axes."""
def avg_pool3d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
    """The mean of every window over the last 3 axes."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = ..., bias: Tensor | None = ..., training: _bool = ..., momentum: _float | Tensor = ..., eps: _float = ...) -> Tensor:
    """x normalized per channel, by the batch's statistics in training, else by running ones."""
def bilinear(x: Tensor, y: Tensor = ..., weight: Tensor = ..., bias: Tensor | None = ..., *, other: Tensor = ..., input2: Tensor = ...) -> Tensor:
    """x · weight · y for every output, plus the bias."""
def binary_cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ...) -> Tensor:
    """−log of the probability that x gives to a binary target."""
def binary_cross_entropy_with_logits(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ..., pos_weight: Tensor | None = ...) -> Tensor:
    """binary_cross_entropy of sigmoid(x), without overflow."""
def celu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """elu with a continuous derivative for every alpha (Barron 2017, arXiv:1704.07483)."""
def celu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """elu with a continuous derivative for every alpha (Barron 2017, arXiv:1704.07483). Stored in this tensor."""
def channel_shuffle(x: Tensor, groups: _int) -> Tensor:
    """Interleave groups of channels: the first of every group, then the second, ..."""
def conv1d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
    """A kernel slid over 1 axes of x: sums over channels and kernel."""
def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
    """A kernel slid over 2 axes of x: sums over channels and kernel."""
def conv3d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
    """A kernel slid over 3 axes of x: sums over channels and kernel."""
from gnomon.tensor.composites import conv_tbc as conv_tbc
def conv_transpose1d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
    """The transpose of a convolution over 1 axes."""
def conv_transpose2d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
    """The transpose of a convolution over 2 axes."""
def conv_transpose3d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
    """The transpose of a convolution over 3 axes."""
def cosine_embedding_loss(x: Tensor, y: Tensor = ..., target: Tensor = ..., *, margin: _float = ..., reduction: str = ..., other: Tensor = ..., input2: Tensor = ...) -> Tensor:
    """1 − cosine where the target is 1, max(0, cosine − margin) where it is −1."""
def cosine_similarity(x: Tensor, y: Tensor = ..., axis: _int = ..., eps: _float = ..., *, other: Tensor = ..., x2: Tensor = ..., dim: _int = ...) -> Tensor:
    """The cosine of the angle between x and y along an axis; norms are at least eps."""
def cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, ignore_index: _int = ..., reduction: str = ..., label_smoothing: _float = ..., axis: _int | None = ..., dim: _int | None = ...) -> Tensor:
    """−log of the probability that softmax(x) gives to the target class, or the mean over shares."""
from gnomon.nn.ctc import ctc_loss as ctc_loss
from dataclasses import dataclass as dataclass
def dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """x with elements set to 0 at random, and the others scaled up, in training."""
def dropout1d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """x with whole channels set to 0 at random, and the others scaled up, in training."""
def dropout2d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """x with whole channels set to 0 at random, and the others scaled up, in training."""
def dropout3d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """x with whole channels set to 0 at random, and the others scaled up, in training."""
def elu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x where it is positive, an exponential that tends to −alpha elsewhere."""
def elu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x where it is positive, an exponential that tends to −alpha elsewhere. Stored in this tensor."""
from gnomon.nn.embedding_functions import embedding as embedding
from gnomon.nn.embedding_functions import embedding_bag as embedding_bag
from gnomon.ops.registry import explained as explained
def feature_alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """alpha_dropout of whole channels."""
def feature_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """x with whole channels set to 0 at random, and the others scaled up, in training."""
def fold(x: Tensor, output_size: _int | Sequence[_int], kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., stride: _int | Sequence[_int] = ...) -> Tensor:
    """Add columns at their windows' places in an image: PyTorch's nn.functional.fold."""
from gnomon.nn.unpooling import fractional_max_pool2d as fractional_max_pool2d
def fractional_max_pool2d_with_indices(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """The largest of windows over the last 2 axes that begin by chance."""
from gnomon.nn.unpooling import fractional_max_pool3d as fractional_max_pool3d
def fractional_max_pool3d_with_indices(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """The largest of windows over the last 3 axes that begin by chance."""
def gaussian_nll_loss(x: Tensor, target: Tensor, var: Tensor, *, full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
    """−log of the normal density with mean x and variance var, at target."""
def gelu(x: Tensor, approximate: str = ...) -> Tensor:
    """x times the probability that a standard normal variable is below x."""
def glu(x: Tensor, axis: _int = ..., *, dim: _int = ...) -> Tensor:
    """The first half along an axis times the sigmoid of the second half."""
def grid_sample(x: Tensor, grid: Tensor, mode: str = ..., padding_mode: str = ..., align_corners: _bool | None = ...) -> Tensor:
    """Sample x (n, c, h, w) or (n, c, d, h, w) at places in [−1, 1], last coordinate first."""
def group_norm(x: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Normalize each sample over groups of channels (axis 1), then scale and shift per channel."""
def gumbel_softmax(logits: Tensor, tau: _float = ..., hard: _bool = ..., eps: _float = ..., dim: _int = ...) -> Tensor:
    """A differentiable random choice: the softmax of logits with Gumbel noise."""
def hardshrink(x: Tensor, lambd: _float = ...) -> Tensor:
    """x, but 0 where |x| ≤ lambd."""
def hardsigmoid(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """A piecewise linear approximation of the sigmoid."""
def hardsigmoid_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A piecewise linear approximation of the sigmoid. Stored in this tensor."""
def hardswish(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x times a piecewise linear approximation of its sigmoid."""
def hardswish_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x times a piecewise linear approximation of its sigmoid. Stored in this tensor."""
def hardtanh(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x clamped to [min_val, max_val]; the gradient at the bounds is 0."""
def hardtanh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x clamped to [min_val, max_val]; the gradient at the bounds is 0. Stored in this tensor."""
def hinge_embedding_loss(x: Tensor, target: Tensor, *, margin: _float = ..., reduction: str = ...) -> Tensor:
    """x where the target is 1, max(0, margin − x) where it is −1, their sum elsewhere."""
def huber_loss(x: Tensor, target: Tensor, *, reduction: str = ..., delta: _float = ..., weight: Tensor | None = ...) -> Tensor:
    """Half the squared difference, linear beyond delta, times the weight."""
def instance_norm(input: Tensor, running_mean: Tensor | None = ..., running_var: Tensor | None = ..., weight: Tensor | None = ..., bias: Tensor | None = ..., use_input_stats: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """x normalized per sample and channel."""
def interpolate(x: Tensor, size: _int | Sequence[_int] | None = ..., scale_factor: _float | Sequence[_float] | None = ..., mode: str = ..., align_corners: _bool | None = ..., recompute_scale_factor: _bool | None = ..., antialias: _bool = ...) -> Tensor:
    """Resize x (n, c, ...) along its last axes, to sizes or by factors."""
def kl_div(x: Tensor, target: Tensor, *, reduction: str = ..., log_target: _bool = ...) -> Tensor:
    """The Kullback-Leibler divergence target · (log(target) − x), where x holds log-probabilities."""
def l1_loss(x: Tensor, target: Tensor, *, reduction: str = ..., weight: Tensor | None = ...) -> Tensor:
    """The absolute difference times the weight; the mean divides by the sum of weights."""
def layer_norm(x: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Normalize x to mean 0 and variance 1 over its last axes, then scale and shift."""
def leaky_relu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x where it is positive, negative_slope · x elsewhere."""
def leaky_relu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x where it is positive, negative_slope · x elsewhere. Stored in this tensor."""
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """x · weightᵀ + bias, rounded once."""
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = ..., weight: Tensor | None = ..., reduction: str = ..., ignore_index: _int | None = ..., label_smoothing: _float = ..., options: LinearCrossEntropyOptions | None = ..., **named: Any) -> Tensor | tuple[Tensor, Tensor]:
    """cross_entropy(linear(input, linear_weight), target), computed in chunks to save memory."""
def linears(x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor] | None = ...) -> tuple[Tensor, ...]:
    """Several linear layers of the same x as a single product."""
def local_response_norm(x: Tensor, size: _int, alpha: _float = ..., beta: _float = ..., k: _float = ...) -> Tensor:
    """Divide x by a power of the mean square of neighbouring channels (axis 1)."""
def log_softmax(input: Tensor, dim: _int | None = ..., _stacklevel: _int = ..., dtype: object = ...) -> Tensor:
    """The logarithm of softmax."""
def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x))."""
def lp_pool1d(x: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
    """The norm of every window over the last 1 axes."""
def lp_pool2d(x: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
    """The norm of every window over the last 2 axes."""
def lp_pool3d(x: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
    """The norm of every window over the last 3 axes."""
def margin_ranking_loss(x: Tensor, y: Tensor = ..., target: Tensor = ..., *, margin: _float = ..., reduction: str = ..., other: Tensor = ..., input2: Tensor = ...) -> Tensor:
    """max(0, margin − target · (x − y)); target 1 means that x should exceed y, −1 that y should."""
def max_pool1d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The largest of every window over the last 1 axes."""
def max_pool1d_with_indices(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """The largest of every window over the last 1 axes."""
def max_pool2d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The largest of every window over the last 2 axes."""
def max_pool2d_with_indices(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """The largest of every window over the last 2 axes."""
def max_pool3d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The largest of every window over the last 3 axes."""
def max_pool3d_with_indices(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """The largest of every window over the last 3 axes."""
from gnomon.nn.unpooling import max_unpool1d as max_unpool1d
from gnomon.nn.unpooling import max_unpool2d as max_unpool2d
from gnomon.nn.unpooling import max_unpool3d as max_unpool3d
def mish(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x · tanh(softplus(x)) (Misra 2019, arXiv:1908.08681)."""
def mish_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x · tanh(softplus(x)) (Misra 2019, arXiv:1908.08681). Stored in this tensor."""
def mse_loss(x: Tensor, target: Tensor, *, reduction: str = ..., weight: Tensor | None = ...) -> Tensor:
    """The squared difference times the weight; the mean divides by the sum of weights."""
from gnomon.nn.attention import multi_head_attention_forward as multi_head_attention_forward
def multi_margin_loss(x: Tensor, target: Tensor, *, p: _int = ..., margin: _float = ..., weight: Tensor | None = ..., reduction: str = ...) -> Tensor:
    """max(0, margin − x of the target + x of each other class)^p, averaged over the classes."""
def multilabel_margin_loss(x: Tensor, target: Tensor, *, reduction: str = ...) -> Tensor:
    """max(0, 1 − x of each target + x of each other class) / classes; −1 ends the targets."""
def multilabel_soft_margin_loss(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ...) -> Tensor:
    """binary_cross_entropy_with_logits, averaged over the classes of each row."""
def native_channel_shuffle(x: Tensor, groups: _int) -> Tensor:
    """Interleave groups of channels: the first of every group, then the second, ..."""
def nll_loss(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, ignore_index: _int = ..., reduction: str = ..., axis: _int | None = ..., dim: _int | None = ...) -> Tensor:
    """−x at the target class, where x holds log-probabilities."""
def normalize(x: Tensor, p: _float = ..., axis: _int | Sequence[_int] | None = ..., eps: _float = ..., *, dim: _int | Sequence[_int] | None = ...) -> Tensor:
    """Divide x by its p-norm along an axis, with norms at least eps."""
def one_hot(input: Tensor, num_classes: _int = ...) -> Tensor:
    """Vectors with 1 at each position and 0 elsewhere, along a new last axis."""
from gnomon.tensor.overrides import overridable as overridable
def pad(x: Tensor, pad: Sequence[_int], mode: str = ..., value: _bool | _int | _float | None = ...) -> Tensor:
    """Pad x; pairs (before, after) begin with the last axis."""
def pairwise_distance(x: Tensor, y: Tensor = ..., p: _float = ..., eps: _float = ..., keepdims: _bool = ..., *, other: Tensor = ..., x2: Tensor = ..., keepdim: _bool = ...) -> Tensor:
    """The p-norm of x − y + eps along the last axis."""
from gnomon.tensor.selection import pdist as pdist
def pixel_shuffle(x: Tensor, upscale_factor: _int) -> Tensor:
    """Rearrange groups of channels into blocks of pixels of a finer image."""
def pixel_unshuffle(x: Tensor, downscale_factor: _int) -> Tensor:
    """Rearrange blocks of pixels into channels of a coarser image."""
def poisson_nll_loss(x: Tensor, target: Tensor, *, log_input: _bool = ..., full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
    """−log of the Poisson probability of target, where the mean is exp(x), or x."""
def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """leaky_relu with a learned slope: one for all elements, or one per channel (axis 1)."""
def relu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """The larger of x and 0."""
def relu6(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x clamped to [0, 6]."""
def relu6_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x clamped to [0, 6]. Stored in this tensor."""
def relu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The larger of x and 0. Stored in this tensor."""
def rms_norm(x: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
    """Divide x by its root mean square over its last axes, then scale."""
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """x if positive, else x times a slope: drawn at random in training, else the middle one."""
from gnomon.nn.attention import scaled_dot_product_attention as scaled_dot_product_attention
def selu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """elu scaled so that stacked layers keep mean 0 and variance 1."""
def selu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """elu scaled so that stacked layers keep mean 0 and variance 1. Stored in this tensor."""
def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(−x))."""
from inspect import signature as signature
def silu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118)."""
def silu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118). Stored in this tensor."""
def smooth_l1_loss(x: Tensor, target: Tensor, *, reduction: str = ..., beta: _float = ...) -> Tensor:
    """The absolute difference, quadratic where it is below beta."""
def soft_margin_loss(x: Tensor, target: Tensor, *, reduction: str = ...) -> Tensor:
    """log(1 + exp(−target · x)), targets 1 or −1."""
def softmax(input: Tensor, dim: _int | None = ..., _stacklevel: _int = ..., dtype: object = ...) -> Tensor:
    """exp(x) divided by its sum along an axis."""
def softmin(input: Tensor, dim: _int | None = ..., *, dtype: object = ...) -> Tensor:
    """The softmax of -x."""
def softplus(x: Tensor, beta: _float = ..., threshold: _float = ...) -> Tensor:
    """log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold."""
def softshrink(x: Tensor, lambd: _float = ...) -> Tensor:
    """x moved towards 0 by lambd; 0 where |x| ≤ lambd."""
def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|)."""
def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent."""
def tanhshrink(x: Tensor) -> Tensor:
    """x − tanh(x)."""
def threshold(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x where it is above the threshold, the value elsewhere."""
def threshold_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x where it is above the threshold, the value elsewhere. Stored in this tensor."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, margin: _float = ..., p: _float = ..., eps: _float = ..., swap: _bool = ..., reduction: str = ...) -> Tensor:
    """max(0, distance to the positive − distance to the negative + margin)."""
from gnomon.nn.compositions import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
def unfold(x: Tensor, kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., stride: _int | Sequence[_int] = ...) -> Tensor:
    """The windows of an image as columns: PyTorch's nn.functional.unfold."""
def upsample(x: Tensor, size: _int | Sequence[_int] | None = ..., scale_factor: _float | Sequence[_float] | None = ..., mode: str = ..., align_corners: _bool | None = ..., recompute_scale_factor: _bool | None = ..., antialias: _bool = ...) -> Tensor:
    """Resize x (n, c, ...) along its last axes, to sizes or by factors."""
from gnomon.nn.compositions import upsample_bilinear as upsample_bilinear
from gnomon.nn.compositions import upsample_nearest as upsample_nearest
@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """PyTorch's options of linear_cross_entropy.

    Only batch_chunk_size has an effect: backward passes may be repeated, and sums are taken in
    float32 with one result, in any case.
    """
    allow_retain_graph: _bool = False
    batch_chunk_size: _int | None = None
    chunking_method: str = 'auto'
    acc_policy: str = 'auto'
    acc_dtype: object = None
