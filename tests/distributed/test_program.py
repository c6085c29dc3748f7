"""A program over a mesh: its steps, what it sends, and where its outputs lie."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.distributed.launch import run_ranks
from gnomon.distributed.mesh import Mesh
from gnomon.distributed.program import Division, RankProgram
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.collectives import all_gather, all_to_all, permute_ranks, reduce_scatter
from gnomon.ops.interpret import interpret_graph
from gnomon.ops.primitives import contract
from gnomon.passes.layout import REPLICATED, Split

pytestmark = pytest.mark.unit


def product() -> Graph:
    arena = Arena()
    x, w = arena.input((4, 256), float32, "x"), arena.input((8, 256), float32, "w")
    return Graph([x, w], [contract("bi,oi->bo", x, w)])


def test_a_sum_over_ranks_is_one_message_each_way():
    layout = {"tensor": Split(1)}
    mesh = Mesh((("tensor", 4),))
    graph = product()

    program = RankProgram(product(), Division(mesh, (layout, layout), ({},)), interpret_graph)

    # leaves of 128: two ranks could share them, four gather one operand and cut nothing in two
    assert dict(program.traffic()) == {("all_gather", "tensor"): 3 * 4 * (4 * 64 + 8 * 64)}
    assert program.outputs == [{"tensor": REPLICATED}]
    assert program.flops == 2 * graph.outputs[0].size * 256


def test_bytes_of_a_pending_sum():
    layout = {"tensor": Split(1)}

    program = RankProgram(product(), Division(Mesh((("tensor", 2),)), (layout, layout), ({},)))

    assert dict(program.traffic()) == {("all_reduce", "tensor"): 4 * 8 * 4}
    assert [type(step).__name__ for step in program.steps] == ["Segment", "Meeting"]


def test_collectives_by_hand_run_in_a_ranks_own_program():
    arena = Arena()
    x = arena.input((4, 2), float32, "x")
    made = [
        all_gather(x, 0, "a", 2),
        reduce_scatter(x, 0, "a", 2),
        all_to_all(x, 0, 1, "a", 2),
        permute_ranks(x, 1, "a", 2),
    ]
    mesh = Mesh((("b", 1), ("a", 2)))
    alone = Division(Mesh(()), ({},), ({},) * 4)
    program = RankProgram(Graph([x], made), alone, interpret_graph)

    first, second = run_ranks(
        mesh, lambda comm, rank: program.run(comm, [np.full((4, 2), rank, np.float32)])
    )

    assert first[0].ravel().tolist() == [0] * 8 + [1] * 8
    assert first[1].tolist() == second[1].tolist() == [[1, 1]] * 2
    assert first[2].tolist() == [[0, 0, 1, 1]] * 2
    assert (first[3][0, 0], second[3][0, 0]) == (1, 0)
