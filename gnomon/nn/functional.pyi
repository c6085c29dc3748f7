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
    """The places that affine maps send the places of an image (n, c, h, w), or volume, to."""
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
    """−log of the chance that x gives to a yes-or-no answer."""
def binary_cross_entropy_with_logits(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ..., pos_weight: Tensor | None = ...) -> Tensor:
    """binary_cross_entropy of sigmoid(x), without its overflow."""
def celu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """elu whose slope is continuous for every alpha (Barron 2017, arXiv:1704.07483)."""
def celu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """elu whose slope is continuous for every alpha (Barron 2017, arXiv:1704.07483). Stored in this tensor."""
def channel_shuffle(x: Tensor, groups: _int) -> Tensor:
    """Channels dealt out in turn: the first of every group, then the second, ..."""
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
    """1 − cosine of the rows where the target is 1, max(0, cosine − margin) where it is −1."""
def cosine_similarity(x: Tensor, y: Tensor = ..., axis: _int = ..., eps: _float = ..., *, other: Tensor = ..., x2: Tensor = ..., dim: _int = ...) -> Tensor:
    """The cosine of the angle between rows of x and y along an axis; lengths count as at least eps."""
def cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, ignore_index: _int = ..., reduction: str = ..., label_smoothing: _float = ..., axis: _int | None = ..., dim: _int | None = ...) -> Tensor:
    """−log of the chance that softmax(x) gives to the right class, or to each by its share."""
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
    """x, bending to −alpha below 0."""
def elu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x, bending to −alpha below 0. Stored in this tensor."""
from gnomon.nn.embedding_functions import embedding as embedding
from gnomon.nn.embedding_functions import embedding_bag as embedding_bag
from gnomon.ops.registry import explained as explained
def feature_alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """alpha_dropout of whole channels."""
def feature_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """x with whole channels set to 0 at random, and the others scaled up, in training."""
def fold(x: Tensor, output_size: _int | Sequence[_int], kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., stride: _int | Sequence[_int] = ...) -> Tensor:
    """Columns added back to where their windows lie in an image: PyTorch's nn.functional.fold."""
