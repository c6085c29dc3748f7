"""DLPack both ways, by ctypes, so that bfloat16 and float8 travel too (numpy refuses them).

A capsule of ours holds the buffer until its taker calls the deleter.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from math import prod
from typing import Any

import numpy as np

from gnomon.dtypes import ALL, DType
from gnomon.errors import ArgumentError, DtypeError, GradientError
from gnomon.runtime.buffer import Buffer
from gnomon.tensor.memory import borrow, lend
from gnomon.tensor.tensor import Tensor, from_array, from_buffer, method

CPU = 1
CODES = {"int": 0, "uint": 1, "float": 2, "bool": 6}
BY_CODE = {(CODES[d.kind], d.bits): d for d in ALL if not d.is_storage_only}
BY_CODE[4, 16] = next(d for d in ALL if d.name == "bfloat16")
BY_CODE[2, 16] = next(d for d in ALL if d.name == "float16")


class Device(ctypes.Structure):
    """Where memory is."""

    _fields_ = [("kind", c_int32), ("number", c_int32)]


class Type(ctypes.Structure):
    """What memory holds."""

    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Array(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("address", c_void_p),
        ("device", Device),
        ("rank", c_int32),
        ("type", Type),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("offset", c_uint64),
    ]


class Managed(ctypes.Structure):
    """DLManagedTensor: an array, and how to give it back."""


DELETER = ctypes.CFUNCTYPE(None, POINTER(Managed))
Managed._fields_ = [("array", Array), ("owner", c_void_p), ("deleter", DELETER)]

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
_api.PyCapsule_GetPointer.restype = c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, c_char_p]

# inside a capsule's destructor the object is dead already: it may only be named by its address
_dying = ctypes.PyDLL(None)
_dying.PyCapsule_IsValid.argtypes = [c_void_p, c_char_p]
_dying.PyCapsule_GetPointer.argtypes = [c_void_p, c_char_p]
_dying.PyCapsule_GetPointer.restype = c_void_p

_lent: dict[int, tuple] = {}
"""What capsules refer to, by address, until their takers give it back."""


@DELETER
def give_back(managed: Any) -> None:
    """Forget a capsule's memory."""
    _lent.pop(ctypes.addressof(managed.contents), None)


@ctypes.PYFUNCTYPE(None, c_void_p)
def drop_capsule(capsule: int) -> None:
    """A capsule that nobody took gives its memory back."""
    if _dying.PyCapsule_IsValid(capsule, b"dltensor"):
        _lent.pop(_dying.PyCapsule_GetPointer(capsule, b"dltensor"), None)


def type_of(dtype: DType) -> Type:
    """A dtype in DLPack's words."""
    if dtype.is_storage_only:
        raise DtypeError(f"dlpack: no code for {dtype.name}. Cast it to float16 first.")
    code = 4 if dtype.name == "bfloat16" else CODES[dtype.kind]
    return Type(code, dtype.bits, 1)


@method
def __dlpack__(
    self: Tensor,
    *,
    stream: object = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A capsule over the tensor's memory."""
    if self.requires_grad:
        raise GradientError("dlpack: can't export tensors that require gradient: use detach().")
    if dl_device not in (None, (CPU, 0)):
        raise ArgumentError(f"dlpack: the tensor is on the CPU, not on device {dl_device}.")
    tensor = self.clone() if copy else self
    buffer, shape = lend(tensor), tuple(tensor.shape)
    sizes = (c_int64 * max(len(shape), 1))(*shape)
    steps = (c_int64 * max(len(shape), 1))(*(prod(shape[k + 1 :]) for k in range(len(shape))))
    array = Array(buffer.address, Device(CPU, 0), len(shape), type_of(self.dtype), sizes, steps, 0)
    managed = Managed(array, None, give_back)
    address = ctypes.addressof(managed)
    _lent[address] = (managed, buffer, sizes, steps)
    return _api.PyCapsule_New(address, b"dltensor", ctypes.cast(drop_capsule, c_void_p))


@method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """The CPU, in DLPack's words."""
    return (CPU, 0)


class Taken:
    """Memory that another library lends until this is forgotten."""

    def __init__(self, managed: Managed) -> None:
        self.managed = managed

    def __del__(self) -> None:
        if self.managed.deleter:
            self.managed.deleter(ctypes.byref(self.managed))


def from_dlpack(x: Any, /, *, device: object = None, copy: bool | None = None) -> Tensor:
    """A tensor over another library's memory; a copy where its layout is not row-major."""
    capsule = x.__dlpack__() if hasattr(x, "__dlpack__") else x
    address = _api.PyCapsule_GetPointer(capsule, b"dltensor")
    managed = Managed.from_address(address)
    taken = Taken(managed)
    _api.PyCapsule_SetName(capsule, b"used_dltensor")
    array = managed.array
    if array.device.kind != CPU:
        raise ArgumentError(f"from_dlpack: memory must be on the CPU: got {array.device.kind}.")
    dtype = BY_CODE.get((array.type.code, array.type.bits))
    if dtype is None or array.type.lanes != 1:
        raise DtypeError(
            f"from_dlpack: no dtype for code {array.type.code} of {array.type.bits} bits."
        )
    made = over(array, dtype, taken)
    return made.clone() if copy else made


def over(array: Array, dtype: DType, owner: Taken) -> Tensor:
    """A tensor over an array that somebody owns."""
    shape = tuple(array.shape[k] for k in range(array.rank))
    rows = tuple(prod(shape[k + 1 :]) for k in range(len(shape)))
    steps = tuple(array.strides[k] for k in range(array.rank)) if array.strides else rows
    start = (array.address or 0) + array.offset
    if prod(shape) == 0 or all(
        n == 1 or a == b for n, a, b in zip(shape, steps, rows, strict=True)
    ):
        buffer = Buffer.foreign(start, prod(shape) * dtype.itemsize, owner)
        return borrow(from_buffer(buffer, shape, dtype))
    last = sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) + 1
    flat = Buffer.foreign(start, last * dtype.itemsize, owner).numpy(dtype.numpy)
    strides = tuple(step * dtype.itemsize for step in steps)
    return from_array(np.lib.stride_tricks.as_strided(flat, shape, strides).copy())
