"""What gnomon offers; written by tools/stubs.py."""

import builtins
from collections.abc import Sequence
from gnomon.dtypes import DType
from gnomon.ops.logits import LogitCut
from gnomon.tensor.absent import Absent
from gnomon.tensor.absent import Present
from gnomon.tensor.cards import CardNames
from gnomon.tensor.complex_tensor import Complex
from gnomon.tensor.functions import Values
from gnomon.tensor.legacy import Constructor
from gnomon.tensor.matrices import Reflected
from gnomon.tensor.matrices import Solved
from gnomon.tensor.matrices import Svd
from gnomon.tensor.questions import Histogram
from gnomon.tensor.random import DefaultGenerator
from gnomon.tensor.selection import Unique
from gnomon.tensor.selection import UniqueCounts
from gnomon.tensor.selection import UniqueInverse
from numpy import ndarray
from types import SimpleNamespace
from typing import Any
_bool = builtins.bool
_float = builtins.float
_int = builtins.int
_type = builtins.type
BoolTensor: Constructor
ByteTensor: Constructor
CharTensor: Constructor
DoubleTensor: Constructor
FloatTensor: Constructor
from gnomon.tensor.random import Generator as Generator
HalfTensor: Constructor
IntTensor: Constructor
LongTensor: Constructor
ShortTensor: Constructor
from gnomon.tensor.size import Size as Size
from gnomon.tensor.tensor import Tensor as Tensor
from gnomon.tensor.storage import TypedStorage as TypedStorage
from gnomon.tensor.storage import UntypedStorage as UntypedStorage
from gnomon.tensor.limits import __array_namespace_info__ as __array_namespace_info__
def abs(x: Tensor) -> Tensor:
    """|x|."""
def absolute(x: Tensor) -> Tensor:
    """|x|."""
accelerator: Absent
from gnomon.tensor.accumulate import accumulate as accumulate
def acos(x: Tensor) -> Tensor:
    """The angle of a cosine."""
def acosh(x: Tensor) -> Tensor:
    """The inverse of cosh."""
def adaptive_avg_pool(x: Tensor, sizes: Sequence[_int]) -> Tensor:
    """The mean of each of the bins that divide the last axes into the given numbers of parts."""
