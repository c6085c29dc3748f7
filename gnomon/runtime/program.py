"""A program that can run: a table of calls, and where each finds its buffers.

No code is made here. A program never changes once it is built, so any number of threads may run
it at once: what a run writes (the slots, the arena) belongs to that run. Which call needs a
barrier and what shares the arena was decided in gnomon/schedule. Loops and branches are steps too:
every thread takes them by itself, and all alike, since what they look at is the same for all.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from time import monotonic_ns
from typing import Any

import numpy as np
from msgspec import Struct

from gnomon.runtime import events, native, threads
from gnomon.runtime.buffer import memory, size_class
from gnomon.runtime.events import RunCaller

ZERO_BASE, ARENA_BASE, FIRST_BASE = range(3)
"""The bases of a run: nothing, the arena, then inputs, outputs, scalars, and registers."""


class ArenaSlot(Struct, frozen=True, tag=True, array_like=True):
    """An address in the program's own memory."""

    offset: int


class InputSlot(Struct, frozen=True, tag=True, array_like=True):
    """A buffer that the caller passes for reading, from a byte on."""

    index: int
    offset: int = 0


class OutputSlot(Struct, frozen=True, tag=True, array_like=True):
    """A buffer that the caller passes for writing, from a byte on."""

    index: int
    offset: int = 0


class ScalarSlot(Struct, frozen=True, tag=True, array_like=True):
    """An i64 that the caller passes in each run, such as a size."""

    index: int


class ConstantSlot(Struct, frozen=True, tag=True, array_like=True):
    """An i64 that is the same in every run."""

    value: int


class RegisterSlot(Struct, frozen=True, tag=True, array_like=True):
    """A register of a loop, plus an offset; each thread has registers of its own."""

    index: int
    offset: int = 0


class FunctionSlot(Struct, frozen=True, tag=True, array_like=True):
    """The address of a kernel's machine code in this process."""

    kernel: str


Slot = ArenaSlot | InputSlot | OutputSlot | ScalarSlot | ConstantSlot | RegisterSlot | FunctionSlot


class Call(Struct, frozen=True, tag=True, array_like=True):
    """A kernel's call on all threads, after a barrier if it reads what an earlier call wrote."""

    kernel: str
    slots: tuple[Slot, ...]
    barrier: bool = False


class Branch(Struct, frozen=True, tag=True, array_like=True):
    """A step that jumps to `otherwise` if the byte at `condition` is zero.

    Steps are counted from 0; their number is the end.
    """

    condition: Slot
    otherwise: int
    barrier: bool = True

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots that are read."""
        return (self.condition,)


class Skip(Struct, frozen=True, tag=True, array_like=True):
    """A step that jumps to `otherwise` if the slot's value is zero; without a value, always."""

    otherwise: int
    value: Slot = ConstantSlot(0)
    barrier: bool = False

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots that are read."""
        return (self.value,)


class Set(Struct, frozen=True, tag=True, array_like=True):
    """A step that stores a slot's value in a register."""

    register: int
    value: Slot
    barrier: bool = False

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The values that are kept."""
        return (self.value,)


class Bind(Struct, frozen=True, tag=True, array_like=True):
    """A step that recomputes the slots of the steps up to `end`, after registers changed."""

    end: int
    slots: tuple[Slot, ...] = ()
    barrier: bool = False


Step = Call | Branch | Skip | Set | Bind


@dataclass(frozen=True)
class Needs:
    """The resources of a run: numbers of addresses, scalars, registers; arena and scratch bytes.

    `alone` keeps a small program on its caller: waking the workers would take longer than the work.
    """

    inputs: int = 0
    outputs: int = 0
    scalars: int = 0
    registers: int = 0
    arena: int = 0
    scratch: int = 0
    alone: bool = False


LEAST_SCRATCH = 64 << 10
"""Bytes of a thread's scratch memory, so that most programs find the memory of others enough."""
LEAST_ARENA = 64 << 10
"""Bytes; smaller arenas are not worth a block of their own where nobody else works."""


Tables = tuple[np.ndarray, np.ndarray]
"""The steps as rows of numbers, and every slot's base and offset."""


