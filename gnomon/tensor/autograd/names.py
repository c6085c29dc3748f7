"""gn.autograd: the engine's names, and what is built on it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from gnomon.lazy import modules_below
from gnomon.tensor.autograd import forward_ad, functional, graph
from gnomon.tensor.autograd.anomaly import detect_anomaly, set_detect_anomaly
from gnomon.tensor.autograd.engine import (
    Function,
    backward,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from gnomon.tensor.autograd.function import Context, InplaceFunction, once_differentiable
from gnomon.tensor.autograd.grad import grad
from gnomon.tensor.autograd.gradcheck import gradcheck, gradgradcheck
from gnomon.tensor.creation import as_tensor
from gnomon.tensor.tensor import Tensor

__all__ = [
    "Context",
    "Function",
    "InplaceFunction",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
__getattr__ = modules_below("gnomon.autograd")


class set_multithreading_enabled(nullcontext):
    """Do nothing: a backward pass is one program, with the same bits on any number of threads.

    >>> with set_multithreading_enabled(False):
    ...     pass
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()


class AnyTensor(type):
    """A metaclass that makes every tensor an instance of the class."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=AnyTensor):
    """A tensor, by the name of the class that once held gradients.

    >>> import gnomon as gn
    >>> isinstance(Variable(gn.ones(2), requires_grad=True), gn.Tensor)
    True
    """

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        """A tensor of the same storage."""
        shown = as_tensor(data).detach()
        return shown.requires_grad_() if requires_grad else shown
