"""Fold a batch norm in evaluation mode into the weights of the previous layer."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.tensor import Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval"]
__all__ += ["fuse_linear_bn_weights"]


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a convolution with its batch norm folded in.

    Shapes: conv_w (c, ...), conv_b (c), bn_rm (c), bn_rv (c) -> (c, ...), (c)

    >>> w, b = fuse_conv_bn_weights(ones(1, 1), None, ones(1), ones(1), 3.0, None, None)
    >>> w, b
    (Parameter([[0.5]]), Parameter([-0.5]))
    """
    with no_grad():
        scale = (bn_rv + bn_eps).rsqrt() if bn_w is None else bn_w * (bn_rv + bn_eps).rsqrt()
        shape = [-1 if k == int(transpose) else 1 for k in range(conv_w.ndim)]
        weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
        bias = (-bn_rm if conv_b is None else conv_b - bn_rm) * scale
        bias = (bias if bn_b is None else bias + bn_b).to(
            (conv_w if conv_b is None else conv_b).dtype
        )
    wanted = conv_b is not None and conv_b.requires_grad
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, wanted)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a Linear with its batch norm folded in.

    Shapes: linear_w (c, d), linear_b (c), bn_rm (c), bn_rv (c) -> (c, d), (c)

    >>> fuse_linear_bn_weights(ones(1, 1), None, ones(1), ones(1), 3.0, None, None)[1].item()
    -0.5
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Any:
    """A copy of a convolution with its batch norm folded in, for evaluation.

    >>> from gnomon.nn import BatchNorm2d, Conv2d
    >>> fuse_conv_bn_eval(Conv2d(3, 4, 2, bias=False).eval(), BatchNorm2d(4).eval()).bias.shape
    Size([4])
    """
    if conv.training or bn.training:
        raise ArgumentError("fuse_conv_bn_eval: norms are folded in at rest. Call eval() first.")
    made = deepcopy(conv)
    kept = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    made.weight, made.bias = fuse_conv_bn_weights(conv.weight, conv.bias, *kept, transpose)
    return made


def fuse_linear_bn_eval(linear: Module, bn: Module) -> Any:
    """A copy of a Linear with its batch norm folded in, for evaluation.

    >>> from gnomon.nn import BatchNorm1d, Linear
    >>> fuse_linear_bn_eval(Linear(3, 4).eval(), BatchNorm1d(4).eval()).weight.shape
    Size([4, 3])
    """
    return fuse_conv_bn_eval(linear, bn)
