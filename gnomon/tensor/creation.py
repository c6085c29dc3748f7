"""New tensors: from Python values, from numpy, of constants, of ranges; and of random numbers.

Random numbers come from one generator per thread, whose state is itself a tensor: a program that
draws is the same program every time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import (
    DType,
    bool_,
    default_float,
    dtype_of,
    dtype_of_tensors,
    int64,
    set_default_float,
)
from gnomon.errors import ArgumentError, DtypeError, OutOfMemory, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import value_in_dtype
from gnomon.ir.provenance import from_one_line
from gnomon.ops import creation as nodes
from gnomon.runtime.buffer import row_major
from gnomon.runtime.system import memory_bytes
from gnomon.tensor.device import CPU, check_device, default_device
from gnomon.tensor.memory import borrow
from gnomon.tensor.placing import with_placing
from gnomon.tensor.state import of_complex, state, whole
from gnomon.tensor.tensor import Paired, Size, Tensor, array_of, from_array, method, single, wrap


def set_default_dtype(d: object) -> None:
    """Set the dtype of new floats: of Python's numbers, and of results from integers."""
    found = dtype_of(d)
    if not found.is_floating_point or found.is_storage_only:
        raise DtypeError(f"set_default_dtype: must be a float: got {found.name}.")
    set_default_float(found)


def get_default_dtype() -> DType:
    """The dtype of new tensors of floats."""
    return default_float()


def finished(tensor: Tensor, requires_grad: bool) -> Tensor:
    """A new tensor, with requires_grad set."""
    return tensor.requires_grad_() if requires_grad else tensor


