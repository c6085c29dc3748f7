"""Programs of a backend that computes graphs as they are: each node is a kernel of its own."""

from __future__ import annotations

from typing import Any

from gnomon.codegen.loops import Code
from gnomon.ir.memo import digest
from gnomon.ir.node import Arena, Graph, Node
from gnomon.passes.calls import leaves_like
from gnomon.program.blocks import ProgramBlock
from gnomon.program.kernel import Kernel

__all__ = ["node_by_node"]


def node_by_node(graph: Graph) -> ProgramBlock:
    """The kernels of a graph, one per node, without passes."""
    return ProgramBlock(graph, tuple(kernel_of(x) for x in graph.nodes if x.op != "input"))


def kernel_of(node: Node) -> Kernel:
    """The kernel of one node, whose text is the graph of that node."""
    arena = Arena()
    leaves = leaves_like(arena, node.inputs)
    alone: Any = Graph(leaves, [arena.node(node.op, tuple(leaves), **node.params)])
    name = node.params.get("name", node.op)
    code = Code(f"{name}_{digest(alone.key)}", alone, 0)
    return Kernel(name, code, (node, *node.inputs), 1, None, (node,), node.size)
