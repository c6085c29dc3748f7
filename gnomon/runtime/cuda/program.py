"""Runs tables of steps on a card: each call is a launch, in the order of one stream.

A run fills the slots of all calls, copies them to the card, and launches; the host takes branches,
and looks at the report of wrong positions where a program has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_int64
from time import monotonic_ns

import numpy as np

from gnomon.errors import DeviceLost
from gnomon.runtime import events, native
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.cuda.driver import CardLaunch, Driver, driver
from gnomon.runtime.cuda.memory import card_memory
from gnomon.runtime.events import RunCaller
from gnomon.runtime.program import (
    ARENA_BASE,
    FIRST_BASE,
    DeviceProgram,
    Tables,
    first_register,
    tables_of,
)

__all__ = ["CardProgram"]

BLOCK = 128
"""Threads of a block."""
BLOCKS = 8
"""Blocks that each multiprocessor is given at most."""
MOST_SCRATCH = 1 << 30
"""Bytes of scratch memory for all threads; a kernel that needs more for each has fewer threads."""
APART = 256
"""Scratch memory of a thread begins at a multiple of so many bytes."""


class CardProgram(DeviceProgram):
    """A program that runs on a card; immutable, so that any number of threads may run it."""

    def _set_up(self, tables: Tables | None) -> None:
        """Compute the rows, bases and widths of launches that runs read."""
        needs = self.needs
        calls, bound = tables or tables_of(self.steps, self.handles, needs)
        self._rows = [(int(f), int(at) // 8, int(k), int(t)) for f, at, _, k, t in calls]
        self._bases, self._offsets = bound[:, 0] // 8, bound[:, 1]
        self._first = first_register(needs)
        self._report = needs.outputs - 1
        """The number of the output that says where a position was wrong."""
        base = FIRST_BASE + needs.inputs + self._report
        self._checks = bool(needs.outputs) and bool((self._bases == base).any())
        self._stride = -(-max(needs.scratch, 1) // APART) * APART
        self._widths = {
            row[0]: self.handles.widths[row[0]] for row in self._rows if row[2] == native.CALL
        }

    def run(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int] = (),
        scalars: Sequence[int] = (),
        caller: RunCaller | None = None,
    ) -> None:
        """Launch the program on buffers given by address; it returns before the card is done.

        The last output is on the host: it waits for it where positions are checked.
        """
        to, outputs = driver(), list(outputs)
        there = DeviceBuffer(8, card_memory, zeros=True) if self._checks else None
        if there is not None:
            outputs[self._report], report = there.address, outputs[self._report]
        CardRun(self, to, [*inputs, *outputs, *scalars], caller).go()
        if there is not None:
            c_int64.from_address(report).value = int(there.numpy(np.int64)[0])


class CardRun:
    """One run of a program: bases, slots, and memory of the run's duration."""

    def __init__(
        self, program: CardProgram, to: Driver, given: list[int], caller: RunCaller | None
    ) -> None:
        self.program, self.driver, self.caller = program, to, caller
        needs = program.needs
        self.bases = np.zeros(program._first + needs.registers, np.int64)
        self.arena = DeviceBuffer(needs.arena, card_memory) if needs.arena else None
        self.bases[ARENA_BASE] = self.arena.address if self.arena else 0
        self.bases[FIRST_BASE : FIRST_BASE + len(given)] = given
        self.slots = self.bases[program._bases] + program._offsets
        self.table = DeviceBuffer(max(self.slots.nbytes, 8), card_memory)
        widths = {*program._widths.values()}
        blocks = {width: blocks_of(to, program._stride, width) for width in widths}
        most = max((count * BLOCK // width for width, count in blocks.items()), default=1)
        self.scratch = DeviceBuffer(program._stride * most, card_memory)
        self.launches = {width: CardLaunch(to, count, BLOCK) for width, count in blocks.items()}
        self.records: list[tuple[int, int, int]] | None = [] if events.heard() else None

    def go(self) -> None:
        """Run all steps."""
        self.driver.recent.append(self.caller)
        start, at = monotonic_ns(), 0
        self.driver.put(self.table.address, self.slots)
        while at < len(self.program._rows):
            at = self.step(at)
        if self.records is not None:
            rows = [np.array(self.records, np.int64).reshape(-1, 3)]
            events.announce_run(self.program, self.caller, rows, (start, monotonic_ns()))

    def step(self, number: int) -> int:
        """Run a step; returns the number of the next one."""
        function, at, kind, target = self.program._rows[number]
        if kind == native.CALL:
            self.call(number, function, at)
        elif kind == native.BRANCH:
            byte = np.empty(1, np.uint8)
            self.driver.get(int(self.value(at)), byte)
            return number + 1 if byte[0] else target
        elif kind == native.SKIP:
            return number + 1 if self.value(at) else target
        elif kind == native.SET:
            self.bases[target // 8] = self.value(at)
        else:
            self.bind(at, target // 8)
        return number + 1

    def value(self, at: int) -> int:
        """The value of a slot with the bases as they are now."""
        return self.bases[self.program._bases[at]] + self.program._offsets[at]

    def bind(self, first: int, end: int) -> None:
        """Recompute a range of slots after bases changed."""
        part = slice(first, end)
        self.slots[part] = self.bases[self.program._bases[part]] + self.program._offsets[part]
        self.driver.put(self.table.address + 8 * first, self.slots[part])

    def call(self, number: int, function: int, at: int) -> None:
        """Launch a kernel; its time is recorded if there are subscribers."""
        begun = monotonic_ns()
        try:
            place, scratch = self.table.address + 8 * at, self.scratch.address
            launch = self.launches[self.program._widths[function]]
            launch(function, place, scratch, self.program._stride)
            if self.records is not None:
                self.driver.synchronize()
                self.records.append((number, begun, monotonic_ns()))
        except DeviceLost as cause:
            name = f", {self.caller.step_title(number)}" if self.caller else ""
            raise DeviceLost(f"{cause} This was step {number}{name}.") from None


def blocks_of(to: Driver, stride: int, width: int = 1) -> int:
    """The blocks of a launch: as many as the card runs at once, limited by their scratch memory.

    width: threads that share scratch memory.
    """
    most = MOST_SCRATCH // (BLOCK // width * stride)
    return max(1, min(BLOCKS * to.card.multiprocessors, most))
