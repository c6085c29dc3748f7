"""Where each value lies while a program runs, and the table of its steps.

Every frame has a plan of its own. A choice or a loop counts as one step of the frame around it and
takes room there: what it reads and gives stays for all of its turns, and branches share their room.
What a loop carries has two places, and turns write the one that they do not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gnomon.codegen.batch import Member, table
from gnomon.frames import Control, Frame
from gnomon.ir.node import Node
from gnomon.listing import PACK, Kernel, traffic
from gnomon.runtime.program import (
    Arena,
    Bind,
    Branch,
    Call,
    Constant,
    Function,
    Register,
    Scalar,
    Set,
    Skip,
    Slot,
    Step,
)
from gnomon.schedule.memory import ALIGN, Life, plan_memory, rounded
from gnomon.schedule.order import Span, Touch, barriers
from gnomon.schedule.spare import nbytes
from gnomon.settings import current

__all__ = ["Layout", "Overlays", "Table", "given_up"]

Slots = dict[Node, Slot]
Overlays = Mapping[Node, Sequence[Node]]
"""Result -> the inputs that it may lie over."""


class Layout:
    """The plan of a frame: where its own values lie, and its choices and loops, in one block."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.rooms = {part: Room(part) for part in frame.parts if isinstance(part, Control)}
        given = {*frame.graph.inputs, *frame.graph.outputs, *frame.panels}
        first: dict[Node, int] = {}
        last: dict[Node, int] = {}
        for step, part in enumerate(frame.parts):
            for x, _ in places_of(part):
                if x not in given:
                    first.setdefault(x, step)
                    last[x] = step
        lives = [Life(nbytes(x), first[x], last[x]) for x in first]
        places = {x: k for k, x in enumerate(first)}
        self.heirs = [*inherited(frame.parts, first, last)]
        heirs = [(places[x], places[y]) for x, y in self.heirs]
        steps = {part: step for step, part in enumerate(frame.parts) if part in self.rooms}
        lives += [Life(self.rooms[part].total, step, step) for part, step in steps.items()]
        if not current().allows("reuse"):
            lives = [Life(life.nbytes, 0, len(frame.parts)) for life in lives]
        self.memory = plan_memory(lives, heirs)
        self.offsets = dict(zip((*first, *steps), self.memory.offsets, strict=True))


def inherited(
    parts: Sequence[Kernel | Control], first: Mapping[Node, int], last: Mapping[Node, int]
) -> Iterator[tuple[Node, Node]]:
    """Values with the operand that each may lie over: it dies where the value is made."""
    heirs: set[Node] = set()
    left: set[Node] = set()
    for step, x, y in overlays(parts):
        if last.get(y) == step == first.get(x) and x not in heirs and y not in left:
            heirs.add(x)
            left.add(y)
            yield x, y


def overlays(parts: Sequence[Kernel | Control]) -> Iterator[tuple[int, Node, Node]]:
    """Per step the values that may lie over an operand of the call, if nobody reads it later."""
    for step, part in enumerate(parts if current().allows("overlay") else ()):
        if not isinstance(part, Kernel) or part.homes:
            continue
        for kernel in part.members or (part,):
            for output, operand in kernel.over:
                x, y = kernel.buffers[output], kernel.buffers[operand]
                if nbytes(x) == nbytes(y) and part.buffers.count(y) == 1:
                    yield step, x, y


def given_up(frame: Frame) -> Overlays:
    """The results that may lie over inputs, where their caller has no more use for these."""
    graph, last = frame.graph, {}
    for step, part in enumerate(frame.parts):
        last.update((x, step) for x, _ in places_of(part))
    results, free = {*graph.outputs}, {*graph.inputs} - {*graph.outputs}
    found: dict[Node, list[Node]] = {}
    for step, x, y in overlays(frame.parts):
        if x in results and y in free and last[y] == step:
            found.setdefault(x, []).append(y)
    return found


def places_of(part: Kernel | Control) -> Sequence[tuple[Node, int]]:
    """The value that each buffer belongs to, and the byte at which it begins there."""
    return part.places if isinstance(part, Kernel) else [(x, 0) for x in part.buffers]


class Room:
    """The block of a choice or a loop: what it carries, twice, its test, then what frames need."""

    def __init__(self, control: Control) -> None:
        self.layouts = {name: Layout(frame) for name, frame in control.frames.items()}
        self.carried = control.operands[: control.node.params.get("carried", 0)]
        self.offsets, end = [], 0
        for x in self.carried:
            self.offsets.append(end)
            end += rounded(nbytes(x))
        self.other, self.test = end, 2 * end
        self.inner = 2 * end + (ALIGN if "test" in control.frames else 0)
        self.total = self.inner + max(x.memory.total for x in self.layouts.values())