class DeviceProgram:
    """A table of steps with kernel handles; a backend's subclass runs it.

    `tables` are those of the steps, from an earlier process. A run never changes a program.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        handles: Mapping[str, Any],
        needs: Needs,
        tables: Tables | None = None,
    ) -> None:
        self.steps, self.needs = steps if tables else tuple(steps), needs
        self.handles = handles  # whose code is there while they are held
        self.tables = tables
        """What native code walks, where it does."""
        self._set_up(tables)

    def _set_up(self, tables: Tables | None) -> None:
        """Compute what runs need beside the steps; here nothing."""

    @staticmethod
    def prepare() -> None:
        """Prepare for many runs; here nothing."""

    def run(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int] = (),
        scalars: Sequence[int] = (),
        caller: RunCaller | None = None,
    ) -> None:
        """Run on buffers given by address, which the caller keeps alive until this returns.

        Subscribers to events get the `caller`, since others may run the same program.
        """
        raise NotImplementedError


class Program(DeviceProgram):
    """A program on the CPU, run in one native call."""

    def _set_up(self, tables: Tables | None) -> None:
        """Compute the native tables that runs read."""
        needs = self.needs
        self._arena = size_class(needs.arena) if needs.arena else 0
        self.tables = tables or tables_of(self.steps, self.handles, needs)
        self._calls, self._bindings = self.tables
        self._given = first_register(needs)
        self._slots = 8 * (self._given + needs.registers)
        self._scratch_start = -(-(self._slots + 8 * len(self._bindings)) // 64) * 64
        scratch = max(needs.scratch, LEAST_SCRATCH)
        self._scratch = -(-(self._scratch_start + scratch) // 64) * 64
        # what runs on its caller finds a small arena behind its scratch memory, and takes none
        self._within = self._scratch if needs.alone and 0 < self._arena <= LEAST_ARENA else 0
        self._scratch += self._arena if self._within else 0
        self._alone, self._counts = needs.alone, (needs.inputs, needs.outputs, needs.scalars)
        self._fill = struct.Struct(f"={native.BASES - native.THREADS + self._given}q").pack_into
        self._idle: list[RunState] = []
        self._capacity = max(64, 4 * len(self.steps))

    prepare = staticmethod(threads.prepare_pool)
    """Starts the pool of threads, since much is to come."""

    def run(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int] = (),
        scalars: Sequence[int] = (),
        caller: RunCaller | None = None,
    ) -> None:
        """Run on buffers given by address, on all threads; returns when the last is done."""
        counts = (len(inputs), len(outputs), len(scalars))
        assert counts == self._counts, (
            f"Program.run: needs {self.needs}, got {counts} inputs, outputs and scalars."
        )
        team = threads.acquire(self._scratch, self._alone)
        state, taken, records, capacity = self._state(), 0, None, self._capacity
        try:
            if self._within:
                arena = team.scratch + self._within
            else:
                arena = taken = memory.take(self._arena) if self._arena else 0
            if events.heard():
                records = state.records_for(team.threads, capacity)
            recorded = (0, 0) if records is None else (records.ctypes.data, capacity)
            # then a base of 0: an offset from it is an address, or a number, by itself
            words = (*team.words, *recorded, 0, arena, *inputs, *outputs, *scalars)
            self._fill(state.block, TEAM_AT, *words)
            if records is None:
                threads.entries().run(state.address)
            else:
                self._run_recorded(state, records, capacity, caller)
        finally:
            team.release()
            self._idle.append(state)
            if taken:
                memory.give(taken, self._arena)

    def _run_recorded(
        self, state: RunState, records: np.ndarray, capacity: int, caller: RunCaller | None
    ) -> None:
        """Run natively, and announce the times of all kernels to subscribers.

        Loops may exceed the capacity for records; then the next run has more.
        """
        began = monotonic_ns()
        threads.entries().run(state.address)
        ended = monotonic_ns()
        kept: list[np.ndarray] = []
        lost = 0
        for row in records:
            count = int(row[0])
            kept.append(row[1 : 1 + 3 * min(count, capacity)].copy().reshape(-1, 3))
            lost += max(count - capacity, 0)
            self._capacity = max(self._capacity, 2 * count if count > capacity else 0)
        events.announce_run(self, caller, kept, (began, ended), lost)

    def _state(self) -> RunState:
        """A run's own block, reused from an earlier run if one is free."""
        try:
            return self._idle.pop()
        except IndexError:
            return RunState(
                self._calls, self._bindings, (self._given, self._slots, self._scratch_start)
            )


