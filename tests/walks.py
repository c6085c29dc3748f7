"""Walks a program's table as threads do: which calls may run at the same time. Not a test.

Registers are kept, branches are taken both ways in turn, and for every call it is known which bytes
it writes and reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from unittest.mock import patch

from gnomon.ir.node import Graph
from gnomon.program import steps
from gnomon.program.buffer_assignment import nbytes
from gnomon.program.executable import Executable
from gnomon.program.kernel import Kernel
from gnomon.program.steps import StepTable, shift_slot
from gnomon.runtime.program import (
    ArenaSlot,
    Bind,
    Branch,
    Call,
    ConstantSlot,
    InputSlot,
    OutputSlot,
    RegisterSlot,
    Set,
    Skip,
    Slot,
)
from tests.compiled import program

APART = 1 << 40
"""Between buffers: none is as large."""
MOST_STEPS = 2000


@dataclass(frozen=True)
class Access:
    """Bytes that a call touches."""

    start: int
    end: int
    writes: bool

    def clashes(self, other: Access) -> bool:
        """Whether two calls may not touch them at the same time."""
        together = self.start < other.end and other.start < self.end
        return together and (self.writes or other.writes)


Slots = list[tuple[Slot, int, bool]]
"""Of each buffer of a call: where it lies, its bytes, whether it is written."""


def recorded(graph: Graph) -> tuple[Executable, list[Slots]]:
    """A program, and what each of its calls touches, in the order of the table."""
    found: list[Slots] = []
    right = StepTable._calls

    def noting(self: StepTable, kernels: list[Kernel], slots: steps.Slots) -> None:
        for k in kernels:
            rows = enumerate(zip(k.buffers, k.places, strict=True))
            found.append(
                [
                    (shift_slot(slots[home], start), nbytes(x), at < k.outputs)
                    for at, (x, (home, start)) in rows
                ]
            )
        right(self, kernels, slots)

    with patch.object(StepTable, "_calls", noting):
        return program(graph), found


class Walk:
    """One way through a table."""

    def __init__(self, steps: tuple, calls: list[Slots], taken: Iterator[bool]) -> None:
        self.steps, self.taken = steps, taken
        numbers = [k for k, step in enumerate(steps) if isinstance(step, Call)]
        self.touched = dict(zip(numbers, calls, strict=True))
        self.registers: dict[int, int] = {}
        self.bound: dict[int, dict[int, int]] = {}

    def value(self, slot: Slot) -> int:
        """A slot's value; buffers are far apart."""
        match slot:
            case ConstantSlot(value):
                return value
            case ArenaSlot(offset):
                return APART + offset
            case InputSlot(index, offset):
                return (2 + 2 * index) * APART + offset
            case OutputSlot(index, offset):
                return (3 + 2 * index) * APART + offset
            case RegisterSlot(index, offset):
                return self.registers.get(index, 0) + offset
        raise AssertionError(f"no value of {slot}")

    def bind(self, first: int, end: int) -> None:
        """Fill the slots of some steps."""
        for k in range(first, end):
            if k in self.touched:
                self.bound[k] = [
                    Access(self.value(s), self.value(s) + max(size, 1), writes)
                    for s, size, writes in self.touched[k]
                ]

    def clashes(self) -> list[tuple[int, int]]:
        """Pairs of calls that may run at the same time and must not."""
        self.bind(0, len(self.steps))
        at, running, found = 0, [], []
        for _ in range(MOST_STEPS):
            if at >= len(self.steps):
                break
            step, following = self.steps[at], at + 1
            if step.barrier:
                running = []
            match step:
                case Call():
                    mine = self.bound[at]
                    others = [k for k, theirs in running if meet(mine, theirs)]
                    found += [(k, at) for k in others]
                    running.append((at, mine))
                case Branch(_, otherwise):
                    following = following if next(self.taken) else otherwise
                case Skip(otherwise, value):
                    following = otherwise if self.value(value) == 0 else following
                case Set(register, value):
                    self.registers[register] = self.value(value)
                case Bind(end):
                    self.bind(at, end)
            at = following
        return found


def meet(mine: list[Access], theirs: list[Access]) -> bool:
    """Whether any bytes of two calls clash."""
    return any(a.clashes(b) for a in mine for b in theirs)