from gnomon.nn.unpooling import fractional_max_pool2d as fractional_max_pool2d
def fractional_max_pool2d_with_indices(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """The largest of windows over the last 2 axes that begin by chance."""
from gnomon.nn.unpooling import fractional_max_pool3d as fractional_max_pool3d
def fractional_max_pool3d_with_indices(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """The largest of windows over the last 3 axes that begin by chance."""
def gaussian_nll_loss(x: Tensor, target: Tensor, var: Tensor, *, full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
    """−log of the density at target of a normal distribution with mean x and this variance."""
def gelu(x: Tensor, approximate: str = ...) -> Tensor:
    """x times the probability that a normal number is below it."""
def glu(x: Tensor, axis: _int = ..., *, dim: _int = ...) -> Tensor:
    """The first half of an axis, gated by the sigmoid of the second."""
def grid_sample(x: Tensor, grid: Tensor, mode: str = ..., padding_mode: str = ..., align_corners: _bool | None = ...) -> Tensor:
    """x (n, c, h, w) or (n, c, d, h, w) at places in [−1, 1], the last coordinate first."""
def group_norm(x: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """x standard within each sample's groups of channels (axis 1), scaled and moved per channel."""
def gumbel_softmax(logits: Tensor, tau: _float = ..., hard: _bool = ..., eps: _float = ..., dim: _int = ...) -> Tensor:
    """A differentiable random choice: the softmax of logits with Gumbel noise."""
def hardshrink(x: Tensor, lambd: _float = ...) -> Tensor:
    """x, and 0 where it is nearer to 0 than lambd."""
def hardsigmoid(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """A sigmoid made of three lines."""
def hardsigmoid_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A sigmoid made of three lines. Stored in this tensor."""
def hardswish(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x times a sigmoid made of three lines."""
def hardswish_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x times a sigmoid made of three lines. Stored in this tensor."""
def hardtanh(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x between two bounds; on the bounds the gradient is 0."""
def hardtanh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x between two bounds; on the bounds the gradient is 0. Stored in this tensor."""
def hinge_embedding_loss(x: Tensor, target: Tensor, *, margin: _float = ..., reduction: str = ...) -> Tensor:
    """x where the target is 1, max(0, margin − x) where it is −1, their sum elsewhere."""
def huber_loss(x: Tensor, target: Tensor, *, reduction: str = ..., delta: _float = ..., weight: Tensor | None = ...) -> Tensor:
    """Half the squared difference, growing only linearly beyond delta, each times its weight."""
def instance_norm(input: Tensor, running_mean: Tensor | None = ..., running_var: Tensor | None = ..., weight: Tensor | None = ..., bias: Tensor | None = ..., use_input_stats: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """x normalized per sample and channel."""
def interpolate(x: Tensor, size: _int | Sequence[_int] | None = ..., scale_factor: _float | Sequence[_float] | None = ..., mode: str = ..., align_corners: _bool | None = ..., recompute_scale_factor: _bool | None = ..., antialias: _bool = ...) -> Tensor:
    """x (n, c, ...) resized over its last axes, to sizes or by factors."""
def kl_div(x: Tensor, target: Tensor, *, reduction: str = ..., log_target: _bool = ...) -> Tensor:
    """target · (log(target) − x), where x is a logarithm already."""
def l1_loss(x: Tensor, target: Tensor, *, reduction: str = ..., weight: Tensor | None = ...) -> Tensor:
    """The absolute difference, each times its weight; the mean then divides by the weights' sum."""
def layer_norm(x: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """x with mean 0 and variance 1 over its last axes, then scaled and moved."""
def leaky_relu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x, flattened below 0."""
def leaky_relu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x, flattened below 0. Stored in this tensor."""
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """x times the transposed weight, plus the bias; rounded once."""
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = ..., weight: Tensor | None = ..., reduction: str = ..., ignore_index: _int | None = ..., label_smoothing: _float = ..., options: LinearCrossEntropyOptions | None = ..., **named: Any) -> Tensor | tuple[Tensor, Tensor]:
    """cross_entropy(linear(input, linear_weight), target), computed in chunks to save memory."""
def linears(x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor] | None = ...) -> tuple[Tensor, ...]:
    """Several linear layers on one x as a single product, so that its gradient is one sum."""
def local_response_norm(x: Tensor, size: _int, alpha: _float = ..., beta: _float = ..., k: _float = ...) -> Tensor:
    """x divided by a power of the mean square of channels (axis 1) nearby."""
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
    """max(0, margin − target · (x − y)): x is to lie above y where the target is 1."""
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
    """The squared difference, each times its weight; the mean then divides by the weights' sum."""
from gnomon.nn.attention import multi_head_attention_forward as multi_head_attention_forward
def multi_margin_loss(x: Tensor, target: Tensor, *, p: _int = ..., margin: _float = ..., weight: Tensor | None = ..., reduction: str = ...) -> Tensor:
    """max(0, margin − x of the target + x of each other class)^p, averaged over the classes."""
def multilabel_margin_loss(x: Tensor, target: Tensor, *, reduction: str = ...) -> Tensor:
    """max(0, 1 − x of each target, which end at a −1, + x of each other class) / classes."""
def multilabel_soft_margin_loss(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ...) -> Tensor:
    """binary_cross_entropy_with_logits, averaged over the classes of every row."""
def native_channel_shuffle(x: Tensor, groups: _int) -> Tensor:
    """Channels dealt out in turn: the first of every group, then the second, ..."""
def nll_loss(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, ignore_index: _int = ..., reduction: str = ..., axis: _int | None = ..., dim: _int | None = ...) -> Tensor:
    """−x at the right class, where x holds logarithms of chances."""
def normalize(x: Tensor, p: _float = ..., axis: _int | Sequence[_int] | None = ..., eps: _float = ..., *, dim: _int | Sequence[_int] | None = ...) -> Tensor:
    """x divided by its p-norm along an axis, which counts as at least eps."""
def one_hot(input: Tensor, num_classes: _int = ...) -> Tensor:
    """Vectors with 1 at each position and 0 elsewhere, along a new last axis."""
from gnomon.tensor.overrides import overridable as overridable
def pad(x: Tensor, pad: Sequence[_int], mode: str = ..., value: _bool | _int | _float | None = ...) -> Tensor:
    """x with more around it; pad names before and after for the last axis, then the one before, ..."""
def pairwise_distance(x: Tensor, y: Tensor = ..., p: _float = ..., eps: _float = ..., keepdims: _bool = ..., *, other: Tensor = ..., x2: Tensor = ..., keepdim: _bool = ...) -> Tensor:
    """The p-norm of x − y + eps along the last axis."""
from gnomon.tensor.selection import pdist as pdist
def pixel_shuffle(x: Tensor, upscale_factor: _int) -> Tensor:
    """Channels spread out into finer pixels."""
def pixel_unshuffle(x: Tensor, downscale_factor: _int) -> Tensor:
    """Blocks of pixels gathered into channels."""
def poisson_nll_loss(x: Tensor, target: Tensor, *, log_input: _bool = ..., full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
    """−log of the chance of target under a Poisson distribution whose mean is exp(x), or x."""
def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """leaky_relu whose slope is learned, one for all or one per channel (axis 1)."""
def relu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x, but nothing below 0."""
def relu6(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x between 0 and 6."""
def relu6_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x between 0 and 6. Stored in this tensor."""
def relu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x, but nothing below 0. Stored in this tensor."""
def rms_norm(x: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
    """x divided by its root mean square over its last axes, then scaled."""
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """x if positive, else x times a slope: drawn at random in training, else the middle one."""
from gnomon.nn.attention import scaled_dot_product_attention as scaled_dot_product_attention
def selu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """elu scaled so that layers keep mean 0 and variance 1."""
def selu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """elu scaled so that layers keep mean 0 and variance 1. Stored in this tensor."""
def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(−x))."""
from inspect import signature as signature
def silu(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118)."""
def silu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118). Stored in this tensor."""
def smooth_l1_loss(x: Tensor, target: Tensor, *, reduction: str = ..., beta: _float = ...) -> Tensor:
    """The absolute difference, rounded off within beta of 0."""
def soft_margin_loss(x: Tensor, target: Tensor, *, reduction: str = ...) -> Tensor:
    """log(1 + exp(−target · x)), targets 1 or −1."""
def softmax(input: Tensor, dim: _int | None = ..., _stacklevel: _int = ..., dtype: object = ...) -> Tensor:
    """exp(x) divided by its sum along an axis."""
def softmin(input: Tensor, dim: _int | None = ..., *, dtype: object = ...) -> Tensor:
    """The softmax of -x."""
def softplus(x: Tensor, beta: _float = ..., threshold: _float = ...) -> Tensor:
    """log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold."""
def softshrink(x: Tensor, lambd: _float = ...) -> Tensor:
    """x moved towards 0 by lambd, and 0 when it was nearer."""
def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|)."""
def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent."""
def tanhshrink(x: Tensor) -> Tensor:
    """x − tanh(x)."""
def threshold(input: Tensor, *args: Any, inplace: _bool = ..., **named: Any) -> Tensor:
    """x above a threshold, a value elsewhere."""
def threshold_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """x above a threshold, a value elsewhere. Stored in this tensor."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, margin: _float = ..., p: _float = ..., eps: _float = ..., swap: _bool = ..., reduction: str = ...) -> Tensor:
    """max(0, distance to the positive − distance to the negative + margin)."""
from gnomon.nn.compositions import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
def unfold(x: Tensor, kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., stride: _int | Sequence[_int] = ...) -> Tensor:
    """Every window of an image as a column: PyTorch's nn.functional.unfold."""
def upsample(x: Tensor, size: _int | Sequence[_int] | None = ..., scale_factor: _float | Sequence[_float] | None = ..., mode: str = ..., align_corners: _bool | None = ..., recompute_scale_factor: _bool | None = ..., antialias: _bool = ...) -> Tensor:
    """x (n, c, ...) resized over its last axes, to sizes or by factors."""
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
