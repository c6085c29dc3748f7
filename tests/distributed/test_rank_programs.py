"""A program over a mesh: its steps, what it sends, and where its outputs lie."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.collectives import all_gather, all_to_all, permute_ranks, reduce_scatter
from gnomon.ops.placements import REPLICATED, Split
from gnomon.ops.primitives import contract
from tests.distributed.rank_programs import Division, RankProgram

pytestmark = pytest.mark.unit


def product() -> Graph:
    arena = Arena()
    x, w = arena.input((4, 256), float32, "x"), arena.input((8, 256), float32, "w")
    return Graph([x, w], [contract("bi,oi->bo", x, w)])


def test_a_sum_over_ranks_is_one_message_each_way():
    layout = {"tensor": Split(1)}
    mesh = DeviceMesh.of({"tensor": 4})
    graph = product()

    program = RankProgram(product(), Division(mesh, (layout, layout), ({},)))

    assert dict(program.traffic()) == {("all_reduce", "tensor"): 2 * 3 * 4 * 8}
    assert program.outputs == [{"tensor": REPLICATED}]
    assert program.flops == 2 * graph.outputs[0].size * 64


def over(ranks: int) -> RankProgram:
    """The product over so many ranks, both of whose operands lie split along the summed axis."""
    layout = {"tensor": Split(1)}
    return RankProgram(
        product(), Division(DeviceMesh.of({"tensor": ranks}), (layout, layout), ({},))
    )


def test_a_sum_with_fewer_leaves_than_ranks_is_split_by_columns():
    program = over(8)

    # leaves of 64: four ranks could share them; each of eight computes one of the eight columns
    assert dict(program.traffic()) == {
        ("all_gather", "tensor"): 7 * 4 * (4 * 32 + 4 * 1),  # x, and the columns of the result
        ("all_to_all", "tensor"): 7 * 4 * (8 * 32 // 8),  # w from stretches of rows to columns
    }
    assert program.flops == 2 * 4 * 8 * 256 / 8


def test_a_product_that_no_axis_splits_is_computed_by_all():
    program = over(16)

    assert dict(program.traffic()) == {("all_gather", "tensor"): 15 * 4 * (4 * 16 + 8 * 16)}
    assert program.flops == 2 * 4 * 8 * 256


def test_bytes_of_a_pending_sum():
    layout = {"tensor": Split(1)}

    program = RankProgram(
        product(), Division(DeviceMesh.of({"tensor": 2}), (layout, layout), ({},))
    )

    assert dict(program.traffic()) == {("all_reduce", "tensor"): 4 * 8 * 4}
    assert [node.op for node in program.collectives] == ["all_reduce"]


def test_collectives_by_hand_run_in_a_ranks_own_program():
    arena = Arena()
    x = arena.input((4, 2), float32, "x")
    made = [
        all_gather(x, 0, "a", 2),
        reduce_scatter(x, 0, "a", 2),
        all_to_all(x, 0, 1, "a", 2),
        permute_ranks(x, 1, "a", 2),
    ]
    mesh = DeviceMesh.of({"b": 1, "a": 2})
    alone = Division(DeviceMesh.of(()), ({},), ({},) * 4)
    program = RankProgram(Graph([x], made), alone)

    first, second = run_ranks(mesh, lambda rank: program.run([np.full((4, 2), rank, np.float32)]))

    assert first[0].ravel().tolist() == [0] * 8 + [1] * 8
    assert first[1].tolist() == second[1].tolist() == [[1, 1]] * 2
    assert first[2].tolist() == [[0, 0, 1, 1]] * 2
    assert (first[3][0, 0], second[3][0, 0]) == (1, 0)
