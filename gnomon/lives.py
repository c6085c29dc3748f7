"""Which values live in a program's own memory, and from which of its calls to which.

Read by the profiler, and when a program does not fit in memory. Where they lie is placing.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.frames import Frame
from gnomon.ir.node import Node
from gnomon.ir.provenance import Site
from gnomon.listing import Kernel
from gnomon.placing import Layout, nbytes, places_of

__all__ = ["Value", "values_of"]


@dataclass(frozen=True)
class Value:
    """A value, or the room of a choice or a loop; first and last count the calls of the program."""

    node: Node
    nbytes: int
    first: int
    last: int

    @property
    def sites(self) -> tuple[Site, ...]:
        """The lines that made it."""
        return self.node.sites


def values_of(frame: Frame) -> list[Value]:
    """The values between a program's kernels, in the order in which they are made.

    What another value is written over ends a call before that is made.
    """
    given = {*frame.graph.inputs, *frame.graph.outputs, *frame.panels}
    layout = Layout(frame)
    rooms = layout.rooms
    first: dict[Node, int] = {}
    last: dict[Node, int] = {}
    found: list[Value] = []
    call = 0
    for part in frame.parts:
        calls = (
            1
            if isinstance(part, Kernel)
            else sum(1 for f in part.frames.values() for _ in f.kernels())
        )
        for x, _ in places_of(part):
            if x not in given:
                first.setdefault(x, call)
                last[x] = call + max(calls - 1, 0)
        if part in rooms:
            found.append(Value(part.node, rooms[part].total, call, call + max(calls - 1, 0)))
        call += calls
    for _, under in layout.heirs:
        last[under] -= 1
    return [*(Value(x, nbytes(x), first[x], last[x]) for x in first), *found]
