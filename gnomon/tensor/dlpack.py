"""DLPack both ways, by ctypes, so that bfloat16 and float8 travel too (numpy refuses them).

Memory of a card travels as the host's does: by its address, which nothing here reads.

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
from gnomon.errors import ArgumentError, DeviceError, DtypeError, GradientError
from gnomon.lazy import card_memories, cuda_driver
from gnomon.ops.strides import shown_by
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.tensor.memory import borrow, lend, lend_elsewhere
from gnomon.tensor.state import of_complex
from gnomon.tensor.tensor import Tensor, from_array, from_buffer, method, pair_of, value_of

CPU, CUDA = 1, 2
"""DLDeviceType."""
DEFAULT_STREAM = 1
"""The stream on which cards compute here, in DLPack's words: the legacy default stream."""
ORDERED = (None, -1, DEFAULT_STREAM)
"""The streams of a reader for whom nothing has to be awaited."""
CODES = {"int": 0, "uint": 1, "float": 2, "complex": 5, "bool": 6}
BY_CODE = {(CODES[d.kind], d.bits): d for d in (*ALL, *COMPLEX) if not d.is_storage_only}
BY_CODE[4, 16] = next(d for d in ALL if d.name == "bfloat16")
BY_CODE[2, 16] = next(d for d in ALL if d.name == "float16")


class DLDevice(ctypes.Structure):
    """DLPack's struct of a device."""

    _fields_ = [("kind", c_int32), ("number", c_int32)]


class DLDataType(ctypes.Structure):
    """DLPack's struct of a dtype."""

    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    """DLPack's struct of an array."""

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
    """DLPack's struct of an array with its deleter."""


DELETER = ctypes.CFUNCTYPE(None, POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [("array", DLTensor), ("owner", c_void_p), ("deleter", DELETER)]

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
_api.PyCapsule_GetPointer.restype = c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, c_char_p]


def type_of(dtype: DType) -> DLDataType:
    """A dtype as DLPack's struct."""
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
    """A capsule over the tensor's memory; of a card's tensor for the host, over a copy.

    stream: the reader's stream on the card; launches are awaited for any but the default one.
    """
    if self.requires_grad:
        raise GradientError("dlpack: can't export tensors that require gradient: use detach().")
    if stream is not None and not isinstance(stream, int):
        raise DtypeError(f"dlpack: stream must be an int or None: got a {type(stream).__name__}.")
    place = device_of(self)
    if dl_device not in (None, place):
        if dl_device != (CPU, 0) or copy is False:
            raise ArgumentError(
                f"dlpack: the tensor is on device {place}, not on device {dl_device}."
            )
        return self.cpu().__dlpack__()
    kind, tensor = type_of(self.dtype), self.clone() if copy else self
    memory = host_memory(tensor) if place[0] == CPU else memory_on_card(tensor)
    if place[0] != CPU and stream not in ORDERED:
        cuda_driver.driver().synchronize()
    capsule = words_of(memory).__dlpack__()
    managed = DLManagedTensor.from_address(_api.PyCapsule_GetPointer(capsule, b"dltensor"))
    managed.array.type, managed.array.device = kind, DLDevice(*place)
    return capsule


def host_memory(tensor: Tensor) -> np.ndarray:
    """A tensor's memory on the CPU."""
    return tensor.numpy() if tensor.is_complex() else lend(tensor)


def memory_on_card(tensor: Tensor) -> np.ndarray:
    """A tensor's memory on a card, as an array of which only the address may be read."""
    if not tensor.is_complex():
        return lend_elsewhere(tensor)
    parts = lend_elsewhere(pair_of(tensor))
    return parts.view(f"c{2 * parts.itemsize}")[..., 0]


def words_of(memory: np.ndarray) -> np.ndarray:
    """Memory as writable numbers of a type that numpy exports."""
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
    """The device as DLPack's kind and number."""
    return device_of(self)


def device_of(tensor: Tensor) -> tuple[int, int]:
    """The kind and number of a tensor's device; DeviceError for devices that DLPack lacks."""
    if tensor.device.type == "cpu":
        return (CPU, 0)
    if tensor.device.type == "cuda":
        return (CUDA, cuda_driver.driver().card.number)
    raise DeviceError(
        f"dlpack: can't convert {tensor.device.type} device type tensor: other libraries have no "
        "such device. Use Tensor.cpu() to copy it first."
    )


class Taken:
    """Memory that another library lends as long as this object lives."""

    def __init__(self, managed: DLManagedTensor) -> None:
        self.managed = managed

    def __del__(self) -> None:
        if self.managed.deleter:
            self.managed.deleter(ctypes.byref(self.managed))


