"""The CUDA driver by ctypes: memory, modules, launches. Needs libcuda.so.1 alone.

The library is opened when a card is first asked for. All calls are of one context and its default
stream, so that copies and launches follow one another in the order in which they were asked for.
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint64, c_void_p
from threading import RLock, local
from typing import Any, NamedTuple

import numpy as np

from gnomon.errors import DeviceError, DeviceLost
from gnomon.forking import held

__all__ = ["Card", "CardLaunch", "Driver", "DriverError", "driver", "driver_or_none", "has_card"]
__all__ += ["reason", "use"]

LIBRARY = "libcuda.so.1"
HIDING = "GNOMON_CUDA"
"""The environment variable by which a process has no card, or `gnomon run` has one."""
OUT_OF_MEMORY = 2
LOST = frozenset({214, *range(700, 720), 999})
"""CUresult codes after which a context is of no use: a kernel's fault, or the card's."""
JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES = 5, 6
"""CUjit_option: where the assembler's complaint goes, and how long it may be."""
PTX_INPUT = 1
"""CUjitInputType: what the driver is given to assemble."""
RECENT = 16
"""Runs of programs that a lost device names."""


class Card(NamedTuple):
    """The properties of a card; memory in bytes."""

    number: int
    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory: int


ATTRIBUTES = {"multiprocessors": 16, "major": 75, "minor": 76}
"""CUdevice_attribute, by the names of this project."""


