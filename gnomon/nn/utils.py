"""What is done to parameters as a whole: clipping, flattening."""

from __future__ import annotations

from collections.abc import Iterable

import gnomon as gn
from gnomon.tensor.autograd import no_grad
from gnomon.tensor.tensor import Tensor


def with_gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """The gradients that exist."""
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(tensors: Iterable[Tensor], norm_type: float = 2.0) -> Tensor:
    """The norm of all tensors as one vector: of each one first, then of these, in order."""
    norms = [gn.vector_norm(x, norm_type) for x in tensors]
    return gn.vector_norm(gn.stack(norms), norm_type) if norms else gn.tensor(0.0)


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0
) -> Tensor:
    """Scale gradients down so that their joint norm is at most max_norm; gives the norm before."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(with_gradients(parameters), norm_type)
    scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for p in parameters:
        if p.grad is not None:
            p.grad.copy_(p.grad * scale.to(p.grad.dtype))
    return total


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Clamp every gradient to within clip_value of 0."""
    for gradient in with_gradients(parameters):
        gradient.copy_(gradient.clamp(-clip_value, clip_value))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters as one vector."""
    return gn.cat([p.reshape(-1) for p in parameters])


@no_grad()
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Fill parameters from one vector."""
    start = 0
    for p in parameters:
        p.copy_(vec[start : start + p.numel()].reshape(p.shape))
        start += p.numel()
