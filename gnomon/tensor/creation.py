"""New tensors: from Python values, from numpy, of constants, of ranges; and of random numbers.

Random numbers come from one generator per thread, whose state is itself a tensor: a program that
draws is the same program every time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import DType, bool_, dtype_of, float32, int64
from gnomon.errors import ArgumentError, DtypeError
from gnomon.ops import creation as nodes
from gnomon.runtime.buffer import row_major
from gnomon.tensor.device import check_device
from gnomon.tensor.memory import borrow, kept_apart
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Size, Tensor, apply, from_array, method, value_of, wrap

_default: list[DType] = [float32]


def set_default_dtype(dtype: object) -> None:
    """Choose the dtype of new tensors of floats."""
    found = dtype_of(dtype)
    if not found.is_floating_point or found.is_storage_only:
        raise DtypeError(f"set_default_dtype: must be a float: got {found.name}.")
    _default[0] = found


def get_default_dtype() -> DType:
    """The dtype of new tensors of floats."""
    return _default[0]


def finished(tensor: Tensor, requires_grad: bool) -> Tensor:
    """A new tensor, switched as asked."""
    return tensor.requires_grad_() if requires_grad else tensor


def tensor(
    data: Any,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of numbers, of nested lists of them, or of an array."""
    check_device(device)
    array = array_from(data, None if dtype is None else dtype_of(dtype))
    return finished(from_array(row_major(array, copy=True)), requires_grad)


def array_from(values: Any, dtype: DType | None) -> np.ndarray:
    """Numbers as a numpy array of the dtype asked for, or of the one that they suggest."""
    if isinstance(values, Tensor):
        values = value_of(values).numpy(values.dtype.numpy, tuple(values.shape))
    given = isinstance(values, (np.ndarray, np.generic))
    if not given:
        values = without_tensors(values)
    array = np.asarray(values)
    if dtype is None:
        dtype = dtype_of(array.dtype) if given else suggested(array)
    return np.asarray(array, dtype.numpy)


def without_tensors(values: Any) -> Any:
    """Nested lists with tensors replaced by their numbers."""
    if isinstance(values, Tensor):
        return values.tolist()
    if isinstance(values, (list, tuple)):
        return [without_tensors(v) for v in values]
    return values


def suggested(array: np.ndarray) -> DType:
    """The dtype of Python numbers."""
    if array.dtype.kind == "f":
        return float32 if array.size and array.dtype.itemsize < 8 else get_default_dtype()
    if array.dtype.kind == "c":
        raise DtypeError("tensor: complex numbers are not supported. Keep two real tensors.")
    if array.dtype.kind not in "biu":
        raise ArgumentError(f"tensor: too many kinds of values to be one dtype: {array.dtype}.")
    return dtype_of(array.dtype)


def as_tensor(data: Any, dtype: object = None, device: object = None) -> Tensor:
    """A tensor of these values; tensors and arrays are not copied."""
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray):
        made = from_numpy(data)
        return made if dtype is None else made.to(dtype)
    return tensor(data, dtype)


def asarray(obj: Any, *, dtype: object = None, device: object = None, copy: bool | None = None):
    """A tensor of these values; copy says whether it must be, or must not be, a copy."""
    if copy:
        return tensor(obj, dtype, device)
    if copy is False:
        refuse_copy(obj, None if dtype is None else dtype_of(dtype))
    return as_tensor(obj, dtype, device)


def refuse_copy(obj: Any, dtype: DType | None) -> None:
    """Refuse what has no memory to share, or whose elements would have to change."""
    found = dtype_of(obj.dtype) if isinstance(obj, (Tensor, np.ndarray)) else None
    if found is None or dtype not in (None, found):
        raise ArgumentError(
            f"asarray: a {type(obj).__name__} cannot become this tensor without a copy. "
            "Leave out copy=False."
        )


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor over an array's memory: a write to the array is seen by what is not yet computed."""
    if array.dtype == np.dtype("float128") or array.dtype.kind in "cOUSMm":
        raise DtypeError(f"from_numpy: no tensor holds {array.dtype}. Use array.astype(float32).")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return borrow(from_array(array))


def frombuffer(buffer: Any, *, dtype: object, count: int = -1, offset: int = 0) -> Tensor:
    """A tensor over the bytes of an object."""
    return borrow(from_array(np.frombuffer(buffer, dtype_of(dtype).numpy, count, offset)))


def shape_of(sizes: Sequence) -> tuple[int, ...]:
    """A shape written as one sequence or as several numbers."""
    if len(sizes) == 1 and not hasattr(sizes[0], "__index__"):
        sizes = sizes[0]
    elif len(sizes) == 1 and isinstance(sizes[0], Tensor) and sizes[0].ndim:
        sizes = sizes[0].tolist()
    return tuple(int(n.__index__()) for n in sizes)


def filled(shape: Sequence[int], value: Any, dtype: object, requires_grad: bool) -> Tensor:
    """A tensor of one value."""
    node = nodes.full(state.arena, tuple(shape), value, dtype_of(dtype))
    return finished(wrap(node), requires_grad)


def also(**words: str) -> Callable:
    """A decorator: PyTorch's words for a function's arguments are understood too."""

    def declare(function: Callable) -> Callable:
        @functools.wraps(function)
        def understood(*args: Any, **kwargs: Any) -> Tensor:
            for word in words.keys() & kwargs.keys():
                kwargs[words[word]] = kwargs.pop(word)
            return function(*args, **kwargs)

        return understood

    return declare


