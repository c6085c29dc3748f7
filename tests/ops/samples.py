"""Calls of every operation, small and with sizes that differ: what test_every_op.py tries.

An operation that is added to the registry gets its calls here; a test fails until it has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(20260)


@dataclass(frozen=True)
class Sample:
    """One call; arrays stand for tensors."""

    args: tuple
    kwargs: dict[str, Any] = field(default_factory=dict)
    gradient: bool = True
    """Whether slopes are compared with differences."""
    results: Sequence[int] | None = None
    """The results through which gradients flow; all floats by default."""
    reference: bool = True
    """Whether the numpy reference speaks about this call."""


SAMPLES: dict[str, list[Sample]] = {}


def add(name: str, *args: Any, **kwargs: Any) -> None:
    """A call of an operation; words that start with an underscore are about the sample."""
    about = {k[1:]: kwargs.pop(k) for k in list(kwargs) if k.startswith("_")}
    SAMPLES.setdefault(name, []).append(Sample(args, kwargs, **about))


def normal(*shape: int) -> np.ndarray:
    """Numbers around 0."""
    return RANDOM.standard_normal(shape)


def distinct(*shape: int) -> np.ndarray:
    """Numbers that keep a distance from each other and from 0."""
    count = int(np.prod(shape))
    return ((RANDOM.permutation(count) - count / 2 + 0.25) * 0.3).reshape(shape)


def between(low: float, high: float, *shape: int) -> np.ndarray:
    """Numbers of an interval."""
    return RANDOM.uniform(low, high, shape)


def integers(low: int, high: int, *shape: int) -> np.ndarray:
    """Integers of an interval."""
    return RANDOM.integers(low, high, shape)


def truths(*shape: int) -> np.ndarray:
    """Truth values."""
    return RANDOM.random(shape) < 0.5


def plain(names: str, *args: Any, **kwargs: Any) -> None:
    """The same call of several operations."""
    for name in names.split():
        add(name, *args, **kwargs)


KEY = np.array([0x13198A2E, 0x03707344], np.uint32)
BOTH = (distinct(2, 3), normal(3))

# elementwise
plain("add subtract multiply divide maximum minimum copysign", *BOTH)
plain("add subtract multiply maximum minimum floor_divide remainder", integers(-9, 9, 5), 4)
add("add", truths(4), truths(4))
add("add", normal(3), normal(2, 1), alpha=0.5)
add("multiply", truths(4), truths(4))
add("divide", integers(-9, 9, 7), 2, rounding_mode="trunc")
add("divide", integers(-9, 9, 7), 2, rounding_mode="floor")
add("divide", distinct(7), 0.7, rounding_mode="trunc", _gradient=False)
plain("floor_divide fmod remainder nextafter", *BOTH, _gradient=False)
plain("negative positive abs sign square", distinct(2, 3))
plain("positive abs sign square negative", integers(-9, 9, 4))
add("abs", integers(0, 9, 4).astype(np.uint8))
add("reciprocal", between(0.5, 2, 5))
plain("sin cos tan sinh cosh tanh asinh atan exp exp2 expm1 erf sigmoid", normal(2, 3))
plain("sqrt rsqrt log log2 log10 log1p", between(0.3, 3, 2, 3))
plain("asin acos atanh", between(-0.8, 0.8, 5))
add("acosh", between(1.2, 3, 5))
add("atan2", *BOTH)
plain("floor ceil trunc round", distinct(7) * 1.3, _gradient=False)
plain("floor ceil trunc round", integers(-9, 9, 4))
add("round", distinct(7), decimals=1, _gradient=False)
add("frac", distinct(7))
for exponent in (0, 1, 2, 3, 7, -1, -2, 0.5, -0.5, 1.7):
    add("pow", between(0.5, 2, 4), exponent)
add("pow", integers(-3, 4, 6), 15)
add("pow", integers(2, 4, 6), integers(0, 30, 6))
add("pow", between(0.5, 2, 4), normal(3, 1))
add("pow", 2.0, normal(4))
add("float_power", between(0.5, 2, 4), 3)

plain("erfc erfinv", between(-0.95, 0.95, 5))
add("erfc", between(2, 5, 4), _reference=False)
plain("lgamma digamma", np.array([0.3, 1.7, 3.2, 7.9, 8.1, 40.0, -0.7, -3.4]))

plain("gcd lcm", integers(-30, 30, 2, 3), integers(-30, 30, 3))
plain("gcd lcm", integers(-30, 30, 4).astype(np.int8), 6)

POINTS = np.array([0.3, 1.7, 2.4, 3.3, 5.6, 26.0])
plain(
    "i0 i0e i1 i1e modified_bessel_k0 modified_bessel_k1 "
    "scaled_modified_bessel_k0 scaled_modified_bessel_k1 bessel_j0 bessel_j1 bessel_y0 bessel_y1 "
    "spherical_bessel_j0 erfcx",
    POINTS,
)
plain("i0e i1e bessel_j0 bessel_j1 erfcx ndtr log_ndtr", np.array([-6.0, -0.7, 0.0, 1.3]))
plain("ndtri entr", between(0.05, 0.95, 5))
add("xlog1py", np.array([0.0, 1.5, 2]), between(-0.5, 2, 3))
add("zeta", np.array([1.5, 2.0, 7.3]), np.array([0.2, 3.0, 12.0]), _gradient=False)
add("zeta", np.array([2.0, 3.0]), np.array([-0.3, -4.6]), _gradient=False)
for n in (0, 1, 2, 3):
    add("polygamma", n, np.array([0.4, 2.2, -1.6]))
add("mvlgamma", between(2, 5, 4), 3)
TOPS, ENDS_OF = np.array([0.5, 1.5, 4.0, 40.0]), np.array([0.4, 3.0, 3.0, 45.0])
plain("igamma igammac", TOPS, ENDS_OF, _gradient=False)

# logic
plain("equal not_equal less less_equal greater greater_equal", integers(0, 4, 6), integers(0, 4, 6))
plain("equal not_equal less less_equal greater greater_equal", normal(3), 0.1)
ODD = np.array([1.0, -np.inf, np.nan, -0.0, np.inf])
plain("isnan isinf isfinite signbit", ODD)
plain("isnan isinf isfinite signbit", integers(-3, 3, 4))
add("isclose", ODD, ODD[::-1].copy(), equal_nan=True)
add("isclose", np.array([1.0, 1.00001, 2]), np.array([1.0, 1, 2.1]))
plain("logical_and logical_or logical_xor", truths(5), integers(0, 2, 5))
plain("bitwise_and bitwise_or bitwise_xor", integers(0, 99, 5), integers(0, 99, 5))
plain("bitwise_and bitwise_or bitwise_xor", truths(5), truths(5))
plain("bitwise_left_shift bitwise_right_shift", integers(-99, 99, 5), integers(0, 5, 5))
plain("logical_not", distinct(3))
plain("bitwise_not", integers(-9, 9, 5))
plain("bitwise_not logical_not", truths(5))
add("where", truths(2, 3), normal(3), normal(2, 1))
add("where", truths(3), normal(3), 0.0)
add("masked_fill", normal(2, 3), truths(3), -5.0)
add("masked_fill", integers(0, 9, 4), truths(4), 7)
add("clip", distinct(7), -0.4, 0.5)
add("clip", distinct(7), min=0.1)
plain("clamp_min clamp_max", distinct(7), 0.1)
plain("fmax fmin", np.array([1.0, np.nan, 3]), np.array([2.0, 5, np.nan]), _gradient=False)
plain("fmax fmin", *BOTH)
add("heaviside", np.array([-1.0, 0, 2]), 0.5, _gradient=False)
add("clip", normal(2, 3), normal(3) - 2, normal(2, 1) + 2, _reference=False)
add("nan_to_num", ODD, 0.5, 2.0, -2.0, _gradient=False)

# nothing at all
plain("exp relu gelu square", normal(0, 3))
plain("sum prod", normal(3, 0), 1)
plain("softmax log_softmax cumsum sort", normal(0, 3), 1)
add("cat", [normal(0, 3), normal(2, 3)])
add("reshape", normal(0, 3), (3, 0, 2))

# activations
plain(
    "relu relu6 leaky_relu elu celu selu gelu silu softplus logsigmoid mish softsign tanhshrink "
    "softshrink hardshrink hardsigmoid hardswish hardtanh",
    distinct(3, 5),
)
add("gelu", normal(5), approximate="tanh")
add("leaky_relu", distinct(5), 0.3)
add("elu", distinct(5), 0.5)
add("softplus", np.array([-60.0, 19, 21, 900]), 2.0)
add("logit", between(0.1, 0.9, 5))
add("threshold", distinct(5), 0.2, -3.0)
add("prelu", distinct(2, 3, 4), between(0.1, 0.4, 3), _reference=False)
add("prelu", distinct(5), between(0.1, 0.4, 1))
add("glu", normal(2, 6))
plain("logaddexp hypot", *BOTH)
for count in (1, 3, 38):
    add("norm_of_scalars", [normal() for _ in range(count)])
add("norm_of_scalars", [np.array(x) for x in (0.5, -2.0, 1.0)], float("inf"))
add("norm_of_scalars", [np.array(x) for x in (0.5, -2.0, 1.0)], 3.0)
add("norm_of_scalars", [np.array(x) for x in (0.5, -2.0, 1.0)], 1)
add("channel_shuffle", normal(2, 6, 3), 2, _reference=False)
add("multi_margin_loss", normal(4, 3), integers(0, 3, 4), p=2)
add(
    "multi_margin_loss", distinct(4, 3), integers(0, 3, 4), weight=between(1, 2, 3), reduction="sum"
)
add("diag_embed", normal(2, 3))
add("diag_embed", normal(2, 3), 1, 0, 2)
add("tensor_split", normal(7, 2), 3)
add("tensor_split", normal(2, 7), (1, 5), 1)
add("hsplit", normal(2, 4), 2)
add("vsplit", normal(4, 2), (1, 3))
add("dsplit", normal(1, 2, 4), 2)
plain("atleast_1d atleast_2d atleast_3d", normal())
plain("atleast_1d atleast_2d atleast_3d", normal(3))
plain("atleast_2d atleast_3d", normal(3, 2))
add("block_diag", normal(2, 3), normal(2), normal(1, 1))
add("cartesian_prod", normal(3), normal(2))
add("cartesian_prod", normal(3))
add("vander", normal(3))
add("vander", normal(3), 2, True)
plain("deg2rad rad2deg sinc", normal(4))
add("sinc", np.array([0.0, 1.0]), _gradient=False)
plain("isposinf isneginf", np.array([np.inf, -np.inf, 1.0, np.nan]))
plain("cov corrcoef", normal(3, 5))
plain("cov", normal(5), correction=0)
add("corrcoef", normal(5), _gradient=False)
add("mode", np.array([[3.0, 1, 3, 1, 2], [5, 5, 0, 0, 0]]), _reference=False, _gradient=False)
add("mode", distinct(3, 4), 0, True, _reference=False)
add("trapezoid", normal(3, 5))
add("trapezoid", normal(5, 3), np.array([0.0, 1, 3, 4, 6]), axis=0)
add("trapezoid", normal(3, 5), dx=0.5, axis=0)
add("hypot", np.array([1e30, 0.0]), np.array([1e30, 0.0]), _gradient=False)
add("hypot", np.array([np.inf, -np.inf, 1]), np.array([-np.inf, np.nan, np.inf]), _gradient=False)
add("xlogy", np.array([0.0, 1.5, 2]), between(0.5, 2, 3))
add("lerp", normal(3), normal(2, 3), 0.3)
add("lerp", normal(3), normal(3), between(0, 1, 3))
plain("addcmul addcdiv", normal(3), normal(2, 3), between(0.5, 2, 3), value=0.5)

# reductions
plain("sum mean max min", distinct(2, 3, 4), (0, 2))
plain("sum mean max min prod", distinct(2, 3), keepdims=True)
plain("sum mean max min prod argmax argmin", distinct(2, 3, 2), 1)
plain("sum prod max min argmax argmin", integers(-3, 4, 2, 5), -1)
plain("sum prod", truths(5))
add("prod", np.array([[2.0, 0, 3], [0, 0, 1]]), 1)
plain("any all count_nonzero", truths(2, 5), 1)
plain("nansum nanmean", np.array([[1.0, np.nan, 2], [3, 4, 5]]), 1)
plain("any all count_nonzero", integers(0, 2, 3))
plain("argmax argmin", np.array([1.0, np.nan, 3, -2, np.nan]))
plain("argmax argmin", distinct(2, 3), keepdims=True)
plain("max_with_positions min_with_positions", distinct(2, 3, 2), 1)
plain("var std", normal(2, 3, 4), (0, 2))
plain("var std", normal(2, 3), 1, correction=0, keepdims=True)
plain("var std", normal(5), False)
add("var_mean", normal(2, 3), 1)
for order in (0, 1, 2, 3, np.inf, -np.inf):
    add("vector_norm", distinct(2, 3), order, 1, _gradient=order != 0)
add("std_mean", normal(2, 3), 1)
add("dist", normal(2, 3), normal(2, 3))
add("aminmax", distinct(2, 3), 1)
add("norm", normal(2, 3))
add("norm", distinct(2, 3), 1, 0, keepdims=True)
add("logsumexp", normal(2, 3), 1)
add("logsumexp", np.array([1000.0, -np.inf, 999.0]), 0, _gradient=False)
plain("cumsum cumprod cummax cummin logcumsumexp", distinct(3, 5) * 0.3, 1)
plain("cumsum cumprod cummax", integers(-2, 3, 4), 0)
add("cumprod", np.array([2.0, 3, 0, 4, 0, 5]), 0)
add("diff", normal(3, 5), 2, 1)
add("diff", normal(3, 5), 1, 1, normal(3, 1), normal(3, 2))
add("cumulative_sum", normal(3, 5), 1)
add("cumulative_sum", normal(5), include_initial=True)
add("cumulative_prod", normal(3, 5), 0)
add("cumulative_prod", normal(3, 5), axis=-1, include_initial=True)
add("pick", normal(2, 3, 4), integers(0, 3, 2, 4), 1)

# order
add("sort", distinct(3, 5))
add("sort", integers(0, 3, 9), 0, True)
add("argsort", distinct(5, 3), 0)
add("argsort", np.array([2.0, np.nan, 1]), 0)
add("topk", distinct(2, 7), 3)
add("topk", distinct(7, 2), 2, 0, False)
add("kthvalue", distinct(2, 7), 3)
add("median_with_positions", distinct(2, 6))
add("median", distinct(2, 3))
add("quantile", distinct(2, 5), 0.3, 1)
add("quantile", distinct(2, 5), 0.6, keepdims=True, interpolation="higher")
add("searchsorted", np.array([0.0, 1, 2.5]), np.array([[0.5, 1], [3, -1]]), right=True)
add("searchsorted", np.sort(normal(2, 4)), normal(2, 3), _reference=False)
add("bucketize", normal(2, 3), np.array([0.0, 1, 2.5]))
add("isin", integers(0, 9, 2, 6), integers(0, 9, 3))
add("isin", integers(0, 3, 2, 6), 1, invert=True)
add("isin", 1, integers(0, 3, 6))
add(
    "searchsorted", np.array([2.5, 0.0, 1]), normal(4), sorter=np.array([1, 2, 0]), _reference=False
)

# views
add("reshape", normal(2, 6), (3, -1))
add("reshape", normal(2, 6), 4, 3)
add("reshape_as", normal(2, 6), normal(3, 4))
add("permute", normal(2, 3, 4), (2, 0, 1))
add("transpose", normal(2, 3, 4), -1, 0)
add("matrix_transpose", normal(2, 3, 4))
add("adjoint", normal(2, 3, 4))
add("t", normal(2, 3))
add("movedim", normal(2, 3, 4), 0, -1)
add("movedim", normal(2, 3, 4), (0, 1), (2, 0))
add("squeeze", normal(1, 3, 1))
add("squeeze", normal(1, 3, 1), 0)
add("unsqueeze", normal(2, 3), -1)
add("expand_dims", normal(2, 3), (0, -1))
add("expand_dims", normal(2, 3), 1)
add("flatten", normal(2, 3, 4))
add("flatten", normal(2, 3, 4), 1, _reference=False)
add("unflatten", normal(2, 6), 1, (2, 3))
add("expand", normal(2, 1), (4, 2, 3))
add("expand", normal(2, 1), -1, 3, _reference=False)
add("expand_as", normal(1, 3), normal(2, 3))
add("tile", normal(2, 3), (2, 1, 3))
add("repeat", normal(2, 3), 2)
add("repeat", normal(2, 3), 3, 1)
add("narrow", normal(2, 5), 1, 1, 3)
add("select", normal(2, 5), 1, -1)
add("split", normal(2, 5), 2, 1)
add("split", normal(2, 5), (1, 3, 1), 1)
add("chunk", normal(7, 2), 3)
add("unbind", normal(2, 3), 1)
add("flip", normal(2, 3, 4), (0, 2))
add("flip", normal(2, 3, 4), 0, 2)
plain("flipud fliplr", normal(2, 3))
add("unfold", normal(2, 7), 1, 3, 2)
add("rot90", normal(2, 3))
add("diagonal", normal(3, 4, 2), 1)
add("diagonal", normal(2, 4, 3), -2, 1, 2)
plain("tril triu", normal(2, 3, 4), 1)
add("diag", normal(3), 1)
add("diag", normal(3, 4), -1)
add("trace", normal(3, 3))

# joins
add("cat", [normal(2, 3), normal(2, 1), normal(2, 4)], 1)
add("cat", [integers(0, 5, 2), truths(3)])
add("stack", [normal(2, 3), normal(2, 3)], -1)
add("hstack", [normal(2, 3), normal(2, 1)])
add("vstack", [normal(3), normal(2, 3)])
add("dstack", [normal(2, 3), normal(2, 3)])
add("column_stack", [normal(2), normal(2, 3)])
add("roll", normal(3, 5), (1, -2), (0, 1))
add("roll", normal(2, 3), 4)
add("pad", normal(2, 3), (1, 0, 2, 1), value=0.5)
for mode in ("reflect", "replicate", "circular"):
    add("pad", normal(2, 5), (2, 1), mode)
add("full_like", normal(2, 3), 7.0)
plain("zeros_like ones_like", normal(2, 3))
add("meshgrid", normal(2), normal(3), indexing="ij")
add("meshgrid", normal(2), normal(3))
add("broadcast_tensors", normal(3, 1), normal(4))

# lookups
add("take", normal(3, 5), integers(-5, 5, 2, 2), 1)
add("take", normal(3, 5), integers(0, 15, 4))
add("index_select", normal(3, 5), 1, integers(0, 5, 4))
add("index_add", normal(4, 3), 0, integers(0, 4, 6), normal(6, 3), alpha=0.5)
add("index_copy", normal(4, 3), 1, np.array([2, 0]), normal(4, 2))
add("index_fill", normal(4, 3), 1, np.array([0, 2]), 7.0)
add("gather", normal(3, 5), 1, integers(0, 5, 2, 4))
add("take_along_axis", normal(3, 5), integers(-5, 5, 3, 2), 1)
add("scatter", normal(4, 3), 0, np.array([[2, 0, 1]]), normal(1, 3))
add("scatter", normal(3, 5), 1, integers(0, 5, 3, 1), 1.0)
add("scatter", normal(3, 5), 1, integers(0, 5, 3, 2), 2.0, reduce="add", _reference=False)
add("placed", normal(4), 0, np.array([1, 3, 1]), normal(3), _gradient=False)
add("scatter_add", normal(3, 5), 1, integers(0, 5, 2, 4), normal(2, 4))
for word in ("sum", "mean", "prod", "amax", "amin"):
    slopes = word != "prod"
    add("scatter_reduce", normal(4), 0, integers(0, 3, 7), normal(7), word, _gradient=slopes)
add("masked_scatter", normal(2, 3), truths(2, 3), normal(6))
add("counts", integers(0, 5, 20), 6)
add("counts", integers(0, 5, 20), 6, normal(20))
add("embedding", integers(0, 4, 2, 5), normal(4, 3))
add("embedding", integers(1, 4, 5), normal(4, 3), 0)
for mode in ("sum", "mean", "max"):
    add("embedding_bag", integers(0, 7, 2, 5), distinct(7, 3), mode=mode)
BEGINNINGS = np.array([0, 2, 2, 5])
SOME = {"mode": "sum", "per_sample_weights": normal(6), "_reference": False}
add("embedding_bag", integers(0, 7, 6), normal(7, 3), BEGINNINGS, **SOME)
add("embedding_bag", integers(0, 3, 6), normal(3, 4), BEGINNINGS, padding_idx=1, _reference=False)
add("embedding_bag", integers(0, 7, 6), distinct(7, 3), BEGINNINGS, mode="max", _reference=False)
add("one_hot", integers(0, 5, 2, 3), 5)

# products
for left, right in (
    *(((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5))),
    *(((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,)), ((3, 0), (0, 5))),
):
    add("matmul", normal(*left), normal(*right))
add("matmul", integers(-9, 9, 3, 4), integers(-9, 9, 4, 5))
add("mm", normal(2, 3), normal(3, 4))
add("mv", normal(2, 3), normal(3))
add("bmm", normal(2, 3, 4), normal(2, 4, 5))
add("dot", normal(4), normal(4))
add("vdot", normal(4), normal(4))
add("vecdot", normal(2, 3), normal(3))
add("outer", normal(2), normal(3))
add("tensordot", normal(2, 3, 4), normal(3, 4, 5))
add("tensordot", normal(2, 3, 4), normal(4, 2, 5), ((0, 2), (1, 0)))
add("kron", normal(2, 3), normal(3, 2))
add("cross", normal(2, 3), normal(2, 3))
add("linear", normal(2, 3, 4), normal(5, 4), normal(5))
add("linears", normal(2, 4), [normal(5, 4), normal(3, 4)], [normal(5), normal(3)])
add("bilinear", normal(2, 3), normal(2, 4), normal(5, 3, 4))
add("int_mm", integers(-128, 128, 3, 7).astype(np.int8), integers(-128, 128, 7, 5).astype(np.int8))
add("int_mm", integers(0, 256, 3, 6).astype(np.uint8), integers(0, 256, 6, 5).astype(np.uint8))
ENDS = np.array([2, 2, 6])
add("grouped_mm", normal(7, 4), normal(3, 4, 5), ENDS)
add("grouped_mm", normal(7, 4), normal(3, 4, 5), ENDS.astype(np.int32))
add("grouped_mm", normal(3, 5, 4), normal(4, 7), ENDS)
add("grouped_mm", normal(4, 7), normal(7, 5), ENDS)
add("grouped_mm", normal(4, 7), normal(7, 5), np.array([[1, 2], [2, 2], [4, 6]]))
add("grouped_mm", normal(2, 3, 4), normal(2, 4, 5))
# in the dtype of sums, which need not be that of the factors
add("grouped_rows", normal(7, 4), normal(3, 4, 5), ENDS[:, None], _results=())
add("grouped_steps", normal(4, 7), normal(7, 5), ENDS[:, None], _results=())
BLOCKS = np.array([[1, 1, 3], [0, 2, 2]])
add("routed_mm", normal(8, 4), normal(3, 4, 5), BLOCKS)
add("routed_mm", normal(8, 4), normal(3, 4, 5), BLOCKS.astype(np.int32))
add("routed_rows", normal(8, 4), normal(3, 4, 5), BLOCKS, _results=())
add("routed_steps", normal(4, 8), normal(8, 5), BLOCKS, _results=())
APART = np.array([BLOCKS, [[2, 4, 4], [0, 0, 0]]])
add("routed_mm", normal(2, 8, 4), normal(6, 4, 5), APART)
add("routed_rows", normal(2, 8, 4), normal(6, 4, 5), APART, _results=())
add("routed_steps", normal(2, 4, 8), normal(2, 8, 5), APART, _results=())
ORDER = np.array([[2, 0, 1], [0, 2, 1]])
add("reordered", normal(2, 3, 4), ORDER, ORDER.argsort(1))
add("addmm", normal(5), normal(3, 4), normal(4, 5), beta=0.5, alpha=2)
add("addmv", normal(3), normal(3, 4), normal(4), alpha=2)
add("addr", normal(3, 4), normal(3), normal(4), beta=0.5)
add("baddbmm", normal(5), normal(2, 3, 4), normal(2, 4, 5))
add("einsum", "bqhd,bkhd->bhqk", normal(2, 3, 2, 4), normal(2, 5, 2, 4))
add("einsum", "ij,jk,kl->il", normal(2, 3), normal(3, 4), normal(4, 2))
add("einsum", "...i, ij -> ...j", normal(2, 3, 4), normal(4, 5))
add("einsum", "iij->ji", normal(3, 3, 2))
add("einsum", "ij,kl->", normal(2, 3), normal(3, 2))

# normalization, attention
plain("softmax log_softmax softmin", normal(2, 5), 1)
add("softmax", np.array([[1000.0, 999, -1000]]), -1, _gradient=False)
add("layer_norm", normal(2, 3, 5), (5,), normal(5), normal(5))
add("layer_norm", normal(2, 3, 5), (3, 5), eps=1e-3)
add("rms_norm", normal(2, 3, 5), (5,), normal(5), 1e-6)
add("batch_norm", normal(4, 3, 2), normal(3), between(0.5, 2, 3), normal(3), normal(3))
add("batch_norm_training", normal(4, 3, 2), normal(3), normal(3), _results=(0,))
add("group_norm", normal(2, 6, 3), 2, normal(6), normal(6))
add("instance_norm", normal(2, 3, 4), normal(3))
add("local_response_norm", normal(2, 5, 3), 3)
add("normalize", normal(3, 5))
add("cosine_similarity", normal(3, 1, 5), normal(2, 5), -1)
add("pairwise_distance", normal(3, 5), normal(3, 5))
add("cdist", normal(3, 4), normal(5, 4))
QKV = (normal(2, 3, 4, 6), normal(2, 3, 5, 6), normal(2, 3, 5, 7))
HEADS = (normal(2, 4, 3, 6), normal(2, 2, 5, 6), normal(2, 2, 5, 6))
add("attention_forward", *HEADS, causal=False, scale=0.4)
add("attention", *QKV)
add("attention", *QKV, causal=True, scale=0.3)
add("attention_forward", *QKV, causal=True, scale=0.3, _results=(0,))
add("attention", *QKV, mask=np.array([[True, False, True, True, False]]))
add("attention", *QKV, mask=normal(4, 5))
add("attention", *HEADS, mask=normal(2, 1, 1, 5))
add("attention", *HEADS, mask=np.array([[True, False, True, True, False]] * 3), causal=True)
add("attention_forward", *HEADS, normal(2, 4, 3, 5), causal=False, scale=0.4)
add("attention", normal(2, 4, 3, 6), normal(2, 2, 5, 6), normal(2, 2, 5, 6), causal=True)

# losses
for reduction in ("mean", "sum", "none"):
    plain("mse_loss l1_loss smooth_l1_loss huber_loss", distinct(9), normal(9), reduction=reduction)
    add("cross_entropy", normal(7, 5), integers(0, 5, 7), reduction=reduction)
LABELS = np.array([1, -100, 4, 0, -100, 2, 3])
add("cross_entropy", normal(7, 5), LABELS, between(0.5, 2, 5), label_smoothing=0.1)
add("cross_entropy", normal(2, 3, 5), integers(0, 5, 2, 3), axis=-1, _reference=False)
add("cross_entropy", normal(3, 5), between(0, 0.4, 3, 5), label_smoothing=0.1, _reference=False)
CLASSES = (normal(7, 4), normal(5, 4), integers(0, 5, 7))
add("linear_cross_entropy", *CLASSES)
add("linear_cross_entropy", *CLASSES, linear_bias=normal(5), label_smoothing=0.1, ignore_index=2)
add("linear_cross_entropy", *CLASSES, weight=between(0.5, 2, 5), reduction="none")
PLAIN = {"softcap": None, "spread": False, "cut": None}
GIVEN = [normal(4, 3), normal(6, 3), np.arange(6)]
add("logit_rows", [*GIVEN, integers(0, 6, 4), None, None, None], **PLAIN)
add("logit_rows", [*GIVEN, integers(0, 6, 4)], **PLAIN)
add("logit_rows", [*GIVEN, None, normal(6), None, between(0, 1, 4, 6)], **PLAIN | {"softcap": 2.0})
add("nll_loss", normal(7, 5), integers(0, 5, 7))
add("nll_loss", normal(7, 5), LABELS, between(0.5, 2, 5), _reference=False)
add("surprise", between(0.1, 0.9, 5), between(0, 1, 5))
add("binary_cross_entropy", between(0.1, 0.9, 5), between(0, 1, 5))
add("binary_cross_entropy_with_logits", normal(3, 4), between(0, 1, 3, 4))
add(
    "binary_cross_entropy_with_logits",
    *(normal(3, 4), between(0, 1, 3, 4)),
    pos_weight=between(0.5, 2, 4),
    _reference=False,
)
add("kl_div", normal(3, 4), between(0.1, 0.9, 3, 4))
add("kl_div", normal(3, 4), normal(3, 4), reduction="batchmean", log_target=True, _reference=False)
SIGNS = np.array([1.0, -1, 1, -1, 1])
plain("hinge_embedding_loss soft_margin_loss", distinct(5), SIGNS, _gradient=False)
add("multilabel_margin_loss", distinct(2, 3), np.array([[2, -1, 0], [-1, 0, 2]]))
add("multilabel_soft_margin_loss", normal(2, 3), between(0, 1, 2, 3), between(0.5, 2, 3))
add("margin_ranking_loss", normal(5), distinct(5), SIGNS, margin=0.3)
add("cosine_embedding_loss", normal(3, 4), normal(3, 4), np.array([1, -1, 1]))
add("triplet_margin_loss", normal(3, 4), normal(3, 4), normal(3, 4))
add("gaussian_nll_loss", normal(5), normal(5), between(0.5, 2, 5), full=True)
add("poisson_nll_loss", normal(5), between(0.5, 2, 5), log_input=True)

# images
IMAGE = normal(2, 4, 7, 6)
add("conv1d", normal(2, 3, 9), normal(4, 3, 3), normal(4), 2, 1, 2)
add("conv2d", IMAGE, normal(3, 4, 3, 3), normal(3), 2, 1)
add("conv2d", IMAGE, normal(6, 2, 3, 2), None, (2, 1), (0, 1), 1, 2)
add("conv2d", IMAGE, normal(3, 4, 3, 5), padding="same", _reference=False)
add("conv2d", IMAGE, normal(5, 4, 1, 1), stride=2)
add("conv2d", IMAGE, normal(5, 4, 2, 2), stride=2)
add("conv3d", normal(1, 2, 4, 5, 3), normal(3, 2, 2, 3, 2), normal(3), padding=1)
add("conv_transpose1d", normal(2, 3, 5), normal(3, 4, 4), stride=2, padding=1)
add("conv_transpose2d", IMAGE, normal(4, 3, 2, 2), normal(3), 2)
add("conv_transpose2d", IMAGE, normal(4, 2, 3, 3), None, 2, 1, 1, 2)
add("conv_transpose3d", normal(1, 2, 3, 3, 2), normal(2, 3, 3, 2, 2), stride=2)
ONES = (1, 1)
add("convolution", IMAGE, normal(3, 4, 2, 3), None, ((0, 1), (1, 0)), (ONES, ONES, 1))
add(
    "transposed_convolution",
    IMAGE,
    normal(4, 3, 2, 3),
    None,
    ((0, 0),) * 2,
    (8, 8),
    (ONES, ONES, 1),
)
PIXELS = distinct(2, 3, 6, 7)
add("largest", PIXELS)
add("max_pool", PIXELS, (2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1))
add("max_pool1d", distinct(2, 3, 9), 3, 2)
add("max_pool2d", PIXELS, 3, 2, 1, ceil_mode=True, return_indices=True)
add("max_pool2d", PIXELS, 2, 1, dilation=2)
add("max_pool3d", distinct(1, 2, 4, 4, 5), 2)
add("avg_pool", PIXELS, (2, 2), (2, 2), ((0, 0), (0, 0)), ((0, 0), (0, 0)))
add("avg_pool1d", normal(2, 3, 9), 3)
add("avg_pool2d", PIXELS, 3, 2, 1, True, False)
add("avg_pool3d", normal(1, 2, 4, 4, 5), 2)
add("lp_pool1d", between(0.1, 2, 3, 4, 5), 3, 2)
add("lp_pool2d", between(0.1, 2, 2, 3, 4, 5), 3, 2)
add("lp_pool3d", between(0.1, 2, 1, 2, 4, 4, 5), 2, 2)
plain("adaptive_avg_pool adaptive_max_pool", PIXELS, (4, 7))
add("adaptive_max_pool", PIXELS, (4, 7), return_indices=True)
plain("adaptive_avg_pool1d adaptive_max_pool1d", distinct(2, 3, 9), 4)
plain("adaptive_avg_pool2d adaptive_max_pool2d", PIXELS, (None, 3))
plain("adaptive_avg_pool3d adaptive_max_pool3d", distinct(1, 2, 4, 3, 5), 2)
SMALL = normal(2, 3, 4, 5)
add("interpolate", SMALL, scale_factor=2)
add("interpolate", SMALL, (7, 3))
for mode in ("bilinear", "bicubic", "area"):
    add("interpolate", SMALL, (6, 3), mode=mode)
add("interpolate", SMALL, scale_factor=1.7, mode="bilinear", align_corners=True)
add("pixel_shuffle", normal(2, 8, 3, 4), 2)
add("pixel_unshuffle", normal(2, 3, 4, 6), 2)
# inside and outside, none near the middle between two pixels
PLACES = np.array([[-0.8, 1.2], [2.2, 0.2], [1.2, 3.2]]) + np.array(
    [[[[0]], [[1]]], [[[0.1]], [[-1]]]]
)
PLACES = (2 * PLACES + 1) / np.array([3, 4]) - 1
for mode in ("bilinear", "nearest", "bicubic"):
    for border in ("zeros", "border", "reflection"):
        add("grid_sample", normal(2, 2, 4, 3), PLACES, mode, border)
add("grid_sample", normal(1, 2, 3, 2, 3), between(-1.2, 1.2, 1, 2, 2, 2, 3), align_corners=True)
add("affine_grid", normal(2, 2, 3), (2, 1, 3, 4))
add("affine_grid", normal(2, 3, 4), (2, 1, 3, 1, 2), True)
add("im2col", PIXELS, (2, 3), 1, 1, 2)
add("col2im", normal(2, 12, 12), (4, 5), 2)

# random
add("fold_in", KEY, 3)
add("random_bits", KEY, (2, 3))
plain("random_uniform random_normal", KEY, (2, 3), dtype="float64")
add("random_integers", KEY, -3, 4, (5,))
add("random_permutation", KEY, 7)
add("bernoulli", KEY, 0.3, (5,))
add("bernoulli", KEY, between(0, 1, 5), _gradient=False)
add("dropout", normal(3, 4), KEY, 0.3)
add("random_choice", KEY, normal(3, 4))
add("random_gamma", KEY, between(0.2, 3, 5), _gradient=False)
plain("random_poisson random_von_mises", KEY, between(0.2, 30, 5), _gradient=False)
add("random_binomial", KEY, np.array([3.0, 40, 400]), between(0.1, 0.9, 3), _gradient=False)

# the forms of a `Shapes:` line that no call above has
add("hsplit", normal(6), 2)
add("atleast_3d", normal(2, 3, 4))
add("hstack", [normal(3), normal(2)])
add("dstack", [normal(2, 3, 2), normal(2, 3, 1)])
add("t", normal(3))
add("nll_loss", normal(7, 5), integers(0, 5, 7), reduction="none", _reference=False)
add("pairwise_distance", normal(3, 5), normal(3, 5), keepdims=True, _reference=False)
add("conv1d", normal(2, 3, 9), normal(4, 3, 3), padding="same", _reference=False)
add("conv3d", normal(1, 2, 4, 5, 3), normal(3, 2, 3, 2, 1), padding="same", _reference=False)
EACH = {"reduction": "none", "_reference": False}
add("kl_div", normal(3, 4), between(0.1, 0.9, 3, 4), **EACH)
plain("hinge_embedding_loss soft_margin_loss", distinct(5), SIGNS, _gradient=False, **EACH)
add("margin_ranking_loss", normal(5), distinct(5), SIGNS, margin=0.3, **EACH)
add("poisson_nll_loss", normal(5), between(0.5, 2, 5), **EACH)
add("gaussian_nll_loss", normal(5), normal(5), between(0.5, 2, 5), **EACH)
add("multi_margin_loss", normal(4, 3), integers(0, 3, 4), p=2, **EACH)
add("multilabel_margin_loss", distinct(2, 3), np.array([[2, -1, 0], [1, 0, 2]]), **EACH)
add("multilabel_soft_margin_loss", normal(2, 3), between(0, 1, 2, 3), **EACH)
add("cosine_embedding_loss", normal(3, 4), normal(3, 4), np.array([1, -1, 1]), **EACH)
add("triplet_margin_loss", normal(3, 4), normal(3, 4), normal(3, 4), **EACH)
plain("binary_cross_entropy", between(0.1, 0.9, 5), between(0, 1, 5), **EACH)
add("binary_cross_entropy_with_logits", normal(3, 4), between(0, 1, 3, 4), **EACH)

# factorizations: of a symmetric matrix only a triangle is read, and vectors may change their signs
SQUARE = normal(2, 3, 3) + 3 * np.eye(3)
POSITIVE = SQUARE @ SQUARE.mT
add("cholesky", POSITIVE, _gradient=False)
add("cholesky_ex", POSITIVE, upper=True, _gradient=False)
add("cholesky_solve", normal(3, 2), np.tril(SQUARE[0]))
add("cholesky_inverse", np.tril(SQUARE))
add("qr", normal(2, 4, 3))
add("qr", normal(2, 3, 4), "complete")
add("qr", normal(4, 3), "r", _reference=False)
add("svd", normal(2, 4, 3), False, _results=(1,))
add("svd", normal(3, 4), _results=(1,))
add("svdvals", normal(2, 4, 3))
add("eigh", POSITIVE, _results=(0,), _gradient=False)
add("eigvalsh", POSITIVE, _gradient=False)
add("solve", SQUARE, normal(2, 3, 4))
add("solve", SQUARE[0], normal(3))
add("solve", SQUARE[0], normal(2, 3), left=False)
add("solve_triangular", np.tril(SQUARE), normal(3, 2), upper=False)
add("solve_triangular", np.triu(SQUARE), normal(2, 3), upper=True, left=False)
plain("inverse det slogdet logdet", SQUARE)
for shape in ((2, 3, 3), (4, 3), (3, 4)):
    add("lu_decomposition", normal(*shape), _results=(1, 2))
    add("lu_factor", normal(*shape))
    add("lu_factor_ex", normal(*shape), pivot=False)
FACTORS = normal(2, 4, 3), np.array([[2, 4, 3], [1, 2, 4]], np.int32)
add("lu_unpack", *FACTORS)
add("lu_unpack", *FACTORS, unpack_data=False, _results=[0])
add("lu_unpack", *FACTORS, unpack_pivots=False)
add("lu_solution", SQUARE, np.array([[3, 2, 3], [1, 3, 3]], np.int32), normal(2, 3, 2))
add("lu_solution", SQUARE[0], np.array([3, 2, 3], np.int32), normal(2, 3), left=False, adjoint=True)
add("solve_ex", SQUARE, normal(2, 3, 2))
add("inv_ex", SQUARE)
add("householder_product", normal(2, 4, 3), normal(2, 3))
add("matrix_exp", SQUARE)
add("matrix_exp", normal(3, 3) * 5)
plain("pinverse", normal(2, 4, 3))
plain("matrix_rank", normal(2, 4, 3))
add("lstsq", normal(4, 3), normal(4, 2))
add("matrix_power", SQUARE, 5)
add("matrix_power", SQUARE, -2)
add("matrix_norm", SQUARE, "nuc", _reference=False)
add("matrix_norm", SQUARE, 1, keepdims=True, _reference=False)
add("condition_number", SQUARE)
add("condition_number", SQUARE, 1)

# what PyTorch's operator database asks beside the above; at the end: the numbers are drawn in order
add("take_along_dim", normal(3, 5), integers(0, 5, 3, 2), 1)
add("take_along_dim", normal(3, 5), integers(0, 15, 4))
add("inner", normal(4), normal(4))
add("inner", normal(2, 4), normal(3, 4))
add("cov", normal(1, 5))
add("cov", normal(3, 5), fweights=integers(1, 4, 5), aweights=between(0.5, 2, 5))
add("cov", normal(5), aweights=between(0.5, 2, 5))
add("corrcoef", normal(1, 5), _gradient=False)
add("clip", normal(6), normal(6), normal(6))
add("masked_scatter", normal(3), truths(2, 3), normal(6))
add("quantile", distinct(2, 5), 0.3, 1, interpolation="midpoint")
add("scatter_reduce", np.array([2.0, 0.0, 1.0, 3.0]), 0, integers(0, 3, 7), normal(7), "prod")
add("pad", normal(2, 5), (-1, 2, 1, -1), "replicate", _reference=False)
add("pad", normal(2, 5), (-1, 2), "circular", _reference=False)
add("norm", normal(3, 4), "nuc", _reference=False)
