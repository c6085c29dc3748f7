"""The table of a program's steps: calls of kernels, branches, and the registers of loops.

What a loop carries has two places, and iterations write the one that they do not read.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gnomon.codegen.batch import Member, table
from gnomon.ir.node import Node
from gnomon.ir.sizes import is_symbolic
from gnomon.program.blocks import ControlCall, ProgramBlock
from gnomon.program.buffer_assignment import BufferAssignment, ControlMemory, Overlays
from gnomon.program.kernel import PACK, Kernel, traffic
from gnomon.program.saved import ExternalCall
from gnomon.runtime.program import (
    ArenaSlot,
    Bind,
    Branch,
    Call,
    ConstantSlot,
    FunctionSlot,
    RegisterSlot,
    ScalarSlot,
    Set,
    Skip,
    Slot,
    Step,
)
from gnomon.schedule.memory import nbytes
from gnomon.schedule.order import Span, Touch, barriers

__all__ = ["StepTable", "shift_slot"]

Slots = dict[Node, Slot]


class StepTable:
    """Writer of a program's table of steps, block by block."""

    def __init__(
        self,
        report: Slot,
        over: Overlays,
        meshes: Sequence[str] = (),
        externals: Sequence[ExternalCall] = (),
    ) -> None:
        self.report, self.over = report, over
        self.groups = {mesh: ScalarSlot(k) for k, mesh in enumerate(meshes)}
        """Mesh axis -> the slot of its group's address, which each run is given."""
        self.entries = {call: ScalarSlot(len(meshes) + k) for k, call in enumerate(externals)}
        """Call of an external operation -> the slot of the address of its function."""
        self.steps: list[Step] = []
        self.registers = self.checks = self.looked = self.packs = 0
        self.ends: list[int] = []
        self.apart = False
        """Whether threads may be at different places, so that the next call has to wait."""

    def add(self, assignment: BufferAssignment, given: Slots, base: int = 0) -> None:
        """Add a block's steps; `given` are the slots of its inputs and outputs."""
        slots = {x: ArenaSlot(base + offset) for x, offset in assignment.offsets.items()} | given
        stretch: list[Kernel] = []
        for part in assignment.block.parts:
            if isinstance(part, Kernel):
                stretch.append(part)
                continue
            self._calls(stretch, slots)
            stretch = []
            self._control(part, assignment.controls[part], slots, base + assignment.offsets[part])
        self._calls(stretch, slots)

    def _control(self, part: ControlCall, memory: ControlMemory, slots: Slots, base: int) -> None:
        """Add the steps of a branch or a loop."""
        WRITERS[part.name](self, part, memory, slots, base)
        self.apart = True

    # kernels

    def _calls(self, kernels: Sequence[Kernel], slots: Slots) -> None:
        """Add calls of consecutive kernels, with barriers between those that share memory."""
        waits = barriers([touch(k, slots, self.over) for k in kernels])
        for kernel, wait in zip(kernels, waits, strict=True):
            if self.looked < self.checks and any(x in self.over for x in kernel.buffers):
                self._stop_if_wrong()
            own = self._slots_of(kernel, slots)
            if kernel.name == PACK:
                # what waits for nothing may be left out: panels are there from an earlier run
                fresh = ScalarSlot(len(self.groups) + len(self.entries) + self.packs)
                self.packs += 1
                self.steps += Skip(len(self.steps) + 2, fresh), Call(kernel.code.symbol, own)
                continue
            self.steps.append(Call(kernel.code.symbol, own, wait or self.apart))
            self.checks += kernel.checks
            self.apart = False

    def _stop_if_wrong(self) -> None:
        """End the run if a position is out of range, before inputs are overwritten."""
        self.steps.append(Branch(self.report, len(self.steps) + 2))
        self.ends.append(self._later())
        self.looked, self.apart = self.checks, True

    def finish(self) -> tuple[Step, ...]:
        """The finished table of steps."""
        for place in self.ends:
            self.steps[place] = Skip(len(self.steps))
        return tuple(self.steps)

    def _slots_of(self, kernel: Kernel, slots: Slots) -> tuple[Slot, ...]:
        """The slots of a kernel's arguments."""
        if kernel.members:
            own = [self._slots_of(k, slots) for k in kernel.members]
            words = table(
                [
                    Member(k.code.symbol, traffic(k), len(found))
                    for k, found in zip(kernel.members, own, strict=True)
                ]
            )
            given = (FunctionSlot(x) if isinstance(x, str) else ConstantSlot(x) for x in words)
            return (*given, *(slot for found in own for slot in found))
        size = () if kernel.size is None else (ConstantSlot(kernel.size),)
        report = (self.report, ConstantSlot(self.checks)) if kernel.checks else ()
        numbers = map(ConstantSlot, kernel.numbers)
        places = (shift_slot(slots[x], start) for x, start in kernel.places)
        group = (self.groups[kernel.mesh],) if kernel.mesh else ()
        entry = (self.entries[kernel.external],) if kernel.external else ()
        called = (FunctionSlot(code.symbol) for code in kernel.called)
        return (*places, *group, *entry, *size, *report, *numbers, *called)

    # choices

    def choose(self, part: ControlCall, memory: ControlMemory, slots: Slots, base: int) -> None:
        """Add the steps of a branch: a test, and both blocks."""
        condition, *operands = part.operands
        ends = []
        test = self._later()
        for name, assignment in memory.assignments.items():
            if name == "other":
                ends.append(self._later())
                self.steps[test] = Branch(slots[condition], len(self.steps))
            self.apart = False
            self.add(assignment, given_to(assignment.block, operands, part.results, slots), base)
        for place in ends:
            self.steps[place] = Skip(len(self.steps))

    def _later(self) -> int:
        """Add an empty step, to be replaced later; returns its number."""
        self.steps.append(Skip(0))
        return len(self.steps) - 1

    # loops

    def repeat(self, part: ControlCall, memory: ControlMemory, slots: Slots, base: int) -> None:
        """Add the steps of a loop."""
        loop = Loop(self, part, memory, base)
        self.apart = bool(self.steps)
        loop.enter(slots)
        top = len(self.steps)
        out = self._later() if part.name != "while" else None
        bound = self._later()
        self.apart = True
        if part.name == "while":
            self.add(memory.assignments["test"], loop.test_slots(slots), loop.inner)
            out = self._later()
            self.apart = False
        self.add(memory.assignments["body"], loop.body_slots(slots), loop.inner)
        self.steps[bound] = Bind(len(self.steps))
        loop.advance()
        self.steps.append(Skip(top))
        end = len(self.steps)
        self.steps[out] = (
            Branch(ArenaSlot(base + memory.test), end)
            if part.name == "while"
            else Skip(end, RegisterSlot(loop.counter))
        )
        bound = self._later()
        self.apart = True
        self.add(memory.assignments["leave"], loop.leave_slots(slots), loop.inner)
        self.steps[bound] = Bind(len(self.steps))


