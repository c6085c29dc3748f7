"""Every operation of the registry as a function of tensors, a method, and a method that writes.

Generated from gnomon/ops/registry.py: an operation that is added there appears here. What must look
at values before it knows a shape is in selection.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from gnomon.ops.registry import OPS, Op
from gnomon.tensor.operators import write_result
from gnomon.tensor.tensor import Tensor, apply, apply_view

VIEWS = frozenset(
    {"reshape", "reshape_as", "permute", "transpose", "matrix_transpose", "t", "movedim"}
    | {"squeeze", "unsqueeze", "flatten", "unflatten", "expand", "expand_as", "narrow", "select"}
    | {"split", "chunk", "unbind", "diagonal"}
)
"""Operations whose results show their argument's storage."""

METHOD_NAMES = {"repeat": "tile"}
"""Methods that PyTorch calls otherwise than the standard calls the function."""
NO_METHODS = frozenset({"where"})
FIRST = ("x",)


def as_function(op: Op) -> Callable:
    """An operation on tensors."""
    call = apply_view if op.__name__ in VIEWS else apply

    def function(*args: Any, **kwargs: Any) -> Any:
        if not args:
            args, kwargs = with_first(op, kwargs)
        return call(op, args, kwargs)

    functools.update_wrapper(function, op.function, updated=())
    function.__module__ = "gnomon"
    return function


def with_first(op: Op, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The keywords, with the one that means the first parameter by position."""
    named = op.respell(kwargs)
    first = op.words[0] if op.words else ""
    if first not in named:
        return (), named
    return (named.pop(first),), named


def in_place(function: Callable, name: str) -> Callable:
    """A method that stores its result in the tensor."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return write_result(self, function(self, *args, **kwargs), name)

    method.__name__ = name
    method.__doc__ = f"{(function.__doc__ or name).splitlines()[0]} Stored in this tensor."
    return method


def renamed(function: Callable, name: str) -> Callable:
    """The same function under another name."""
    if function.__name__ == name:
        return function

    def alias(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    functools.update_wrapper(alias, function, updated=())
    alias.__name__ = alias.__qualname__ = name
    return alias


def generated() -> dict[str, Callable]:
    """All operations as functions of tensors, by name and alias."""
    made = {op: as_function(op) for op in set(OPS.values())}
    return {name: renamed(made[op], name) for name, op in OPS.items()}


FUNCTIONS: dict[str, Callable] = generated()


def install() -> None:
    """Give Tensor a method for every operation whose first argument is a tensor."""
    for name, op in OPS.items():
        if op.words[:1] != FIRST or name in NO_METHODS:
            continue
        function = FUNCTIONS[METHOD_NAMES.get(name, name)]
        if not hasattr(Tensor, name):
            setattr(Tensor, name, function)
        if op.__name__ not in VIEWS and not hasattr(Tensor, f"{name}_"):
            setattr(Tensor, f"{name}_", in_place(function, f"{name}_"))


install()


class Values(NamedTuple):
    """Values, and where they stood along the axis."""

    values: Tensor
    indices: Tensor


PAIRS = ("cummax", "cummin", "kthvalue", "mode", "topk")
"""Operations that always give values and positions."""


def paired(function: Callable) -> Callable:
    """A function whose two results have names."""

    def named(*args: Any, **kwargs: Any) -> Values:
        return Values(*function(*args, **kwargs))

    return functools.update_wrapper(named, function)


def where_asked(name: str, pair: Callable, plain: Callable) -> Callable:
    """A function that gives positions too where PyTorch's does, and values alone otherwise."""

    def function(input: Tensor, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(dim, Tensor):
            return FUNCTIONS[f"{name}imum"](input, dim)
        if dim is None:
            return plain(input, *args, **kwargs)
        return Values(*pair(input, dim, *args, **kwargs))

    return functools.update_wrapper(function, plain)


def sorted_values(sort: Callable) -> Callable:
    """sort by the standard: values alone."""

    def values(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return sort(x, *args, **kwargs)[0]

    return functools.update_wrapper(values, sort)


def install_pairs() -> None:
    """Functions with two results: PyTorch's when dim is given, the standard's otherwise."""
    sort = FUNCTIONS["sort"]
    for name in ("max", "min", "median"):
        pair = FUNCTIONS[f"{name}_with_positions"]
        FUNCTIONS[name] = where_asked(name, pair, FUNCTIONS[name])
        setattr(Tensor, name, FUNCTIONS[name])
    for name in PAIRS:
        FUNCTIONS[name] = paired(FUNCTIONS[name])
        setattr(Tensor, name, FUNCTIONS[name])
    FUNCTIONS["sort"] = where_asked("sort", sort, sorted_values(sort))
    Tensor.sort = paired(sort)


install_pairs()


def metadata_in_place(function: Callable, name: str) -> Callable:
    """A method that changes what the tensor shows of its storage."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        self._view = function(self, *args, **kwargs)._view
        return self

    method.__name__ = name
    method.__doc__ = f"{(function.__doc__ or name).splitlines()[0]} This tensor changes."
    return method


for _name in ("squeeze", "unsqueeze", "t", "transpose", "swapaxes"):
    setattr(Tensor, f"{_name}_", metadata_in_place(FUNCTIONS[_name], f"{_name}_"))
