"""The CUDA driver by ctypes: memory, modules, launches, times. Needs libcuda.so.1 alone."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

ATTRIBUTES = {
    "multiprocessors": 16,
    "clock_khz": 13,
    "l2_bytes": 38,
    "registers_per_multiprocessor": 82,
    "shared_bytes_per_multiprocessor": 81,
    "major": 75,
    "minor": 76,
}
"""CUdevice_attribute, by the names of this project."""


def cubin_name(ptx: str) -> str:
    """The file of an assembled text."""
    return f"{sha256(ptx.encode()).hexdigest()[:32]}.cubin"


class DriverError(RuntimeError):
    """A call of the driver that failed."""


@dataclass(frozen=True)
class Kernel:
    """A function of a module that is loaded."""

    handle: c_void_p
    registers: int
    local_bytes: int


class Driver:
    """One context on the first card."""

    def __init__(self, cubins: Path | None = None) -> None:
        self.cubins = cubins
        """Where assembled texts lie (assemble.py)."""
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = c_int(), c_void_p()
        self.call("cuDeviceGet", byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.device, self.context = device, context

    def call(self, name: str, *arguments: object) -> None:
        """Call the driver; its errors are raised by name."""
        code = getattr(self.library, name)(*arguments)
        if code:
            text = c_char_p()
            self.library.cuGetErrorName(code, byref(text))
            raise DriverError(f"{name}: {(text.value or b'?').decode()} ({code}).")

    def describe(self) -> dict[str, object]:
        """The card's name, its figures, and the driver's version."""
        name, version, memory = ctypes.create_string_buffer(128), c_int(), c_size_t()
        self.call("cuDeviceGetName", name, 128, self.device)
        self.call("cuDriverGetVersion", byref(version))
        self.call("cuDeviceTotalMem_v2", byref(memory), self.device)
        figures = {"card": name.value.decode(), "driver": version.value, "bytes": memory.value}
        for label, number in ATTRIBUTES.items():
            value = c_int()
            self.call("cuDeviceGetAttribute", byref(value), number, self.device)
            figures[label] = value.value
        return figures

    def allocate(self, nbytes: int) -> int:
        """The address of new memory on the card."""
        address = c_uint64()
        self.call("cuMemAlloc_v2", byref(address), c_size_t(max(nbytes, 16)))
        return address.value

    def free(self, address: int) -> None:
        """Give memory back."""
        self.call("cuMemFree_v2", c_uint64(address))

    def put(self, address: int, array: np.ndarray) -> None:
        """Copy an array to the card."""
        array = np.ascontiguousarray(array)
        if array.nbytes:
            source = c_void_p(array.ctypes.data)
            self.call("cuMemcpyHtoD_v2", c_uint64(address), source, c_size_t(array.nbytes))

    def get(self, address: int, nbytes: int) -> np.ndarray:
        """The bytes at an address of the card."""
        array = np.empty(nbytes, np.uint8)
        if nbytes:
            goal = c_void_p(array.ctypes.data)
            self.call("cuMemcpyDtoH_v2", goal, c_uint64(address), c_size_t(nbytes))
        return array

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Set every byte of some memory."""
        if nbytes:
            self.call("cuMemsetD8_v2", c_uint64(address), ctypes.c_ubyte(byte), c_size_t(nbytes))

    def copy(self, goal: int, source: int, nbytes: int) -> None:
        """Copy on the card."""
        self.call("cuMemcpyDtoDAsync_v2", c_uint64(goal), c_uint64(source), c_size_t(nbytes), None)

    def load(self, ptx: str) -> c_void_p:
        """A module of a PTX text, which the driver assembles for the card if no cubin is there."""
        module, errors = c_void_p(), ctypes.create_string_buffer(4096)
        ready = self.cubins / cubin_name(ptx) if self.cubins else None
        if ready and ready.exists():
            self.call("cuModuleLoadData", byref(module), ready.read_bytes())
            return module
        options = (c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
        values = (c_void_p * 2)(ctypes.addressof(errors), len(errors))
        try:
            self.call("cuModuleLoadDataEx", byref(module), ptx.encode(), 2, options, values)
        except DriverError as cause:
            raise DriverError(f"{cause} {errors.value.decode(errors='replace')[:400]}") from None
        return module

    def function(self, module: c_void_p, name: str) -> Kernel:
        """A kernel of a module."""
        handle, figures = c_void_p(), []
        self.call("cuModuleGetFunction", byref(handle), module, name.encode())
        for number in (4, 3):  # CU_FUNC_ATTRIBUTE_NUM_REGS, _LOCAL_SIZE_BYTES
            value = c_int()
            self.call("cuFuncGetAttribute", byref(value), number, handle)
            figures.append(value.value)
        return Kernel(handle, *figures)

    def allow(self, kernel: Kernel, nbytes: int) -> None:
        """Let a kernel have so much shared memory that its launches name."""
        self.call("cuFuncSetAttribute", kernel.handle, 8, nbytes)  # MAX_DYNAMIC_SHARED_SIZE_BYTES

    def launch(
        self, kernel: Kernel, grid: int, block: int, arguments: Sequence[int], shared: int = 0
    ) -> None:
        """Start a kernel whose parameters are all 64 bits wide."""
        values = (c_uint64 * len(arguments))(*(a & (2**64 - 1) for a in arguments))
        first = ctypes.addressof(values)
        pointers = (c_void_p * len(arguments))(*(first + 8 * k for k in range(len(arguments))))
        shape = (grid, 1, 1, block, 1, 1)
        self.call("cuLaunchKernel", kernel.handle, *shape, shared, None, pointers, None)

    def synchronize(self) -> None:
        """Wait for the card; errors of kernels are raised here."""
        self.call("cuCtxSynchronize")

    def seconds(self, work: Callable[[], object], times: int = 1) -> float:
        """The card's own time for some work, each of `times`."""
        began, ended, elapsed = c_void_p(), c_void_p(), c_float()
        for event in (began, ended):
            self.call("cuEventCreate", byref(event), 0)
        self.call("cuEventRecord", began, None)
        for _ in range(times):
            work()
        self.call("cuEventRecord", ended, None)
        self.call("cuEventSynchronize", ended)
        self.call("cuEventElapsedTime", byref(elapsed), began, ended)
        return elapsed.value / 1e3 / times