class Loop:
    """A loop's registers: addresses that iterations read and write, and the iterations left."""

    def __init__(
        self, table: StepTable, part: ControlCall, memory: ControlMemory, base: int
    ) -> None:
        self.table, self.part, self.memory, self.base = table, part, memory, base
        self.inner = base + memory.inner
        p, inputs = part.node.params, part.operands
        self.length, self.back = p.get("length", 0), p.get("reverse", False)
        count, end = p["carried"], p["carried"] + p.get("sliced", 0)
        self.state, self.slices, self.rest = inputs[:count], inputs[count:end], inputs[end:]
        self.rows = part.results[count:]
        first = table.registers
        self.reads, self.writes, self.spare, self.counter = range(first, first + 4)
        self.moving = {x: first + 4 + k for k, x in enumerate((*self.slices, *self.rows))}
        table.registers += 4 + len(self.slices) + len(self.rows)

    def steps_of(self, x: Node) -> int:
        """The bytes between two slices of a loop's operand."""
        return nbytes(x) // max(self.length, 1)

    def carried(self, register: int) -> list[Slot]:
        """The slots of carried values in the memory that a register points at."""
        return [RegisterSlot(register, offset) for offset in self.memory.offsets]

    def enter(self, slots: Slots) -> None:
        """Add the steps before a loop: copy the first carried values, and set the registers."""
        table, base = self.table, self.base
        block = self.memory.assignments["enter"].block.graph
        given = dict(zip(block.inputs, (slots[x] for x in self.state), strict=True))
        places = [ArenaSlot(base + offset) for offset in self.memory.offsets]
        given.update(zip(block.outputs, places, strict=True))
        table.add(self.memory.assignments["enter"], given, self.inner)
        table.steps.append(Set(self.reads, ArenaSlot(base)))
        table.steps.append(Set(self.writes, ArenaSlot(base + self.memory.other)))
        table.steps.append(Set(self.counter, ConstantSlot(self.length)))
        for x, register in self.moving.items():
            start = max(self.length - 1, 0) * self.steps_of(x) if self.back else 0
            table.steps.append(Set(register, shift_slot(slots[x], start)))

    def read_by(self, block: ProgramBlock, slots: Slots) -> Slots:
        """The slots of a block's inputs in a loop."""
        slices = [RegisterSlot(self.moving[x]) for x in self.slices]
        places = [*self.carried(self.reads), *slices, *(slots[x] for x in self.rest)]
        return dict(zip(block.graph.inputs, places, strict=True))

    def test_slots(self, slots: Slots) -> Slots:
        """The slots of the block of a loop's test."""
        block = self.part.blocks["test"]
        given = self.read_by(block, slots)
        return {**given, block.graph.outputs[0]: ArenaSlot(self.base + self.memory.test)}

    def body_slots(self, slots: Slots) -> Slots:
        """The slots of the loop's body."""
        block = self.part.blocks["body"]
        made = [*self.carried(self.writes), *(RegisterSlot(self.moving[x]) for x in self.rows)]
        return {**self.read_by(block, slots), **dict(zip(block.graph.outputs, made, strict=True))}

    def leave_slots(self, slots: Slots) -> Slots:
        """The slots of the block after a loop, which copies the last carried values to results."""
        graph, left, folded = self.part.blocks["leave"].graph, self.part.left, self.part.folded
        places, older = self.carried(self.reads), [slots[x] for x in folded]
        reads = [*(places[k] for k in left), *older, *(self.newer(x) for x in folded)]
        made = [*(slots[self.part.results[k]] for k in left), *older]
        both = zip((*graph.inputs, *graph.outputs), (*reads, *made), strict=True)
        return dict(both)

    def newer(self, x: Node) -> Slot:
        """The slot in which the second of two iterations leaves its part of a folded result."""
        return ArenaSlot(self.base + self.memory.newer[x])

    def advance(self) -> None:
        """Add the steps between iterations: swap carried blocks, advance slices, count down."""
        steps = self.table.steps
        steps.append(Set(self.spare, RegisterSlot(self.reads)))
        steps.append(Set(self.reads, RegisterSlot(self.writes)))
        steps.append(Set(self.writes, RegisterSlot(self.spare)))
        for x, register in self.moving.items():
            size = self.steps_of(x)
            moved_on = RegisterSlot(register, -size if self.back else size)
            steps.append(Set(register, self.newer(x) if x in self.memory.newer else moved_on))
        steps.append(Set(self.counter, RegisterSlot(self.counter, -1)))


