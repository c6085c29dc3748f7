"""DLPack both ways, by ctypes, so that bfloat16 and float8 travel too (numpy refuses them).

A capsule is numpy's, with another dtype: it may die while an exception is on its way, where no
Python can run, and numpy's own code gives the memory back then.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from math import prod
from typing import Any

import numpy as np

from gnomon.dtypes import ALL, COMPLEX, DType
from gnomon.errors import ArgumentError, DtypeError, GradientError
from gnomon.ops.strides import shown_by
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.tensor.memory import borrow, lend
from gnomon.tensor.state import of_complex
from gnomon.tensor.tensor import Tensor, from_array, from_buffer, method

CPU = 1
CODES = {"int": 0, "uint": 1, "float": 2, "complex": 5, "bool": 6}
BY_CODE = {(CODES[d.kind], d.bits): d for d in (*ALL, *COMPLEX) if not d.is_storage_only}
BY_CODE[4, 16] = next(d for d in ALL if d.name == "bfloat16")
BY_CODE[2, 16] = next(d for d in ALL if d.name == "float16")


class DLDevice(ctypes.Structure):
    """A device of DLPack."""

    _fields_ = [("kind", c_int32), ("number", c_int32)]


class DLDataType(ctypes.Structure):
    """A dtype of DLPack."""

    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("address", c_void_p),
        ("device", DLDevice),
        ("rank", c_int32),
        ("type", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("offset", c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    """DLManagedTensor: an array, and how to give it back."""


DELETER = ctypes.CFUNCTYPE(None, POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [("array", DLTensor), ("owner", c_void_p), ("deleter", DELETER)]

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
_api.PyCapsule_GetPointer.restype = c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, c_char_p]


def type_of(dtype: DType) -> DLDataType:
    """A dtype in DLPack's words."""
    if dtype.is_storage_only:
        raise DtypeError(f"dlpack: no code for {dtype.name}. Cast it to float16 first.")
    code = 4 if dtype.name == "bfloat16" else CODES[dtype.kind]
    return DLDataType(code, dtype.bits, 1)


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
    if stream is not None and not isinstance(stream, int):
        raise DtypeError(f"dlpack: stream must be an int or None: got a {type(stream).__name__}.")
    if dl_device not in (None, (CPU, 0)):
        raise ArgumentError(f"dlpack: the tensor is on the CPU, not on device {dl_device}.")
    tensor = self.clone() if copy else self
    kind = type_of(self.dtype)
    memory = tensor.numpy() if self.is_complex() else lend(tensor)
    capsule = words_of(memory).__dlpack__()
    managed = DLManagedTensor.from_address(_api.PyCapsule_GetPointer(capsule, b"dltensor"))
    managed.array.type = kind
    return capsule


def words_of(memory: np.ndarray) -> np.ndarray:
    """View memory as numbers that numpy exports, as if anybody might write there."""
    kind = memory.dtype if memory.dtype.kind == "c" else np.dtype(f"u{memory.itemsize}")
    if memory.flags.writeable:
        return memory.view(kind)
    steps = [(n - 1) * step for n, step in zip(memory.shape, memory.strides, strict=True)]
    length = sum(steps) + memory.itemsize if memory.size else 0
    held: Any = (c_uint8 * length).from_address(memory.ctypes.data)
    held.memory = memory  # which lives as long as this does
    return np.ndarray(memory.shape, kind, held, strides=memory.strides if length else None)


@method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """The CPU, in DLPack's words."""
    return (CPU, 0)


class Taken:
    """Memory that another library lends until this is forgotten."""

    def __init__(self, managed: DLManagedTensor) -> None:
        self.managed = managed

    def __del__(self) -> None:
        if self.managed.deleter:
            self.managed.deleter(ctypes.byref(self.managed))


def from_dlpack(x: Any, /, *, device: object = None, copy: bool | None = None) -> Tensor:
    """A tensor over another library's memory; a copy where its layout is not row-major."""
    capsule = x.__dlpack__() if hasattr(x, "__dlpack__") else x
    address = _api.PyCapsule_GetPointer(capsule, b"dltensor")
    managed = DLManagedTensor.from_address(address)
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


def over(array: DLTensor, dtype: DType, owner: Taken) -> Tensor:
    """A tensor over an array that somebody owns."""
    shape = tuple(array.shape[k] for k in range(array.rank))
    steps = [array.strides[k] for k in range(array.rank)] if array.strides else rows_of(shape)
    start = (array.address or 0) + array.offset
    if not dtype.is_complex:
        return over_memory(start, shape, steps, dtype, owner)
    steps = [*(2 * step for step in steps), 1]
    return of_complex("view_as_complex")(
        over_memory(start, (*shape, 2), steps, dtype.to_real(), owner)
    )


def rows_of(shape: Sequence[int]) -> list[int]:
    """The strides of elements that lie row by row."""
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def over_memory(
    start: int, shape: tuple[int, ...], steps: Sequence[int], dtype: DType, owner: Taken
) -> Tensor:
    """A tensor over memory with these strides."""
    rows = rows_of(shape)
    if prod(shape) == 0 or all(
        n == 1 or a == b for n, a, b in zip(shape, steps, rows, strict=True)
    ):
        buffer = DeviceBuffer.foreign(start, prod(shape) * dtype.itemsize, owner)
        return borrow(from_buffer(buffer, shape, dtype))
    last = sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) + 1
    flat = DeviceBuffer.foreign(start, last * dtype.itemsize, owner).numpy(dtype.numpy)
    strides = tuple(step * dtype.itemsize for step in steps)
    return from_array(shown_by(flat, shape, strides).copy())