def from_dlpack(ext_tensor: Any, *, device: object = None, copy: bool | None = None) -> Tensor:
    """A tensor over another library's memory; a copy if it is not row-major.

    device: the tensor's device; a copy if the memory is elsewhere. Raises ArgumentError for memory
    of an unavailable device, DtypeError for an unsupported type of elements.
    """
    capsule = capsule_of(ext_tensor)
    address = _api.PyCapsule_GetPointer(capsule, b"dltensor")
    managed = DLManagedTensor.from_address(address)
    taken = Taken(managed)
    _api.PyCapsule_SetName(capsule, b"used_dltensor")
    array = managed.array
    on_card = is_on_card(array.device)
    dtype = BY_CODE.get((array.type.code, array.type.bits))
    if dtype is None or array.type.lanes != 1:
        raise DtypeError(
            f"from_dlpack: no dtype for code {array.type.code} of {array.type.bits} bits."
        )
    made = tensor_over(array, dtype, taken, on_card)
    made = made.clone() if copy else made
    return made if device is None else made.to(device)


def capsule_of(x: Any) -> Any:
    """The capsule of another library's array, synchronized with our stream."""
    if not hasattr(x, "__dlpack__"):
        return x
    elsewhere = hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] == CUDA
    return x.__dlpack__(stream=DEFAULT_STREAM) if elsewhere else x.__dlpack__()


def is_on_card(device: DLDevice) -> bool:
    """Whether memory is on this process's card, not the host; other devices are refused."""
    if device.kind == CPU:
        return False
    if device.kind != CUDA:
        raise ArgumentError(
            f"from_dlpack: memory must be on the CPU or on a card of CUDA: got {device.kind}."
        )
    number = cuda_driver.driver().card.number
    if device.number != number:
        raise ArgumentError(
            f"from_dlpack: this process computes on cuda:{number}: got memory of "
            f"cuda:{device.number}. Copy it there first."
        )
    return True


def tensor_over(array: DLTensor, dtype: DType, owner: Taken, on_card: bool) -> Tensor:
    """A tensor over an array that `owner` keeps alive."""
    shape = tuple(array.shape[k] for k in range(array.rank))
    steps = (
        [array.strides[k] for k in range(array.rank)] if array.strides else row_major_strides(shape)
    )
    start = (array.address or 0) + array.offset
    place = over_card if on_card else over_memory
    if not dtype.is_complex:
        return place(start, shape, steps, dtype, owner)
    steps = [*(2 * step for step in steps), 1]
    return of_complex("view_as_complex")(place(start, (*shape, 2), steps, dtype.to_real(), owner))


def row_major_strides(shape: Sequence[int]) -> list[int]:
    """The row-major strides of a shape."""
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def is_row_major(shape: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether strides are row-major, without gaps."""
    rows = row_major_strides(shape)
    return prod(shape) == 0 or all(
        n == 1 or a == b for n, a, b in zip(shape, steps, rows, strict=True)
    )


def extent(shape: Sequence[int], steps: Sequence[int]) -> int:
    """The number of elements from the first to the last one."""
    return sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) + 1


def over_memory(
    start: int, shape: tuple[int, ...], steps: Sequence[int], dtype: DType, owner: Taken
) -> Tensor:
    """A tensor over the host's memory with these strides."""
    if is_row_major(shape, steps):
        buffer = DeviceBuffer.foreign(start, prod(shape) * dtype.itemsize, owner)
        return borrow(from_buffer(buffer, shape, dtype))
    size = extent(shape, steps) * dtype.itemsize
    flat = DeviceBuffer.foreign(start, size, owner).numpy(dtype.numpy)
    strides = tuple(step * dtype.itemsize for step in steps)
    return from_array(shown_by(flat, shape, strides).copy())


def over_card(
    start: int, shape: tuple[int, ...], steps: Sequence[int], dtype: DType, owner: Taken
) -> Tensor:
    """A tensor over a card's memory with these strides."""
    foreign = card_memories.card_memory.foreign
    if is_row_major(shape, steps):
        return borrow(
            from_buffer(foreign(start, prod(shape) * dtype.itemsize, owner), shape, dtype)
        )
    count = extent(shape, steps)
    flat = borrow(from_buffer(foreign(start, count * dtype.itemsize, owner), (count,), dtype))
    made = flat.as_strided(shape, steps, 0).clone()
    value_of(made)  # now: the memory's owner may write there later
    return made
