"""A kernel call: its code, the values behind its buffers, the operations that it computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.forking import cached_property
from gnomon.ir.node import Node
from gnomon.ir.provenance import Site, union
from gnomon.schedule.memory import nbytes

if TYPE_CHECKING:
    from gnomon.codegen.loops import Code
    from gnomon.program.saved import ExternalCall

__all__ = ["Kernel", "PACK", "traffic"]

PACK = "pack"
"""The kernel that makes panels of a weight, for products to read; it runs when the weight changed.
"""


@dataclass(frozen=True)
class Kernel:
    """One call of a program: its code, the nodes of its buffers, and the nodes that it computes."""

    name: str
    code: Code
    buffers: tuple[Node, ...]
    outputs: int
    size: int | None
    """The run-time size of a flat kernel."""
    nodes: tuple[Node, ...]
    flops: int
    checks: int = 0
    """The number of kinds of index that it checks."""
    homes: tuple[tuple[Node, int], ...] = ()
    """The value that each buffer is part of, and the byte at which it begins there."""
    chunks: tuple[Kernel, ...] = ()
    """The kernels that replace it in the program's table, if it is computed in chunks."""

    over: tuple[tuple[int, int], ...] = ()
    """Pairs of an output and an operand that it may overwrite, by their numbers as buffers."""
    times: int = 1
    """The number of iterations of a loop that run it."""
    numbers: tuple[int, ...] = ()
    """The runtime arguments of its code, if that serves several sizes."""
    members: tuple[Kernel, ...] = ()
    """The kernels that a batch runs as one; their outputs stand first among its buffers."""
    mesh: str = ""
    """The mesh axis along which it moves bytes between ranks."""
    external: ExternalCall | None = None
    """The call of an external operation that it is."""
    after: tuple[Node, ...] = ()
    """Nodes that have to be computed before it, besides its operands."""
    called: tuple[Code, ...] = ()
    """The functions whose addresses stand behind its numbers."""
    bytes: int | None = None
    """The bytes that it reads and writes, if they are not every buffer once."""

    @cached_property
    def places(self) -> tuple[tuple[Node, int], ...]:
        """The value of each buffer, and the byte at which the buffer begins in it."""
        return self.homes or tuple((x, 0) for x in self.buffers)

    @property
    def codes(self) -> tuple[Code, ...]:
        """All codes that the call runs."""
        own = (self.code, *self.called, *(k.code for k in self.members))
        return (*own, *(part for code in own for part in code.parts))

    @property
    def sites(self) -> tuple[Site, ...]:
        """The source lines that the kernel serves, the last result's first."""
        found: tuple[Site, ...] = ()
        for node in reversed(self.nodes):
            found = union(found, node.sites)
        return found


def traffic(kernel: Kernel) -> int:
    """The bytes of a kernel's operands and results, each once, unless it has its own count."""
    if kernel.bytes is not None:
        return kernel.bytes
    if kernel.members:
        return sum(map(traffic, kernel.members))
    return sum(nbytes(x) for x in dict.fromkeys(kernel.buffers))
