"""Ranks have places, arrays have parts, and parts make the array again."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.distributed.mesh import Mesh, local_part, whole_of
from gnomon.errors import LayoutError
from gnomon.ops.placements import REPLICATED, Split

pytestmark = pytest.mark.unit

MESH = Mesh((("data", 2), ("tensor", 3)))


def test_the_last_axis_counts_fastest():
    places = [tuple(MESH.place(rank).values()) for rank in range(MESH.size)]

    assert places == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    "layout",
    [
        (),
        (("data", 2, Split(0)),),
        (("data", 2, REPLICATED), ("tensor", 3, Split(1))),
        (("data", 2, Split(0)), ("tensor", 3, Split(1))),
        (("data", 2, Split(1)), ("tensor", 3, Split(1))),
    ],
)
def test_parts_make_the_whole(layout):
    whole = np.arange(4 * 12).reshape(4, 12)

    parts = [local_part(MESH, rank, layout, whole) for rank in range(MESH.size)]

    assert np.array_equal(whole_of(MESH, layout, parts), whole)


def test_the_outer_axis_has_the_larger_stretches():
    layout = (("data", 2, Split(0)), ("tensor", 3, Split(0)))

    assert local_part(MESH, 4, layout, np.arange(6)).tolist() == [4]


def test_parts_of_unequal_sizes_are_refused():
    with pytest.raises(LayoutError, match="3 ranks of mesh axis 'tensor' do not divide axis 0"):
        local_part(MESH, 0, (("tensor", 3, Split(0)),), np.arange(4))


def test_ranks_beside_one_differ_along_an_axis_alone():
    mesh = Mesh((("data", 2), ("shard", 3), ("tensor", 4)))

    for rank in range(mesh.size):
        for axis, count in mesh.axes:
            wanted = [{**mesh.place(rank), axis: k} for k in range(count)]
            assert [mesh.place(k) for k in mesh.beside(rank, axis)] == wanted


def test_a_rank_of_a_large_world_knows_its_neighbours():
    mesh = Mesh((("data", 128), ("shard", 8), ("tensor", 8)))

    assert mesh.beside(8191, "data")[:2] == [63, 127]
    assert mesh.beside(8191, "tensor") == [*range(8184, 8192)]
