"""The backend "reference": graphs run node by node with numpy, in memory that only runs open.

It is slow, and keeps the others honest: its pages are closed to the whole process between runs, so
that whoever takes an address for the host's memory faults at once.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from time import monotonic_ns
from types import SimpleNamespace
from typing import Any

import numpy as np

from gnomon.errors import CompileError
from gnomon.ir.node import Graph, Node
from gnomon.ops.interpret import interpret_graph
from gnomon.runtime import events
from gnomon.runtime.buffer import Allocator, DeviceBuffer, others, seen_as
from gnomon.runtime.cache import digest
from gnomon.runtime.events import RunCaller
from gnomon.runtime.program import (
    ArenaSlot,
    Call,
    DeviceProgram,
    InputSlot,
    OutputSlot,
    Slot,
)

CLOSED, OPEN = 0, 3
"""The flags of mprotect for pages that nobody may touch, and for pages to read and write."""


class ClosedMemory(Allocator):
    """Blocks of pages that are accessible only during a run or a copy."""

    device = "reference"

    def __init__(self) -> None:
        super().__init__()
        self._pages: list[tuple[int, int]] = []
        self._openers = 0
        self._system = ctypes.CDLL(None, use_errno=True)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """A context in which all pages can be read and written."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, step: int) -> None:
        """Count users of open pages; open them for the first, close them after the last."""
        with self.lock:
            before, self._openers = self._openers, self._openers + step
            if not before or not self._openers:
                self._protect(*self._pages)

    def _protect(self, *pages: tuple[int, int]) -> None:
        """Set the protection of (address, size) pairs: accessible inside of contexts."""
        how = OPEN if self._openers else CLOSED
        for start, size in pages:
            failed = self._system.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), how)
            assert not failed, f"mprotect: error {ctypes.get_errno()}"

    def _map(self, size: int) -> tuple[int, mmap.mmap]:
        """Map pages that are inaccessible outside of runs."""
        address, mapping = super()._map(size)
        others.add(self.device)
        with self.lock:
            place = ctypes.addressof(ctypes.c_char.from_buffer(mapping)), len(mapping)
            self._pages.append(place)
            self._protect(place)
        return address, mapping

    def trim(self) -> None:
        """Do nothing: pages are never given back."""

    def blank(self, size: int) -> tuple[int, bool]:
        """The address of a block of zeros."""
        address = self.take(size)
        with self.opened():
            ctypes.memset(address, 0, size)
        return address, True

    def read(self, buffer: DeviceBuffer, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """A copy of the first elements of a buffer."""
        with self.opened():
            return seen_as(buffer, dtype, shape).copy()

    def write(self, buffer: DeviceBuffer, content: np.ndarray) -> None:
        """Copy bytes of the host to a buffer's beginning."""
        with self.opened():
            super().write(buffer, content)


closed_memory = ClosedMemory()


def nothing(*_: object) -> None:
    """Do nothing before a run."""


def key_of(text: str | Graph) -> str:
    """The digest of a graph."""
    return digest(text.key if isinstance(text, Graph) else text)


def no_code(_: object) -> Any:
    """Refuse to write or read machine code."""
    raise CompileError("precompile: device reference has no machine code. Use device 'cpu'.")


_batch = SimpleNamespace(begun=0, prepare=nothing, ask=nothing, load=dict)
AS_THEY_ARE = (lambda: nullcontext(_batch)), dict, key_of, (lambda keys: None), no_code, no_code
"""The settings of a kernel store for graphs: each is its own handle, and none is on the disk."""


class ReferenceProgram(DeviceProgram):
    """A program of calls that the interpreter evaluates on the values in their slots."""

    def run(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int] = (),
        scalars: Sequence[int] = (),
        caller: RunCaller | None = None,
    ) -> None:
        """Run on buffers given by address; subscribers to events get the `caller`."""
        arena, rows, start = DeviceBuffer(self.needs.arena, closed_memory), [], monotonic_ns()
        with closed_memory.opened():
            for number, step in enumerate(self.steps):
                assert isinstance(step, Call), f"reference: no step {step}."
                begun, graph = monotonic_ns(), self.handles[step.kernel]
                places = [place_of(x, arena.address, inputs, outputs) for x in step.slots]
                made, *given = map(elements, places, (*graph.outputs, *graph.inputs))
                made[...] = interpret_graph(graph, given)[0]
                rows.append((number, begun, monotonic_ns()))
        if events.heard():
            records = [np.array(rows, np.int64).reshape(-1, 3)]
            events.announce_run(self, caller, records, (start, monotonic_ns()))


def place_of(slot: Slot, arena: int, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """The address that a slot holds in a run."""
    if isinstance(slot, ArenaSlot):
        return arena + slot.offset
    assert isinstance(slot, InputSlot | OutputSlot), f"reference: no slot {slot}"
    return (inputs if isinstance(slot, InputSlot) else outputs)[slot.index] + slot.offset


def elements(address: int, like: Node) -> np.ndarray:
    """The elements of a node's value at an address."""
    place = DeviceBuffer.foreign(address, like.size * like.dtype.itemsize, None)
    return seen_as(place, like.dtype.numpy, like.shape)
