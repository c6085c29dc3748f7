"""Ranks have places, arrays have parts, and parts make the array again."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import local_part, whole_of
from gnomon.errors import LayoutError
from gnomon.ops.placements import REPLICATED, Split

pytestmark = pytest.mark.unit

MESH = DeviceMesh.of({"data": 2, "tensor": 3})


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

    parts = [local_part(MESH, rank, layout, whole) for rank in range(MESH.size())]

    assert np.array_equal(whole_of(MESH, layout, parts), whole)


def test_the_outer_axis_has_the_larger_stretches():
    layout = (("data", 2, Split(0)), ("tensor", 3, Split(0)))

    assert local_part(MESH, 4, layout, np.arange(6)).tolist() == [4]


def test_parts_of_unequal_sizes_are_refused():
    with pytest.raises(LayoutError, match="3 ranks of mesh axis 'tensor' do not divide axis 0"):
        local_part(MESH, 0, (("tensor", 3, Split(0)),), np.arange(4))
