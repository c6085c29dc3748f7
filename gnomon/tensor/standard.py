"""Names to which the array API standard and PyTorch give different meanings, and what decides.

The main namespace is the standard's. Words that PyTorch alone has (dim, keepdim, unbiased),
and arguments by position where the standard wants words, mean PyTorch's function; methods of Tensor
are PyTorch's. Names that agree are in functions.py.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gnomon.dtypes import DType, dtype_of
from gnomon.errors import ArgumentError, ShapeError
from gnomon.lazy import traced_sizes
from gnomon.ops import arguments
from gnomon.ops.registry import Op, explained, operations
from gnomon.tensor import selection
from gnomon.tensor.creation import from_numpy
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.overrides import disabled, overridable
from gnomon.tensor.tensor import Size, Tensor, alias, raw

TORCHS_WORDS = frozenset({"dim", "keepdim", "unbiased", "correction"})


def instead(name: str) -> Callable:
    """A decorator that replaces a generated function, keeping its argument names and docs."""

    def replace(function: Callable) -> Callable:
        function = overridable(function)
        FUNCTIONS[name] = functools.update_wrapper(function, FUNCTIONS[name], updated=())
        return function

    return replace


def with_defaults(op: Op) -> None:
    """The operation's function with the standard's defaults, unless PyTorch's names are used."""
    torchs = FUNCTIONS[op.__name__]

    @instead(op.__name__)
    def function(*args: Any, **kwargs: Any) -> Tensor:
        if len(args) <= 1 and not TORCHS_WORDS & kwargs.keys():
            kwargs |= dict(op.facts.standard)
        return torchs(*args, **kwargs)


def with_unsigned(op: Op) -> None:
    """The operation's function with unsigned results, unless PyTorch's names are used."""
    torchs = FUNCTIONS[op.__name__]

    @instead(op.__name__)
    def function(*args: Any, **kwargs: Any) -> Tensor:
        if len(args) == 1 and isinstance(args[0], Tensor) and not TORCHS_WORDS & kwargs.keys():
            kwargs["dtype"] = arguments.standard_sum(args[0].dtype, kwargs.get("dtype"))
        return torchs(*args, **kwargs)


def with_refusals(op: Op) -> None:
    """The operation's function with the standard's refusals, unless PyTorch's names are used."""
    torchs, refuses = FUNCTIONS[op.__name__], explained(op.facts.refuses, op.__name__)

    @instead(op.__name__)
    def function(*args: Any, **kwargs: Any) -> Tensor:
        if args and isinstance(args[0], Tensor) and not TORCHS_WORDS & kwargs.keys():
            refuses(raw(args[0]), *args[1:], **op.respell(kwargs))
        return torchs(*args, **kwargs)


def with_copies(op: Op) -> None:
    """The operation's function with the standard's argument `copy`."""
    shown = FUNCTIONS[op.__name__]

    @instead(op.__name__)
    def function(*args: Any, copy: bool | None = None, **kwargs: Any) -> Tensor:
        y = shown(*args, **kwargs)
        return y.clone() if copy else y

    signature = inspect.signature(shown)
    word = inspect.Parameter("copy", inspect.Parameter.KEYWORD_ONLY, default=None)
    function.__signature__ = signature.replace(parameters=[*signature.parameters.values(), word])


class Sorted(Tensor):
    """The standard's tensor of sorted values; it unpacks to PyTorch's values and positions."""

    __slots__ = ("indices",)
    __torch_function__ = staticmethod(disabled)

    indices: Tensor

    @property
    def values(self) -> Tensor:
        """The sorted values."""
        return alias(self, ())

    def __iter__(self) -> Iterator[Tensor]:
        return iter((self.values, self.indices))


def sorted_pair(values: Tensor, indices: Tensor) -> Sorted:
    """Sorted values with their positions."""
    made = Tensor.__new__(Sorted)
    made._storage, made._view = values._storage, values._view
    made._rare, made._requires, made.indices = None, False, indices
    return made


def with_values(op: Op) -> None:
    """The operation's function: PyTorch's pair if dim is given; else the standard's values."""
    by_words, method = FUNCTIONS[op.__name__], getattr(Tensor, op.__name__)

    @instead(op.__name__)
    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 or "dim" in kwargs:
            return by_words(*args, **kwargs)
        return sorted_pair(*method(*args, **kwargs))


for _op in operations():
    if _op.facts.standard and not _op.facts.linalg:
        with_defaults(_op)
    if _op.facts.values_alone:
        with_values(_op)
    if _op.facts.refuses:
        with_refusals(_op)
    if _op.facts.copies:
        with_copies(_op)
    if _op.facts.widens_unsigned:
        with_unsigned(_op)


class PlacesByAxis(tuple):
    """A tuple of one tensor of positions per axis."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"nonzero: the standard's function gives a tuple, one tensor per axis: it has no "
            f"{name!r}. Use x.nonzero() for PyTorch's rows."
        )


def nonzero(x: Tensor, /, *, as_tuple: bool | None = None) -> Any:
    """The positions of what is not zero, a tensor per axis; as_tuple=False is PyTorch's rows.

    >>> import gnomon as gn
    >>> gn.nonzero(gn.tensor([0, 5, 0, 7]))
    (Tensor([1, 3]),)
    """
    if as_tuple is False:
        return x.nonzero()
    if as_tuple is None and not x.ndim:
        raise ShapeError("nonzero: a tensor of no axes has no positions. Use x.nonzero().")
    return PlacesByAxis(selection.nonzero(x, as_tuple=True))


def astype(x: Tensor, dtype: object, /, *, copy: bool = True, device: object = None) -> Tensor:
    """The tensor in another dtype."""
    return x.astype(dtype, copy=copy, device=device)


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes have when broadcast together.

    >>> import gnomon as gn
    >>> gn.broadcast_shapes((3, 1), (4,))
    Size([3, 4])
    """
    listed = [(s,) if isinstance(s, (int, float)) else tuple(s) for s in shapes]
    if any(isinstance(n, float) or n < 0 for s in listed for n in s):
        raise ShapeError(f"broadcast_shapes: sizes are integers from 0: got {listed}.")
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
    count = shape.numel()
    varies = hasattr(type(count), "_symint")
    made = traced_sizes.TracedCount(count._symint) if varies else Count(count)
    made.shape = shape
    return made


Tensor.size = property(count_of, doc="Number of elements; called, the shape or one size of it.")


# views


reshaped = Tensor.view


def viewed(self: Tensor, *shape: Any, dtype: object = None, size: Any = None) -> Tensor:
    """A view of the memory in another shape, or of its bytes under another dtype."""
    named = shape[0] if len(shape) == 1 and isinstance(shape[0], DType) else dtype
    if named is None:
        return reshaped(self, *(shape if size is None else (size,)))
    kind = dtype_of(named)
    try:
        return self if kind is self.dtype else from_numpy(self.detach().numpy().view(kind.numpy))
    except ValueError as cause:
        raise ArgumentError(f"view: {self.dtype} as {kind}: {cause}") from None


viewed.__name__, viewed.__qualname__ = reshaped.__name__, reshaped.__qualname__
Tensor.view = viewed
