"""What `gnomon plan` compares is what `gnomon train --mesh` runs, and both refuse the same."""

from __future__ import annotations

import pytest

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.plans import PLAN
from gnomon.errors import LayoutError
from gnomon.models.registry import kind_of
from gnomon.train.chips import CHIPS
from gnomon.train.layouts import best_layouts
from tests.train.curves import config_of


def test_rows_that_ranks_do_not_divide_are_planned_as_they_are_trained():
    found = best_layouts(config_of("six heads"), 3, CHIPS["h100"])

    assert {"data": 3} in [dict(each.mesh.divided) for each in found]


def test_a_mesh_axis_that_divides_nothing_is_refused_by_name():
    config = config_of("six heads")
    kind = kind_of(config.model)
    model = kind.model(config.model)

    with pytest.raises(LayoutError, match=r"plan: 7 ranks of mesh axis 'tensor' divide no param"):
        PLAN.table(model, kind.axes, DeviceMesh.of({"tensor": 7}))
