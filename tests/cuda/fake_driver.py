"""A stand-in for libcuda.so.1: memory that the host does not have, and launches interpreted.

As the real one it takes ctypes' arguments and gives codes. A kernel's fault is told at the next
synchronization, and from then on at every call.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from typing import Any

import numpy as np

from tests.cuda.ptx import Fault, Kernel, Memory
from tests.cuda.warps import Traffic

OUT_OF_MEMORY, INVALID, INVALID_PTX, ILLEGAL_ADDRESS = 2, 1, 218, 700
TEXTS = {
    OUT_OF_MEMORY: b"out of memory",
    INVALID_PTX: b"a PTX JIT compilation failed",
    ILLEGAL_ADDRESS: b"an illegal memory access",
}
COMPLAINT = b"ptxas fatal: no entry\0"
NAME = b"Fake card"
MULTIPROCESSORS, MAJOR, MINOR = 16, 75, 76
"""Numbers of attributes."""
VERSION = 12_040
CUBIN = b"\x7fELF of the fake card: "
"""What precedes a text that this driver assembled."""
MOST = 128
"""Threads that are interpreted; the real card runs as many as it is asked for."""


def number(value: Any) -> int:
    """A number that is given by itself or as one of ctypes'."""
    return int(getattr(value, "value", value) or 0)


def put(place: Any, value: int) -> None:
    """Set what a reference refers to."""
    place._obj.value = value


