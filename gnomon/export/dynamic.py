"""Dynamic sizes of an exported graph, given in PyTorch's ways.

They are given as `Dim`s by argument and axis (`dynamic_shapes`), or by names (`dynamic_axes`). Axes
of one name have one size; unnamed ones that are equal in the example count as one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.export.captured import DynamicSize
from gnomon.tensor.pytree import flatten
from gnomon.tensor.tensor import Tensor

__all__ = ["Dim", "axes_of", "dims", "sizes_of"]


class Dim:
    """A named size that may differ between calls; `Dim.AUTO` and `Dim.DYNAMIC` have no name.

    >>> Dim("batch", min=1, max=64)
    Dim('batch', min=1, max=64)
    """

    AUTO: Dim
    DYNAMIC: Dim
    STATIC: Dim

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if name and not name.isidentifier():
            raise ArgumentError(f"Dim: a name is an identifier: got {name!r}.")
        if min is not None and max is not None and max <= min:
            raise ArgumentError(f"Dim: max is above min: got min={min}, max={max} for {name}.")
        self.name, self.min, self.max = name, min, max
        self.__name__ = name

    def __repr__(self) -> str:
        least = "" if self.min is None else f", min={self.min}"
        most = "" if self.max is None else f", max={self.max}"
        return f"Dim({self.name!r}{least}{most})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Make several dynamic sizes with the same range.

    >>> dims("height", "width", min=8)
    (Dim('height', min=8), Dim('width', min=8))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = Dim(""), Dim(""), Dim("")

NamedAxes = Iterator[tuple[int, int, str]]
"""Tuples of a tensor's number, an axis, and the size's name or ""."""


def sizes_of(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], shapes: Any
) -> list[DynamicSize]:
    """The dynamic sizes in `dynamic_shapes`, with the call's tensors numbered."""
    if shapes is None:
        return []
    given: list[Tensor] = []
    flatten((tuple(args), dict(kwargs)), given)
    numbers = {id(x): k for k, x in enumerate(given)}
    names = names_of(function, args)
    values = {**dict(zip(names, args, strict=False)), **kwargs}
    if isinstance(shapes, (tuple, list)):
        shapes = dict(zip(values, shapes, strict=False))
    for name in shapes:
        if name not in values:
            raise ArgumentError(
                f"export: dynamic_shapes names {name!r}, which is no argument: "
                f"there are {', '.join(values)}."
            )
    found = [x for key, axes in shapes.items() for x in named_axes(values[key], axes, numbers)]
    return grouped(found, given)


def names_of(function: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """The names of positional arguments."""
    known = inspect.signature(getattr(function, "forward", function)).parameters.values()
    plain = [x.name for x in known if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]
    more = next((x.name for x in known if x.kind is x.VAR_POSITIONAL), "args")
    return [*plain[: len(args)], *(f"{more}_{k}" for k in range(len(args) - len(plain)))]


def named_axes(value: Any, described: Any, numbers: Mapping[int, int]) -> NamedAxes:
    """Yield the dynamic axes that `dynamic_shapes` names in one argument."""
    if described is None:
        return
    if not isinstance(value, Tensor):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in pairs:
            yield from named_axes(part, described[key], numbers)
        return
    rows = described.items() if isinstance(described, dict) else enumerate(described)
    for axis, dim in rows:
        if dim is None or dim is Dim.STATIC or isinstance(dim, int):
            continue
        if not -value.ndim <= axis < value.ndim:
            raise ArgumentError(f"export: dynamic axis {axis} of a tensor of shape {value.shape}.")
        yield numbers[id(value)], axis % value.ndim, getattr(dim, "name", dim)


def axes_of(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    axes: Mapping[str, Any] | None,
    input_names: Sequence[str],
) -> list[DynamicSize]:
    """The dynamic sizes in `dynamic_axes`, by input names; names of outputs are ignored."""
    given: list[Tensor] = []
    flatten((tuple(args), dict(kwargs)), given)
    known = [*names_of(function, args), *kwargs]
    names = [*input_names, *known[len(input_names) :]]
    found: list[tuple[int, int, str]] = []
    for name, described in (axes or {}).items():
        if name not in names or names.index(name) >= len(given):
            continue
        number = names.index(name)
        rows = described.items() if isinstance(described, Mapping) else ((k, "") for k in described)
        rank = given[number].ndim
        for axis, word in rows:
            if not -rank <= axis < rank:
                raise ArgumentError(
                    f"export: dynamic axis {axis} of {name}, whose shape is {given[number].shape}."
                )
            found.append((number, axis % rank, word or f"{name}_dynamic_axes_{axis}"))
    return grouped(found, given)


def grouped(found: Sequence[tuple[int, int, str]], given: Sequence[Tensor]) -> list[DynamicSize]:
    """Group axes by name into dynamic sizes, unnamed ones by their size in the example."""
    places: dict[str, list[tuple[int, int]]] = {}
    for number, axis, name in found:
        n = given[number].shape[axis]
        places.setdefault(name or f"s{n}", []).append((number, axis))
    for name, axes in places.items():
        sizes = {given[k].shape[axis] for k, axis in axes}
        if len(sizes) > 1:
            raise ArgumentError(
                f"export: the size {name} is one for all of its axes: the example has "
                f"{', '.join(map(str, sorted(sizes)))}."
            )
    return [DynamicSize(name, tuple(axes)) for name, axes in places.items()]
