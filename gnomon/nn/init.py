"""Initializations of parameters, with PyTorch's names and distributions."""

from __future__ import annotations

from math import prod, sqrt

import numpy as np

from gnomon.errors import ArgumentError
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import eye
from gnomon.tensor.random import rand, randn
from gnomon.tensor.tensor import Tensor, from_array


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights are scaled to keep the variance through a nonlinearity.

    >>> calculate_gain("tanh"), calculate_gain("linear")
    (1.6666666666666667, 1.0)
    """
    slope = 0.01 if param is None else param
    gains = {"tanh": 5 / 3, "relu": sqrt(2), "selu": 3 / 4}
    gains["leaky_relu"] = sqrt(2 / (1 + slope**2))
    plain = ("linear", "sigmoid", "conv1d", "conv2d", "conv3d", "conv_transpose1d")
    gains |= dict.fromkeys((*plain, "conv_transpose2d", "conv_transpose3d"), 1.0)
    if nonlinearity not in gains:
        raise ArgumentError(f"calculate_gain: Unsupported nonlinearity {nonlinearity}.")
    return gains[nonlinearity]


def fans(tensor: Tensor) -> tuple[int, int]:
    """The fan-in and the fan-out of a weight."""
    if tensor.ndim < 2:
        raise ArgumentError(
            "init: Fan in and fan out can not be computed for tensor with fewer than 2 dimensions."
        )
    field = prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def fill_values(tensor: Tensor, value: Tensor) -> Tensor:
    """Write values to a tensor without gradients; a meta tensor is unchanged."""
    with no_grad():
        return tensor if tensor.is_meta else tensor.copy_(value)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: object = None) -> Tensor:
    """Fill a tensor with uniformly distributed numbers from [a, b)."""
    with no_grad():
        return tensor if tensor.is_meta else tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: object = None
) -> Tensor:
    """Fill a tensor with normally distributed numbers."""
    with no_grad():
        return tensor if tensor.is_meta else tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: object = None,
) -> Tensor:
    """Fill a tensor with numbers from a normal distribution truncated to [a, b]."""
    if tensor.is_meta:  # nothing is drawn
        return tensor
    low, high = normal_share((a - mean) / std), normal_share((b - mean) / std)
    share = rand(tuple(tensor.shape), generator=generator, dtype="float64") * (high - low) + low
    value = normal_quantile(share) * std + mean
    return fill_values(tensor, value.clamp(a, b))


def normal_share(x: float) -> float:
    """The cumulative distribution function of the standard normal distribution."""
    return float((from_array(np.asarray(x / sqrt(2), np.float64)).erf().item() + 1) / 2)


def normal_quantile(share: Tensor) -> Tensor:
    """The quantile of the normal distribution: Newton's method from a rational start."""
    tail = (share.clamp(max=0.5) * 0 + (0.5 - (share - 0.5).abs())).clamp(min=1e-300)
    t = (-2.0 * tail.log()).sqrt()
    x = t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (
        1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t
    )
    for _ in range(3):
        error = (1 - (x / sqrt(2)).erf()) / 2 - tail
        x = x + error * sqrt(2 * np.pi) * (x * x / 2).exp()
    return x * (share - 0.5).sign()


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a tensor with one value."""
    with no_grad():
        return tensor if tensor.is_meta else tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill a tensor with 1."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill a tensor with 0."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity."""
    return fill_values(tensor, eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it preserves its input."""
    shape = tuple(tensor.shape)
    if len(shape) not in (3, 4, 5) or shape[0] % groups:
        raise ArgumentError(
            "dirac_: Only tensors with 3, 4, or 5 dimensions are supported, whose first size the "
            f"groups divide: got {shape} and {groups}."
        )
    value = np.zeros(shape)
    outputs, middle = shape[0] // groups, tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for k in range(min(outputs, shape[1])):
            value[(group * outputs + k, k, *middle)] = 1
    return fill_values(tensor, from_array(value))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: object = None) -> Tensor:
    """Fill a tensor with uniform numbers, scaled by fan-in and fan-out (Glorot 2010)."""
    inside, outside = fans(tensor)
    bound = sqrt(3.0) * gain * sqrt(2.0 / (inside + outside))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: object = None) -> Tensor:
    """Fill a tensor with normal numbers, scaled by fan-in and fan-out (Glorot 2010)."""
    inside, outside = fans(tensor)
    return normal_(tensor, 0.0, gain * sqrt(2.0 / (inside + outside)), generator)


def fan_of(tensor: Tensor, mode: str) -> int:
    """The fan-in or the fan-out of a weight, by the mode's name."""
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f"init: Mode {mode} not supported, please use one of fan_in, fan_out.")
    return fans(tensor)[mode == "fan_out"]


def kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """The standard deviation that keeps variance: the gain over the root of a fan."""
    return calculate_gain(nonlinearity, a) / sqrt(fan_of(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: object = None,
) -> Tensor:
    """Fill a tensor with uniform numbers, scaled by fan-in or fan-out (He 2015)."""
    if 0 in tensor.shape:
        return tensor
    bound = sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: object = None,
) -> Tensor:
    """Fill a tensor with normal numbers, scaled by fan-in or fan-out (He 2015)."""
    if 0 in tensor.shape:
        return tensor
    return normal_(tensor, 0.0, kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: object = None) -> Tensor:
    """Fill a tensor with a random matrix of orthonormal rows or columns, times the gain."""
    if tensor.ndim < 2:
        raise ArgumentError(
            f"orthogonal_: Only tensors with 2 or more dimensions are supported: got {tensor.ndim}."
        )
    rows, columns = tensor.shape[0], prod(tensor.shape[1:])
    flat = randn(rows, columns, generator=generator, dtype="float64").numpy()
    q, r = np.linalg.qr(flat.T if rows < columns else flat)
    q = q * np.sign(np.diag(r))
    value = (q.T if rows < columns else q) * gain
    return fill_values(tensor, from_array(np.ascontiguousarray(value.reshape(tuple(tensor.shape)))))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: object = None) -> Tensor:
    """Fill a matrix with normal numbers, a fraction of each column being 0."""
    rows, columns = tensor.shape
    order = rand(rows, columns, generator=generator).argsort(dim=0).argsort(dim=0)
    value = randn(rows, columns, generator=generator) * std
    return fill_values(tensor, value.masked_fill(order < int(np.ceil(sparsity * rows)), 0.0))


# older names, which PyTorch keeps
uniform, normal, constant, dirac, sparse = uniform_, normal_, constant_, dirac_, sparse_
xavier_uniform, xavier_normal, orthogonal = xavier_uniform_, xavier_normal_, orthogonal_
kaiming_uniform, kaiming_normal = kaiming_uniform_, kaiming_normal_
