"""Buffer assignment: memory of dead values is used again."""

from __future__ import annotations

from gnomon.compiler.build import build
from gnomon.ir.node import Graph, Node
from gnomon.ops.scalars import exp
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import permute
from tests.compiler.test_pipeline import normal, outputs


def test_memory_of_dead_values_is_used_again():
    def deep(x: Node) -> Node:
        for _ in range(6):
            x = permute(x, (1, 0)) * 2.0 + x
        return x

    roots, leaves = outputs(deep, [normal(64, 64)])

    memory = build(Graph(leaves, roots)).memory

    assert memory.total == memory.bound
    assert memory.total <= 3 * 64 * 64 * 4


def test_a_value_may_lie_where_an_operand_dies():
    def deep(x: Node) -> Node:
        for _ in range(6):
            x = scan("add", exp(scan("add", x, 1) * 0.01), 0)
        return x

    roots, leaves = outputs(deep, [normal(64, 64)])

    memory = build(Graph(leaves, roots)).memory

    assert memory.total == memory.bound == 2 * 64 * 64 * 4
