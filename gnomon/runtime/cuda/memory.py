"""The memory of a card: blocks of cuMemAlloc, which the host reads and writes by copies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gnomon.errors import OutOfMemory
from gnomon.runtime.buffer import Allocator, DeviceBuffer, others
from gnomon.runtime.cuda.driver import OUT_OF_MEMORY, DriverError, driver

__all__ = ["CardMemory", "card_memory"]

UNBOUNDED = 1 << 62


class CardMemory(Allocator):
    """Allocator of a card's memory; a freed block is reused by later launches only."""

    device = "cuda"

    def __init__(self) -> None:
        super().__init__(UNBOUNDED)
        self.limit = UNBOUNDED  # the card says when it is full

    def _map(self, size: int) -> tuple[int, Any]:
        """Allocate a block on the card; OutOfMemory if there is too little memory."""
        address = self._allocated_by(driver().allocate, size)
        others.add(self.device)
        self._reserved += size
        return address, Mapping(partial(driver().free, address))

    def _allocated_by(self, allocate: Callable[[int], int], size: int) -> int:
        """New memory; idle blocks are freed if there is too little."""
        for last in (False, True):
            try:
                return allocate(size)
            except DriverError as cause:
                if cause.code != OUT_OF_MEMORY:
                    raise
                if last:
                    free, total = driver().memory()
                    raise OutOfMemory(
                        f"cuda: out of memory: tried to allocate {size / 1e6:.4g} MB: "
                        f"{free / 1e6:.4g} of {total / 1e6:.4g} MB are free. Use a smaller batch."
                    ) from None
                self.trim()
        raise AssertionError("unreachable")

    def blank(self, size: int) -> tuple[int, bool]:
        """The address of a block of zeros."""
        address = self.take(size)
        driver().fill(address, 0, size)
        return address, True

    def foreign(self, address: int, nbytes: int, owner: Any) -> DeviceBuffer:
        """Memory of the card that another library owns; `owner` is kept alive."""
        others.add(self.device)
        return DeviceBuffer.foreign(address, nbytes, owner, source=self)

    def read(self, buffer: DeviceBuffer, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """A copy of the first elements of a buffer."""
        made = np.empty(shape, dtype)
        driver().get(buffer.address, made)
        return made

    def write(self, buffer: DeviceBuffer, content: np.ndarray) -> None:
        """Copy bytes of the host to a buffer's beginning."""
        driver().put(buffer.address, content)

    def copy(self, goal: DeviceBuffer, source: DeviceBuffer) -> None:
        """Copy a buffer's bytes to the beginning of another, on the card if both are there."""
        if source.memory is self:
            driver().copy(goal.address, source.address, source.nbytes)
        else:
            super().copy(goal, source)


class Mapping:
    """Memory that is freed with this object."""

    def __init__(self, close: Callable[[], None]) -> None:
        self.close = close


card_memory = CardMemory()
