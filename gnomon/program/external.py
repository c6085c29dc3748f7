"""Calls of external operations as kernels of a program."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.codegen.kernels.external import external_code
from gnomon.ir.node import Node
from gnomon.ops.external import external_of, results_of
from gnomon.program.kernel import Kernel
from gnomon.program.saved import BufferKind, ExternalCall
from gnomon.schedule.clustering import operand_bases

__all__ = ["external_kernel"]


def external_kernel(members: Sequence[Node]) -> Kernel:
    """The kernel that calls an external operation: all results, then the operands."""
    node = members[0]
    made, given = tuple(results_of(node)), operand_bases(node)
    call = ExternalCall(
        node.params["key"], node.params["said"], kinds_of(made), kinds_of(node.inputs)
    )
    return Kernel(
        external_of(call.key).name,
        external_code(len(made) + len(given)),
        (*made, *given),
        len(made),
        size=None,
        nodes=tuple(members),
        flops=0,
        external=call,
    )


def kinds_of(nodes: Sequence[Node]) -> tuple[BufferKind, ...]:
    """The shapes and dtype names of nodes."""
    return tuple((x.shape, x.dtype.name) for x in nodes)
