"""Ways out of a tensor and between dtypes: numbers, lists, numpy arrays, casts.

Each way out evaluates what is pending behind the tensor. DLPack is in dlpack.py, text in show.py,
deep copies and pickles in copies.py.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gnomon.dtypes import (
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype_of,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from gnomon.errors import ArgumentError, GradientError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.runtime.buffer import others
from gnomon.tensor.borrowing import kept_apart
from gnomon.tensor.calls import strided_like
from gnomon.tensor.creation import from_numbers
from gnomon.tensor.device import CPU, CUDA, any_missing, card_named
from gnomon.tensor.functions import FUNCTIONS, apply
from gnomon.tensor.memory import lend
from gnomon.tensor.operators import write_result
from gnomon.tensor.placing import names_device, on_device, place, with_like
from gnomon.tensor.show import prints_number
from gnomon.tensor.state import grads, is_capturing, state
from gnomon.tensor.strides import FORMATS, strided_view_of, unviewed
from gnomon.tensor.tensor import Tensor, alias, array_of, from_array, method, raw, value_of
from gnomon.tensor.views import mesh_layout_of
from gnomon.tensor.writing import write

MOST_INTEGERS = 64
"""The most integers of a list that become sizes in a capture."""


# numbers, lists, arrays


@method
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The tensor's memory as a numpy array: a write to it is a write to the tensor."""
    if self.requires_grad and grads.get() and not force:
        raise GradientError(
            "numpy: can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy()."
        )
    return lend(self.detach().cpu() if force and others else self)


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """The array of numpy.asarray: the same memory unless a copy is asked for."""
    array = self.numpy()
    if dtype is not None and np.dtype(dtype) != array.dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


@method
def item(self: Tensor) -> bool | int | float:
    """The one element, as a Python number."""
    if raw(self).size != 1:
        raise ArgumentError(
            f"item: a Tensor with {raw(self).size} elements cannot be converted to Scalar. "
            "Use tolist()."
        )
    if is_capturing() and raw(self).value is None:
        return state.recorder.item(raw(self))
    return array_of(self).item()


@method
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers."""
    node = raw(self)
    if not is_capturing() or node.value is not None or not self.dtype.is_integer:
        return array_of(self).tolist()
    if self.ndim != 1 or node.size > MOST_INTEGERS:
        return array_of(self).tolist()
    return [*state.recorder.integers(node)]


def scalar(self: Tensor, kind: str) -> Any:
    """The one element for Python's bool, int and float."""
    node = raw(self)
    if node.size != 1:
        if kind == "bool":
            raise ArgumentError(
                "bool: Boolean value of Tensor with more than one value is ambiguous. "
                "Use any() or all()."
            )
        raise TypeError("only one element tensors can be converted to Python scalars")
    if kind == "bool" and is_capturing() and node.value is None:
        return state.recorder.look(node, True).numpy(node.dtype.numpy, (1,))[0].item()
    return array_of(self).item()


@method
def __bool__(self: Tensor) -> bool:
    """The truth of the one element."""
    return bool(scalar(self, "bool"))


@method
def __int__(self: Tensor) -> int:
    """The one element, rounded towards zero."""
    return int(scalar(self, "int"))


@method
def __float__(self: Tensor) -> float:
    """The one element as a float."""
    return float(scalar(self, "float"))


@method
def __complex__(self: Tensor) -> complex:
    """The one element as a complex number."""
    return complex(scalar(self, "float"))


