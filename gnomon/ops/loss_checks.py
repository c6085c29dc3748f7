"""Checks of losses' arguments that PyTorch refuses: shapes that would broadcast, settings."""

from __future__ import annotations

from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.ir.node import Node

__all__ = ["above", "check_target", "one_shape", "same_rank", "weights_of_classes"]


def one_shape(name: str, x: Node, target: Node) -> None:
    """Refuse a target whose shape is not x's, even if it would broadcast."""
    if x.shape != target.shape:
        raise ShapeError(
            f"{name}: target must have the shape of x {x.shape}: got {target.shape}. "
            "Use unsqueeze() or expand()."
        )


def check_target(name: str, x: Node, target: Node) -> None:
    """Refuse a target of another shape than x, or one that is not float."""
    one_shape(name, x, target)
    if not target.dtype.is_floating_point:
        raise DtypeError(f"{name}: target must be floats: got {target.dtype.name}. Use float().")


def same_rank(name: str, *tensors: Node) -> None:
    """Refuse tensors of different ranks."""
    if len({x.rank for x in tensors}) > 1:
        shapes = ", ".join(str(x.shape) for x in tensors)
        raise ShapeError(f"{name}: all tensors must have equally many axes: got {shapes}.")


def above(name: str, what: str, value: float, least: float, strict: bool) -> None:
    """Refuse a setting below its least value; if `strict`, also the least value."""
    if value < least or (strict and value == least):
        bound = f"above {least}" if strict else f"at least {least}"
        raise ArgumentError(f"{name}: {what} must be {bound}: got {value}.")


def weights_of_classes(name: str, weight: Node | None, x: Node, axis: int) -> None:
    """Refuse class weights that are not a vector in the dtype of x with a weight per class."""
    if weight is None:
        return
    if weight.shape != (x.shape[axis],):
        raise ShapeError(f"{name}: weight must be ({x.shape[axis]},): got {weight.shape}.")
    if weight.dtype is not x.dtype:
        raise DtypeError(
            f"{name}: weight must be {x.dtype.name}, as x: got {weight.dtype.name}. Use to()."
        )