class FakeDriver:
    """A card with a little memory, on which launches are interpreted."""

    def __init__(self, nbytes: int = 64 << 20, count: int = 1, interprets: bool = True) -> None:
        self.memory, self.count, self.sticky = Memory(nbytes), count, 0
        self.interprets = interprets
        self.attributes = {MULTIPROCESSORS: 1, MAJOR: 8, MINOR: 0}
        self.shape: tuple[int, int] | None = None
        """Blocks and threads of every launch, in place of what is asked; teams stay whole."""
        self.order: np.random.Generator | None = None
        self.traffic = Traffic()
        self.calls: Counter[str] = Counter()
        self.kernels: dict[int, Kernel] = {}
        self.modules: dict[int, str] = {}
        self.links: dict[int, list[Any]] = {}
        """What is given to an assembler, and the code that it makes, by the number of its state."""
        self._next = 1

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name.startswith("cu"):
            object.__getattribute__(self, "calls")[name] += 1
        return found

    def cuInit(self, flags: Any) -> int:
        return 0

    def cuDriverGetVersion(self, version: Any) -> int:
        put(version, VERSION)
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        put(count, self.count)
        return 0

    def cuDeviceGet(self, device: Any, ordinal: Any) -> int:
        put(device, number(ordinal))
        return 0

    def cuDeviceGetName(self, text: Any, size: Any, device: Any) -> int:
        text.value = NAME
        return 0

    def cuDeviceTotalMem_v2(self, total: Any, device: Any) -> int:
        put(total, len(self.memory.bytes))
        return 0

    def cuDeviceGetAttribute(self, value: Any, which: Any, device: Any) -> int:
        put(value, self.attributes[number(which)])
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: Any) -> int:
        put(context, 1)
        return 0

    def cuCtxSetCurrent(self, context: Any) -> int:
        return 0

    def cuGetErrorString(self, code: Any, text: Any) -> int:
        text._obj.value = TEXTS.get(number(code), b"something else")
        return 0

    def cuEventCreate(self, event: Any, flags: Any) -> int:
        put(event, self._named())
        return 0

    def cuEventRecord(self, event: Any, stream: Any) -> int:
        return self.sticky

    def cuEventElapsedTime(self, found: Any, began: Any, ended: Any) -> int:
        put(found, 1.5)
        return self.sticky

    # memory

    def cuMemAlloc_v2(self, place: Any, nbytes: Any) -> int:
        found = self.memory.allocate(number(nbytes))
        if found is None:
            return OUT_OF_MEMORY
        put(place, found)
        return 0

    def cuMemFree_v2(self, address: Any) -> int:
        return 0 if self.memory.free(number(address)) else INVALID

    def cuMemGetInfo_v2(self, free: Any, total: Any) -> int:
        put(total, len(self.memory.bytes))
        put(free, len(self.memory.bytes) - sum(self.memory.blocks.values()))
        return 0

    def cuMemcpyHtoD_v2(self, goal: Any, source: Any, nbytes: Any) -> int:
        size = number(nbytes)
        content = np.frombuffer(ctypes.string_at(number(source), size), np.uint8)
        return self._copied(number(goal), size, lambda view: view.__setitem__(slice(None), content))

    def cuMemcpyDtoH_v2(self, goal: Any, source: Any, nbytes: Any) -> int:
        size = number(nbytes)
        return self._copied(
            number(source),
            size,
            lambda view: ctypes.memmove(number(goal), view.tobytes(), size),
        )

    def cuMemcpyDtoD_v2(self, goal: Any, source: Any, nbytes: Any) -> int:
        size = number(nbytes)
        content = self.memory.view(number(source), size).copy()
        return self._copied(number(goal), size, lambda view: view.__setitem__(slice(None), content))

    def cuMemsetD8_v2(self, address: Any, byte: Any, nbytes: Any) -> int:
        size = number(nbytes)
        return self._copied(
            number(address), size, lambda view: view.__setitem__(slice(None), number(byte))
        )

    def _copied(self, address: int, nbytes: int, copy: Any) -> int:
        """Copy, unless something went wrong before, or goes wrong now."""
        if self.sticky:
            return self.sticky
        try:
            copy(self.memory.view(address, nbytes))
        except Fault:
            return INVALID
        return 0

    # kernels

    def _named(self) -> int:
        self._next += 1
        return self._next

    def cuLinkCreate_v2(self, count: Any, options: Any, values: Any, state: Any) -> int:
        made = self._named()
        self.links[made] = [values]
        put(state, made)
        return 0

    def cuLinkAddData_v2(self, state: Any, kind: Any, text: Any, size: Any, *more: Any) -> int:
        content = ctypes.string_at(text, number(size))
        assert (kind, content[-1:]) == (1, b"\0")
        link = self.links[number(state)]
        if b".entry" not in content:
            ctypes.memmove(link[0][0], COMPLAINT, len(COMPLAINT))
            return INVALID_PTX
        link.append(CUBIN + content[:-1])
        return 0

    def cuLinkComplete(self, state: Any, code: Any, size: Any) -> int:
        link = self.links[number(state)]
        link.append(ctypes.create_string_buffer(link[1]))
        put(code, ctypes.addressof(link[2]))
        put(size, len(link[1]))
        return 0

    def cuLinkDestroy(self, state: Any) -> int:
        del self.links[number(state)]
        return 0

    def cuModuleLoadDataEx(
        self, module: Any, code: bytes, count: int, options: Any, values: Any
    ) -> int:
        made = self._named()
        self.modules[made] = code.removeprefix(CUBIN).decode()
        put(module, made)
        return 0

    def cuModuleUnload(self, module: Any) -> int:
        del self.modules[number(module)]
        return 0

    def cuModuleGetFunction(self, handle: Any, module: Any, name: bytes) -> int:
        text = self.modules[number(module)]
        assert f".entry {name.decode()}(" in text
        made = self._named()
        self.kernels[made] = Kernel(text)
        put(handle, made)
        return 0

    def cuLaunchKernel(self, handle: Any, *shape: Any) -> int:
        """The shape is followed by shared memory, the stream, the parameters, and no more."""
        blocks, _, _, threads, _, _, _, _, pointers, _ = shape
        kernel = self.kernels[number(handle)]
        places = [pointers[k] for k in range(len(kernel.parameters))]
        values = [ctypes.c_uint64.from_address(place).value for place in places]
        if self.sticky or not self.interprets:
            return self.sticky
        try:
            asked = max(1, min(blocks, MOST // threads)), threads
            if self.shape:
                asked = self.shape[0], threads if kernel.has_barriers else self.shape[1]
            self.traffic.take(kernel.run(self.memory, values, *asked, self.order))
        except Fault as cause:
            self.sticky, self.why = ILLEGAL_ADDRESS, str(cause)
        return 0

    def cuCtxSynchronize(self) -> int:
        return self.sticky