TEAM_AT = 8 * native.THREADS
"""The byte of a run's block from which on each run says who takes part, and on what."""


class RunState:
    """The state of one run: its block of words, and its bases."""

    __slots__ = ("_records", "address", "block")

    def __init__(self, calls: np.ndarray, bound: np.ndarray, own: tuple[int, int, int]) -> None:
        self.block = (ctypes.c_int64 * (native.BASES + own[0]))()
        self.address = ctypes.addressof(self.block)
        self._records: np.ndarray | None = None
        self.block[native.CALLS] = calls.ctypes.data
        self.block[native.COUNT] = len(calls)
        self.block[native.BINDINGS] = bound.ctypes.data
        self.block[native.SLOT_COUNT] = len(bound)
        self.block[native.GIVEN], self.block[native.SLOTS], self.block[native.SCRATCH_START] = own

    def records_for(self, count: int, capacity: int) -> np.ndarray:
        """The memory of records: a row per thread with a count and `capacity` records."""
        wanted = (count, 1 + 3 * capacity)
        if self._records is None or self._records.shape != wanted:
            self._records = np.empty(wanted, np.int64)
        self._records[:, 0] = 0
        return self._records


def tables_of(steps: Sequence[Step], addresses: Mapping[str, int], needs: Needs) -> Tables:
    """The native tables that runs read."""
    bound = np.array(bindings(steps, addresses, needs), np.int64).reshape(-1, 2)
    return table(steps, addresses, needs), bound


def first_register(needs: Needs) -> int:
    """The index of the first base that is a register: the number of given bases."""
    return FIRST_BASE + needs.inputs + needs.outputs + needs.scalars


def table(steps: Sequence[Step], addresses: Mapping[str, int], needs: Needs) -> np.ndarray:
    """The table of steps, with columns as native.py defines them."""
    first = [0, *accumulate(8 * len(step.slots) for step in steps)]
    rows = []
    for step, at in zip(steps, first, strict=False):
        function, kind, target = 0, native.CALL, 0
        match step:
            case Call(kernel):
                function = addresses[kernel]
            case Branch(_, otherwise):
                kind, target = native.BRANCH, otherwise
            case Skip(otherwise):
                kind, target = native.SKIP, otherwise
            case Set(register):
                assert 0 <= register < needs.registers, f"Set: no register {register}."
                kind, target = native.SET, 8 * (first_register(needs) + register)
            case Bind(end):
                kind, target = native.BIND, first[end]
        assert kind > native.SKIP or 0 <= target <= len(steps), f"{step}: no step {target}."
        rows.append((function, at, int(step.barrier), kind, target))
    return np.array(rows, np.int64).reshape(-1, 5)


def bindings(
    steps: Sequence[Step], addresses: Mapping[str, int], needs: Needs
) -> list[tuple[int, int]]:
    """The byte offset of each slot's base, and the addend."""
    rows = [binding(slot, addresses, needs) for step in steps for slot in step.slots]
    return [(8 * base, offset) for base, offset in rows]


def binding(slot: Slot, addresses: Mapping[str, int], needs: Needs) -> tuple[int, int]:
    """The base of a slot and its addend."""
    match slot:
        case ArenaSlot(offset):
            assert 0 <= offset <= needs.arena, f"ArenaSlot: no byte {offset} in {needs.arena}."
            return ARENA_BASE, offset
        case ConstantSlot(value):
            return ZERO_BASE, value
        case FunctionSlot(kernel):
            return ZERO_BASE, addresses[kernel]
        case InputSlot(index, offset):
            assert 0 <= index < needs.inputs, f"InputSlot: no input {index} of {needs.inputs}."
            return FIRST_BASE + index, offset
        case OutputSlot(index, offset):
            assert 0 <= index < needs.outputs, f"OutputSlot: no output {index} of {needs.outputs}."
            return FIRST_BASE + needs.inputs + index, offset
        case ScalarSlot(index):
            assert 0 <= index < needs.scalars, f"ScalarSlot: no scalar {index} of {needs.scalars}."
            return FIRST_BASE + needs.inputs + needs.outputs + index, 0
        case RegisterSlot(index, offset):
            assert 0 <= index < needs.registers, f"RegisterSlot: no register {index}."
            return first_register(needs) + index, offset