class Table:
    """The steps of a program, frame by frame."""

    def __init__(self, report: Slot, over: Overlays) -> None:
        self.report, self.over = report, over
        self.steps: list[Step] = []
        self.registers = self.checks = self.looked = self.packs = 0
        self.ends: list[int] = []
        self.apart = False
        """Whether threads may be at different places, so that the next call has to wait."""

    def add(self, layout: Layout, given: Slots, base: int = 0) -> None:
        """A frame's steps; `given` are the slots of its inputs and outputs."""
        slots = {x: Arena(base + offset) for x, offset in layout.offsets.items()} | given
        stretch: list[Kernel] = []
        for part in layout.frame.parts:
            if isinstance(part, Kernel):
                stretch.append(part)
                continue
            self._calls(stretch, slots)
            stretch = []
            self._control(part, layout.rooms[part], slots, base + layout.offsets[part])
        self._calls(stretch, slots)

    def _control(self, part: Control, room: Room, slots: Slots, base: int) -> None:
        """The steps of a choice or a loop."""
        WRITERS[part.name](self, part, room, slots, base)
        self.apart = True

    # kernels

    def _calls(self, kernels: Sequence[Kernel], slots: Slots) -> None:
        """Kernels that follow one another."""
        waits = barriers([touch(k, slots, self.over) for k in kernels])
        for kernel, wait in zip(kernels, waits, strict=True):
            if self.looked < self.checks and any(x in self.over for x in kernel.buffers):
                self._stop_if_wrong()
            own = self._slots_of(kernel, slots)
            if kernel.name == PACK:
                # what waits for nothing may be left out: panels are there from an earlier run
                fresh = Scalar(self.packs)
                self.packs += 1
                self.steps += Skip(len(self.steps) + 2, fresh), Call(kernel.code.symbol, own)
                continue
            self.steps.append(Call(kernel.code.symbol, own, wait or self.apart))
            self.checks += kernel.checks
            self.apart = False

    def _stop_if_wrong(self) -> None:
        """End here if a position was wrong: from now on inputs may be overwritten."""
        self.steps.append(Branch(self.report, len(self.steps) + 2))
        self.ends.append(self._later())
        self.looked, self.apart = self.checks, True

    def finish(self) -> tuple[Step, ...]:
        """All steps."""
        for place in self.ends:
            self.steps[place] = Skip(len(self.steps))
        return tuple(self.steps)

    def _slots_of(self, kernel: Kernel, slots: Slots) -> tuple[Slot, ...]:
        """What a kernel is given."""
        if kernel.members:
            own = [self._slots_of(k, slots) for k in kernel.members]
            words = table(
                [
                    Member(k.code.symbol, traffic(k), len(found))
                    for k, found in zip(kernel.members, own, strict=True)
                ]
            )
            told = (Function(x) if isinstance(x, str) else Constant(x) for x in words)
            return (*told, *(slot for found in own for slot in found))
        size = () if kernel.size is None else (Constant(kernel.size),)
        report = (self.report, Constant(self.checks)) if kernel.checks else ()
        numbers = map(Constant, kernel.numbers)
        places = (moved(slots[x], start) for x, start in kernel.places)
        return (*places, *size, *report, *numbers)

    # choices

    def choose(self, part: Control, room: Room, slots: Slots, base: int) -> None:
        """One of two frames."""
        condition, *operands = part.operands
        ends = []
        test = self._later()
        for name, layout in room.layouts.items():
            if name == "other":
                ends.append(self._later())
                self.steps[test] = Branch(slots[condition], len(self.steps))
            self.apart = False
            self.add(layout, given_to(layout.frame, operands, part.results, slots), base)
        for place in ends:
            self.steps[place] = Skip(len(self.steps))

    def _later(self) -> int:
        """The place of a step that is written when it is known."""
        self.steps.append(Skip(0))
        return len(self.steps) - 1

    # loops

    def repeat(self, part: Control, room: Room, slots: Slots, base: int) -> None:
        """A frame again and again."""
        loop = Loop(self, part, room, base)
        self.apart = bool(self.steps)
        loop.enter(slots)
        top = len(self.steps)
        out = self._later() if part.name == "scan_over" else None
        bound = self._later()
        self.apart = True
        if part.name == "while":
            self.add(room.layouts["test"], loop.test_slots(slots), loop.inner)
            out = self._later()
            self.apart = False
        self.add(room.layouts["body"], loop.body_slots(slots), loop.inner)
        self.steps[bound] = Bind(len(self.steps))
        loop.advance()
        self.steps.append(Skip(top))
        end = len(self.steps)
        self.steps[out] = (
            Branch(Arena(base + room.test), end)
            if part.name == "while"
            else Skip(end, Register(loop.counter))
        )
        bound = self._later()
        self.apart = True
        self.add(room.layouts["leave"], loop.leave_slots(slots), loop.inner)
        self.steps[bound] = Bind(len(self.steps))


