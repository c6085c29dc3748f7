"""Device meshes: where ranks stand, their groups, parts of meshes, and what is refused."""

from __future__ import annotations

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.distributed.device_mesh import DeviceMesh, init_device_mesh
from gnomon.distributed.plans import PLAN
from gnomon.errors import ArgumentError, LayoutError
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit


def test_every_rank_stands_somewhere_and_meets_those_beside_it():
    def work(rank: int, ranks: int) -> tuple:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        x = gn.tensor([float(rank)])
        dist.all_reduce(x, group=mesh.get_group("tp"))
        beside = mesh["dp"]
        assert mesh.mesh.tolist() == [[0, 1], [2, 3]]
        assert (mesh.size(), mesh.size(1), mesh.shape, mesh.ndim) == (4, 2, (2, 2), 2)
        assert mesh["dp", "tp"] == mesh
        assert beside.get_group().name == mesh.get_group("dp").name
        return mesh.get_coordinate(), mesh.get_local_rank("tp"), beside.mesh.tolist(), x.item()

    assert on_threads(work, 4) == [
        ([0, 0], 0, [0, 2], 1.0),
        ([0, 1], 1, [1, 3], 1.0),
        ([1, 0], 0, [0, 2], 5.0),
        ([1, 1], 1, [1, 3], 5.0),
    ]


def test_axes_of_equal_names_over_other_ranks_are_other_groups():
    def work(rank: int, ranks: int) -> tuple:
        three = init_device_mesh("cpu", (3,), mesh_dim_names=("tp",))
        two = DeviceMesh("cpu", [1, 2], mesh_dim_names=("tp",))
        again = init_device_mesh("cpu", (3,), mesh_dim_names=("tp",))
        assert again == three != two
        assert again.names == three.names != two.names
        x = gn.ones(1)
        dist.all_reduce(x, group=three.get_group())
        if two.get_coordinate() is not None:
            dist.all_reduce(x, group=two.get_group())
        return two.get_coordinate(), two.names, x.item()

    first, second, third = on_threads(work, 3)

    assert first[0] is None
    assert [second[0], third[0]] == [[0], [1]]
    assert first[1] == second[1] == third[1]
    assert [first[2], second[2], third[2]] == [3.0, 6.0, 6.0]


def test_a_mesh_connects_a_process_that_is_alone():
    def work(rank: int, ranks: int) -> tuple:
        dist.destroy_process_group()
        mesh = init_device_mesh("cpu", (1, 1))
        return mesh.mesh_dim_names, mesh.get_all_groups()[1].size(), repr(mesh)

    assert on_threads(work, 1) == [(None, 1, "DeviceMesh('cpu', [[0]])")]


def test_what_fits_no_mesh_is_refused():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
        with pytest.raises(LayoutError, match="not be bigger than default world size 2"):
            init_device_mesh("cpu", (4,))
        with pytest.raises(LayoutError, match="should have same length"):
            init_device_mesh("cpu", (2,), mesh_dim_names=("dp", "tp"))
        with pytest.raises(LayoutError, match="must be unique"):
            init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "dp"))
        with pytest.raises(LayoutError, match="expected ranks, each once"):
            DeviceMesh("cpu", [0, 0])
        with pytest.raises(LayoutError, match="without mesh_dim_names"):
            init_device_mesh("cpu", (1, 2))["dp"]
        with pytest.raises(KeyError, match="Valid ones are"):
            mesh["pp"]
        with pytest.raises(KeyError, match="in order"):
            mesh["tp", "dp"]
        with pytest.raises(ArgumentError, match="expected `mesh_dim`"):
            mesh.get_group()
        with pytest.raises(LayoutError, match="no dimension 2"):
            mesh.get_group(2)
        with pytest.raises(ArgumentError, match="computes on the CPU"):
            init_device_mesh("cuda", (2,))

    on_threads(work, 2)


