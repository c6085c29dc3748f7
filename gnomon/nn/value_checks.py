"""Checks of argument values before a function computes: probabilities, variances, classes.

They are skipped where values are not known, as in captured functions, under vmap, or over ranks.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, DtypeError
from gnomon.ir.provenance import user_site
from gnomon.ops.fitting import brief
from gnomon.tensor.state import is_capturing, is_eager
from gnomon.tensor.tensor import Tensor, array_of
from gnomon.tensor.views import mesh_layout_of

__all__ = ["CHECKS", "check_chance", "check_sizes", "checked", "seen"]


def check_chance(name: str, p: float) -> None:
    """Refuse a dropout probability that is not in [0, 1]."""
    if not isinstance(p, (int, float)):
        raise ArgumentError(f"{name}: p must be a number: got {brief(p)}.")
    if not 0 <= p <= 1:
        raise ArgumentError(f"{name}: dropout probability has to be between 0 and 1, but got {p}.")


def check_sizes(name: str, sizes: Any) -> None:
    """Refuse sizes of axes that are not a tuple or list of integers."""
    whole = (int, Tensor, np.integer)
    fits = isinstance(sizes, (tuple, list)) and all(isinstance(n, whole) for n in sizes)
    if not fits:
        raise DtypeError(f"{name}: sizes are a tuple of integers: got {brief(sizes)}.")


def check_places(input: Tensor) -> None:
    """Refuse channels to normalize that have one spatial element."""
    if input.ndim > 2 and prod(input.shape[2:]) == 1:
        raise ArgumentError(
            "instance_norm: Expected more than 1 spatial element when training, got input size "
            f"{tuple(input.shape)}."
        )


def check_groups(input: Any, num_groups: int, *_: Any, **__: Any) -> None:
    """Refuse groups to normalize that have one value."""
    if input.ndim > 1 and input.shape[0] * input.shape[1] * prod(input.shape[2:]) == num_groups:
        raise ArgumentError(
            "group_norm: Expected more than 1 value per channel when training, got input size "
            f"{tuple(input.shape)} for {num_groups} groups."
        )


def seen(x: Any) -> np.ndarray | None:
    """The values of a tensor or number; None if they cannot be read now."""
    if not isinstance(x, Tensor):
        return np.asarray(x)
    unknown = not is_eager() or mesh_layout_of(x._view)
    return None if unknown else array_of(x)


def check_chances(input: Any, target: Any, *_: Any, **__: Any) -> None:
    """Refuse inputs or targets outside of [0, 1]."""
    for what, x in (("input", input), ("target", target)):
        values = seen(x)
        if values is not None and not ((values >= 0) & (values <= 1)).all():
            raise ArgumentError(
                f"binary_cross_entropy: all elements of {what} should be between 0 and 1. "
                "Use binary_cross_entropy_with_logits() for numbers that are not."
            )


def check_variances(input: Any, target: Any, var: Any, *_: Any, **__: Any) -> None:
    """Refuse negative variances."""
    values = seen(var)
    if values is not None and (values < 0).any():
        raise ArgumentError(
            "gaussian_nll_loss: var has negative entry/entries. Use abs() or exp()."
        )


def check_classes(input: Any, target: Any, *_: Any, **__: Any) -> None:
    """Refuse targets that are neither classes nor the -1 that ends them."""
    values, count = seen(target), input.shape[-1] if input.ndim else 1
    if values is not None and ((values < -1) | (values >= count)).any():
        raise ArgumentError(
            f"multilabel_margin_loss: target is out of range: classes are 0 to {count - 1}, and -1 "
            "ends them."
        )


def check_lambd(input: Any, lambd: float = 0.5, **_: Any) -> None:
    """Refuse a negative `lambd` of softshrink."""
    if lambd < 0:
        raise ArgumentError(f"softshrink: lambd must be at least 0: got {lambd}.")


def check_bounds(
    input: Any, min_val: float = -1.0, max_val: float = 1.0, *_: Any, **__: Any
) -> None:
    """Refuse a lower bound of hardtanh above the upper one."""
    if min_val > max_val:
        raise ArgumentError(f"hardtanh: min_val is at most max_val: got {min_val} and {max_val}.")


def one_size(name: str) -> Callable[..., None]:
    """A check that warns, like PyTorch, if a loss broadcasts its target."""

    def check(input: Any, target: Any, *_: Any, **__: Any) -> None:
        if is_capturing():  # a comparison would tie the program to these sizes
            return
        sizes = [tuple(x.shape) for x in (input, target) if isinstance(x, Tensor)]
        if len({*sizes}) > 1:
            warnings.warn(
                f"{name}: Using a target size ({sizes[1]}) that is different to the input size "
                f"({sizes[0]}): both are broadcast, which is seldom meant. Give both one size."
                f"   [{user_site()}]",
                stacklevel=4,
            )

    return check


CHECKS = {
    **{name: one_size(name) for name in ("huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss")},
    "binary_cross_entropy": check_chances,
    "gaussian_nll_loss": check_variances,
    "group_norm": check_groups,
    "hardtanh": check_bounds,
    "multilabel_margin_loss": check_classes,
    "softshrink": check_lambd,
}
"""The checks of arguments, by function."""


def checked(function: Callable, check: Callable[..., None]) -> Callable:
    """Wrap a function with a check of its arguments."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        check(*args, **named)
        return function(*args, **named)

    return call