class Driver:
    """The CUDA driver with this process's context on one card."""

    def __init__(self, library: Any, number: int = 0) -> None:
        self._library, self._threads = library, local()
        self.context, self.lost = c_void_p(), ""
        self.recent: deque[Any] = deque(maxlen=RECENT)
        """The programs that were started since the last synchronization."""
        self._checked("cuInit", 0)
        self.count = self._number("cuDeviceGetCount")
        """The number of cards of the machine."""
        self.version = self._number("cuDriverGetVersion")
        """The version of CUDA that the driver supports, such as 12040."""
        if number >= self.count:
            raise DeviceError(
                f"cuda: invalid device ordinal: got {number} of {self.count} devices. Each rank "
                "has the card of its LOCAL_RANK: start no more ranks than there are cards, or "
                "give each one card by CUDA_VISIBLE_DEVICES."
            )
        device = c_int()
        self._checked("cuDeviceGet", byref(device), number)
        self._checked("cuDevicePrimaryCtxRetain", byref(self.context), device)
        self.card = self._described(device, number)

    def _number(self, name: str, *more: object) -> int:
        """The number that a driver function returns in its first argument."""
        found = c_int()
        self._checked(name, byref(found), *more)
        return found.value

    def _described(self, device: c_int, number: int) -> Card:
        """The properties of a device."""
        text, total = ctypes.create_string_buffer(256), c_size_t()
        self.call("cuDeviceGetName", text, 256, device)
        self.call("cuDeviceTotalMem_v2", byref(total), device)
        found = {k: self._number("cuDeviceGetAttribute", v, device) for k, v in ATTRIBUTES.items()}
        capability = found["major"], found["minor"]
        return Card(number, text.value.decode(), capability, found["multiprocessors"], total.value)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver on this context.

        Raises DeviceLost if the context is unusable, and DeviceError for other failures.
        """
        if not getattr(self._threads, "ready", False):
            self._checked("cuCtxSetCurrent", self.context)
            self._threads.ready = True
        self._checked(name, *arguments)

    def _checked(self, name: str, *arguments: Any) -> None:
        """Call a function that needs no current context, or whose context is current."""
        if self.lost:
            raise DeviceLost(self.lost)
        code = getattr(self._library, name)(*arguments)
        if code:
            self._refuse(name, code)

    def _refuse(self, name: str, code: int) -> None:
        """Raise the error of a call that failed."""
        text = c_char_p()
        self._library.cuGetErrorString(code, byref(text))
        reason = f"{name}: CUDA error {code}: {(text.value or b'unknown').decode()}"
        if code not in LOST:
            raise DriverError(f"cuda: {reason}. See cuda.mem_get_info() and gnomon doctor.", code)
        runs = "; ".join(dict.fromkeys(map(str, self.recent))) or "none"
        self.lost = (
            f"cuda: the device is lost: {reason}. Programs since the last synchronization: {runs}. "
            "Start the process anew; CUDA_LAUNCH_BLOCKING=1 names the kernel."
        )
        raise DeviceLost(self.lost)

    # memory

    def allocate(self, nbytes: int) -> int:
        """The address of new memory of the card."""
        address = c_uint64()
        self.call("cuMemAlloc_v2", byref(address), c_size_t(nbytes))
        return address.value

    def free(self, address: int) -> None:
        """Free memory of the card."""
        self.call("cuMemFree_v2", c_uint64(address))

    def put(self, address: int, content: np.ndarray) -> None:
        """Copy the host's bytes to an address of the card."""
        content = np.ascontiguousarray(content)
        if content.nbytes:
            source = c_void_p(content.ctypes.data)
            self.call("cuMemcpyHtoD_v2", c_uint64(address), source, c_size_t(content.nbytes))

    def get(self, address: int, content: np.ndarray) -> None:
        """Fill a C-contiguous array with the card's bytes from an address on."""
        if content.nbytes:
            goal = c_void_p(content.ctypes.data)
            self.call("cuMemcpyDtoH_v2", goal, c_uint64(address), c_size_t(content.nbytes))
            self.recent.clear()

    def copy(self, goal: int, source: int, nbytes: int) -> None:
        """Copy on the card."""
        if nbytes:
            self.call("cuMemcpyDtoD_v2", c_uint64(goal), c_uint64(source), c_size_t(nbytes))

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Set every byte of some memory."""
        if nbytes:
            self.call("cuMemsetD8_v2", c_uint64(address), c_ubyte(byte), c_size_t(nbytes))

    def memory(self) -> tuple[int, int]:
        """The free bytes, and all bytes of the card."""
        free, total = c_size_t(), c_size_t()
        self.call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    # kernels

    def assembled(self, ptx: bytes) -> bytes:
        """The machine code of a PTX text for this card, as the driver's assembler makes it.

        Raises DriverError with the assembler's complaint.
        """
        state, complaint, options, values = c_void_p(), *log_options()
        self.call("cuLinkCreate_v2", 2, options, values, byref(state))
        try:
            given = (state, PTX_INPUT, c_char_p(ptx), c_size_t(len(ptx) + 1), b"kernel.ptx")
            code, size = c_void_p(), c_size_t()
            self._assemble(complaint, "cuLinkAddData_v2", *given, 0, None, None)
            self._assemble(complaint, "cuLinkComplete", state, byref(code), byref(size))
            # the code is the state's, and goes with it
            return ctypes.string_at(code.value or 0, size.value)
        finally:
            self.call("cuLinkDestroy", state)

    def load(self, code: bytes) -> int:
        """A module of machine code for this card, or of a PTX text."""
        module, (complaint, options, values) = c_void_p(), log_options()
        self._assemble(complaint, "cuModuleLoadDataEx", byref(module), code, 2, options, values)
        return module.value or 0

    def _assemble(self, complaint: Any, name: str, *arguments: Any) -> None:
        """Call a function of the assembler, whose log becomes part of the error."""
        try:
            self.call(name, *arguments)
        except DriverError as cause:
            log = complaint.value.decode(errors="replace")
            raise DriverError(f"{cause} {log[:400]}", cause.code) from None

    def unload(self, module: int) -> None:
        """Unload a module."""
        self.call("cuModuleUnload", c_void_p(module))

    def function(self, module: int, name: str) -> int:
        """The handle of a kernel of a module."""
        handle = c_void_p()
        self.call("cuModuleGetFunction", byref(handle), c_void_p(module), name.encode())
        return handle.value or 0

    def new_event(self) -> c_void_p:
        """A new timing event."""
        event = c_void_p()
        self.call("cuEventCreate", byref(event), 0)
        return event

    def record(self, event: c_void_p) -> None:
        """Record an event: the card notes the time after all earlier launches."""
        self.call("cuEventRecord", event, None)

    def elapsed(self, began: c_void_p, ended: c_void_p) -> float:
        """The milliseconds between two completed events."""
        found = c_float()
        self.call("cuEventElapsedTime", byref(found), began, ended)
        return found.value

    def synchronize(self) -> None:
        """Wait for the card; errors in kernels are raised here."""
        self.call("cuCtxSynchronize")
        self.recent.clear()


def log_options() -> tuple[Any, Any, Any]:
    """The buffer for the assembler's log, and the options and values that name it."""
    complaint = ctypes.create_string_buffer(4096)
    values = (c_void_p * 2)(ctypes.addressof(complaint), len(complaint))
    return complaint, (c_int * 2)(JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES), values


