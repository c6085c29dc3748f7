"""Outlines: one for a program at all of its shapes, another for another program."""

from __future__ import annotations

import pytest

from gnomon.dtypes import DType, float32, float64
from gnomon.ir.node import Graph
from gnomon.ir.outline import outline
from gnomon.ops.normalization import softmax
from tests.schedule.kernels_of import graph, leaf


def program(*shape: int, dtype: DType = float32) -> Graph:
    """A program with a region inside."""
    return graph(softmax(leaf(*shape, dtype=dtype) * 2.0, 1))


def test_a_program_has_one_outline_at_all_shapes():
    assert outline(program(3, 5)) == outline(program(7, 64))


@pytest.mark.parametrize(
    "other", [program(3, 5, 2), program(3, 5, dtype=float64), graph(leaf(3, 5) * 2.0)]
)
def test_other_ranks_dtypes_and_operations_have_other_outlines(other: Graph):
    assert outline(other) != outline(program(3, 5))