class Loop:
    """The registers of one loop: the places that turns read and write, and how many are left."""

    def __init__(self, table: Table, part: Control, room: Room, base: int) -> None:
        self.table, self.part, self.room, self.base = table, part, room, base
        self.inner = base + room.inner
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
        """The bytes between two slices."""
        return nbytes(x) // max(self.length, 1)

    def carried(self, register: int) -> list[Slot]:
        """The places of what is carried, in the block that a register points at."""
        return [Register(register, offset) for offset in self.room.offsets]

    def enter(self, slots: Slots) -> None:
        """What is carried at first, and registers."""
        table, base = self.table, self.base
        frame = self.room.layouts["enter"].frame.graph
        given = dict(zip(frame.inputs, (slots[x] for x in self.state), strict=True))
        places = [Arena(base + offset) for offset in self.room.offsets]
        given.update(zip(frame.outputs, places, strict=True))
        table.add(self.room.layouts["enter"], given, self.inner)
        table.steps.append(Set(self.reads, Arena(base)))
        table.steps.append(Set(self.writes, Arena(base + self.room.other)))
        table.steps.append(Set(self.counter, Constant(self.length)))
        for x, register in self.moving.items():
            start = max(self.length - 1, 0) * self.steps_of(x) if self.back else 0
            table.steps.append(Set(register, moved(slots[x], start)))

    def read_by(self, frame: Frame, slots: Slots) -> Slots:
        """The slots of a frame's inputs."""
        slices = [Register(self.moving[x]) for x in self.slices]
        places = [*self.carried(self.reads), *slices, *(slots[x] for x in self.rest)]
        return dict(zip(frame.graph.inputs, places, strict=True))

    def test_slots(self, slots: Slots) -> Slots:
        """The slots of the test, which gives a truth value."""
        frame = self.part.frames["test"]
        given = self.read_by(frame, slots)
        return {**given, frame.graph.outputs[0]: Arena(self.base + self.room.test)}

    def body_slots(self, slots: Slots) -> Slots:
        """The slots of a turn."""
        frame = self.part.frames["body"]
        made = [*self.carried(self.writes), *(Register(self.moving[x]) for x in self.rows)]
        return {**self.read_by(frame, slots), **dict(zip(frame.graph.outputs, made, strict=True))}

    def leave_slots(self, slots: Slots) -> Slots:
        """The slots of the copies of what is carried at last."""
        graph, left = self.part.frames["leave"].graph, self.part.left
        places = self.carried(self.reads)
        given = dict(zip(graph.inputs, (places[k] for k in left), strict=True))
        made = (slots[self.part.results[k]] for k in left)
        return {**given, **dict(zip(graph.outputs, made, strict=True))}

    def advance(self) -> None:
        """Between two turns: the blocks change places, slices move on, one turn less is left."""
        steps = self.table.steps
        steps.append(Set(self.spare, Register(self.reads)))
        steps.append(Set(self.reads, Register(self.writes)))
        steps.append(Set(self.writes, Register(self.spare)))
        for x, register in self.moving.items():
            size = self.steps_of(x)
            steps.append(Set(register, Register(register, -size if self.back else size)))
        steps.append(Set(self.counter, Register(self.counter, -1)))


WRITERS = {"cond": Table.choose, "while": Table.repeat, "scan_over": Table.repeat}
"""Primitive -> what writes its steps."""


def given_to(
    frame: Frame, operands: Sequence[Node], results: Sequence[Node], slots: Slots
) -> Slots:
    """The slots of a branch's inputs and outputs: those of what it stands for."""
    reads = zip(frame.graph.inputs, operands, strict=True)
    makes = zip(frame.graph.outputs, results, strict=True)
    return {x: slots[y] for x, y in (*reads, *makes)}


def moved(slot: Slot, start: int) -> Slot:
    """A slot from a byte on."""
    return replace(slot, offset=slot.offset + start) if start else slot


def touch(kernel: Kernel, slots: Slots, over: Overlays) -> Touch:
    """What a kernel writes, or may write, and reads."""
    rows = zip(kernel.buffers, kernel.places, strict=True)
    spans = [span(x, slots[home], start) for x, (home, start) in rows]
    made = kernel.buffers[: kernel.outputs]
    under = [span(y, slots[y], 0) for x in made for y in over.get(x, ())]
    return Touch((*spans[: kernel.outputs], *under), tuple(spans[kernel.outputs :]))


def span(x: Node, slot: Slot, within: int) -> Span:
    """The bytes of a value: in the program's block, behind a register, or given."""
    start = within + (slot.offset if isinstance(slot, Arena | Register) else 0)
    memory = "arena" if isinstance(slot, Arena) else slot
    memory = ("register", slot.index) if isinstance(slot, Register) else memory
    return Span(memory, start, start + max(nbytes(x), 1))