@also(size="shape")
def full(
    shape: int | Sequence[int],
    fill_value: Any,
    *,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of one value."""
    check_device(device)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    kinds = {bool: bool_, int: int64}
    found = dtype or kinds.get(type(fill_value)) or get_default_dtype()
    return filled(shape_of((shape,)), fill_value, found, requires_grad)


def constant(name: str, value: int, sentence: str) -> Callable[..., Tensor]:
    """A creation function of a shape, written as one sequence or as several numbers."""

    @also(size="shape")
    def make(
        shape: Any = (),
        *more: int,
        dtype: object = None,
        device: object = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        check_device(device)
        return filled(shape_of((shape, *more)), value, dtype or get_default_dtype(), requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = sentence
    return make


zeros = constant("zeros", 0, "A tensor of zeros.")
ones = constant("ones", 1, "A tensor of ones.")
empty = constant("empty", 0, "A tensor whose values do not matter: zeros.")


@also(end="stop")
def arange(
    start: float = 0,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from start to before stop, step apart."""
    check_device(device)
    start, stop, step = (v.item() if isinstance(v, Tensor) else v for v in (start, stop, step))
    start, stop = (0, start) if stop is None else (start, stop)
    if dtype is None:
        whole = all(isinstance(v, int | np.integer) for v in (start, stop, step))
        dtype = int64 if whole else get_default_dtype()
    node = nodes.arange(state.arena, start, stop, step, dtype_of(dtype))
    return finished(wrap(node), requires_grad)


@also(end="stop", steps="num")
def linspace(
    start: float,
    stop: float,
    num: int,
    *,
    endpoint: bool = True,
    dtype: object = None,
    device: object = None,
) -> Tensor:
    """Numbers at equal distances, both ends included unless endpoint says otherwise."""
    check_device(device)
    start, stop = (v.item() if isinstance(v, Tensor) else v for v in (start, stop))
    found = dtype_of(dtype) if dtype is not None else get_default_dtype()
    return wrap(nodes.linspace(state.arena, start, stop, num, found, endpoint=endpoint))


def eye(
    n: int, m: int | None = None, *, k: int = 0, dtype: object = None, device: object = None
) -> Tensor:
    """Ones on the k-th diagonal."""
    check_device(device)
    return wrap(nodes.eye(state.arena, n, m, k=k, dtype=dtype_of(dtype or get_default_dtype())))


def like(name: str, value: Any):
    """A creation function that takes its shape from a tensor."""

    def make(
        input: Tensor, *, dtype: object = None, device: object = None, requires_grad: bool = False
    ) -> Tensor:
        check_device(device)
        return filled(input.shape, value, dtype or input.dtype, requires_grad)

    make.__name__ = name
    make.__doc__ = f"A tensor of {'ones' if value else 'zeros'} with the shape of another."
    return make


zeros_like, ones_like, empty_like = (
    like("zeros_like", 0),
    like("ones_like", 1),
    like("empty_like", 0),
)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: object = None, device: object = None
) -> Tensor:
    """A tensor of one value with the shape of another."""
    return full(tuple(input.shape), fill_value, dtype=dtype or input.dtype, device=device)


def from_sizes_or_values(args: tuple, dtype: DType) -> Tensor:
    """Zeros of these sizes, or a tensor of these values."""
    if not args:
        return zeros((0,), dtype=dtype)
    if len(args) > 1 or isinstance(args[0], (int, np.integer, Size)):
        return zeros(shape_of(args), dtype=dtype)
    return tensor(args[0], dtype)


@method
def __init__(self: Tensor, *args: Any, device: object = None) -> None:
    """A tensor of the default dtype: of these sizes, or of these values."""
    check_device(device)
    made = from_sizes_or_values(args, get_default_dtype())
    self._storage, self._view, self._rare, self._requires = made._storage, None, None, False


@method
def new_tensor(self: Tensor, data: Any, dtype: object = None, device: object = None) -> Tensor:
    """A tensor of values, of this one's dtype."""
    return tensor(data, dtype or self.dtype, device)


@method
def new_zeros(self: Tensor, *size: Any, dtype: object = None, device: object = None) -> Tensor:
    """Zeros of this tensor's dtype."""
    return zeros(*size, dtype=dtype or self.dtype)


@method
def new_ones(self: Tensor, *size: Any, dtype: object = None, device: object = None) -> Tensor:
    """Ones of this tensor's dtype."""
    return ones(*size, dtype=dtype or self.dtype)


@method
def new_empty(self: Tensor, *size: Any, dtype: object = None, device: object = None) -> Tensor:
    """Space of this tensor's dtype."""
    return zeros(*size, dtype=dtype or self.dtype)


@method
def new_full(self: Tensor, size: Any, fill_value: Any, dtype: object = None, device: object = None):
    """One value, in this tensor's dtype."""
    return full(size, fill_value, dtype=dtype or self.dtype)


@method
def clone(self: Tensor, *, memory_format: object = None) -> Tensor:
    """A copy, through which gradients flow."""
    return apply(kept_apart, (self,))


def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """The positions on and below a diagonal: a row of rows, a row of columns."""
    return from_array(np.stack(np.tril_indices(row, offset, col)).astype(np.int64))


def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """The positions on and above a diagonal: a row of rows, a row of columns."""
    return from_array(np.stack(np.triu_indices(row, offset, col)).astype(np.int64))
