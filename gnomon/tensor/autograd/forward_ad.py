"""gn.autograd.forward_ad: tensors with a direction, and how results change along it.

There is no forward mode: what operations record is followed backward twice, when a result is
unpacked. So a level records whatever no_grad says around it, and its tensors require grad.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple

from gnomon.errors import GradientError, ShapeError
from gnomon.tensor.autograd.engine import recorded
from gnomon.tensor.borrowing import numbered
from gnomon.tensor.func import cut, fresh, jacobian_vector, reaches_leaf
from gnomon.tensor.state import ModeBlock, grads, inference
from gnomon.tensor.tensor import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent, which is None if the value does not depend on the input."""

    primal: Tensor
    tangent: Tensor | None


class dual_level(ModeBlock):
    """A stretch in which tensors have directions; one at a time.

    >>> import gnomon as gn
    >>> with dual_level():
    ...     x = make_dual(gn.tensor(3.0), gn.tensor(2.0))
    ...     unpack_dual(x * x)
    UnpackedDualTensor(primal=Tensor(9.), tangent=Tensor(12.))
    """

    def __init__(self) -> None:
        self.duals: list[tuple[Tensor, Tensor]] = []

    def __enter__(self) -> int:
        if _level.get() is not None:
            raise GradientError("Nested forward mode AD is not supported at the moment")
        self.enter({_level: self, grads: True, inference: False})
        return 0

    def leave(self) -> None:
        """Close the level; no tensor has a tangent any more."""
        super().leave()
        self.duals.clear()


_level: ContextVar[dual_level | None] = ContextVar("gnomon_dual_level", default=None)


def enter_dual_level() -> int:
    """Open a level of forward differentiation; returns its number."""
    return dual_level().__enter__()


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level of forward differentiation."""
    found = _level.get()
    if found is None or level not in (None, 0):
        raise GradientError(f"exit_dual_level: there is no level {level}. Enter one first.")
    found.__exit__(None, None, None)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor of these values with a tangent."""
    found = _level.get()
    if found is None:
        raise GradientError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    if not (tensor.dtype.is_floating_point and tangent.dtype.is_floating_point):
        raise GradientError(f"make_dual: expected floats: got {tensor.dtype} and {tangent.dtype}.")
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise ShapeError(
            "make_dual: expected a tangent of the same size as the tensor's "
            f"{tuple(tensor.shape)}: got {tuple(tangent.shape)}."
        )
    made = fresh(tensor)
    found.duals.append((made, tangent.to(tensor.dtype)))
    return made


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor's values and tangent at the open level."""
    found = _level.get()
    duals = [] if found is None or not tensor.requires_grad else found.duals
    behind = numbered([recorded(tensor)], lambda node: False) if duals else {}
    met = [(x, tangent) for x, tangent in duals if recorded(x) in behind]
    if not met:
        return UnpackedDualTensor(tensor, None)
    inputs, directions = zip(*met, strict=True)
    for dual, tangent in met:
        if dual is tensor:
            return UnpackedDualTensor(tensor if reaches_leaf(tensor) else cut(tensor), tangent)
    (slope,) = jacobian_vector([tensor], inputs, directions)
    return UnpackedDualTensor(*(x if reaches_leaf(x) else cut(x) for x in (tensor, slope)))