@method
def to_dense(self: Tensor, dtype: object = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor, cast if a dtype is asked for: every tensor is dense."""
    return self if dtype is None else self.to(dtype)


@method
def __index__(self: Tensor) -> int:
    """The one integer."""
    if not (self.dtype.is_integer or self.dtype is bool_) or raw(self).size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(array_of(self).item())


@method
def __format__(self: Tensor, spec: str) -> str:
    """A single element, formatted as a number."""
    if self.ndim == 0 and (spec or prints_number(self)):
        return format(array_of(self).item(), spec)
    return format(str(self), spec)


@method
def __contains__(self: Tensor, element: Any) -> bool:
    """Whether any element equals this one."""
    if not isinstance(element, Tensor | int | float | complex | np.generic):
        raise ArgumentError(
            "in: Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    return bool((self == element).any())


# dtypes and devices


def target(args: tuple, named: dict[str, Any]) -> DType | None:
    """The dtype in the arguments of to(), among devices and flags."""
    found = named.get("dtype")
    for value in args:
        if isinstance(value, Tensor):
            found = value.dtype
        elif not names_device(value) and not isinstance(value, bool) and value is not None:
            found = dtype_of(value)
    return None if found is None else dtype_of(found)


@method
def to(self: Tensor, *args: Any, copy: bool = False, **named: Any) -> Tensor:
    """The tensor in another dtype or on another device; itself if nothing changes."""
    if len(args) == 1 and args[0] is CPU and not (others or copy or named or any_missing):
        return self
    args = with_like("to", args, named, "other")
    dtype, memory_format = target(args, named), named.get("memory_format")
    made = on_device("to", self, place(args, named))
    made = made if dtype in (None, self.dtype) else strided_like(made, apply(cast, (made, dtype)))
    if memory_format in FORMATS:
        made = made.contiguous(memory_format=memory_format)
    flags = [x for x in args if isinstance(x, bool)]  # non_blocking, copy
    return self.clone() if (copy or True in flags[1:]) and made is self else made


@method
def astype(self: Tensor, dtype: object, /, *, copy: bool = True, device: object = None) -> Tensor:
    """The tensor in another dtype, in memory of its own unless copy says otherwise."""
    return self.to(dtype_of(dtype), copy=copy, device=device)


@method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in another's dtype."""
    return self.to(other.dtype)


@method
def to_device(self: Tensor, device: object, /, *, stream: object = None) -> Tensor:
    """The tensor on another device."""
    return on_device("to_device", self, device)


CASTS = {
    "float": float32,
    "double": float64,
    "half": float16,
    "bfloat16": bfloat16,
    "long": int64,
    "int": int32,
    "short": int16,
    "char": int8,
    "byte": uint8,
    "bool": bool_,
    "cfloat": complex64,
    "cdouble": complex128,
}


def install_casts() -> None:
    """Define x.float(), x.long() and other casts."""
    for name, dtype in CASTS.items():
        setattr(Tensor, name, caster(name, dtype))


def caster(name: str, dtype: DType) -> Any:
    """A method that casts to one dtype."""

    def method(self: Tensor, memory_format: object = None) -> Tensor:
        return self.to(dtype)

    method.__name__ = name
    method.__doc__ = f"The tensor as {dtype.name}."
    return method


install_casts()


@method
def cpu(self: Tensor) -> Tensor:
    """The tensor in main memory: itself; TraceError where it has no elements."""
    return on_device("cpu", self, CPU)


@method
def cuda(self: Tensor, device: object = None, non_blocking: bool = False) -> Tensor:
    """The tensor on the card; ArgumentError without one."""
    return on_device("cuda", self, card_named(device))


# shapes


@method
def dim(self: Tensor) -> int:
    """Number of axes."""
    return self.ndim


@method
def numel(self: Tensor) -> int:
    """Number of elements."""
    return prod(self.shape)


@method
def pin_memory(self: Tensor) -> Tensor:
    """Itself: there is no other memory to copy to."""
    return self


@method
def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Set the elements with equal positions to one value; wrap: repeat below in a tall matrix."""
    found, width = self, self.shape[-1]
    for _ in range(self.ndim - 1):
        found = FUNCTIONS["diagonal"](found, 0, 0, -1)
    found.fill_(fill_value)
    if wrap and self.ndim == 2 and self.shape[0] > width + 1:
        self[width + 1 :].fill_diagonal_(fill_value, wrap=True)
    return self


Tensor.nelement = numel


@method
def element_size(self: Tensor) -> int:
    """Bytes of one element."""
    return self.dtype.itemsize


@method
def is_floating_point(self: Tensor) -> bool:
    """Whether elements are floats."""
    return self.dtype.is_floating_point


@method
def is_complex(self: Tensor) -> bool:
    """Whether elements are complex numbers."""
    return self.dtype.is_complex


@method
def data_ptr(self: Tensor) -> int:
    """The address of the first element, in the memory of the storage."""
    view = self._view
    has_strides = view is not None and not is_capturing() and not mesh_layout_of(view)
    places = strided_view_of(self) if has_strides else None
    if places is None:
        return value_of(self).address
    return value_of(unviewed(self)).address + places.start * self.dtype.itemsize


def nowhere(self: Tensor) -> int:
    """The address 0: memory is not pinned."""
    return 0


def install_properties() -> None:
    """Define T, mT, nbytes and itemsize."""
    swap = FUNCTIONS["matrix_transpose"]
    Tensor.T = property(lambda self: reversed_axes(self), doc="The axes in reverse.")
    Tensor.mT = property(lambda self: swap(self), doc="The last two axes swapped.")
    Tensor.mH = Tensor.mT
    Tensor.H = property(
        lambda self: turned_matrix(self), doc="The matrix transposed, and conjugated."
    )
    Tensor.itemsize = property(lambda self: self.dtype.itemsize, doc="Bytes of one element.")
    Tensor.nbytes = property(lambda self: self.numel() * self.dtype.itemsize, doc="Bytes in all.")
    Tensor.is_cuda = property(lambda self: self.device == CUDA, doc="Whether this is on a GPU.")
    Tensor.names = property(lambda self: (None,) * self.ndim)
    Tensor.ndimension, Tensor.const_data_ptr = Tensor.dim, Tensor.data_ptr
    Tensor.is_pinned = nowhere
    Tensor.dim_order = lambda self: tuple(range(self.ndim))
    Tensor.retains_grad = property(lambda self: self._rare is not None and self._rare.retains)


def turned_matrix(tensor: Tensor) -> Tensor:
    """A matrix transposed; a scalar unchanged."""
    if tensor.ndim not in (0, 2):
        raise ShapeError(f"H: needs a matrix: got {tuple(tensor.shape)}. Use x.mH.")
    return FUNCTIONS["adjoint"](tensor) if tensor.ndim else tensor


def reversed_axes(tensor: Tensor) -> Tensor:
    """The tensor with its axes in reverse."""
    return FUNCTIONS["permute"](tensor, tuple(range(tensor.ndim))[::-1])


install_properties()


# writing


@method
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Copy another tensor's values into this one."""
    other = other if isinstance(other, Tensor) else from_array(from_numbers(other, "copy_"))
    if others and not is_capturing() and not other.is_meta:  # a capture runs where its inputs are
        other = on_device("copy_", other, self.device)
    made = other.to(self.dtype) if other.is_complex() else apply(taken, (other, self.dtype))
    return write_result(self, made, "copy_")


def taken(x: Node, dtype: DType) -> Node:
    """x in a dtype, in memory of its own."""
    return cast(kept_apart(x), dtype)


@method
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set all elements to a value."""
    if isinstance(value, Tensor):
        return copy_(self, value)
    filled = apply(FUNCTIONS["full_like"].__wrapped__, (alias(self, (), True), value))
    return write(self, raw(filled), False, given=True)


@method
def zero_(self: Tensor) -> Tensor:
    """Set all elements to 0."""
    return fill_(self, 0)
