"""Layouts of a step: every mesh that fits is compared, and what fits nowhere says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnomon.distributed.mesh import mesh_of
from gnomon.distributed.plans import PLAN
from gnomon.errors import ConfigError
from gnomon.train.chips import CHIPS
from gnomon.train.forecast import COARSE, DEPTHS, forecast
from gnomon.train.layouts import best_layouts, layouts_of, spelled, why_not
from tests.train.curves import config_of

pytestmark = pytest.mark.unit

CHIP = CHIPS["h100"]


def test_every_mesh_of_a_world_is_there_once():
    found = [spelled(mesh) for mesh in layouts_of(8)]

    assert len(found) == len(set(found)) == 10
    assert {"data=8", "shard=2,tensor=4", "data=2,shard=2,tensor=2"} <= set(found)
    assert len(list(layouts_of(8192))) == 105
    assert all(mesh.size() == 12 for mesh in layouts_of(12))


def test_a_plan_names_the_axes():
    plan = replace(PLAN, rows=("data",), fully=("data",), axes={"heads": "model"})

    assert [mesh.axes for mesh in layouts_of(2, plan)] == [
        (("data", 1), ("model", 2)),
        (("data", 2), ("model", 1)),
    ]


@pytest.mark.parametrize(
    ("mesh", "why"),
    [
        ("data=17", r"17 ranks are more than the 16 rows of a batch \(train.batch_size\)"),
        ("data=2,tensor=4", r"4 ranks along 'tensor' do not divide heads \(6\)"),
        ("data=2,tensor=2", ""),
    ],
)
def test_what_cannot_be_shared_out_says_why(mesh: str, why: str):
    told = why_not(config_of("six heads"), mesh_of(mesh), PLAN)

    assert told == why.replace("\\", "")


def test_the_best_come_first():
    config = config_of("six heads", layers=1)
    found = best_layouts(config, 4, CHIP)

    seconds = [each.forecast.seconds for each in found]
    assert seconds == sorted(seconds)
    assert {"data=4", "data=2,tensor=2"} <= {spelled(each.mesh) for each in found}
    assert all(0.9 < each.work < 1.2 for each in found)
    assert found[0].forecast == forecast(config, found[0].mesh, CHIP, depths=COARSE)


def test_deep_models_are_told_by_deeper_ones():
    config = config_of("six heads", layers=DEPTHS[1] + 1)
    shown: list[int] = []

    def told(meshes):
        shown.append(len(meshes))
        return meshes

    found = best_layouts(config, 1, CHIP, report=told)
    assert shown == [1, 1]
    assert found[0].forecast == forecast(config, mesh_of(""), CHIP)


def test_what_fits_nowhere_says_why():
    config = config_of("six heads", layers=1)

    with pytest.raises(ConfigError, match=r"(?s)no layout of 17 ranks of h100 fits:\n  17 ranks"):
        best_layouts(config, 17, CHIP)
    small = replace(CHIP, memory=1e6)
    with pytest.raises(ConfigError, match=r"needs .* MB on each rank: h100 has 1.00 MB"):
        best_layouts(config, 2, small)
    with pytest.raises(ConfigError, match="--world: expected int >= 1: got 0"):
        best_layouts(config, 0, CHIP)
