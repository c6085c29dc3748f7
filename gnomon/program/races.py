"""Races of a program: what its table of calls leaves unordered though the same bytes are touched.

A call happens before another where a barrier stands between them; a transfer is under way from its
start until what waits for it. Checked are the bytes that the memory plan gives each value: nobody
writes what a transfer reads or touches what it brings while it is under way, threads of one stretch
between barriers touch nothing that another call writes, and what a call reads is still the value
that it is meant to be. It runs on the plan: nothing is computed, and no race has to happen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gnomon.ir.node import Node
from gnomon.program.blocks import ControlCall, ProgramBlock
from gnomon.program.buffer_assignment import BufferAssignment, given_up, places_of
from gnomon.program.collectives import FIRST, WAIT, is_transfer
from gnomon.program.kernel import Kernel
from gnomon.runtime.program import ArenaSlot, InputSlot, OutputSlot, Slot
from gnomon.schedule.memory import nbytes
from gnomon.schedule.order import Span, Touch, barriers

__all__ = ["Race", "races"]


OVER = "is written over what is sent by the start"
EARLY = "is touched before the end"


class Race(NamedTuple):
    """A race: bytes that a call touches while another uses them, or that hold another value."""

    what: str
    value: Node
    call: int
    part: Kernel | ControlCall
    other: Kernel | ControlCall | None = None

    def __str__(self) -> str:
        value = f"{self.value.dtype.name}{list(self.value.shape)} of {self.value.op}"
        other = f" of {described(self.other)}" if self.other else ""
        return (
            f"races: call {self.call}, {described(self.part)}: "
            f"{value}{line_of_value(self.value)} {self.what}{other}"
        )


def described(part: Kernel | ControlCall) -> str:
    """A call's name and the source line it comes from."""
    sites = part.sites if isinstance(part, Kernel) else part.node.sites
    return f"{part.name} [{sites[0]}]" if sites else part.name


def line_of_value(node: Node) -> str:
    """The source line of a value."""
    return f" [{node.sites[0]}]" if node.sites else ""


class Access(NamedTuple):
    """An access: bytes that a call writes or reads, and their value."""

    span: Span
    value: Node


def races(block: ProgramBlock, assignment: BufferAssignment | None = None) -> list[Race]:
    """The races of a program, its loops and conditionals.

    assignment: a buffer assignment to check in place of the program's own.
    """
    found = [*Check(block, assignment or BufferAssignment(block)).run()]
    for part in block.parts:
        if isinstance(part, ControlCall):
            found += [race for inner in part.blocks.values() for race in races(inner)]
    return found


