"""Memory: blocks that are used again, and the buffers that hold them.

Fresh pages cost far more than warm ones (0.5 ms per MB on a virtual machine), so a block that comes
back is kept for the next request of its size class. Which values share a block within a program is
decided by the memory plan (gnomon/schedule), not here.
"""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from threading import RLock
from time import monotonic_ns
from typing import Any, NamedTuple

import numpy as np

from gnomon.errors import OutOfMemory
from gnomon.forking import held
from gnomon.ir.memo import memo
from gnomon.ir.node import Node
from gnomon.runtime import events
from gnomon.runtime.system import memory_bytes

ALIGN = 64
HUGE = 2 << 20
SLAB = 4 << 20
SMALL = SLAB // 8
"""Blocks up to this size are cut from slabs; larger ones are mapped each by itself."""


class MemoryUse(NamedTuple):
    """Bytes in use, bytes held from the system, and the most that were in use at once."""

    allocated: int
    reserved: int
    peak: int


@memo
@lru_cache(1 << 14)
def size_class(nbytes: int) -> int:
    """The size that a request is rounded up to: a multiple of 64.

    Eight classes per doubling waste an eighth at most; a program's large block, a 64th or two
    megabytes.

    >>> size_class(1), size_class(65), size_class(1000), size_class(9 << 20) >> 20
    (64, 128, 1024, 9)
    """
    nbytes = max(nbytes, 1)
    eighth = 1 << max(0, (nbytes - 1).bit_length() - 4)
    step = max(ALIGN, min(eighth, max(HUGE, eighth // 8)))
    return -(-nbytes // step) * step


others: set[str] = set()
"""The devices beside the host of which memory was taken; while there is none, nobody asks which."""


class Allocator:
    """Allocator of 64-byte aligned blocks by size class; freed blocks are used again."""

    device = "cpu"
    """The device whose memory it is."""

    def __init__(self, keep: int | None = None) -> None:
        # a finalizer may run while this thread already holds the lock, and allocate
        self.lock = held(RLock())
        self.keep = memory_bytes() // 4 if keep is None else keep
        self.limit = memory_bytes()
        """Bytes that programs may make use of; what is taken one by one is not refused."""
        self._idle: dict[int, list[int]] = {}
        self._returned: deque[tuple[int, int]] = deque()
        self._mapped: dict[int, mmap.mmap] = {}
        self._slabs: list[mmap.mmap] = []
        self._next, self._end = 0, 0
        self._allocated = self._reserved = self._peak = self._spare = 0

    def take(self, size: int) -> int:
        """The address of a block of a size class, with undefined content.

        A block that was just freed is still in the caches, and is not counted as freed and taken.
        """
        if self._returned:
            try:
                address, found = latest = self._returned.pop()
            except IndexError:  # another thread was quicker
                found = 0
            if found == size:
                return address
            if found:
                self._returned.append(latest)
        with self.lock:
            return self._take(size)

    def _take(self, size: int) -> int:
        """The address of a block, while this thread holds the lock."""
        if self._returned:
            self._collect()
        idle = self._idle.get(size)
        if idle:
            address = idle.pop()
            self._spare -= size
        else:
            address = self._cut(size) if size <= SMALL else self._map_block(size)
        self._allocated += size
        if self._allocated > self._peak:
            self._peak = self._allocated
        return address

    def blank(self, size: int) -> tuple[int, bool]:
        """The address of a block, and whether it holds zeros: fresh pages that were never touched.

        Pages are faulted in by the first write, on all threads; to fill them here would take one
        thread.
        """
        with self.lock:
            before = self._reserved, self._next
            address = self.take(size)
            return address, before != (self._reserved, self._next)

    def block(self, nbytes: int, size: int, taken: int = 0) -> DeviceBuffer:
        """Make a buffer in a block of a known size class; its maker reports the allocation.

        taken: the address of a block that the maker has.
        """
        made = DeviceBuffer.__new__(DeviceBuffer)
        made.address = taken or self.take(size)
        made.nbytes, made.owner, made.readonly, made.lent = nbytes, None, False, 0
        made.memory, made._size = self, size
        return made

    def blocks(self, nbytes: Sequence[int], sizes: Sequence[int]) -> list[DeviceBuffer]:
        """Make several buffers in blocks of known size classes, as `block` makes one."""
        with self.lock:
            return list(map(self.block, nbytes, sizes, map(self._take, sizes)))

    def give(self, address: int, size: int) -> None:
        """Return a block to the allocator. Safe in a finalizer: takes no lock."""
        self._returned.append((address, size))

    def read(self, buffer: DeviceBuffer, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """The first elements of a buffer as the host sees them: on a CPU, the same memory."""
        return seen_as(buffer, dtype, shape)

    def write(self, buffer: DeviceBuffer, content: np.ndarray) -> None:
        """Copy bytes of the host to a buffer's beginning."""
        seen_as(buffer, content.dtype, content.shape)[...] = content

    def copy(self, goal: DeviceBuffer, source: DeviceBuffer) -> None:
        """Copy a buffer's bytes, from any memory, to the beginning of one of this allocator."""
        if self is memory and source.memory is memory:
            ctypes.memmove(goal.address, source.address, source.nbytes)
        else:
            self.write(goal, source.numpy(np.uint8, (source.nbytes,)))

    def use(self) -> MemoryUse:
        """The bytes of memory in use now."""
        with self.lock:
            self._collect()
            return MemoryUse(self._allocated, self._reserved, self._peak)

    def may_be_full(self, size: int) -> bool:
        """Whether so many more bytes could pass the limit; fast, and never falsely False."""
        return self._allocated + size > self.limit

    def reset_peak(self) -> None:
        """Start measuring the peak from what is in use now."""
        with self.lock:
            self._collect()
            self._peak = self._allocated

    def trim(self) -> None:
        """Return idle large blocks to the system."""
        with self.lock:
            self._collect()
            for size in [size for size in self._idle if size > SMALL]:
                for address in self._idle.pop(size):
                    self._mapped.pop(address).close()
                    self._spare -= size
                    self._reserved -= size

    def _collect(self) -> None:
        """Sort freed blocks into the lists of their size classes."""
        while self._returned:
            try:
                address, size = self._returned.popleft()
            except IndexError:  # another thread took the last one as it was
                return
            idle = self._idle.get(size)
            if idle is None:
                idle = self._idle[size] = []
            idle.append(address)
            self._allocated -= size
            self._spare += size

    def _cut(self, size: int) -> int:
        """A block from the current slab, or from a new one; a slab's short end is left unused."""
        if self._next + size > self._end:
            self._next, slab = self._map(SLAB)
            self._end = self._next + SLAB
            self._slabs.append(slab)
        address = self._next
        self._next += size
        return address

    def _map_block(self, size: int) -> int:
        """A block mapped by itself; idle ones are unmapped first if there are too many."""
        if self._spare + size > self.keep:
            self.trim()
        address, mapping = self._map(size)
        self._mapped[address] = mapping
        return address

    def _map(self, size: int) -> tuple[int, mmap.mmap]:
        """The aligned address of fresh pages, on huge pages if the system has them."""
        slack = HUGE if size >= HUGE else 0
        try:
            mapping = private_pages(size + slack)
        except MemoryError:
            self.trim()
            mapping = private_pages(size + slack)
        start = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        if slack and hasattr(mmap, "MADV_HUGEPAGE"):
            mapping.madvise(mmap.MADV_HUGEPAGE)
        self._reserved += size
        return start + (-start % slack if slack else 0), mapping


def private_pages(size: int) -> mmap.mmap:
    """Zeroed pages of this process alone, copied on write after a fork."""
    try:
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as cause:
        raise MemoryError(f"allocate: no memory for {size} bytes: {cause.strerror}.") from cause


memory = Allocator()
"""The allocator of this process."""


def check_size(name: str, count: int, itemsize: int) -> None:
    """Refuse a number of elements that exceeds memory, before numpy allocates them."""
    if count * itemsize > memory.limit:
        raise OutOfMemory(
            f"{name}: {count} elements need {count * itemsize / 1e9:.3g} GB: there are "
            f"{memory.limit / 1e9:.3g} GB."
        )


def memory_limit() -> int:
    """The bytes of memory that programs may use."""
    return memory.limit


class DeviceBuffer:
    """Bytes at an address: a block that is freed with the buffer, or foreign memory.

    The content of a new buffer is undefined, or zeros if requested.
    """

    __slots__ = (
        *("__weakref__", "_size", "address"),
        *("lent", "memory", "nbytes", "owner", "readonly"),
    )
    lent: int
    """The number of others that may write to these bytes."""
    anywhere = False
    """Whether programs of every device read it, wherever it is."""

    def __init__(self, nbytes: int, source: Allocator = memory, zeros: bool = False) -> None:
        self.nbytes, self.owner, self.readonly, self.lent = nbytes, None, False, 0
        size = size_class(nbytes)
        if zeros:
            self.address, blank = source.blank(size)
            if not blank:
                ctypes.memset(self.address, 0, nbytes)
        else:
            self.address = source.take(size)
        if events.heard():
            events.announce("alloc", address=self.address, nbytes=size, at=monotonic_ns())
        # a reference, so that the pages outlive every buffer when the interpreter ends
        self.memory, self._size = source, size

    @classmethod
    def foreign(
        cls,
        address: int,
        nbytes: int,
        owner: Any,
        readonly: bool = False,
        source: Allocator = memory,
    ) -> DeviceBuffer:
        """A buffer over memory of another library, on `source`'s device; `owner` is held."""
        made = cls.__new__(cls)
        made.address, made.nbytes, made.owner, made.readonly = address, nbytes, owner, readonly
        made.memory, made._size, made.lent = source, 0, 0
        return made

    @classmethod
    def of(cls, array: np.ndarray, target: Allocator = memory) -> DeviceBuffer:
        """The memory of a C-contiguous numpy array, without a copy; on another device, a copy.

        >>> numbers = np.arange(4, dtype=np.int32)
        >>> DeviceBuffer.of(numbers).numpy(np.int32)
        array([0, 1, 2, 3], dtype=int32)
        """
        shown = array.__array_interface__
        assert shown["strides"] is None, "DeviceBuffer.of: the array must be C-contiguous."
        address, readonly = shown["data"]
        made = cls.foreign(address, array.nbytes, array, readonly)
        return made if target is memory else made.copied(target)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        place = (self.address, self.readonly)
        return {"data": place, "shape": (self.nbytes,), "typestr": "|u1", "version": 3}

    def numpy(self, dtype: Any = np.uint8, shape: tuple[int, ...] | None = None) -> np.ndarray:
        """The first elements as a numpy array, the only way in which the host reads a buffer.

        Without a shape: all whole elements, in one axis. Where the host may read the memory, the
        array shares it and keeps it alive; elsewhere it is a copy.
        """
        dtype = np.dtype(dtype)
        length = self.nbytes // dtype.itemsize if shape is None else prod(shape)
        assert length * dtype.itemsize <= self.nbytes, (
            f"DeviceBuffer.numpy: {shape} needs more than {self.nbytes} bytes."
        )
        return self.memory.read(self, dtype, (length,) if shape is None else shape)

    def array(self, like: Node) -> np.ndarray:
        """The elements of a node's value, as numpy() gives them."""
        return self.numpy(like.dtype.numpy, like.shape)

    def copied(self, memory: Allocator | None = None) -> DeviceBuffer:
        """A new buffer with these bytes, in the same memory or another."""
        made = DeviceBuffer(self.nbytes, memory or self.memory)
        made.memory.copy(made, self)
        return made

    def part(self, start: int, nbytes: int) -> DeviceBuffer:
        """A part of this buffer as a buffer, which keeps this one alive."""
        made = DeviceBuffer.foreign(self.address + start, nbytes, self, self.readonly, self.memory)
        made.lent = self.lent
        return made

    def __del__(
        self,
        heard: Any = events.heard,
        announce: Any = events.announce,
        clock: Any = monotonic_ns,
    ) -> None:
        # names of this module may be gone when the interpreter ends: these are its own
        size = getattr(self, "_size", 0)
        if size:
            if heard():
                announce("free", address=self.address, at=clock())
            self._size = 0
            self.memory.give(self.address, size)


class GeneratorWords(DeviceBuffer):
    """The state of a random generator, readable by programs of every device."""

    __slots__ = ()
    anywhere = True


def is_placed(value: DeviceBuffer, rank: int) -> bool:
    """Whether a value's device determines where a program runs: not a scalar or seed on the CPU."""
    return value.memory is not memory or (rank > 0 and not value.anywhere)


class Loan:
    """A buffer's memory, lent to someone who may write it; the loan ends when this object dies."""

    __slots__ = ("__array_interface__", "_buffer")

    def __init__(self, buffer: DeviceBuffer) -> None:
        buffer.lent += 1
        self._buffer, self.__array_interface__ = buffer, buffer.__array_interface__

    def __del__(self) -> None:
        self._buffer.lent -= 1


def seen_as(owner: Any, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """The first bytes of an object with an array interface, as elements."""
    return np.ndarray(shape, dtype, np.asarray(owner))


def row_major(array: np.ndarray, copy: bool = False) -> np.ndarray:
    """An array with contiguous elements: the array itself if it is one and no copy is requested."""
    start = monotonic_ns()
    if array.flags.c_contiguous and not copy:
        return array
    made = array.copy(order="C")
    if events.heard():
        end, size = monotonic_ns(), made.nbytes
        events.announce("copy", name="copy in", start=start, end=end, nbytes=size)
    return made
