"""Nested dicts are saved by all ranks into one folder, which is whole or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gnomon as gn
import gnomon.distributed as dist
import gnomon.distributed.checkpoint as dcp
from gnomon.distributed.checkpoint.saving import CheckpointException
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.tensor import Shard, distribute_tensor
from gnomon.errors import ArgumentError, CheckpointError
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit


def test_what_changes_later_is_not_what_is_saved(tmp_path: Path):
    x = gn.arange(5.0) + 0
    done = dcp.async_save({"x": x, "rate": 0.1}, checkpoint_id=tmp_path / "a")
    x.zero_()
    done.result(60)
    into = {"x": gn.zeros(5), "rate": 0}
    dcp.load(into, checkpoint_id=tmp_path / "a")

    assert into["x"].tolist() == [0, 1, 2, 3, 4]
    assert into["rate"] == 0.1


def test_files_of_others_stay_and_those_of_an_older_save_go(tmp_path: Path):
    (tmp_path / "config.json").write_text("{}")
    for value in (1.0, 2.0):
        dcp.save({"x": gn.full((2,), value)}, storage_writer=dcp.FileSystemWriter(tmp_path))

    into = {"x": gn.zeros(2)}
    dcp.load(into, storage_reader=dcp.FileSystemReader(tmp_path))
    assert into["x"].tolist() == [2, 2]
    kinds = sorted(x.name.lstrip("0123456789abcdef") for x in tmp_path.iterdir())
    assert kinds == [
        *(".objects", ".safetensors", ".safetensors.index.json"),
        *("heckpoint.json", "onfig.json"),
    ]


def test_ranks_write_each_part_once(tmp_path: Path):
    def work(rank: int, ranks: int) -> list[str]:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        x = gn.arange(24.0).reshape(4, 6)
        laid = distribute_tensor(x, mesh, [Shard(1), Shard(0)])
        half = distribute_tensor(x, mesh["b"], [Shard(0)])
        dcp.save({"laid": laid, "half": half, "same": x[0], rank: rank}, checkpoint_id=tmp_path)
        return sorted(dcp.FileSystemReader(tmp_path).read_metadata().state_dict_metadata)

    assert on_threads(work, 4) == [["0", "1", "2", "3", "half", "laid", "same"]] * 4
    into = {"laid": gn.zeros(4, 6), "half": gn.zeros(4, 6), "same": gn.zeros(6), "3": None}
    dcp.load(into, checkpoint_id=tmp_path)
    assert into["laid"].tolist() == into["half"].tolist() == gn.arange(24.0).reshape(4, 6).tolist()
    assert into["same"].tolist() == [0, 1, 2, 3, 4, 5]
    assert into["3"] == 3


def test_an_error_of_one_rank_is_raised_by_all(tmp_path: Path):
    def work(rank: int, ranks: int) -> dict[int, str]:
        with pytest.raises(CheckpointError, match="ranks differ in x"):
            dcp.save({"x": gn.ones(2 + rank)}, checkpoint_id=tmp_path / "shapes")
        (tmp_path / "file").write_text("")
        with pytest.raises(CheckpointException) as failed:
            dcp.save({"x": gn.ones(2)}, checkpoint_id=tmp_path / "file" / "inner")
        return failed.value.failures

    for found in on_threads(work, 2):
        assert [*found] == [0]
        assert "NotADirectoryError" in found[0]


def test_arguments_that_fit_nothing(tmp_path: Path):
    with pytest.raises(ArgumentError, match="save: expected checkpoint_id or a FileSystemWriter"):
        dcp.save({})
    with pytest.raises(ArgumentError, match="expected a FileSystemWriter: got str"):
        dcp.save({}, storage_writer="there")
    with pytest.raises(ArgumentError, match="expected DefaultSavePlanner or none: got int"):
        dcp.save({}, checkpoint_id=tmp_path, planner=3)
    with pytest.raises(CheckpointException, match="cannot save"):
        dcp.save({"f": lambda: 0}, checkpoint_id=tmp_path)
    assert not os.path.exists(tmp_path / "checkpoint.json")


def test_one_rank_alone_needs_no_group(tmp_path: Path):
    def work(rank: int, ranks: int) -> list[float]:
        folder = tmp_path / str(rank)
        dcp.save({"x": gn.ones(2) * rank}, checkpoint_id=folder, no_dist=True)
        into = {"x": gn.zeros(2)}
        dcp.load(into, checkpoint_id=folder, no_dist=True)
        dist.barrier()
        return into["x"].tolist()

    assert on_threads(work, 2) == [[0, 0], [1, 1]]