def test_the_last_axis_counts_fastest():
    mesh = DeviceMesh.of({"data": 2, "tensor": 3})

    places = [tuple(mesh.place(rank).values()) for rank in range(mesh.size())]

    assert places == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_ranks_beside_one_differ_along_an_axis_alone():
    mesh = DeviceMesh.of({"data": 2, "shard": 3, "tensor": 4})

    for rank in range(mesh.size()):
        for axis, count in mesh.axes:
            wanted = [{**mesh.place(rank), axis: k} for k in range(count)]
            assert [mesh.place(k) for k in mesh.beside(rank, axis)] == wanted


def test_a_rank_of_a_large_world_knows_its_neighbours():
    mesh = DeviceMesh.of({"data": 128, "shard": 8, "tensor": 8})

    assert mesh.beside(8191, "data")[:2] == [63, 127]
    assert mesh.beside(8191, "tensor") == [*range(8184, 8192)]


def test_names_and_sizes_alone_are_a_mesh_of_ranks_that_need_not_run():
    mesh = DeviceMesh.of([("data", 2), ("shard", 1), ("tensor", 3)])

    assert (mesh.size(), mesh.shape, mesh.names) == (6, (2, 1, 3), ("data", "shard", "tensor"))
    assert mesh.divided == (("data", 2), ("tensor", 3))
    assert mesh.groups("tensor") == mesh.groups("shard", "tensor") == [[0, 1, 2], [3, 4, 5]]
    assert mesh.groups() == [[rank] for rank in range(6)]
    assert DeviceMesh.of(()).place(0) == mesh.place(6) == {}
    assert {mesh: 1}[DeviceMesh.of(dict(mesh.axes))] == 1


def test_a_connected_mesh_is_one_by_names_and_sizes_too():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
        named = DeviceMesh.of(mesh.axes)
        assert mesh == named
        assert mesh.place(1) == named.place(1) == {"dp": 0, "tp": 1}
        assert PLAN.layout(mesh, ("width",), (4,)) == PLAN.layout(named, ("width",), (4,))

    on_threads(work, 2)


def test_parts_of_a_mesh_are_flattened_under_names_that_the_whole_knows():
    """As TorchTitan's ParallelDims does."""

    def work(rank: int, ranks: int) -> tuple:
        mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("rep", "shard", "tp"))
        one = mesh["shard"]._flatten("shard_cp")
        both = mesh["rep", "shard"]._flatten("dp")
        assert mesh["shard_cp"] == one
        assert one.names == mesh["shard"].names, "an axis under another name"
        assert mesh["rep", "shard_cp"].names == mesh["rep", "shard"].names
        assert mesh[("shard_cp",)].get_local_rank() == mesh["shard"].get_local_rank()
        assert mesh["dp"] is both
        assert (both.mesh_dim_names, both.shape) == (("dp",), (4,))
        x = gn.tensor([float(rank)])
        dist.all_reduce(x, group=both.get_group())
        with pytest.raises(KeyError, match="Invalid mesh_dim_name 'dp'"):
            mesh["dp", "tp"]
        assert mesh["rep", "tp"]._flatten().mesh_dim_names == ("rep_tp",)
        return both.mesh.tolist(), both.get_local_rank(), x.item()

    assert on_threads(work, 8) == [
        ([k % 2, k % 2 + 2, k % 2 + 4, k % 2 + 6], k // 2, 12.0 + 4 * (k % 2)) for k in range(8)
    ]


def test_a_mesh_without_axes_is_of_one_rank():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", [], mesh_dim_names=[])
        assert (mesh.ndim, mesh.shape, mesh.size(), mesh.axes) == (0, (), 1, ())
        assert mesh.mesh.item() == 0
        assert mesh.get_coordinate() is None
        with pytest.raises(KeyError, match="Invalid mesh_dim_name 'dp'"):
            mesh["dp"]
        with pytest.raises(LayoutError, match="no dimension 0"):
            mesh.get_group(0)

    on_threads(work, 1)
