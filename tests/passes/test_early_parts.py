"""Parts are taken before values are rounded, and a sum that waits for them is scattered."""

from __future__ import annotations

import pytest

from gnomon.dtypes import bfloat16, float32
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import cast
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.layouts import from_local, to_local
from gnomon.ops.placements import Split
from gnomon.ops.primitives import contract
from gnomon.passes.divide import divide
from gnomon.passes.early_parts import with_early_parts

pytestmark = pytest.mark.unit

ROWS = (("dp", 2, Split(0)),)


def gradient(count: int = 1) -> tuple[list[Node], list[Node]]:
    """Inputs, and gradients of parameters used in bfloat16, of rows that two ranks have."""
    arena = Arena()
    x, *gs = (arena.input((8, 64), float32) for _ in range(1 + count))
    rows = from_local(to_local(x, ROWS), ROWS)
    made = (contract("bi,bo->io", rows, from_local(to_local(g, ROWS), ROWS)) for g in gs)
    return [x, *gs], [cast(cast(y, bfloat16), float32) for y in made]


def ops(graph: Graph) -> list[str]:
    return [x.op for x in graph.nodes]


def test_a_part_is_taken_before_its_value_is_rounded_and_a_sum_is_scattered():
    inputs, (rounded,) = gradient()
    graph = Graph(inputs, [to_local(rounded, ROWS)])

    assert ops(graph)[-3:] == ["map", "map", "to_local"]
    assert ops(with_early_parts(graph))[-3:] == ["to_local", "map", "map"]
    assert [x.op for x in divide(graph) if x.op in COLLECTIVES] == ["reduce_scatter"]


def test_parts_of_sums_of_gradients_are_taken_before_they_are_added():
    inputs, both = gradient(2)
    graph = Graph(inputs, [to_local(both[0] + both[1], ROWS)])

    assert ops(with_early_parts(graph)).count("to_local") == ops(graph).count("to_local") + 1
    assert {x.op for x in divide(graph) if x.op in COLLECTIVES} == {"reduce_scatter"}


def test_what_somebody_reads_whole_stays_whole():
    inputs, (rounded,) = gradient()
    graph = Graph(inputs, [to_local(rounded, ROWS), rounded])

    assert ops(with_early_parts(graph)) == ops(graph)


def test_operands_of_other_shapes_stay_whole():
    inputs, (rounded,) = gradient()
    graph = Graph(inputs, [to_local(rounded + 1.0, ROWS)])

    assert ops(with_early_parts(graph)) == ops(graph)
