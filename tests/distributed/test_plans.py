"""Plans: the axis along which each parameter lies over each mesh axis."""

from __future__ import annotations

import pytest

from gnomon import nn
from gnomon.distributed import DeviceMesh, ShardingPlan, init_device_mesh
from gnomon.distributed.plans import lay_out, row_beside
from gnomon.models.config import Qwen3Config
from gnomon.models.decoder import AXES, DecoderForCausalLM
from gnomon.ops.placements import REPLICATED, Placement, Split
from gnomon.tensor.layouts import value_layout
from gnomon.train.recipes import tiny
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

PLAN = ShardingPlan()
TENSOR, SHARD = DeviceMesh.of({"tensor": 2}), DeviceMesh.of({"shard": 2})
BOTH = DeviceMesh.of((*SHARD.axes, *TENSOR.axes))


def split(mesh: DeviceMesh, names: tuple[str, ...], shape: tuple[int, ...]) -> list[Placement]:
    """The placement along each mesh axis."""
    return [placement for *_, placement in PLAN.layout(mesh, names, shape)]


def test_an_axis_that_the_plan_names_is_split():
    assert split(TENSOR, ("heads", "width"), (8, 6)) == [Split(0)]
    assert split(TENSOR, ("width", "heads"), (6, 8)) == [Split(1)]
    assert split(TENSOR, ("width",), (6,)) == [REPLICATED]
    assert split(TENSOR, (), (6, 8)) == [REPLICATED]


def test_where_ranks_do_not_divide_it_another_one_is():
    assert split(TENSOR, ("vocabulary", "width"), (307, 8)) == [Split(1)]
    assert split(TENSOR, ("vocabulary", "width"), (307, 9)) == [REPLICATED]


def test_fully_sharded_parameters_are_split_along_what_is_left():
    assert split(SHARD, ("heads", "width"), (8, 6)) == [Split(0)]
    assert split(SHARD, (), (3, 6)) == [Split(1)]
    assert split(BOTH, ("heads", "width"), (8, 6)) == [Split(1), Split(0)]
    assert split(BOTH, ("heads", "width"), (8, 5)) == [REPLICATED, Split(0)]


def test_a_name_has_an_axis_that_shares_out_every_parameter_to_itself():
    plan, names = ShardingPlan(axes={"expert": "shard"}), ("expert", "width")

    assert plan.layout(SHARD, names, (8, 6)) == (("shard", 2, Split(0)),)
    assert plan.layout(BOTH, names, (8, 6)) == (("shard", 2, Split(0)), ("tensor", 2, REPLICATED))
    assert plan.keeps(BOTH, names) == ("shard", "tensor")
    assert plan.keeps(BOTH, ("width",)) == ("tensor",)


def test_mesh_axes_that_a_plan_does_not_name_hold_everything():
    assert (
        split(DeviceMesh.of({"data": 2, "other": 3}), ("heads", "width"), (6, 6))
        == [REPLICATED] * 2
    )
    assert PLAN.layout(DeviceMesh.of({"tensor": 1}), ("heads", "width"), (8, 6)) == ()


def test_every_matrix_of_the_decoder_has_names_for_its_axes():
    config: Qwen3Config = tiny().model
    rows = PLAN.table(DecoderForCausalLM(config), AXES, TENSOR)

    assert {row.layout[0][2] for row in rows if len(row.shape) == 2} == {Split(0), Split(1)}
    assert {row.layout[0][2] for row in rows if len(row.shape) == 1} == {REPLICATED}


def test_a_table_lays_parameters_out_beside_what_they_have():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
        layer = nn.Linear(4, 6)
        whole, weight = layer.weight.tolist(), layer.weight
        for k, split in ((1, Split(0)), (0, REPLICATED)):
            over = ((*mesh.axes[k], split),)
            lay_out(layer, [row_beside("weight", layer.weight, over, ("tp",))])
        assert layer.weight is weight
        assert value_layout(weight) == (("dp", 1, REPLICATED), ("tp", 2, Split(0)))
        assert weight.to_local().tolist() == whole[3 * rank : 3 * rank + 3]
        assert not value_layout(layer.bias)

    on_threads(work, 2)
