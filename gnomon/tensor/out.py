"""Results stored in a tensor that is there: the keyword out of PyTorch's functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from gnomon.dtypes import DType, bool_
from gnomon.errors import ArgumentError, DtypeError, GradientError
from gnomon.tensor.autograd.engine import is_grad_enabled
from gnomon.tensor.tensor import Tensor

__all__ = ["into"]

WORDS = frozenset({"dtype", "options"})
"""Parameters of functions that make a tensor of the dtype that is asked for."""
FILLING = frozenset({"arange", "linspace", "logspace", "range"})
"""Functions whose numbers fill a tensor of any shape that has as many elements."""


def into(function: Callable, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function's result, stored in `out`: a tensor, or one for each result."""
    out = kwargs["out"]
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    if out is None:
        return function(*args, **rest)
    name, places = function.__name__, out if isinstance(out, (tuple, list)) else (out,)
    check_goals(name, args, places)
    is_new = not any(isinstance(x, Tensor) for x in given_in(args[:1]))
    if is_new and "dtype" not in rest and not WORDS.isdisjoint(signature(function).parameters):
        rest["dtype"] = places[0].dtype  # of a new tensor: nothing else says its dtype
    found = function(*args, **rest)
    results = found if isinstance(found, (tuple, list)) else (found,)
    if len(results) != len(places):
        raise ArgumentError(
            f"{name}: out needs {len(results)} tensors: got {len(places)}. Give one for each."
        )
    for place, result in zip(places, results, strict=True):
        fills = name in FILLING and place.numel() == result.numel()
        store(name, place, result.reshape(place.shape) if fills else result)
    return type(found)(*places) if hasattr(found, "_fields") else out


def check_goals(name: str, args: Sequence[Any], places: Sequence[Any]) -> None:
    """Refuse goals that are no tensors, and operands with gradients."""
    if not all(isinstance(x, Tensor) for x in places):
        raise DtypeError(f"{name}: out must be a tensor: got {type(places[0]).__name__}.")
    if is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in given_in(args)):
        raise GradientError(
            f"{name}: functions with out have no gradient, and an argument requires one. Leave "
            "out away, or detach the argument."
        )


def given_in(args: Sequence[Any]) -> list[Any]:
    """The arguments, with lists of them flattened."""
    return [x for each in args for x in (each if isinstance(each, (tuple, list)) else (each,))]


def kind(dtype: DType) -> int:
    """The rank of a dtype's kind, boolean 0 to complex 3; none is stored in a lower one."""
    if dtype is bool_:
        return 0
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 1


def store(name: str, place: Tensor, result: Tensor) -> None:
    """Write a result to a tensor, which is resized to its shape."""
    if kind(result.dtype) > kind(place.dtype):
        raise ArgumentError(
            f"{name}: result type {result.dtype.name} can't be cast to the type of out, "
            f"{place.dtype.name}. Give a tensor of {result.dtype.name}."
        )
    if place.shape != result.shape:
        if place.numel():
            warnings.warn(
                f"{name}: out has the shape {tuple(place.shape)} and is resized to "
                f"{tuple(result.shape)}. Resize it to no elements first: out.resize_(0).",
                stacklevel=4,
            )
        place.resize_(tuple(result.shape))
    place.copy_(result)
