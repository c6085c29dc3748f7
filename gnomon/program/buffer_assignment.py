"""Buffer assignment: where each value is stored while a program runs.

Every block has a plan of its own. A choice or a loop counts as one step of the block around it and
takes memory there: what it reads and gives stays for all of its iterations, and branches share
theirs. What a loop carries has two places, and iterations write the one that they do not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gnomon.errors import CompileError
from gnomon.ir.node import Node
from gnomon.program.blocks import ControlCall, ProgramBlock
from gnomon.program.kernel import Kernel
from gnomon.schedule.memory import ALIGN, LiveInterval, in_lines, nbytes, plan_memory
from gnomon.settings import current

__all__ = ["BufferAssignment", "ControlMemory", "Overlays", "given_up", "places_of"]

Overlays = Mapping[Node, Sequence[Node]]
"""Result -> the inputs that it may lie over."""


class BufferAssignment:
    """The buffer assignment of a block: offsets of its values, and its control calls' memory."""

    def __init__(self, block: ProgramBlock) -> None:
        self.block = block
        self.controls = {
            part: ControlMemory(part) for part in block.parts if isinstance(part, ControlCall)
        }
        check_order(block)
        given = {*block.graph.inputs, *block.graph.outputs, *block.panels}
        first: dict[Node, int] = {}
        last: dict[Node, int] = {}
        for step, part in enumerate(block.parts):
            for x, _ in places_of(part):
                if x not in given:
                    first.setdefault(x, step)
                    last[x] = step
        intervals = [LiveInterval(nbytes(x), first[x], last[x]) for x in first]
        places = {x: k for k, x in enumerate(first)}
        self.heirs = [*inherited(block.parts, first, last)]
        heirs = [(places[x], places[y]) for x, y in self.heirs]
        steps = {part: step for step, part in enumerate(block.parts) if part in self.controls}
        intervals += [
            LiveInterval(self.controls[part].total, step, step) for part, step in steps.items()
        ]
        if not current().allows("reuse"):
            intervals = [
                LiveInterval(interval.nbytes, 0, len(block.parts)) for interval in intervals
            ]
        self.memory = plan_memory(intervals, heirs)
        self.offsets = dict(zip((*first, *steps), self.memory.offsets, strict=True))


def check_order(block: ProgramBlock) -> None:
    """Refuse an order in which a call reads a value before the call that makes it."""
    made = {*block.graph.inputs, *block.panels}
    for part in block.parts:
        places = [x for x, _ in places_of(part)]
        # nothing is made of a value without elements, and nothing of it is read
        missing = [x for x in places[part.outputs :] if x not in made and nbytes(x)]
        if missing:
            raise CompileError(
                f"compile: {part.name} would read {missing[0]} before it is made. "
                "This is a mistake of Gnomon's: please report it with the program."
            )
        made.update(places[: part.outputs])


def inherited(
    parts: Sequence[Kernel | ControlCall], first: Mapping[Node, int], last: Mapping[Node, int]
) -> Iterator[tuple[Node, Node]]:
    """Values with the operand whose memory each may reuse: its last reader makes the value."""
    heirs: set[Node] = set()
    left: set[Node] = set()
    for step, x, y in overlays(parts):
        if last.get(y) == step == first.get(x) and x not in heirs and y not in left:
            heirs.add(x)
            left.add(y)
            yield x, y


def overlays(parts: Sequence[Kernel | ControlCall]) -> Iterator[tuple[int, Node, Node]]:
    """Steps, each with a result and the operand that it may overwrite if no later call reads it."""
    for step, part in enumerate(parts if current().allows("overlay") else ()):
        if not isinstance(part, Kernel) or part.homes:
            continue
        over = [(k.buffers[x], k.buffers[y]) for k in part.members or (part,) for x, y in k.over]
        times = Counter(part.buffers if over else ())
        for x, y in over:
            if nbytes(x) == nbytes(y) and times[y] == 1:
                yield step, x, y


def given_up(block: ProgramBlock) -> Overlays:
    """The results that may overwrite inputs that the caller gives up."""
    graph, last = block.graph, {}
    for step, part in enumerate(block.parts):
        last.update((x, step) for x, _ in places_of(part))
    results, free = {*graph.outputs}, {*graph.inputs} - {*graph.outputs}
    found: dict[Node, list[Node]] = {}
    for step, x, y in overlays(block.parts):
        if x in results and y in free and last[y] == step:
            found.setdefault(x, []).append(y)
    return found


def places_of(part: Kernel | ControlCall) -> Sequence[tuple[Node, int]]:
    """The value of each buffer, and the byte at which the buffer begins in it."""
    return part.places if isinstance(part, Kernel) else [(x, 0) for x in part.buffers]


class ControlMemory:
    """The memory of a conditional or a loop: carried values twice, the test, its blocks' memory.

    Of a folded value the newer part: the older is stored where the result will be.
    """

    def __init__(self, control: ControlCall) -> None:
        self.assignments = {name: BufferAssignment(block) for name, block in control.blocks.items()}
        self.carried = control.operands[: control.node.params.get("carried", 0)]
        self.offsets, end = [], 0
        for x in self.carried:
            self.offsets.append(end)
            end += in_lines(nbytes(x))
        self.other, self.test = end, 2 * end
        end = 2 * end + (ALIGN if "test" in control.blocks else 0)
        self.newer: dict[Node, int] = {}
        for x in control.folded:
            self.newer[x] = end
            end += in_lines(nbytes(x))
        self.inner = end
        self.total = self.inner + max(x.memory.total for x in self.assignments.values())