class Check:
    """A walk through the calls of a block that tracks what each byte holds and pending accesses."""

    def __init__(self, block: ProgramBlock, assignment: BufferAssignment) -> None:
        self.block = block
        self.slots: dict[Node, Slot] = {
            x: ArenaSlot(offset) for x, offset in assignment.offsets.items() if isinstance(x, Node)
        }
        given = (*block.graph.outputs, *block.panels)
        self.slots |= {x: OutputSlot(k) for k, x in enumerate(given)}
        self.slots |= {x: InputSlot(k) for k, x in enumerate(block.graph.inputs)}
        self.over = given_up(block)
        self.held: dict[object, list[Access]] = {}
        """Memory -> what was written there last."""
        self.under_way: dict[int, tuple[Kernel, Access, Access]] = {}
        """Transfer -> its start, what it brings, what it reads."""
        for x in block.graph.inputs:
            self.hold(self.access(x, x, 0))

    def run(self) -> Iterator[Race]:
        """Every race, in the order of calls."""
        written: list[tuple[Access, Kernel | ControlCall]] = []
        read: list[tuple[Access, Kernel | ControlCall]] = []
        for number, (part, waits) in enumerate(zip(self.block.parts, self.waits(), strict=True)):
            if waits:
                written, read = [], []
            makes, reads = self.makes(part), self.reads(part)
            for what, mine, others in (
                ("is read beside a write", reads, written),
                ("is written beside a write", makes, written),
                ("is written beside a read", makes, read),
            ):
                yield from (
                    Race(what, x.value, number, part, other)
                    for x in mine
                    for y, other in others
                    if meet(x.span, y.span)
                )
            yield from self.step(number, part, makes, reads)
            written += [(x, part) for x in makes]
            read += [(x, part) for x in reads]
        for start, brings, _ in self.under_way.values():
            yield Race("is never waited for", brings.value, len(self.block.parts), start)

    def step(
        self, number: int, part: Kernel | ControlCall, makes: list[Access], reads: list[Access]
    ) -> Iterator[Race]:
        """The races of one call with pending accesses, and with the content of memory."""
        if is_transfer(part) and part.name.endswith(WAIT):
            if self.under_way.pop(part.numbers[FIRST], None) is None:
                yield Race("is waited for before the start", makes[0].value, number, part)
            self.hold(makes[0])
            return
        for start, brings, sends in self.under_way.values():
            over = [x for x in makes if meet(x.span, sends.span)]
            early = [x for x in (*makes, *reads) if meet(x.span, brings.span)]
            yield from (Race(OVER, x.value, number, part, start) for x in over)
            yield from (Race(EARLY, x.value, number, part, start) for x in early)
        for x in reads:
            if not self.holds(x):
                yield Race("is read and is not there: not yet, or no more", x.value, number, part)
        if is_transfer(part):
            self.under_way[part.numbers[FIRST]] = (part, makes[0], reads[0])
        for x in makes:
            self.hold(x)

    def waits(self) -> list[bool]:
        """For each call, whether the table has a barrier before it."""
        found: list[bool] = []
        stretch: list[Touch] = []
        apart = False
        for part in (*self.block.parts, None):
            if isinstance(part, Kernel):
                spans = ([x.span for x in each] for each in (self.makes(part), self.reads(part)))
                stretch.append(Touch(*map(tuple, spans)))
                continue
            here = barriers(stretch)
            found += [apart or here[0], *here[1:]] if here else []
            stretch, apart = [], True
            found += [True] if part else []
        return found

    # bytes

    def access(self, x: Node, home: Node, start: int) -> Access:
        """The bytes of a value that begins at an offset of its buffer."""
        slot = self.slots[home]
        offset = start + (slot.offset if isinstance(slot, ArenaSlot) else 0)
        memory = "arena" if isinstance(slot, ArenaSlot) else slot
        return Access(Span(memory, offset, offset + nbytes(x)), home)

    def touched(self, part: Kernel | ControlCall) -> list[Access]:
        """The bytes of every buffer."""
        rows = zip(part.buffers, places_of(part), strict=True)
        return [self.access(x, *place) for x, place in rows]

    def makes(self, part: Kernel | ControlCall) -> list[Access]:
        """The bytes that a call writes, inputs that it may overwrite included."""
        made = [x for x in self.touched(part)[: part.outputs] if x.span.start < x.span.end]
        under = [y for x in made for y in self.over.get(x.value, ())]
        return [*made, *(self.access(y, y, 0) for y in under)]

    def reads(self, part: Kernel | ControlCall) -> list[Access]:
        """The bytes that a call reads."""
        return [x for x in self.touched(part)[part.outputs :] if x.span.start < x.span.end]

    def hold(self, made: Access) -> None:
        """Record that these bytes hold a value, and no longer an earlier one."""
        rest: list[Access] = []
        for x in self.held.get(made.span.memory, ()):
            rest += subtract_ranges(x, made.span)
        self.held[made.span.memory] = [*rest, made]

    def holds(self, wanted: Access) -> bool:
        """Whether all of these bytes hold the value."""
        span = wanted.span
        if isinstance(span.memory, OutputSlot) and wanted.value in self.block.panels:
            return True  # panels are there from an earlier run
        own = [x for x in self.held.get(span.memory, ()) if meet(x.span, span)]
        covered = sum(min(x.span.end, span.end) - max(x.span.start, span.start) for x in own)
        return covered == span.end - span.start and all(x.value is wanted.value for x in own)


def meet(one: Span, other: Span) -> bool:
    """Whether two ranges have bytes in common."""
    return one.memory == other.memory and one.start < other.end and other.start < one.end


def subtract_ranges(x: Access, taken: Span) -> Sequence[Access]:
    """The parts of a byte range without the taken ones."""
    if not meet(x.span, taken):
        return [x]
    ends = ((x.span.start, taken.start), (taken.end, x.span.end))
    return [Access(Span(taken.memory, a, b), x.value) for a, b in ends if a < b]