WRITERS = {
    "cond": StepTable.choose,
    "while": StepTable.repeat,
    "scan_over": StepTable.repeat,
    "fold_over": StepTable.repeat,
}
"""Primitive -> the method that adds its steps."""


def given_to(
    block: ProgramBlock, operands: Sequence[Node], results: Sequence[Node], slots: Slots
) -> Slots:
    """The slots of a branch's inputs and outputs, from its operands and results."""
    reads = zip(block.graph.inputs, operands, strict=True)
    makes = zip(block.graph.outputs, results, strict=True)
    return {x: slots[y] for x, y in (*reads, *makes)}


def shift_slot(slot: Slot, start: int) -> Slot:
    """A slot moved by some bytes."""
    return replace(slot, offset=slot.offset + start) if start else slot


def touch(kernel: Kernel, slots: Slots, over: Overlays) -> Touch:
    """The byte ranges that a kernel writes, or may write, and reads."""
    rows = zip(kernel.buffers, kernel.places, strict=True)
    spans = [span(x, slots[home], start) for x, (home, start) in rows]
    made = kernel.buffers[: kernel.outputs]
    under = [span(y, slots[y], 0) for x in made for y in over.get(x, ())]
    return Touch((*spans[: kernel.outputs], *under), tuple(spans[kernel.outputs :]))


def span(x: Node, slot: Slot, within: int) -> Span:
    """The byte range of a value: in the program's memory, behind a register, or passed."""
    memory, start = slot, within
    if isinstance(slot, ArenaSlot):
        if is_symbolic(slot.offset):
            return Span(("shared", slot.offset), 0, 1)  # its tenants meet, whatever their sizes are
        memory, start = "arena", within + slot.offset
    elif isinstance(slot, RegisterSlot):
        memory, start = ("register", slot.index), within + slot.offset
    return Span(memory, start, start + max(nbytes(x), 1))