class DriverError(DeviceError):
    """A call of the driver that failed, with its code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class CardLaunch:
    """Launcher of kernels with three 64-bit parameters: slots, scratch memory, scratch stride."""

    def __init__(self, to: Driver, blocks: int, threads: int) -> None:
        self._driver, self._shape = to, (blocks, 1, 1, threads, 1, 1)
        self._values = (c_uint64 * 3)()
        first = ctypes.addressof(self._values)
        self._pointers = (c_void_p * 3)(first, first + 8, first + 16)

    def __call__(self, kernel: int, slots: int, scratch: int, stride: int) -> None:
        """Start a kernel."""
        self._values[:] = slots, scratch, stride
        self._driver.call(
            "cuLaunchKernel", c_void_p(kernel), *self._shape, 0, None, self._pointers, None
        )


_lock = held(RLock())
_found: list[Driver | str] = []
"""The driver of this process, or why there is none; empty until somebody asks."""


def opened() -> Driver | str:
    """The driver on this rank's card, or the reason why there is none."""
    with _lock:
        if HIDING in os.environ and os.environ[HIDING] != "1":
            return f"{HIDING}={os.environ[HIDING]} hides cards; {HIDING}=1 shows them"
        if not _found:
            try:
                _found.append(Driver(ctypes.CDLL(LIBRARY), number_of_rank()))
            except OSError:
                _found.append(f"found no NVIDIA driver on your system: no {LIBRARY}")
            except DeviceError as cause:
                _found.append(str(cause))
        return _found[0]


def number_of_rank() -> int:
    """The number of this rank's card: LOCAL_RANK, or 0 if only one card is visible."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return 0 if shown and "," not in shown else int(os.environ.get("LOCAL_RANK", "0"))


def driver_or_none() -> Driver | None:
    """The driver, or None without a card."""
    found = opened()
    return found if isinstance(found, Driver) else None


def has_card() -> bool:
    """Whether a card can be used."""
    return driver_or_none() is not None


def reason() -> str:
    """The reason why there is no card."""
    found = opened()
    return found if isinstance(found, str) else ""


def driver() -> Driver:
    """The driver; DeviceError without a card."""
    if _found and isinstance(_found[0], Driver):
        return _found[0]
    found = driver_or_none()
    if found is None:
        raise DeviceError(f"cuda: there is no card: {reason()}. Use device='cpu'.")
    return found


def use(made: Driver | None) -> None:
    """Replace this process's driver, or look for one anew if None; for tests."""
    with _lock:
        _found[:] = [] if made is None else [made]


def forget() -> None:
    """Mark the driver as unusable in a fork's child: its context is the parent's."""
    if _found and isinstance(_found[0], Driver):
        _found[
            0
        ].lost = (
            "cuda: cannot re-initialize CUDA in a forked subprocess. Start processes by 'spawn'."
        )


os.register_at_fork(after_in_child=forget)