def adaptive_avg_pool1d(x: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor:
    """avg over bins that cut each of the last 1 axes evenly."""
def adaptive_avg_pool2d(x: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor:
    """avg over bins that cut each of the last 2 axes evenly."""
def adaptive_avg_pool3d(x: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor:
    """avg over bins that cut each of the last 3 axes evenly."""
def adaptive_max_pool(x: Tensor, sizes: Sequence[_int], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The maximum of each bin of adaptive_avg_pool, and on request the index of its first place."""
def adaptive_max_pool1d(x: Tensor, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """max over bins that cut each of the last 1 axes evenly."""
def adaptive_max_pool2d(x: Tensor, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """max over bins that cut each of the last 2 axes evenly."""
def adaptive_max_pool3d(x: Tensor, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """max over bins that cut each of the last 3 axes evenly."""
def add(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, alpha: _bool | _int | _float = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x + alpha · y."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Tensor:
    """beta · input + alpha · Σ batch1[k] @ batch2[k]."""
def addcdiv(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _float = ...) -> Tensor:
    """x + value · tensor1 / tensor2."""
def addcmul(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _float = ...) -> Tensor:
    """x + value · tensor1 · tensor2."""
def addmm(x: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
    """beta · x + alpha · (mat1 @ mat2)."""
def addmv(x: Tensor, mat: Tensor, vec: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
    """beta · x + alpha · (mat @ vec)."""
def addr(x: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
    """beta · x + alpha · outer(vec1, vec2)."""
def adjoint(x: Tensor) -> Tensor:
    """Exchange the last two axes and conjugate complex elements."""
def affine_grid(theta: Tensor, size: Sequence[_int], align_corners: _bool | None = ...) -> Tensor:
    """A grid for grid_sample: affine maps applied to the coordinates of an image or volume."""
def affine_grid_generator(theta: Tensor, size: Sequence[_int], align_corners: _bool) -> Tensor:
    """affine_grid, by another name."""
def all(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """Whether all elements over axes differ from 0."""
def allclose(x: Tensor, y: Tensor = ..., rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ..., *, other: Tensor = ...) -> _bool:
    """Whether all elements are close."""
def alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Dropout that keeps mean and variance after selu."""
def amax(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The maximum over axes; NaN if any is. Equal elements share the gradient."""
def amin(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The minimum over axes; NaN if any is. Equal elements share the gradient."""
def aminmax(x: Tensor, axis: _int | None = ..., keepdims: _bool = ..., *, dim: _int | None = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """The minimum and the maximum over an axis; None means all elements."""
from gnomon.tensor import amp as amp
def angle(input: Tensor) -> Tensor:
    """The angle of a number in the complex plane; of a real one 0, or π below 0."""
def any(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """Whether any element over axes differs from 0."""
def arange(start: _float = ..., stop: _float | None = ..., step: _float = ..., *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """Numbers from start to before stop, step apart."""
def arccos(x: Tensor) -> Tensor:
    """The angle of a cosine."""
def arccosh(x: Tensor) -> Tensor:
    """The inverse of cosh."""
def arcsin(x: Tensor) -> Tensor:
    """The angle of a sine."""
def arcsinh(x: Tensor) -> Tensor:
    """The inverse of sinh."""
def arctan(x: Tensor) -> Tensor:
    """The angle of a tangent."""
def arctan2(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The angle whose sine goes with x and whose cosine goes with y, in (−π, π]."""
def arctanh(x: Tensor) -> Tensor:
    """The inverse of tanh."""
from gnomon.tensor.determinism import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
def argmax(x: Tensor, axis: _int | None = ..., keepdims: _bool = ..., *, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
    """Index of the maximum, first of equal elements; NaN is largest. None: in flattened x."""
def argmin(x: Tensor, axis: _int | None = ..., keepdims: _bool = ..., *, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
    """Index of the minimum, first of equal elements; NaN is smallest. None: in flattened x."""
def argsort(x: Tensor, axis: _int = ..., descending: _bool = ..., *, stable: _bool = ..., dim: _int = ...) -> Tensor:
    """The indices that sort an axis; equal elements keep their order."""
def argwhere(input: Tensor) -> Tensor:
    """The positions of what is not zero, one row each."""
def as_strided(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
    """A view of the storage behind a tensor: elements at equal distances along each axis."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
    """A tensor with other values at equal distances, counted in the flattened tensor."""
def as_tensor(data: Any, dtype: object = ..., device: object = ...) -> Tensor:
    """A tensor of these values; tensors and arrays are not copied."""
from gnomon.tensor.sharing import asarray as asarray
def asin(x: Tensor) -> Tensor:
    """The angle of a sine."""
def asinh(x: Tensor) -> Tensor:
    """The inverse of sinh."""
def astype(x: Tensor, dtype: object, *, copy: _bool = ..., device: object = ...) -> Tensor:
    """The tensor in another dtype."""
def atan(x: Tensor) -> Tensor:
    """The angle of a tangent."""
def atan2(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The angle whose sine goes with x and whose cosine goes with y, in (−π, π]."""
def atanh(x: Tensor) -> Tensor:
    """The inverse of tanh."""
def atleast_1d(x: Tensor | Sequence[Tensor], *more: Tensor) -> Any:
    """x with at least one axis."""
def atleast_2d(x: Tensor | Sequence[Tensor], *more: Tensor) -> Any:
    """x with at least two axes."""
def atleast_3d(x: Tensor | Sequence[Tensor], *more: Tensor) -> Any:
    """x with at least three axes."""
def attention(q: Tensor, k: Tensor, v: Tensor, *, causal: _bool = ..., scale: _float | None = ..., mask: Tensor | None = ...) -> Tensor:
    """Average the rows of v, weighted by how well each query matches each key."""
def attention_forward(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = ..., *, causal: _bool, scale: _float) -> tuple[Tensor, Tensor]:
    """Attention, and log(sum(exp(scores))) of each query, which its gradient needs."""
from gnomon.tensor.autocast import autocast as autocast
def avg_pool(x: Tensor, kernel: Sequence[_int], stride: Sequence[_int], padding: tuple[tuple[_int, _int], ...], counted: tuple[tuple[_int, _int], ...], divisor: _int | None = ...) -> Tensor:
    """The mean of each window of x (n, c, ...); `counted` is the padding included in means."""
def avg_pool1d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
    """The mean of every window over the last 1 axes."""
def avg_pool2d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
    """The mean of every window over the last 2 axes."""
def avg_pool3d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
    """The mean of every window over the last 3 axes."""
backends: SimpleNamespace
def baddbmm(x: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
    """beta · x + alpha · (batch1 @ batch2)."""
def bartlett_window(window_length: _int, periodic: _bool = ..., *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """Up and down in straight lines. A periodic one leaves out its last number."""
def batch_norm(x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Normalize each channel (axis 1) by a given mean and variance, then scale and shift."""
def batch_norm_training(x: Tensor, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> tuple[Tensor, Tensor, Tensor]:
    """batch_norm by the batch's own mean and variance, returned too, the variance unbiased."""
def bernoulli(input: Tensor, *, generator: Generator | None = ...) -> Tensor:
    """Ones with the chance given by each element, else zeros."""
bfloat16: DType
def bilinear(x: Tensor, y: Tensor = ..., weight: Tensor = ..., bias: Tensor | None = ..., *, other: Tensor = ..., input2: Tensor = ...) -> Tensor:
    """x · weight · y for every output, plus the bias."""
def binary_cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ...) -> Tensor:
    """−log of the probability that x gives to a binary target."""
def binary_cross_entropy_with_logits(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ..., pos_weight: Tensor | None = ...) -> Tensor:
    """binary_cross_entropy of sigmoid(x), without overflow."""
def bincount(input: Tensor, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
    """The number of times that each number occurs."""
from gnomon.tensor.rejection import binomial as binomial
def bitwise_and(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The bits set in both."""
def bitwise_invert(x: Tensor) -> Tensor:
    """Invert every bit of x; logical not for booleans."""
def bitwise_left_shift(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x · 2^y, wrapping."""
def bitwise_not(x: Tensor) -> Tensor:
    """Invert every bit of x; logical not for booleans."""
def bitwise_or(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The bits set in one."""
def bitwise_right_shift(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x / 2^y rounded down."""
def bitwise_xor(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The bits set in exactly one."""
def blackman_window(window_length: _int, periodic: _bool = ..., *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """Blackman's three cosines. A periodic one leaves out its last number."""
def block_diag(*xs: Tensor) -> Tensor:
    """A block diagonal matrix of the given matrices, 0 elsewhere."""
def bmm(x: Tensor, y: Tensor = ..., *, other: Tensor = ..., mat2: Tensor = ...) -> Tensor:
    """The products of two batches of matrices."""
bool: DType
def broadcast_arrays(*xs: Tensor) -> tuple[Tensor, ...]:
    """Broadcast all tensors to their common shape."""
def broadcast_shapes(*shapes: _int | Sequence[_int]) -> Size:
    """The shape that tensors of these shapes have when broadcast together."""
def broadcast_tensors(*xs: Tensor) -> tuple[Tensor, ...]:
    """Broadcast all tensors to their common shape."""
def broadcast_to(x: Tensor, shape: _int | Sequence[_int] = ..., *more: _int, size: _int | Sequence[_int] = ...) -> Tensor:
    """Repeat x along axes of size 1 and along new leading axes; -1 keeps a size."""
def bucketize(x: Tensor, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ...) -> Tensor:
    """The index of the interval between boundaries that contains each element."""
from gnomon.tensor.limits import can_cast as can_cast
def cartesian_prod(*xs: Tensor) -> Tensor:
    """The Cartesian product of vectors, one combination of elements per row."""
def cat(xs: Sequence[Tensor], axis: _int | None = ..., *, dim: _int | None = ...) -> Tensor:
    """Concatenate tensors along an axis; None flattens them first."""
def cdist(x: Tensor, y: Tensor = ..., p: _float = ..., compute_mode: str | None = ..., *, other: Tensor = ..., x2: Tensor = ...) -> Tensor:
    """The p-norm of the difference between every row of x and every row of y."""
cdouble: DType
def ceil(x: Tensor) -> Tensor:
    """The nearest whole number above."""
def celu(x: Tensor, alpha: _float = ...) -> Tensor:
    """elu with a continuous derivative for every alpha (Barron 2017, arXiv:1704.07483)."""
cfloat: DType
def chain_matmul(*matrices: Tensor) -> Tensor:
    """multi_dot of the arguments; a single one unchanged."""
def channel_shuffle(x: Tensor, groups: _int) -> Tensor:
    """Interleave groups of channels: the first of every group, then the second, ..."""
channels_last: str
channels_last_3d: str
def cholesky(x: Tensor, upper: _bool = ...) -> Tensor:
    """The lower triangle L of L · Lᵀ = x, for x symmetric positive definite; or the upper one, Lᵀ."""
def cholesky_inverse(x: Tensor, upper: _bool = ...) -> Tensor:
    """The inverse of x · xᵀ, or of xᵀ · x if upper, by the Cholesky factor x."""
def cholesky_solve(x: Tensor, L: Tensor = ..., upper: _bool = ..., *, input2: Tensor = ...) -> Tensor:
    """Solve A · y = x by the factor L of A = L · Lᵀ, or of A = Lᵀ · L if upper."""
def chunk(x: Tensor, chunks: _int, axis: _int = ..., *, dim: _int = ...) -> tuple[Tensor, ...]:
    """Split an axis into at most `chunks` parts of one size; the last may be smaller."""
def clamp(x: Tensor, min: Tensor | _bool | _int | _float | None = ..., max: Tensor | _bool | _int | _float | None = ...) -> Tensor:
    """Clamp x to [min, max]; None means no bound."""
def clamp_max(x: Tensor, max: Tensor | _bool | _int | _float) -> Tensor:
    """Clamp x to at most max."""
def clamp_min(x: Tensor, min: Tensor | _bool | _int | _float) -> Tensor:
    """Clamp x to at least min."""
from gnomon.tensor.switches import clear_autocast_cache as clear_autocast_cache
def clip(x: Tensor, min: Tensor | _bool | _int | _float | None = ..., max: Tensor | _bool | _int | _float | None = ...) -> Tensor:
    """Clamp x to [min, max]; None means no bound."""
def clone(input: Tensor, *, memory_format: object = ...) -> Tensor:
    """A differentiable copy; its axes keep their order in memory by default."""
def col2im(x: Tensor, output_size: _int | Sequence[_int], kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., stride: _int | Sequence[_int] = ...) -> Tensor:
    """Add columns at their windows' places in an image: PyTorch's nn.functional.fold."""
def column_stack(xs: Sequence[Tensor]) -> Tensor:
    """Concatenate along axis 1; vectors become columns."""
def combinations(input: Tensor, r: _int = ..., with_replacement: _bool = ...) -> Tensor:
    """All choices of r elements of a vector, a row each."""
from gnomon import compiler as compiler
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers of these parts."""
complex128: DType
complex64: DType
def concat(xs: Sequence[Tensor], axis: _int | None = ..., *, dim: _int | None = ...) -> Tensor:
    """Concatenate tensors along an axis; None flattens them first."""
def concatenate(xs: Sequence[Tensor], axis: _int | None = ..., *, dim: _int | None = ...) -> Tensor:
    """Concatenate tensors along an axis; None flattens them first."""
from gnomon.capture.control_flow import cond as cond
def condition_number(x: Tensor, p: _float | str | None = ...) -> Tensor:
    """The condition number: the norm of x times the norm of its inverse; ∞ if singular."""
def conj(input: Tensor) -> Tensor:
    """The numbers with the opposite imaginary parts; a real tensor itself."""
def conj_physical(input: Tensor) -> Tensor:
    """The numbers with the opposite imaginary parts; a real tensor itself."""
def constant_pad_nd(input: Tensor, pad: Sequence[_int], value: _float = ...) -> Tensor:
    """pad with one value."""
contiguous_format: str
def conv1d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
    """A kernel slid over 1 axes of x: sums over channels and kernel."""
def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
    """A kernel slid over 2 axes of x: sums over channels and kernel."""
def conv3d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
    """A kernel slid over 3 axes of x: sums over channels and kernel."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = ...) -> Tensor:
    """conv1d of sequences whose steps are the first axis, whose channels are the last."""
def conv_transpose1d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
    """The transpose of a convolution over 1 axes."""
def conv_transpose2d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
    """The transpose of a convolution over 2 axes."""
def conv_transpose3d(x: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
    """The transpose of a convolution over 3 axes."""
def convolution(x: Tensor, weight: Tensor, bias: Tensor | None, padding: tuple[tuple[_int, _int], ...], geometry: tuple[Sequence[_int], Sequence[_int], _int]) -> Tensor:
    """Convolution (cross-correlation, as in PyTorch) over all axes after batch and channels."""
def copysign(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """|x| with y's sign."""
def corrcoef(x: Tensor) -> Tensor:
    """The correlation matrix of variables, which are the rows of x."""
def cos(x: Tensor) -> Tensor:
    """The cosine of an angle in radians."""
def cosh(x: Tensor) -> Tensor:
    """The hyperbolic cosine."""
def cosine_embedding_loss(x: Tensor, y: Tensor = ..., target: Tensor = ..., *, margin: _float = ..., reduction: str = ..., other: Tensor = ..., input2: Tensor = ...) -> Tensor:
    """1 − cosine where the target is 1, max(0, cosine − margin) where it is −1."""
def cosine_similarity(x: Tensor, y: Tensor = ..., axis: _int = ..., eps: _float = ..., *, other: Tensor = ..., x2: Tensor = ..., dim: _int = ...) -> Tensor:
    """The cosine of the angle between x and y along an axis; norms are at least eps."""
def count_nonzero(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The number of nonzero elements over axes."""
def counts(index: Tensor, size: _int, weights: Tensor | None = ...) -> Tensor:
    """The number of occurrences of each of 0 … size − 1, or the sum of their weights."""
def cov(x: Tensor, *, correction: _int | _float = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
    """The covariance matrix of variables, which are the rows of x."""
cpu: Present
def cross(x: Tensor, y: Tensor = ..., axis: _int | None = ..., *, other: Tensor = ..., dim: _int | None = ...) -> Tensor:
    """The cross product of vectors along an axis; None takes the first axis of size 3."""
def cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, ignore_index: _int = ..., reduction: str = ..., label_smoothing: _float = ..., axis: _int | None = ..., dim: _int | None = ...) -> Tensor:
    """−log of the probability that softmax(x) gives to the target class, or the mean over shares."""
from gnomon.nn.ctc import ctc_loss as ctc_loss
cuda: CardNames
def cummax(x: Tensor, axis: _int = ..., *, dim: _int = ...) -> Values:
    """The cumulative maximum, and its index: the last one of equal elements."""
def cummin(x: Tensor, axis: _int = ..., *, dim: _int = ...) -> Values:
    """The cumulative minimum, and its index: the last one of equal elements."""
def cumprod(x: Tensor, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
    """The cumulative product along an axis."""
def cumsum(x: Tensor, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
    """The cumulative sum along an axis."""
def cumulative_prod(x: Tensor, axis: _int | None = ..., *, dtype: object = ..., include_initial: _bool = ..., dim: _int | None = ...) -> Tensor:
    """The cumulative product along an axis; include_initial puts a 1 first."""
def cumulative_sum(x: Tensor, axis: _int | None = ..., *, dtype: object = ..., include_initial: _bool = ..., dim: _int | None = ...) -> Tensor:
    """The cumulative sum along an axis; include_initial puts a 0 first."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: _float = ..., dim: _int = ..., input: Tensor | None = ..., tensor: Tensor | None = ..., self: Tensor | None = ..., a: Tensor | None = ...) -> Tensor:
    """The area under y up to each place, by straight lines between places x, or dx apart."""
from gnomon.tensor.nans import debug_nans as debug_nans
default_generator: DefaultGenerator
def deg2rad(x: Tensor) -> Tensor:
    """Convert degrees to radians."""
def det(x: Tensor) -> Tensor:
    """The determinant."""
def detach(input: Tensor) -> Tensor:
    """A tensor of the same storage through which no gradients flow."""
from gnomon.tensor.device import Device as device
def diag(x: Tensor, diagonal: _int = ...) -> Tensor:
    """The diagonal of a matrix, or a matrix with the given vector on its diagonal."""
def diag_embed(x: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, axis1: _int = ...) -> Tensor:
    """Matrices with the last axis of x on a diagonal of two axes, 0 elsewhere."""
def diagflat(input: Tensor, offset: _int = ...) -> Tensor:
    """The matrix with all elements of a tensor on its diagonal."""
def diagonal(x: Tensor, offset: _int = ..., axis1: _int = ..., axis2: _int = ..., *, dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """The diagonal of two axes, shifted by an offset, as a new last axis."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, axis1: _int = ...) -> Tensor:
    """A tensor with other values on a diagonal."""
def diff(x: Tensor, n: _int = ..., axis: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, dim: _int = ...) -> Tensor:
    """The n-th difference along an axis; prepend and append are joined to x first."""
def digamma(x: Tensor) -> Tensor:
    """The derivative of lgamma."""
def dist(x: Tensor, y: Tensor = ..., p: _float = ..., *, other: Tensor = ...) -> Tensor:
    """The p-norm of x − y."""
from gnomon import distributed as distributed
from gnomon import distributions as distributions
def div(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, rounding_mode: str | None = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
def divide(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, rounding_mode: str | None = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
def dot(x: Tensor, y: Tensor = ..., *, other: Tensor = ..., tensor: Tensor = ...) -> Tensor:
    """The dot product of two vectors."""
double: DType
def dropout(x: Tensor, key: Tensor, p: _float = ...) -> Tensor:
    """Set each element to 0 with probability p, and divide the others by 1 − p."""
def dsplit(x: Tensor, sections: _int | Sequence[_int] = ..., *, indices: _int | Sequence[_int] = ...) -> tuple[Tensor, ...]:
    """Split along axis 2."""
def dstack(xs: Sequence[Tensor]) -> Tensor:
    """Concatenate along axis 2; matrices get a third axis."""
from gnomon.dtypes import DType as dtype
e: _float
def einsum(spec: str | Tensor, *xs: Tensor | Sequence[Any], tensors: Tensor | Sequence[Any] = ..., arrays: Tensor | Sequence[Any] = ...) -> Tensor:
    """Sums of products by Einstein's notation: letters missing from the result are summed."""
def elu(x: Tensor, alpha: _float = ...) -> Tensor:
    """x where it is positive, an exponential that tends to −alpha elsewhere."""
def embedding(index: Tensor, weight: Tensor, padding_idx: _int | None = ...) -> Tensor:
    """Rows of a table by their indices; the row padding_idx gets no gradient."""
def embedding_bag(index: Tensor, weight: Tensor, offsets: Tensor | None = ..., *, mode: str = ..., per_sample_weights: Tensor | None = ..., include_last_offset: _bool = ..., padding_idx: _int | None = ...) -> Tensor:
    """The sum, mean or maximum of each bag of table rows."""
def empty(shape: Any = ..., *more: _int, dtype: object = ..., device: object = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor whose values do not matter: zeros."""
def empty_like(input: Tensor, *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor whose values do not matter: zeros, with the shape of another."""
def empty_permuted(size: Sequence[_int], physical_layout: Sequence[_int], **options: Any) -> Tensor:
    """An uninitialized tensor; its memory is row-major whatever the physical layout."""
def empty_strided(size: Sequence[_int], stride: Sequence[_int], **options: Any) -> Tensor:
    """An uninitialized tensor; its memory is row-major whatever the strides."""
from gnomon.tensor.autograd.engine import enable_grad as enable_grad
def eq(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x = y."""
def equal(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x = y."""
def erf(x: Tensor) -> Tensor:
    """The error function."""
def erfc(x: Tensor) -> Tensor:
    """1 − erf(x), accurate where erf(x) is near 1."""
def erfinv(x: Tensor) -> Tensor:
    """The inverse of erf, by an approximation and three steps of Halley's method."""
from gnomon.tensor.control import evaluate as evaluate
def exp(x: Tensor) -> Tensor:
    """e to the power x."""
def exp2(x: Tensor) -> Tensor:
    """2 to the power x."""
def expand(x: Tensor, shape: _int | Sequence[_int] = ..., *more: _int, size: _int | Sequence[_int] = ...) -> Tensor:
    """Repeat x along axes of size 1 and along new leading axes; -1 keeps a size."""
def expand_as(x: Tensor, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """Expand x to the shape of y."""
def expand_dims(x: Tensor, axis: _int | Sequence[_int] = ..., *, dim: _int | Sequence[_int] = ...) -> Tensor:
    """Insert axes of size 1 at the given positions of the result."""
def expit(x: Tensor) -> Tensor:
    """1 / (1 + exp(−x))."""
from gnomon.tensor.control import explain as explain
def expm1(x: Tensor) -> Tensor:
    """exp(x) − 1, exact near 0."""
from gnomon import export as export
def eye(n: _int, m: _int | None = ..., *, k: _int = ..., dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """Ones on the k-th diagonal."""
def feature_alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """alpha_dropout of whole channels."""
from gnomon.tensor import fft as fft
def fill(input: Tensor, value: Any) -> Tensor:
    """One value in the shape and dtype of a tensor."""
from gnomon.tensor.limits import finfo as finfo
def fix(x: Tensor) -> Tensor:
    """The whole part."""
def flatten(x: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
    """Merge a range of axes into one."""
def flip(x: Tensor, axis: _int | Sequence[_int] | None = ..., *more: _int, dim: _int | Sequence[_int] | None = ..., dims: _int | Sequence[_int] | None = ...) -> Tensor:
    """Reverse the order of elements along axes."""
def fliplr(x: Tensor) -> Tensor:
    """Reverse the order of elements along the second axis."""
def flipud(x: Tensor) -> Tensor:
    """Reverse the order of elements along the first axis."""
float: DType
float16: DType
float32: DType
float64: DType
float8_e4m3fn: DType
float8_e5m2: DType
def float_power(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ..., exponent: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x to the power y in float64."""
def floor(x: Tensor) -> Tensor:
    """The nearest whole number below."""
def floor_divide(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x / y rounded down."""
def fmax(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The larger of x and y, ignoring NaN where the other is a number."""
def fmin(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The smaller of x and y, ignoring NaN where the other is a number."""
def fmod(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The remainder of truncated division: it has x's sign."""
def fold_in(key: Tensor, number: Tensor | _int) -> Tensor:
    """Derive a new key, practically independent, from a key and a number."""
def frac(x: Tensor) -> Tensor:
    """The fractional part of x, with the sign of x."""
def frexp(input: Tensor) -> tuple[Tensor, Tensor]:
    """The mantissa in [0.5, 1) and the exponent of 2 whose product each element is."""
def frobenius_norm(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The root of the sum of squares, of all elements or over axes."""
from gnomon.tensor.dlpack import from_dlpack as from_dlpack
def from_numpy(array: ndarray) -> Tensor:
    """A tensor over an array's memory; what is not yet computed sees writes to the array."""
from gnomon.tensor.sharing import frombuffer as frombuffer
def full(shape: _int | Sequence[_int], fill_value: Any, *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of one value."""
def full_like(input: Tensor, fill_value: Any, *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of one value with the shape of another."""
from gnomon.tensor import func as func
from gnomon import fx as fx
def gather(x: Tensor, axis: _int = ..., index: Tensor = ..., *, sparse_grad: _bool = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ...) -> Tensor:
    """For each index, the element of x there along an axis, at the same place of other axes."""
def gaussian_nll_loss(x: Tensor, target: Tensor, var: Tensor, *, full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
    """−log of the normal density with mean x and variance var, at target."""
def gcd(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The greatest common divisor."""
def ge(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x ≥ y."""
def gelu(x: Tensor, approximate: str = ...) -> Tensor:
    """x times the probability that a standard normal variable is below x."""
def geqrf(input: Tensor) -> Reflected:
    """R of QR with the reflections that make Q below it, and their factors."""
def ger(x: Tensor, y: Tensor = ..., *, other: Tensor = ..., vec2: Tensor = ...) -> Tensor:
    """The outer product of two vectors."""
from gnomon.tensor.switches import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from gnomon.tensor.amp import get_autocast_dtype as get_autocast_dtype
from gnomon.tensor.switches import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from gnomon.tensor.placing import get_default_device as get_default_device
def get_default_dtype() -> DType:
    """The dtype of new tensors of floats."""
from gnomon.tensor.determinism import get_deterministic_debug_mode as get_deterministic_debug_mode
def get_device(input: Tensor) -> _int:
    """The number of a tensor's GPU: −1 for main memory."""
from gnomon.tensor.control import get_float32_matmul_precision as get_float32_matmul_precision
from gnomon.tensor.control import get_memory_limit as get_memory_limit
from gnomon.tensor.switches import get_num_interop_threads as get_num_interop_threads
from gnomon.tensor.control import get_num_threads as get_num_threads
def get_rng_state() -> Tensor:
    """The state of the stream."""
from gnomon import gguf as gguf
def glu(x: Tensor, axis: _int = ..., *, dim: _int = ...) -> Tensor:
    """The first half along an axis times the sigmoid of the second half."""
def gradient(input: Tensor, *, spacing: Any = ..., dim: _int | Sequence[_int] | None = ..., edge_order: _int = ...) -> tuple[Tensor, ...]:
    """The slopes along each axis: central differences, and one-sided ones at the ends."""
def greater(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x > y."""
def greater_equal(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x ≥ y."""
def grid_sample(x: Tensor, grid: Tensor, mode: str = ..., padding_mode: str = ..., align_corners: _bool | None = ...) -> Tensor:
    """Sample x (n, c, h, w) or (n, c, d, h, w) at places in [−1, 1], last coordinate first."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """grid_sample with numbers in place of its mode names."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """grid_sample with numbers in place of its mode names."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """grid_sample with numbers in place of its mode names."""
def group_norm(x: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Normalize each sample over groups of channels (axis 1), then scale and shift per channel."""
def grouped_mm(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None = ...) -> Tensor:
    """One matrix product per group; groups are runs along an axis that end at offs."""
def grouped_rows(x: Tensor, mats: Tensor, ends: Tensor) -> Tensor:
    """Multiply each row by the matrix of its group, a run of rows, in the dtype of sums."""
def grouped_steps(x: Tensor, y: Tensor = ..., ends: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """The product over each group's steps, in the dtype of sums; 0 for an empty group."""
def gt(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x > y."""
half: DType
def hamming_window(window_length: _int, periodic: _bool = ..., *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """A raised cosine above 0. A periodic one leaves out its last number."""
def hann_window(window_length: _int, periodic: _bool = ..., *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """A raised cosine. A periodic one leaves out its last number."""
def hardshrink(x: Tensor, lambd: _float = ...) -> Tensor:
    """x, but 0 where |x| ≤ lambd."""
def hardsigmoid(x: Tensor) -> Tensor:
    """A piecewise linear approximation of the sigmoid."""
def hardswish(x: Tensor) -> Tensor:
    """x times a piecewise linear approximation of its sigmoid."""
def hardtanh(x: Tensor, min_val: _float = ..., max_val: _float = ...) -> Tensor:
    """x clamped to [min_val, max_val]; the gradient at the bounds is 0."""
has_lapack: _bool
has_mkl: _bool
has_openmp: _bool
has_spectral: _bool
def heaviside(x: Tensor, values: Tensor | _bool | _int | _float = ..., *, src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ...) -> Tensor:
    """0 where x is negative, 1 where it is positive, the given values where it is 0."""
def hinge_embedding_loss(x: Tensor, target: Tensor, *, margin: _float = ..., reduction: str = ...) -> Tensor:
    """x where the target is 1, max(0, margin − x) where it is −1, their sum elsewhere."""
def histc(input: Tensor, bins: _int = ..., min: _float = ..., max: _float = ...) -> Tensor:
    """The number of elements in each of so many equal intervals of [min, max], or of the range."""
def histogram(input: Tensor, bins: Any, *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> Histogram:
    """The number, weight or density of the elements in each bin, and the ends of bins."""
def histogramdd(input: Tensor, bins: Any, *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> Histogram:
    """histogram of points, whose last axis is their coordinates: a bin for each product of bins."""
def householder_product(x: Tensor, tau: Tensor = ..., *, input2: Tensor = ...) -> Tensor:
    """The first columns of Π (1 − tau_k v_k v_kᵀ), v_k below the diagonal of x, 1 on it."""
def hsplit(x: Tensor, sections: _int | Sequence[_int] = ..., *, indices: _int | Sequence[_int] = ...) -> tuple[Tensor, ...]:
    """Split along axis 1, or vectors along axis 0."""
def hstack(xs: Sequence[Tensor]) -> Tensor:
    """Concatenate along axis 1, or vectors along axis 0."""
def huber_loss(x: Tensor, target: Tensor, *, reduction: str = ..., delta: _float = ..., weight: Tensor | None = ...) -> Tensor:
    """Half the squared difference, linear beyond delta, times the weight."""
def hypot(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """sqrt(x² + y²), without overflow."""
def i0(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def igamma(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The regularized lower incomplete gamma function P(x, y)."""
def igammac(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The regularized upper incomplete gamma function Q(x, y) = 1 − P(x, y)."""
from gnomon.tensor.limits import iinfo as iinfo
def im2col(x: Tensor, kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., stride: _int | Sequence[_int] = ...) -> Tensor:
    """The windows of an image as columns: PyTorch's nn.functional.unfold."""
def imag(input: Tensor) -> Tensor:
    """The imaginary parts of complex numbers: a view."""
def index_add(x: Tensor, axis: _int = ..., index: Tensor = ..., values: Tensor = ..., *, alpha: _bool | _int | _float = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor = ..., source: Tensor = ...) -> Tensor:
    """x plus alpha times each slice of values at its index along an axis."""
def index_copy(x: Tensor, axis: _int = ..., index: Tensor = ..., values: Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor = ..., source: Tensor = ...) -> Tensor:
    """x with slices replaced at indices along an axis; of repeated indices the last one counts."""
def index_fill(x: Tensor, axis: _int = ..., index: Tensor = ..., value: _bool | _int | _float | Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ...) -> Tensor:
    """x with the slices at indices along an axis filled by one value."""
from gnomon.tensor.indexing import index_put as index_put
def index_reduce(input: Tensor, dim: _int, index: Tensor = ..., source: Tensor = ..., reduce: str = ..., *, include_self: _bool = ..., indices: Tensor = ...) -> Tensor:
    """Slices of a tensor folded with others: "prod", "mean", "amax" or "amin"."""
def index_select(x: Tensor, axis: _int = ..., index: Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ...) -> Tensor:
    """Slices of x by index along an axis."""
inf: _float
from gnomon.tensor.autograd.engine import inference_mode as inference_mode
from gnomon.tensor.switches import init_num_threads as init_num_threads
def initial_seed() -> _int:
    """The seed of the stream."""
def inner(x: Tensor, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """The dot products of the last axes of x and y."""
def instance_norm(x: Tensor, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Normalize each channel of each sample, then scale and shift per channel."""
int: DType
int16: DType
int32: DType
int64: DType
int8: DType
def int_mm(x: Tensor, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """The product of two int8 or uint8 matrices, summed in int32."""
def interpolate(x: Tensor, size: _int | Sequence[_int] | None = ..., scale_factor: _float | Sequence[_float] | None = ..., mode: str = ..., align_corners: _bool | None = ..., recompute_scale_factor: _bool | None = ..., antialias: _bool = ...) -> Tensor:
    """Resize x (n, c, ...) along its last axes, to sizes or by factors."""
def inverse(x: Tensor) -> Tensor:
    """The inverse matrix."""
from gnomon.tensor.switches import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from gnomon.tensor.switches import is_autocast_cache_enabled as is_autocast_cache_enabled
from gnomon.tensor.switches import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from gnomon.tensor.amp import is_autocast_enabled as is_autocast_enabled
from gnomon.tensor.limits import is_complex as is_complex
def is_conj(input: Tensor) -> _bool:
    """Whether a conjugation is pending: False."""
from gnomon.tensor.determinism import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
def is_distributed(input: Tensor) -> _bool:
    """Whether a conjugation is pending: False."""
from gnomon.tensor.limits import is_floating_point as is_floating_point
from gnomon.tensor.autograd.engine import is_grad_enabled as is_grad_enabled
def is_inference(input: Tensor) -> _bool:
    """Whether a conjugation is pending: False."""
from gnomon.tensor.autograd.engine import is_inference_mode_enabled as is_inference_mode_enabled
def is_neg(input: Tensor) -> _bool:
    """Whether a conjugation is pending: False."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element is not zero."""
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape."""
def is_signed(input: Tensor) -> _bool:
    """Whether a tensor's dtype is signed."""
from gnomon.tensor.storage import is_storage as is_storage
from gnomon.tensor.limits import is_tensor as is_tensor
from gnomon.tensor.switches import is_vulkan_available as is_vulkan_available
from gnomon.tensor.switches import is_warn_always_enabled as is_warn_always_enabled
def isclose(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether |x − y| ≤ atol + rtol · |y|."""
from gnomon.tensor.limits import isdtype as isdtype
def isfinite(x: Tensor) -> Tensor:
    """Whether x is finite."""
def isin(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, invert: _bool = ..., other: Tensor | _bool | _int | _float = ..., test_elements: Tensor | _bool | _int | _float = ..., test_element: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether each element of x occurs in y."""
def isinf(x: Tensor) -> Tensor:
    """Whether x is infinite."""
def isnan(x: Tensor) -> Tensor:
    """Whether x is not a number."""
def isneginf(x: Tensor) -> Tensor:
    """Whether x is −∞."""
def isposinf(x: Tensor) -> Tensor:
    """Whether x is +∞."""
def isreal(input: Tensor) -> Tensor:
    """Whether elements have no imaginary part: all real ones."""
from gnomon.tensor.spectrograms import istft as istft
def kaiser_window(window_length: _int, periodic: _bool = ..., beta: _float = ..., *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """Kaiser's window: a Bessel function over a half circle. A periodic one lacks its last number."""
def kl_div(x: Tensor, target: Tensor, *, reduction: str = ..., log_target: _bool = ...) -> Tensor:
    """The Kullback-Leibler divergence target · (log(target) − x), where x holds log-probabilities."""
def kron(x: Tensor, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """The Kronecker product: every element of x times y, as a block."""
def kthvalue(x: Tensor, k: _int, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> Values:
    """The k-th smallest element along an axis, counted from 1, and its index."""
def l1_loss(x: Tensor, target: Tensor, *, reduction: str = ..., weight: Tensor | None = ...) -> Tensor:
    """The absolute difference times the weight; the mean divides by the sum of weights."""
def largest(x: Tensor) -> Tensor:
    """The maximum of each row; the first of equal elements gets the gradient."""
def layer_norm(x: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Normalize x to mean 0 and variance 1 over its last axes, then scale and shift."""
def lcm(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The least common multiple."""
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input · 2^other."""
def le(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x ≤ y."""
def leaky_relu(x: Tensor, negative_slope: _float = ...) -> Tensor:
    """x where it is positive, negative_slope · x elsewhere."""
def lerp(x: Tensor, end: Tensor, weight: Tensor | _bool | _int | _float) -> Tensor:
    """Linear interpolation from x to end: x + weight · (end − x)."""
def less(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x < y."""
def less_equal(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x ≤ y."""
def lgamma(x: Tensor) -> Tensor:
    """log of |gamma(x)|, where gamma(n) is (n − 1)!."""
from gnomon import library as library
from gnomon.tensor import linalg as linalg
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """x · weightᵀ + bias, rounded once."""
def linear_cross_entropy(x: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = ..., weight: Tensor | None = ..., reduction: str = ..., ignore_index: _int | None = ..., label_smoothing: _float = ..., z_loss: _float = ..., softcap: _float | None = ..., shift: _int = ..., return_lse: _bool = ..., strategy: str = ..., max_memory: _int | None = ..., most_rows: _int | None = ..., shifts: _int = ...) -> Tensor | tuple[Tensor, Tensor]:
    """cross_entropy(linear(x, linear_weight), target), chunk by chunk to save memory."""
def linears(x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor] | None = ...) -> tuple[Tensor, ...]:
    """Several linear layers of the same x as a single product."""
def linspace(start: _float, stop: _float, num: _int, *, endpoint: _bool = ..., dtype: object = ..., device: object = ...) -> Tensor:
    """Numbers at equal distances, both ends included unless endpoint says otherwise."""
from gnomon.serialization.files import load as load
from gnomon.capture.loaded import load_compiled as load_compiled
from gnomon.tensor.lobpcg import lobpcg as lobpcg
def local_response_norm(x: Tensor, size: _int, alpha: _float = ..., beta: _float = ..., k: _float = ...) -> Tensor:
    """Divide x by a power of the mean square of neighbouring channels (axis 1)."""
def log(x: Tensor) -> Tensor:
    """The natural logarithm."""
def log10(x: Tensor) -> Tensor:
    """The logarithm to base 10."""
def log1p(x: Tensor) -> Tensor:
    """log(1 + x), exact near 0."""
def log2(x: Tensor) -> Tensor:
    """The logarithm to base 2."""
def log_softmax(x: Tensor, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
    """log(softmax(x)), without underflow."""
def logaddexp(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """log(exp(x) + exp(y)), without overflow."""
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """The logarithm to base 2 of 2^input + 2^other."""
def logcumsumexp(x: Tensor, axis: _int = ..., *, dim: _int = ...) -> Tensor:
    """The logarithm of the cumulative sum of exp(x), without overflow."""
def logdet(x: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN if that is negative."""
def logical_and(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether both hold."""
def logical_not(x: Tensor) -> Tensor:
    """Whether x is zero or False."""
def logical_or(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether one holds."""
def logical_xor(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether exactly one holds."""
def logit(x: Tensor, eps: _float | None = ...) -> Tensor:
    """log(x / (1 − x)); with eps, x is first clamped to [eps, 1 − eps]."""
def logit_rows(given: Sequence[Tensor | None], *, softcap: _float | None, spread: _bool, cut: LogitCut | None) -> Tensor:
    """The reductions of each row of logits that a loss needs."""
def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x))."""
def logspace(start: _float, end: _float, steps: _int, base: _float = ..., *, dtype: object = ..., device: object = ...) -> Tensor:
    """Powers of a base whose exponents have equal distances."""
def logsumexp(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """log(sum(exp(x))) over axes, without overflow."""
long: DType
def lp_pool1d(x: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
    """The norm of every window over the last 1 axes."""
def lp_pool2d(x: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
    """The norm of every window over the last 2 axes."""
def lp_pool3d(x: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
    """The norm of every window over the last 3 axes."""
def lt(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x < y."""
def lu(self: Tensor, pivot: _bool = ..., get_infos: _bool = ...) -> tuple[Tensor, ...]:
    """L and U in one matrix, the row exchanges, and with get_infos the first zero pivot."""
def lu_decomposition(x: Tensor, *, pivot: _bool = ...) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U such that P · L · U = x: a permutation, a unit lower and an upper triangle."""
def lu_solution(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = ..., adjoint: _bool = ...) -> Tensor:
    """Solve A · x = B, x · A = B or, with adjoint, Aᵀ · x = B by the results of lu_factor."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """x of A · x = b from the factors of A."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = ..., unpack_pivots: _bool = ...) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U from the results of lu_factor; empty tensors for those not asked for."""
def manual_seed(seed: _int) -> Generator:
    """Start the stream that all random functions draw from at a seed."""
def margin_ranking_loss(x: Tensor, y: Tensor = ..., target: Tensor = ..., *, margin: _float = ..., reduction: str = ..., other: Tensor = ..., input2: Tensor = ...) -> Tensor:
    """max(0, margin − target · (x − y)); target 1 means that x should exceed y, −1 that y should."""
from gnomon.tensor import masked as masked
def masked_fill(x: Tensor, mask: Tensor, value: Tensor | _bool | _int | _float) -> Tensor:
    """x with a value where the mask is True, in x's dtype."""
def masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """x with the elements where the mask is True replaced by elements of source, in order."""
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, in one axis."""
def matmul(x: Tensor, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """The matrix product; axes before the last two are batches and broadcast."""
def matrix_exp(x: Tensor) -> Tensor:
    """The matrix exponential Σ xᵏ / k!, by scaling and squaring in float64."""
def matrix_power(x: Tensor, n: _int) -> Tensor:
    """The n-th power of a matrix; negative n powers its inverse."""
def matrix_transpose(x: Tensor) -> Tensor:
    """Exchange the last two axes."""
def max(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Any:
    """The maximum over axes; NaN if any is. Equal elements share the gradient."""
def max_pool(x: Tensor, kernel: Sequence[_int], stride: Sequence[_int], padding: tuple[tuple[_int, _int], ...], dilation: Sequence[_int], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The maximum of each window of x (n, c, ...), and on request its index in the plane."""
def max_pool1d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The largest of every window over the last 1 axes."""
def max_pool1d_with_indices(input: Tensor, *sizes: Any, **options: Any) -> tuple[Tensor, Tensor]:
    """max_pool1d, with the indices of the maxima."""
def max_pool2d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The largest of every window over the last 2 axes."""
def max_pool3d(x: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The largest of every window over the last 3 axes."""
def max_with_positions(x: Tensor, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """The maximum along an axis and its first index; that element gets the gradient."""
def maximum(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The larger; NaN wins."""
def mean(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The mean over axes."""
def median(x: Tensor) -> Any:
    """The median of all elements, the lower of two; NaN if empty."""
def median_with_positions(x: Tensor, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """The median along an axis, the lower of two, and its index; NaN if a row has one."""
def meshgrid(*xs: Tensor | Sequence[Tensor], indexing: str = ...) -> tuple[Tensor, ...]:
    """Coordinates of a grid: each vector repeated along the axes of the others."""
def min(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Any:
    """The minimum over axes; NaN if any is. Equal elements share the gradient."""
def min_with_positions(x: Tensor, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """The minimum along an axis and its first index; that element gets the gradient."""
def minimum(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The smaller; NaN wins."""
def mish(x: Tensor) -> Tensor:
    """x · tanh(softplus(x)) (Misra 2019, arXiv:1908.08681)."""
def mm(x: Tensor, y: Tensor = ..., *, other: Tensor = ..., mat2: Tensor = ...) -> Tensor:
    """The product of two matrices."""
def mod(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """What floor division leaves: it has y's sign."""
def mode(x: Tensor, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> Values:
    """The most frequent element along an axis, the smallest of several, and its last index."""
from gnomon import models as models
def moveaxis(x: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Move axes to other positions; the others keep their order."""
def movedim(x: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Move axes to other positions; the others keep their order."""
mps: Absent
def mse_loss(x: Tensor, target: Tensor, *, reduction: str = ..., weight: Tensor | None = ...) -> Tensor:
    """The squared difference times the weight; the mean divides by the sum of weights."""
def msort(input: Tensor) -> Tensor:
    """The tensor sorted along its first axis."""
mtia: Absent
def mul(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x · y."""
def multi_margin_loss(x: Tensor, target: Tensor, *, p: _int = ..., margin: _float = ..., weight: Tensor | None = ..., reduction: str = ...) -> Tensor:
    """max(0, margin − x of the target + x of each other class)^p, averaged over the classes."""
def multilabel_margin_loss(x: Tensor, target: Tensor, *, reduction: str = ...) -> Tensor:
    """max(0, 1 − x of each target + x of each other class) / classes; −1 ends the targets."""
def multilabel_soft_margin_loss(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ...) -> Tensor:
    """binary_cross_entropy_with_logits, averaged over the classes of each row."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ...) -> Tensor:
    """Positions along the last axis, drawn with chances in proportion to the elements."""
def multiply(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x · y."""
from gnomon import multiprocessing as multiprocessing
def mv(x: Tensor, y: Tensor = ..., *, other: Tensor = ..., vec: Tensor = ...) -> Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(x: Tensor, p: _int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
nan: _float
def nan_to_num(x: Tensor, nan: _float = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
    """Replace NaN and infinities by finite numbers; None means the dtype's extremes."""
def nanmean(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The mean over axes, ignoring NaN."""
def nanmedian(input: Tensor, dim: _int | None = ..., keepdim: _bool = ...) -> Any:
    """The median of what is not NaN; along an axis with its positions."""
def nanquantile(input: Tensor, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...) -> Tensor:
    """The quantile of what is not NaN in every row; NaN, where there is nothing else."""
def nansum(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The sum over axes, ignoring NaN."""
def narrow(x: Tensor, axis: _int = ..., start: _int | Tensor = ..., length: _int | Tensor = ..., *, dim: _int = ...) -> Tensor:
    """A slice of given length along an axis."""
def ne(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x ≠ y."""
def neg(x: Tensor) -> Tensor:
    """−x."""
def negative(x: Tensor) -> Tensor:
    """−x."""
newaxis: None
def nextafter(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The next float after x in the direction of y."""
def nll_loss(x: Tensor, target: Tensor, weight: Tensor | None = ..., *, ignore_index: _int = ..., reduction: str = ..., axis: _int | None = ..., dim: _int | None = ...) -> Tensor:
    """−x at the target class, where x holds log-probabilities."""
from gnomon import nn as nn
from gnomon.tensor.autograd.engine import no_grad as no_grad
def nonzero(x: Tensor, *, as_tuple: _bool | None = ...) -> Any:
    """The positions of what is not zero, a tensor per axis; as_tuple=False is PyTorch's rows."""
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = ...) -> Tensor:
    """The first positions of what is not zero, filled up to a number of rows."""
def norm(x: Tensor, p: _float | str = ..., axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The p-norm of x over axes; p="fro" is 2, "nuc" the sum of a matrix's singular values."""
def norm_except_dim(v: Tensor, pow: _int = ..., dim: _int | None = ...) -> Tensor:
    """The p-norms of the slices along an axis, that axis kept; of all for -1 or None."""
def norm_of_scalars(xs: Sequence[Tensor], ord: _float = ...) -> Tensor:
    """vector_norm of scalars, bit for bit as if they were stacked, without stacking them."""
def normal(mean: Any = ..., std: Any = ..., size: Sequence[_int] | None = ..., *, generator: Generator | None = ..., **options: Any) -> Tensor:
    """Numbers from normal distributions; mean and std are numbers or tensors."""
def normalize(x: Tensor, p: _float = ..., axis: _int | Sequence[_int] | None = ..., eps: _float = ..., *, dim: _int | Sequence[_int] | None = ...) -> Tensor:
    """Divide x by its p-norm along an axis, with norms at least eps."""
def not_equal(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """Whether x ≠ y."""
def nuclear_norm(input: Tensor, dim: Any = ..., keepdim: _bool = ...) -> Tensor:
    """The sum of the singular values of a matrix."""
from gnomon.tensor.limits import numel as numel
def one_hot(index: Tensor, num_classes: _int) -> Tensor:
    """Vectors of num_classes elements: 1 at each index, 0 elsewhere."""
def ones(shape: Any = ..., *more: _int, dtype: object = ..., device: object = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor of ones."""
def ones_like(input: Tensor, *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of ones, with the shape of another."""
from gnomon import onnx as onnx
from gnomon import optim as optim
def orgqr(x: Tensor, tau: Tensor = ..., *, input2: Tensor = ...) -> Tensor:
    """The first columns of Π (1 − tau_k v_k v_kᵀ), v_k below the diagonal of x, 1 on it."""
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: _bool = ..., transpose: _bool = ...) -> Tensor:
    """The product Q · other, or other · Q, with Q from reflections; Qᵀ with transpose."""
def outer(x: Tensor, y: Tensor = ..., *, other: Tensor = ..., vec2: Tensor = ...) -> Tensor:
    """The outer product of two vectors."""
from gnomon.tensor import overrides as overrides
def pad(x: Tensor, pad: Sequence[_int], mode: str = ..., value: _bool | _int | _float | None = ...) -> Tensor:
    """Pad x; pairs (before, after) begin with the last axis."""
def pairwise_distance(x: Tensor, y: Tensor = ..., p: _float = ..., eps: _float = ..., keepdims: _bool = ..., *, other: Tensor = ..., x2: Tensor = ..., keepdim: _bool = ...) -> Tensor:
    """The p-norm of x − y + eps along the last axis."""
def pca_lowrank(A: Tensor, q: _int | None = ..., center: _bool = ..., niter: _int = ...) -> Svd:
    """The q principal components of rows: svd_lowrank of them less their mean."""
def pdist(input: Tensor, p: _float = ...) -> Tensor:
    """The p-norm of every row minus each later one."""
def permute(x: Tensor, axes: _int | Sequence[_int] = ..., *more: _int, dims: _int | Sequence[_int] = ...) -> Tensor:
    """Reorder the axes."""
def permute_dims(x: Tensor, axes: _int | Sequence[_int] = ..., *more: _int, dims: _int | Sequence[_int] = ...) -> Tensor:
    """Reorder the axes."""
pi: _float
def pick(x: Tensor, index: Tensor = ..., axis: _int = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int = ...) -> Tensor:
    """One element of each row along an axis, by its index."""
def pinverse(x: Tensor, rcond: Tensor | _float | None = ..., hermitian: _bool = ..., *, atol: Tensor | _float | None = ..., rtol: Tensor | _float | None = ...) -> Tensor:
    """The pseudoinverse: V · diag(1 / S) · Uᵀ over singular values above max(atol, rtol · largest)."""
def pixel_shuffle(x: Tensor, upscale_factor: _int) -> Tensor:
    """Rearrange groups of channels into blocks of pixels of a finer image."""
def pixel_unshuffle(x: Tensor, downscale_factor: _int) -> Tensor:
    """Rearrange blocks of pixels into channels of a coarser image."""
def placed(x: Tensor, axis: _int = ..., index: Tensor = ..., values: Tensor | _bool | _int | _float = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ...) -> Tensor:
    """scatter by a fold that finds which value stays, and a gather that fetches it."""
from gnomon.tensor.rejection import poisson as poisson
def poisson_nll_loss(x: Tensor, target: Tensor, *, log_input: _bool = ..., full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
    """−log of the Poisson probability of target, where the mean is exp(x), or x."""
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers of these sizes and angles."""
def polygamma(n: _int, x: Tensor = ..., *, input: Tensor = ..., tensor: Tensor = ..., self: Tensor = ..., a: Tensor = ...) -> Tensor:
    """The n-th derivative of digamma."""
def pos(x: Tensor) -> Tensor:
    """x."""
def positive(x: Tensor) -> Tensor:
    """x."""
def pow(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ..., exponent: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x to the power y."""
def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """leaky_relu with a learned slope: one for all elements, or one per channel (axis 1)."""
preserve_format: str
def prod(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The product over axes; booleans and integers are multiplied in 64 bits."""
from gnomon import profiler as profiler
from gnomon.tensor.limits import promote_types as promote_types
def put(input: Tensor, index: Tensor = ..., source: Tensor = ..., accumulate: _bool = ..., *, indices: Tensor = ...) -> Tensor:
    """A tensor with values at positions, counted in the flattened tensor."""
def qr(x: Tensor, mode: str = ...) -> tuple[Tensor, Tensor]:
    """Q with orthonormal columns and an upper triangle R such that Q · R = x."""
from gnomon import quant as quant
def quantile(x: Tensor, q: _float | Sequence[_float] | Tensor, axis: _int | None = ..., keepdims: _bool = ..., *, interpolation: str = ..., dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
    """The q-quantile along an axis, or of all elements; several q come along a new first axis."""
from gnomon.tensor import quasirandom as quasirandom
def rad2deg(x: Tensor) -> Tensor:
    """Convert radians to degrees."""
def rand(*size: Any, generator: Generator | None = ..., **options: Any) -> Tensor:
    """Uniformly distributed numbers in [0, 1)."""
def rand_like(input: Tensor, *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """Uniformly distributed numbers in [0, 1), with the shape of another."""
def randint(low: _int = ..., high: Any = ..., size: Sequence[_int] | None = ..., *, generator: Generator | None = ..., dtype: object = ..., device: object = ...) -> Tensor:
    """Integers from low (or 0) up to, not including, high."""
def randint_like(input: Tensor, low: _int = ..., high: _int | None = ..., *, generator: Generator | None = ..., dtype: object = ...) -> Tensor:
    """Integers from low (or 0) up to, not including, high, in the shape of a tensor."""
def randn(*size: Any, generator: Generator | None = ..., **options: Any) -> Tensor:
    """Numbers from the standard normal distribution."""
def randn_like(input: Tensor, *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """Numbers from the standard normal distribution, with the shape of another."""
from gnomon.tensor import random as random
def random_binomial(key: Tensor, count: Tensor, p: Tensor) -> Tensor:
    """Samples of the binomial distribution: successes among count trials (Hörmann 1993)."""
def random_bits(key: Tensor, shape: Sequence[_int] = ..., *, size: Sequence[_int] = ...) -> tuple[Tensor, Tensor]:
    """Two random uint32 words per element."""
def random_choice(key: Tensor, logits: Tensor, axis: _int = ..., *, dim: _int = ...) -> Tensor:
    """An index along an axis, drawn with probabilities softmax(logits)."""
def random_gamma(key: Tensor, alpha: Tensor) -> Tensor:
    """Samples of the gamma distribution with rate 1 (Marsaglia and Tsang 2000)."""
def random_integers(key: Tensor, low: _int, high: _int, shape: Sequence[_int] = ..., *, dtype: object = ..., size: Sequence[_int] = ...) -> Tensor:
    """Uniform integers in [low, high); the bias is below (high − low) / 2^64."""
def random_normal(key: Tensor, shape: Sequence[_int] = ..., mean: _float = ..., std: _float = ..., *, dtype: object = ..., size: Sequence[_int] = ...) -> Tensor:
    """Normally distributed numbers, by the Box–Muller transform."""
def random_permutation(key: Tensor, size: _int, *, dtype: object = ...) -> Tensor:
    """A random permutation of 0 … size − 1."""
def random_poisson(key: Tensor, rate: Tensor) -> Tensor:
    """Samples of the Poisson distribution with the given rate (Hörmann 1993)."""
def random_uniform(key: Tensor, shape: Sequence[_int] = ..., low: _float = ..., high: _float = ..., *, dtype: object = ..., size: Sequence[_int] = ...) -> Tensor:
    """Uniformly distributed numbers in [low, high)."""
def random_von_mises(key: Tensor, concentration: Tensor) -> Tensor:
    """Samples of the von Mises distribution around angle 0 (Best and Fisher 1979)."""
def randperm(n: _int, *, generator: Generator | None = ..., dtype: object = ..., device: object = ...) -> Tensor:
    """0 … n − 1 in a random order."""
def range(start: _float, end: _float | None = ..., step: _float = ..., *, dtype: Any = ..., **options: Any) -> Tensor:
    """Numbers at equal distances, the end among them."""
def ravel(x: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
    """Merge a range of axes into one."""
def real(input: Tensor) -> Tensor:
    """The real parts, as a view; a real tensor itself."""
def reciprocal(x: Tensor) -> Tensor:
    """1 / x."""
def relu(x: Tensor) -> Tensor:
    """The larger of x and 0."""
def relu6(x: Tensor) -> Tensor:
    """x clamped to [0, 6]."""
def remainder(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """What floor division leaves: it has y's sign."""
def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float) -> Tensor:
    """The slices along an axis, those whose p-norm is above maxnorm brought down to it."""
def reordered(x: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
    """Reorder the rows of each block; `inverse` says where each row goes."""
def repeat(x: Tensor, repeats: _int | Tensor, axis: _int | None = ..., *, dim: _int | None = ..., dims: _int | None = ...) -> Tensor:
    """Repeat each element along an axis; None repeats those of flattened x."""
def repeat_interleave(x: Tensor, repeats: _int | Tensor, axis: _int | None = ..., *, dim: _int | None = ...) -> Tensor:
    """Repeat each element along an axis; None repeats those of flattened x."""
def reshape(x: Tensor, shape: _int | Sequence[_int] = ..., *more: _int, size: _int | Sequence[_int] = ..., copy: _bool | None = ...) -> Tensor:
    """Change the shape without changing the elements' order; one size may be -1."""
def reshape_as(x: Tensor, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """x in the shape of y."""
def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor: conjugations and signs are never pending."""
def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor: conjugations and signs are never pending."""
from gnomon.tensor.limits import result_type as result_type
def rms_norm(x: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
    """Divide x by its root mean square over its last axes, then scale."""
def roll(x: Tensor, shift: _int | Sequence[_int] = ..., axis: _int | Sequence[_int] | None = ..., *, shifts: _int | Sequence[_int] = ..., dim: _int | Sequence[_int] | None = ..., dims: _int | Sequence[_int] | None = ...) -> Tensor:
    """Shift elements along axes; those pushed off the end reappear at the start."""
def rot90(x: Tensor, k: _int = ..., axes: Sequence[_int] = ...) -> Tensor:
    """Rotate by k quarter turns, from the first of two axes towards the second."""
def round(x: Tensor, *, decimals: _int = ...) -> Tensor:
    """Round to a number of decimals; halves go to the even digit."""
def routed_mm(x: Tensor, mats: Tensor, ends: Tensor) -> Tensor:
    """Multiply each row by the matrix of its group; each block's rows are sorted by group."""
def routed_rows(x: Tensor, mats: Tensor, ends: Tensor) -> Tensor:
    """routed_mm without its checks, in the dtype of sums."""
def routed_steps(x: Tensor, y: Tensor = ..., ends: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """The product over each group's steps, in the dtype of sums; 0 for an empty group."""
def row_stack(xs: Sequence[Tensor]) -> Tensor:
    """Concatenate along axis 0; vectors become rows."""
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """x if positive, else x times a slope: drawn at random in training, else the middle one."""
def rsqrt(x: Tensor) -> Tensor:
    """One over the square root."""
def rsub(input: Tensor, other: Any, *, alpha: _float = ...) -> Tensor:
    """other − alpha · input."""
from gnomon.serialization.files import save as save
def scalar_tensor(s: _float, *, dtype: Any = ..., **options: Any) -> Tensor:
    """A tensor of no axes."""
from gnomon.capture.control_flow import scan as scan
def scatter(x: Tensor, axis: _int = ..., index: Tensor = ..., values: Tensor | _bool | _int | _float = ..., *, reduce: str | None = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ..., value: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x with values at indices along an axis; of repeated indices the last one counts."""
def scatter_add(x: Tensor, axis: _int = ..., index: Tensor = ..., values: Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor = ..., source: Tensor = ...) -> Tensor:
    """x plus each value at its index along an axis."""
def scatter_reduce(x: Tensor, axis: _int = ..., index: Tensor = ..., values: Tensor | _bool | _int | _float = ..., reduce: str = ..., *, include_self: _bool = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x reduced with values at indices along an axis: "sum", "prod", "mean", "amax" or "amin"."""
def searchsorted(sorted_sequence: Tensor, values: Tensor | _bool | _int | _float = ..., *, out_int32: _bool = ..., right: _bool = ..., side: str | None = ..., sorter: Tensor | None = ..., src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ..., input: Tensor | _bool | _int | _float = ...) -> Tensor:
    """The index in a sorted row at which to insert each value; right: after equal elements."""
def seed() -> _int:
    """Start the default stream at an unpredictable seed, which is returned."""
def select(x: Tensor, axis: _int = ..., index: _int = ..., *, dim: _int = ..., input: _int = ..., indices: _int = ...) -> Tensor:
    """The slice at an index of an axis, without that axis."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int = ..., *, indices: _int = ...) -> Tensor:
    """A tensor with other values at one place of an axis."""
def selu(x: Tensor) -> Tensor:
    """elu scaled so that stacked layers keep mean 0 and variance 1."""
from gnomon import serialization as serialization
from gnomon.tensor.switches import set_autocast_cache_enabled as set_autocast_cache_enabled
from gnomon.tensor.amp import set_autocast_enabled as set_autocast_enabled
from gnomon.tensor.placing import set_default_device as set_default_device
def set_default_dtype(d: object) -> None:
    """Set the dtype of new floats: of Python's numbers, and of results from integers."""
from gnomon.tensor.switches import set_default_tensor_type as set_default_tensor_type
from gnomon.tensor.determinism import set_deterministic_debug_mode as set_deterministic_debug_mode
from gnomon.tensor.control import set_float32_matmul_precision as set_float32_matmul_precision
from gnomon.tensor.switches import set_flush_denormal as set_flush_denormal
from gnomon.tensor.autograd.engine import set_grad_enabled as set_grad_enabled
from gnomon.tensor.control import set_memory_limit as set_memory_limit
from gnomon.tensor.switches import set_num_interop_threads as set_num_interop_threads
from gnomon.tensor.control import set_num_threads as set_num_threads
from gnomon.tensor.show import set_printoptions as set_printoptions
def set_rng_state(new_state: Tensor) -> None:
    """Restore the state of the stream."""
from gnomon.tensor.switches import set_warn_always as set_warn_always
def sgn(x: Tensor) -> Tensor:
    """-1, 0 or 1, as x is negative, zero or positive."""
short: DType
def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(−x))."""
def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1, as x is negative, zero or positive."""
from gnomon.tensor import signal as signal
def signbit(x: Tensor) -> Tensor:
    """Whether the sign bit is set; −0 has it too."""
def silu(x: Tensor) -> Tensor:
    """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118)."""
def sin(x: Tensor) -> Tensor:
    """The sine of an angle in radians."""
def sinc(x: Tensor) -> Tensor:
    """sin(πx) / (πx), and 1 at 0."""
def sinh(x: Tensor) -> Tensor:
    """The hyperbolic sine."""
def slice_copy(input: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ...) -> Tensor:
    """A slice of an axis, in memory of its own."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ...) -> Tensor:
    """A tensor with other values in a slice of an axis."""
def slogdet(x: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value."""
def smooth_l1_loss(x: Tensor, target: Tensor, *, reduction: str = ..., beta: _float = ...) -> Tensor:
    """The absolute difference, quadratic where it is below beta."""
def soft_margin_loss(x: Tensor, target: Tensor, *, reduction: str = ...) -> Tensor:
    """log(1 + exp(−target · x)), targets 1 or −1."""
def softmax(x: Tensor, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
    """Exponentials along an axis, divided by their sum."""
def softmin(x: Tensor, axis: _int = ..., *, dim: _int = ...) -> Tensor:
    """softmax of −x."""
def softplus(x: Tensor, beta: _float = ..., threshold: _float = ...) -> Tensor:
    """log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold."""
def softshrink(x: Tensor, lambd: _float = ...) -> Tensor:
    """x moved towards 0 by lambd; 0 where |x| ≤ lambd."""
def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|)."""
def sort(x: Tensor, axis: _int = ..., descending: _bool = ..., *, stable: _bool = ..., dim: _int = ...) -> Any:
    """Sort an axis, and return the indices too; equal elements keep their order."""
from gnomon.tensor import sparse as sparse
sparse_coo: str
from gnomon.tensor.sparse_tensor import sparse_coo_tensor as sparse_coo_tensor
sparse_csr: str
from gnomon.tensor.sparse_tensor import sparse_csr_tensor as sparse_csr_tensor
from gnomon.tensor import special as special
def split(x: Tensor, split_size: _int | Sequence[_int] = ..., axis: _int = ..., *, split_size_or_sections: _int | Sequence[_int] = ..., split_sizes: _int | Sequence[_int] = ..., dim: _int = ...) -> tuple[Tensor, ...]:
    """Split an axis into parts of one size (the last may be smaller), or of given sizes."""
def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = ...) -> tuple:
    """Parts of these sizes."""
from gnomon.tensor.sparse import mm as spmm
def sqrt(x: Tensor) -> Tensor:
    """The square root."""
def square(x: Tensor) -> Tensor:
    """x · x."""
def squeeze(x: Tensor, axis: _int | Sequence[_int] | None = ..., *, dim: _int | Sequence[_int] | None = ...) -> Tensor:
    """Remove axes of size 1: all of them, or those among the given axes."""
def stack(xs: Sequence[Tensor], axis: _int = ..., *, dim: _int = ...) -> Tensor:
    """Join tensors of one shape along a new axis."""
def std(x: Tensor, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The square root of the variance."""
def std_mean(x: Tensor, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The square root of the variance, and the mean."""
from gnomon.tensor.spectrograms import stft as stft
from gnomon.tensor import storage as storage
strided: str
def sub(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, alpha: _bool | _int | _float = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x − alpha · y."""
def subtract(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, alpha: _bool | _int | _float = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x − alpha · y."""
def sum(x: Tensor, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The sum over axes; booleans and integers are summed in 64 bits."""
def surprise(x: Tensor, target: Tensor) -> Tensor:
    """The negative log-likelihood of a probability, with logarithms clamped to at least −100."""
def svd(input: Tensor, some: _bool = ..., compute_uv: _bool = ...) -> Svd:
    """U, S and V of U · diag(S) · Vᴴ = input."""
def svd_lowrank(A: Tensor, q: _int | None = ..., niter: _int | None = ..., M: Tensor | None = ...) -> Svd:
    """U, S and V of U · diag(S) · Vᵀ, which is near A, or near A - M; of q singular values."""
def swapaxes(x: Tensor, dim0: _int = ..., dim1: _int = ..., *, axis0: _int = ..., axis1: _int = ...) -> Tensor:
    """Exchange two axes."""
def swapdims(x: Tensor, dim0: _int = ..., dim1: _int = ..., *, axis0: _int = ..., axis1: _int = ...) -> Tensor:
    """Exchange two axes."""
def swish(x: Tensor) -> Tensor:
    """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118)."""
from gnomon.tensor.control import synchronize as synchronize
def t(x: Tensor) -> Tensor:
    """Transpose a matrix; a vector stays as it is."""
def take(x: Tensor, index: Tensor = ..., axis: _int | None = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int | None = ...) -> Tensor:
    """Slices of x by index along an axis, negative ones from the end; None: of flattened x."""
def take_along_axis(x: Tensor, index: Tensor = ..., axis: _int = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int = ...) -> Tensor:
    """gather with broadcasting of the other axes, and negative indices from the end."""
def take_along_dim(x: Tensor, index: Tensor = ..., axis: _int | None = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int | None = ...) -> Tensor:
    """take_along_axis; without an axis, of both flattened."""
def tan(x: Tensor) -> Tensor:
    """The tangent of an angle in radians."""
def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent."""
def tanhshrink(x: Tensor) -> Tensor:
    """x − tanh(x)."""
def tensor(data: Any, dtype: object = ..., device: object = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor with a copy of a number, of nested lists of numbers, or of an array."""
def tensor_split(x: Tensor, sections: _int | Sequence[_int] | Tensor = ..., axis: _int = ..., *, indices: _int | Sequence[_int] | Tensor = ..., indices_or_sections: _int | Sequence[_int] | Tensor = ..., dim: _int = ...) -> tuple[Tensor, ...]:
    """Split x into a number of parts of nearly equal size, or at the given positions."""
def tensordot(x: Tensor, y: Tensor = ..., axes: _int | Sequence[Sequence[_int]] = ..., *, other: Tensor = ..., b: Tensor = ..., dims: _int | Sequence[Sequence[_int]] = ...) -> Tensor:
    """The sum of products over the last axes of x and the first of y, or over the given pairs."""
from gnomon import testing as testing
def threshold(x: Tensor, threshold: _float, value: _float) -> Tensor:
    """x where it is above the threshold, the value elsewhere."""
def tile(x: Tensor, repetitions: _int | Sequence[_int] = ..., *more: _int, dims: _int | Sequence[_int] = ..., repeats: _int | Sequence[_int] = ...) -> Tensor:
    """Tile copies of x along each axis."""
def topk(x: Tensor, k: _int, axis: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, dim: _int = ...) -> Values:
    """The k largest elements along an axis, in descending order, and their indices."""
def trace(x: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
def transpose(x: Tensor, dim0: _int = ..., dim1: _int = ..., *, axis0: _int = ..., axis1: _int = ...) -> Tensor:
    """Exchange two axes."""
def transposed_convolution(x: Tensor, weight: Tensor, bias: Tensor | None, padding: tuple[tuple[_int, _int], ...], size: tuple[_int, ...], geometry: tuple[Sequence[_int], Sequence[_int], _int]) -> Tensor:
    """Transposed convolution: the gradient of a convolution with respect to its input."""
def trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: _float = ..., axis: _int = ..., input: Tensor | None = ..., tensor: Tensor | None = ..., self: Tensor | None = ..., a: Tensor | None = ..., dim: _int = ...) -> Tensor:
    """The integral of y along an axis by the trapezoidal rule, at places x or dx apart."""
def trapz(y: Tensor, x: Tensor | None = ..., *, dx: _float = ..., axis: _int = ..., input: Tensor | None = ..., tensor: Tensor | None = ..., self: Tensor | None = ..., a: Tensor | None = ..., dim: _int = ...) -> Tensor:
    """The integral of y along an axis by the trapezoidal rule, at places x or dx apart."""
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ...) -> Solved:
    """x of A · x = b, where A is a triangle, and A."""
def tril(x: Tensor, k: _int = ..., *, diagonal: _int = ...) -> Tensor:
    """x on and below the k-th diagonal, 0 above."""
def tril_indices(row: _int, col: _int, offset: _int = ..., *, dtype: object = ..., device: object = ...) -> Tensor:
    """The positions on and below a diagonal: a row of rows, a row of columns."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, margin: _float = ..., p: _float = ..., eps: _float = ..., swap: _bool = ..., reduction: str = ...) -> Tensor:
    """max(0, distance to the positive − distance to the negative + margin)."""
def triu(x: Tensor, k: _int = ..., *, diagonal: _int = ...) -> Tensor:
    """x on and above the k-th diagonal, 0 below."""
def triu_indices(row: _int, col: _int, offset: _int = ..., *, dtype: object = ..., device: object = ...) -> Tensor:
    """The positions on and above a diagonal: a row of rows, a row of columns."""
def true_divide(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, rounding_mode: str | None = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
def trunc(x: Tensor) -> Tensor:
    """The whole part."""
from gnomon.tensor.switches import typename as typename
uint16: DType
uint32: DType
uint64: DType
uint8: DType
def unbind(x: Tensor, axis: _int = ..., *, dim: _int = ...) -> tuple[Tensor, ...]:
    """The slices at all indices of an axis, without that axis."""
def unflatten(x: Tensor, axis: _int = ..., shape: Sequence[_int] = ..., *, dim: _int = ..., size: Sequence[_int] = ..., sizes: Sequence[_int] = ...) -> Tensor:
    """Split one axis into several; one size may be -1."""
def unfold(x: Tensor, axis: _int = ..., size: _int = ..., step: _int = ..., *, dim: _int = ..., dimension: _int = ...) -> Tensor:
    """Overlapping windows along an axis, with their elements as a new last axis."""
def unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
    """The distinct elements, in order; and where each one went, and how often it occurs."""
def unique_all(x: Tensor) -> Unique:
    """The distinct values, their first positions, inverse indices, and counts."""
def unique_consecutive(input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
    """The elements, or slices along an axis, that differ from the one before."""
def unique_counts(x: Tensor) -> UniqueCounts:
    """The distinct values, and their counts."""
def unique_inverse(x: Tensor) -> UniqueInverse:
    """The distinct values, and inverse indices."""
def unique_values(x: Tensor) -> Tensor:
    """The distinct values."""
def unravel_index(indices: Tensor, shape: Any = ..., *, size: Any = ...) -> tuple[Tensor, ...]:
    """Convert positions in a flattened shape to positions on each of its axes."""
def unsafe_chunk(x: Tensor, chunks: _int, axis: _int = ..., *, dim: _int = ...) -> tuple[Tensor, ...]:
    """Split an axis into at most `chunks` parts of one size; the last may be smaller."""
def unsafe_split(x: Tensor, split_size: _int | Sequence[_int] = ..., axis: _int = ..., *, split_size_or_sections: _int | Sequence[_int] = ..., split_sizes: _int | Sequence[_int] = ..., dim: _int = ...) -> tuple[Tensor, ...]:
    """Split an axis into parts of one size (the last may be smaller), or of given sizes."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = ...) -> tuple:
    """Parts of these sizes."""
def unsqueeze(x: Tensor, axis: _int = ..., *, dim: _int = ...) -> Tensor:
    """Insert an axis of size 1 at a position of the result."""
def unstack(x: Tensor, axis: _int = ..., *, dim: _int = ...) -> tuple[Tensor, ...]:
    """The slices at all indices of an axis, without that axis."""
from gnomon.tensor.determinism import use_deterministic_algorithms as use_deterministic_algorithms
from gnomon import utils as utils
def vander(x: Tensor, n: _int | None = ..., increasing: _bool = ..., *, N: _int | None = ...) -> Tensor:
    """The powers of a vector's elements as columns, the highest first unless increasing."""
def var(x: Tensor, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The mean square distance from the mean; the count is lowered by the correction."""
def var_mean(x: Tensor, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
    """The variance and the mean."""
def vdot(x: Tensor, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """The dot product of two vectors, with complex elements of the first conjugated."""
def vecdot(x: Tensor, y: Tensor = ..., axis: _int = ..., *, other: Tensor = ..., dim: _int = ...) -> Tensor:
    """The dot products along an axis."""
def vector_norm(x: Tensor, ord: _float = ..., axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
    """The norm of vectors over axes: the ord-th root of the sum of |x|^ord."""
version: SimpleNamespace
def view(x: Tensor, shape: _int | Sequence[_int] = ..., *more: _int, size: _int | Sequence[_int] = ...) -> Tensor:
    """Change the shape without changing the elements' order; one size may be -1."""
def view_as(x: Tensor, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
    """x in the shape of y."""
def view_as_complex(input: Tensor) -> Complex:
    """Pairs of numbers in the last axis as complex numbers: a view."""
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of numbers in a last axis: a view."""
from gnomon.tensor.vmap import vmap as vmap
def vsplit(x: Tensor, sections: _int | Sequence[_int] = ..., *, indices: _int | Sequence[_int] = ...) -> tuple[Tensor, ...]:
    """Split along axis 0."""
def vstack(xs: Sequence[Tensor]) -> Tensor:
    """Concatenate along axis 0; vectors become rows."""
def where(condition: Tensor, input: Any = ..., other: Any = ...) -> Any:
    """The elements of input where the condition holds, else of other; alone, the true positions."""
from gnomon.capture.control_flow import while_loop as while_loop
def xlogy(x: Tensor | _bool | _int | _float, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
    """x · log(y), and 0 where x is 0."""
xpu: Absent
def zeros(shape: Any = ..., *more: _int, dtype: object = ..., device: object = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor of zeros."""
def zeros_like(input: Tensor, *, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of zeros, with the shape of another."""
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar, overload
from gnomon.capture.jit import Compiled
from gnomon.nn.module import Module
_P = ParamSpec("_P")
_R = TypeVar("_R")
_M = TypeVar("_M", bound=Module)
class _Compiled(Compiled, Generic[_P, _R]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
@overload
def compile(function: _M, /, **options: Any) -> _M: ...
@overload
def compile(function: Callable[_P, _R], /, **options: Any) -> _Compiled[_P, _R]: ...
@overload
def compile(
    function: None = ..., /, **options: Any
) -> Callable[[Callable[_P, _R]], _Compiled[_P, _R]]: ...
__version__: str
__array_api_version__: str
