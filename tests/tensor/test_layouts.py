"""Tensors that lie over ranks: storages hold parts, and programs give the bits of one process."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn, optim
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import ALONE, local_part
from gnomon.distributed.placing import split_rows
from gnomon.distributed.ranks import run_ranks
from gnomon.ops.placements import REPLICATED, Split
from gnomon.tensor.layouts import layout_of, local_of, spread

pytestmark = pytest.mark.unit

DATA, TENSOR = DeviceMesh.of({"data": 2}), DeviceMesh.of({"tensor": 2})
BOTH = DeviceMesh.of((*DATA.axes, *TENSOR.axes))
THREE = DeviceMesh.of({"data": 3})
SIX = DeviceMesh.of((*THREE.axes, *TENSOR.axes))
FULLY = {name: {"data": 0} for name in ("0.weight", "0.bias", "2.weight", "2.bias")}
COLUMNS = {"0.weight": {"tensor": 0}, "0.bias": {"tensor": 0}, "2.weight": {"tensor": 1}}
CROSSED = {
    "0.weight": {"data": 0, "tensor": 0},
    "0.bias": {"data": 0, "tensor": 0},
    "2.weight": {"data": 0, "tensor": 1},
}
Table = Mapping[str, Mapping[str, int]]


def place(p: gn.Tensor, mesh: DeviceMesh, rank: int, axes: Mapping[str, int]) -> None:
    """Keep this rank's part of a parameter."""
    placements = {name: Split(axis) for name, axis in axes.items()}
    layout = tuple((name, n, placements.get(name, REPLICATED)) for name, n in mesh.divided)
    part = local_part(mesh, rank, layout, p.detach().numpy())
    p.data = spread(gn.from_numpy(part.copy()), layout)


def trained(rank: int, mesh: DeviceMesh, table: Table, compiled: bool) -> list[tuple[str, str]]:
    """The bits of loss and norm in three steps."""
    gn.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    for name, p in model.named_parameters():
        place(p, mesh, rank, table.get(name, {}))
    x = gn.from_numpy(np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32))

    def step(x: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
        optimizer.zero_grad()
        loss = model(split_rows(x, mesh, "data")).square().mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)
        optimizer.step()
        return loss.detach(), norm

    run = gn.compile(step) if compiled else step
    found = [run(x) for _ in range(3)]
    for name, p in model.named_parameters():
        assert layout_of(p) == layout_of(p.grad) == layout_of(optimizer.state[p]["exp_avg"]), name
        assert local_of(p).numel() * ranks_of(table.get(name, {}), mesh) == p.numel()
    return [(float(loss).hex(), float(norm).hex()) for loss, norm in found]


def ranks_of(axes: Mapping[str, int], mesh: DeviceMesh) -> int:
    """Among how many ranks a parameter is divided."""
    return int(np.prod([dict(mesh.axes)[name] for name in axes]))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("mesh", "table"),
    [(DATA, {}), (DATA, FULLY), (TENSOR, COLUMNS), (BOTH, COLUMNS), (BOTH, CROSSED), (THREE, {})],
    ids=["data", "fully", "tensor", "both", "crossed", "three"],
)
def test_a_model_over_ranks_has_the_bits_of_one_process(
    mesh: DeviceMesh, table: Table, compiled: bool
):
    alone = trained(0, ALONE, {}, compiled)

    found = run_ranks(mesh, lambda rank: trained(rank, mesh, table, compiled), patience=60)

    assert found == [alone] * mesh.size()


@pytest.mark.parametrize("ranks", [5, 6, 7])
def test_ranks_that_do_not_divide_rows_have_the_bits_of_one_process(ranks: int):
    mesh = DeviceMesh.of({"data": ranks})

    found = run_ranks(mesh, lambda rank: trained(rank, mesh, {}, True), patience=60)

    assert found == [trained(0, ALONE, {}, True)] * ranks


def test_six_ranks_of_two_axes_have_the_bits_of_one_process():
    found = run_ranks(SIX, lambda rank: trained(rank, SIX, COLUMNS, True), patience=60)

    assert found == [trained(0, ALONE, {}, True)] * 6


def test_what_is_written_to_the_whole_value_stays_in_parts():
    def write(rank: int) -> list:
        local = gn.zeros(2, 3)
        whole = spread(local, (("tensor", 2, Split(0)),))
        whole[1:3] = gn.ones(2, 3)
        whole.mul_(2)
        return [tuple(whole.shape), local.tolist()]

    first, second = run_ranks(TENSOR, write, patience=20)

    assert first == [(4, 3), [[0.0] * 3, [2.0] * 3]]
    assert second == [(4, 3), [[2.0] * 3, [0.0] * 3]]


def test_ranks_that_are_threads_draw_by_themselves():
    def draw(rank: int) -> list[float]:
        gn.manual_seed(5)
        return [gn.rand(1).item() for _ in range(50)]

    first, second = run_ranks(TENSOR, draw, patience=20)

    assert first == second