@with_placing
def tensor(
    data: Any,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of a number, of nested lists of numbers, or of an array."""
    check_device(device)
    array = array_from(data, None if dtype is None else dtype_of(dtype))
    return finished(from_array(row_major(array, copy=True)), requires_grad)


def array_from(values: Any, dtype: DType | None) -> np.ndarray:
    """Numbers as a numpy array of the given dtype, or of the one that they imply."""
    if isinstance(values, Paired):
        values = values.numpy(force=True)
    elif isinstance(values, Tensor):
        values = array_of(values)
    given = isinstance(values, (np.ndarray, np.generic))
    if dtype is None and not given:
        dtype = dtype_of_tensors(values, get_default_dtype())
    values = values if given else without_tensors(values)
    array = from_numbers(values)
    if dtype is None:
        dtype = dtype_of(array.dtype) if given else suggested(array, values)
    elif not given and dtype.is_integer and array.size and array.dtype.kind in "iuf":
        # written out, they are meant: what has a dtype of its own wraps
        for extreme in (array.min(), array.max()):
            value_in_dtype("tensor", extreme.item(), dtype)
    if array.dtype.kind == "c" and not dtype.is_complex:
        raise DtypeError(f"tensor: {dtype.name} holds no complex numbers. Give a complex dtype.")
    return np.asarray(array, dtype.numpy)


def from_numbers(values: Any, name: str = "tensor") -> np.ndarray:
    """Nested lists of numbers as a numpy array."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ShapeError(f"{name}: rows differ in length. Make them equal first.") from None
    if array.dtype.kind in "OUSMm":
        raise ArgumentError(f"{name}: too many kinds of values to be one dtype: {array.dtype}.")
    return array


def without_tensors(values: Any) -> Any:
    """Nested lists with tensors replaced by their numbers."""
    if isinstance(values, Tensor):
        return values.tolist()
    return [without_tensors(v) for v in values] if isinstance(values, (list, tuple)) else values


def suggested(array: np.ndarray, values: Any) -> DType:
    """The dtype that Python's numbers imply; numpy's numbers among them keep theirs."""
    if array.dtype.kind == "f":
        found = [kind for kind in kinds_in(values) if kind.kind == "f"]
        return dtype_of(np.result_type(*found)) if found else get_default_dtype()
    if array.dtype.kind == "c":
        found = [kind for kind in kinds_in(values) if kind.kind in "fc"]
        return dtype_of(np.result_type(*found, get_default_dtype().to_complex().numpy))
    return dtype_of(array.dtype)


def kinds_in(values: Any) -> Iterator[np.dtype]:
    """The dtypes of numpy's values in nested lists, and the default one of Python's floats."""
    if isinstance(values, (np.ndarray, np.generic)):
        yield values.dtype
    elif isinstance(values, (list, tuple)):
        kinds = set(map(type, values))
        if float in kinds:
            yield np.dtype(get_default_dtype().numpy)
        if not kinds <= {float, int, bool}:
            for value in values:
                yield from kinds_in(value)


def as_tensor(data: Any, dtype: object = None, device: object = None) -> Tensor:
    """A tensor of these values; tensors and arrays are not copied."""
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    if isinstance(data, np.ndarray):
        return from_numpy(data).to(dtype=dtype, device=device or default_device())
    return tensor(data, dtype, device)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor over an array's memory; what is not yet computed sees writes to the array."""
    if array.dtype.kind in "OUSMm" or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        raise DtypeError(f"from_numpy: no tensor holds {array.dtype}. Use array.astype(float32).")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return borrow(from_array(array))


def shape_of(sizes: Sequence) -> tuple[int, ...]:
    """A shape from one sequence or several numbers."""
    given = sizes
    if len(sizes) == 1 and not hasattr(sizes[0], "__index__"):
        sizes = sizes[0]
    elif len(sizes) == 1 and isinstance(sizes[0], Tensor) and sizes[0].ndim:
        sizes = sizes[0].tolist()
    try:
        return tuple(map(whole, sizes))
    except TypeError:
        raise ArgumentError(f"shape: sizes are integers: got {given!r}.") from None


def new(node: Node, requires_grad: bool = False) -> Tensor:
    """A new tensor of a node."""
    return finished(size_checked(wrap(node)), requires_grad)


def size_checked(tensor: Tensor) -> Tensor:
    """A new tensor, refused at once if it exceeds this machine's memory."""
    needed = tensor._storage.node.size * tensor.dtype.itemsize
    if needed > memory_bytes() and default_device() is CPU:
        state.failed.add(tensor._storage.node)  # whoever catches this may hold the frame
        raise OutOfMemory(
            f"tensor: {tuple(tensor.shape)} of {tensor.dtype.name} needs {needed / 1e9:.3g} GB: "
            f"this machine has {memory_bytes() / 1e9:.3g} GB. Use a smaller size."
        )
    return tensor


def filled(shape: Sequence[int], value: Any, dtype: object, requires_grad: bool) -> Tensor:
    """A tensor of one value."""
    found = dtype_of(dtype)
    if found.is_complex:
        return of_complex("filled")(tuple(shape), value, found, requires_grad)
    with from_one_line():
        return new(nodes.full(state.arena, tuple(shape), value, found), requires_grad)


def also(**words: str) -> Callable:
    """A decorator that accepts PyTorch's names of arguments too."""

    def declare(function: Callable) -> Callable:
        @functools.wraps(function)
        def understood(*args: Any, **kwargs: Any) -> Tensor:
            for word in words.keys() & kwargs.keys():
                kwargs[words[word]] = kwargs.pop(word)
            return function(*args, **kwargs)

        return understood

    return declare


@with_placing
@also(size="shape")
def full(
    shape: int | Sequence[int],
    fill_value: Any,
    *,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of one value.

    >>> import gnomon as gn
    >>> gn.full((2,), 7)
    Tensor([7, 7])
    """
    check_device(device)
    fill_value = single(fill_value)
    kinds = {bool: bool_, int: int64, complex: get_default_dtype().to_complex()}
    found = dtype or kinds.get(fill_value.__class__) or get_default_dtype()
    return filled(shape_of((shape,)), fill_value, found, requires_grad)


def constant(name: str, value: int, sentence: str) -> Callable[..., Tensor]:
    """A creation function of a constant, with a shape as one sequence or as several numbers."""

    @with_placing
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


@with_placing
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
    """Numbers from start to before stop, step apart.

    >>> import gnomon as gn
    >>> gn.arange(2, 10, 3)
    Tensor([2, 5, 8])
    """
    check_device(device)
    start, stop, step = map(single, (start, stop, step))
    start, stop = (0, start) if stop is None else (start, stop)
    if dtype is None:
        whole = all(isinstance(v, int | np.integer) for v in (start, stop, step))
        dtype = int64 if whole else get_default_dtype()
    kind = dtype_of(dtype)
    node = nodes.arange(state.arena, start, stop, step, kind.to_real())
    return finished(size_checked(wrap(node)).to(kind), requires_grad)


@with_placing
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
    """Numbers at equal distances, both ends included unless endpoint says otherwise.

    >>> import gnomon as gn
    >>> gn.linspace(0, 1, 5)
    Tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    check_device(device)
    start, stop, num = map(single, (start, stop, num))
    found = dtype_of_line("linspace", start, stop, dtype)

    def line(start: float, stop: float) -> Tensor:
        return new(
            nodes.linspace(state.arena, start, stop, num, found.to_real(), endpoint=endpoint)
        )

    if isinstance(start, complex) or isinstance(stop, complex):
        return line(start.real, stop.real) + line(start.imag, stop.imag) * 1j
    return line(start, stop).to(found)


def dtype_of_line(name: str, start: complex, stop: complex, dtype: object) -> DType:
    """The given dtype, or the default one for these ends."""
    of_complex_ends = isinstance(start, complex) or isinstance(stop, complex)
    usual = get_default_dtype()
    found = dtype_of(dtype or (usual.to_complex() if of_complex_ends else usual))
    if of_complex_ends and not found.is_complex:
        raise DtypeError(f"{name}: ends are complex numbers: got {found.name}. Give complex64.")
    return found


@with_placing
def eye(
    n: int,
    m: int | None = None,
    *,
    k: int = 0,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the k-th diagonal.

    >>> import gnomon as gn
    >>> gn.eye(2, 3)
    Tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    check_device(device)
    found = dtype_of(dtype or get_default_dtype())
    made = new(nodes.eye(state.arena, single(n), single(m), k=k, dtype=found.to_real())).to(found)
    return finished(made, requires_grad)


def settings_like(other: Tensor, dtype: object, device: object) -> dict[str, Any]:
    """The `dtype` and `device` of a new tensor: the given ones, or another tensor's."""
    return {"dtype": dtype or other.dtype, "device": device or other.device}


def like(create: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A creation function with the shape of a tensor."""

    @with_placing
    def make(
        input: Tensor, *, dtype: object = None, device: object = None, requires_grad: bool = False
    ) -> Tensor:
        settings = settings_like(input, dtype, device)
        return create(input.shape, **settings, requires_grad=requires_grad)

    make.__module__, make.__name__ = create.__module__, f"{create.__name__}_like"
    make.__qualname__ = make.__name__
    make.__doc__ = f"{(create.__doc__ or '').rstrip('.')}, with the shape of another."
    return make


zeros_like, ones_like, empty_like = map(like, (zeros, ones, empty))


@with_placing
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of one value with the shape of another."""
    settings = settings_like(input, dtype, device)
    return full(tuple(input.shape), fill_value, **settings, requires_grad=requires_grad)


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
