"""Liveness: the values in a program's own memory, each from its first call to its last.

Read by the profiler, and when a program does not fit in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.ir.node import Node
from gnomon.ir.provenance import Site
from gnomon.program.blocks import ProgramBlock
from gnomon.program.buffer_assignment import BufferAssignment, places_of
from gnomon.program.kernel import Kernel
from gnomon.schedule.memory import nbytes

__all__ = ["Value", "values_of"]


@dataclass(frozen=True)
class Value:
    """A value, or a control call's memory, with its live interval."""

    node: Node
    nbytes: int
    first: int
    last: int

    @property
    def sites(self) -> tuple[Site, ...]:
        """The source lines of the value."""
        return self.node.sites


def values_of(block: ProgramBlock) -> list[Value]:
    """The values between a program's kernels, in the order in which they are made.

    The live interval of a value that another overwrites ends one call earlier.
    """
    given = {*block.graph.inputs, *block.graph.outputs, *block.panels}
    assignment = BufferAssignment(block)
    controls = assignment.controls
    first: dict[Node, int] = {}
    last: dict[Node, int] = {}
    found: list[Value] = []
    call = 0
    for part in block.parts:
        calls = 1 if isinstance(part, Kernel) else sum(1 for _ in part.kernels())
        for x, _ in places_of(part):
            if x not in given:
                first.setdefault(x, call)
                last[x] = call + max(calls - 1, 0)
        if part in controls:
            found.append(Value(part.node, controls[part].total, call, call + max(calls - 1, 0)))
        call += calls
    for _, under in assignment.heirs:
        last[under] -= 1
    return [*(Value(x, nbytes(x), first[x], last[x]) for x in first), *found]
