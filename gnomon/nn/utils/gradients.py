"""Clip gradients, and convert all parameters to one vector and back."""

from __future__ import annotations

from collections.abc import Iterable

from gnomon.errors import GradientError
from gnomon.ir.provenance import phase
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import tensor
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

Parameters = Tensor | Iterable[Tensor]


def gradients_of(parameters: Parameters) -> list[Tensor]:
    """The gradients of parameters, without missing ones."""
    found = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in found if p.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors together: the norm of their norms, in order."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    with no_grad(), phase("optimizer"):
        norms = [FUNCTIONS["vector_norm"](t, norm_type) for t in tensors]
        if not norms:
            return tensor(0.0)
        total = FUNCTIONS["norm_of_scalars"](norms, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise GradientError(
            f"clip_grad_norm_: The total norm of order {norm_type} for gradients is non-finite, so "
            "it cannot be clipped."
        )
    return total


def clip_grads_with_norm_(
    parameters: Parameters, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients so that their total norm is at most max_norm."""
    with no_grad(), phase("optimizer"):
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        for gradient in gradients_of(parameters):
            gradient.mul_(factor.to(gradient.dtype))


def clip_grad_norm_(
    parameters: Parameters,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients so that their total norm is at most max_norm; returns the norm before."""
    kept = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(gradients_of(kept), float(norm_type), error_if_nonfinite)
    clip_grads_with_norm_(kept, max_norm, total)
    return total


def clip_grad_value_(
    parameters: Parameters, clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp the elements of every gradient to ±clip_value."""
    with no_grad(), phase("optimizer"):
        for gradient in gradients_of(parameters):
            gradient.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate all parameters into one vector."""
    return FUNCTIONS["cat"]([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the parts of a vector to parameters."""
    start = 0
    with no_grad():
        for p in parameters:
            p.copy_(vec[start : start + p.numel()].reshape(p.shape))
            start += p.numel()
