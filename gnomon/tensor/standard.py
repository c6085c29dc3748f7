"""Where the array API standard and PyTorch mean different things by one name, and what decides.

The main namespace is the standard's. Words that PyTorch alone has (dim, keepdim, unbiased),
and arguments by position where the standard wants words, mean PyTorch's function; methods of Tensor
are PyTorch's. Names that agree are in functions.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import int64
from gnomon.errors import ShapeError
from gnomon.ops import arguments
from gnomon.ops.registry import OPS
from gnomon.tensor import selection
from gnomon.tensor.creation import also
from gnomon.tensor.functions import FUNCTIONS, with_first
from gnomon.tensor.tensor import Size, Tensor, alias, from_array, raw

TORCHS_WORDS = frozenset({"dim", "keepdim", "unbiased", "correction"})


def instead(name: str) -> Callable:
    """A decorator: this function in place of a generated one, whose words and text it has."""

    def replace(function: Callable) -> Callable:
        FUNCTIONS[name] = functools.update_wrapper(function, FUNCTIONS[name], updated=())
        return function

    return replace


def spread(name: str) -> None:
    """var or std: without a word of PyTorch's, the count is not lowered."""
    torchs = FUNCTIONS[name]

    @instead(name)
    def function(*args: Any, **kwargs: Any) -> Tensor:
        if len(args) <= 1 and not TORCHS_WORDS & kwargs.keys():
            kwargs["correction"] = 0
        return torchs(*args, **kwargs)


spread("var")
spread("std")


class Sorted(Tensor):
    """Sorted values, as the standard gives them; unpacked, PyTorch's values and positions."""

    __slots__ = ("indices",)

    indices: Tensor

    @property
    def values(self) -> Tensor:
        """The sorted values."""
        return alias(self, ())

    def __iter__(self) -> Iterator[Tensor]:
        return iter((self.values, self.indices))


def sorted_pair(values: Tensor, indices: Tensor) -> Sorted:
    """Sorted values that know where they stood."""
    made = Tensor.__new__(Sorted)
    made._storage, made._view = values._storage, values._view
    made._rare, made._requires, made.indices = None, False, indices
    return made


_sort_by_words = FUNCTIONS["sort"]


@instead("sort")
def sort(*args: Any, **kwargs: Any) -> Any:
    """PyTorch's pair if dim is named; else the standard's values."""
    if len(args) > 1 or "dim" in kwargs:
        return _sort_by_words(*args, **kwargs)
    return sorted_pair(*Tensor.sort(*args, **kwargs))


class PlacesByAxis(tuple):
    """One tensor of positions per axis."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"nonzero: the standard's function gives a tuple, one tensor per axis: it has no "
            f"{name!r}. Use x.nonzero() for PyTorch's rows."
        )


def nonzero(x: Tensor, /, *, as_tuple: bool | None = None) -> Any:
    """The positions of what is not zero, a tensor per axis; as_tuple=False is PyTorch's rows."""
    if as_tuple is False:
        return x.nonzero()
    return PlacesByAxis(selection.nonzero(x, as_tuple=True))


_squeeze = FUNCTIONS["squeeze"]


@instead("squeeze")
def squeeze(*args: Any, **kwargs: Any) -> Tensor:
    """Without axes of size 1; of others that are named, the standard's function complains."""
    if "dim" not in kwargs and (len(args) > 1 or "axis" in kwargs):
        shape, axis = raw(args[0]).shape, args[1] if len(args) > 1 else kwargs["axis"]
        larger = [k for k in arguments.many_axes("squeeze", axis, len(shape)) if shape[k] != 1]
        if larger:
            raise ShapeError(
                f"squeeze: axes {larger} of {shape} are not of size 1. "
                "Name those that are, or use x.squeeze()."
            )
    return _squeeze(*args, **kwargs)


_reshape = FUNCTIONS["reshape"]


@also(input="x")
def reshape(x: Tensor, shape: int | Sequence[int], *more: int, copy: bool | None = None) -> Tensor:
    """The same elements over other axes; one size may be -1. A copy only if it is asked for."""
    y = _reshape(x, shape, *more)
    return y.clone() if copy else y


FUNCTIONS["reshape"] = reshape


def astype(x: Tensor, dtype: object, /, *, copy: bool = True, device: object = None) -> Tensor:
    """The tensor in another dtype."""
    return x.astype(dtype, copy=copy, device=device)


def repeats_by_tensor(name: str) -> Callable:
    """repeat, which also takes a number of times for each element."""
    by_number = FUNCTIONS[name]

    def function(*args: Any, output_size: int | None = None, **kwargs: Any) -> Tensor:
        (x, *rest), kwargs = (args, kwargs) if args else with_first(OPS[name], kwargs)
        named = dict(zip(("repeats", "axis"), rest, strict=False)) | OPS[name].respell(kwargs)
        if "repeats" not in named:  # PyTorch's form of one argument: positions
            x, named["repeats"] = from_array(np.arange(raw(x).size)), x
        times = named["repeats"]
        if not isinstance(times, Tensor | Sequence):
            return by_number(x, **named)
        return repeated(x, np.asarray(times), named.get("axis"))

    return functools.update_wrapper(function, by_number, updated=())


def repeated(x: Tensor, times: np.ndarray, axis: int | None) -> Tensor:
    """Each element along an axis so many times in a row."""
    count = raw(x).size if axis is None else raw(x).shape[axis]
    places = np.repeat(np.arange(count), np.broadcast_to(times.reshape(-1), (count,)))
    return FUNCTIONS["take"](x, from_array(places.astype(int64.numpy)), axis=axis)


FUNCTIONS["repeat"] = repeats_by_tensor("repeat")
Tensor.repeat_interleave = FUNCTIONS["repeat_interleave"] = repeats_by_tensor("repeat_interleave")


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes have when broadcast together."""
    listed = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    return Size(arguments.joint_shape("broadcast_shapes", listed))


class Count(int):
    """The number of elements, as the standard's `x.size`; called, PyTorch's `x.size()`."""

    shape: Size

    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or the size of one axis."""
        return self.shape if dim is None else self.shape[dim]


def count_of(tensor: Tensor) -> Count:
    """The number of elements; called, the shape."""
    shape = tensor.shape
    made = Count(shape.numel())
    made.shape = shape
    return made


Tensor.size = property(count_of, doc="Number of elements; called, the shape or one size of it.")
