"""Questions that programs ask before they connect."""

from __future__ import annotations

import pytest

import gnomon.distributed as dist
from gnomon.errors import ArgumentError, ConfigError
from gnomon.runtime.comm.environment import BACKEND, environment
from tests.distributed.on_threads import on_threads


def test_gloo_is_a_name_for_what_connects_ranks():
    assert dist.is_gloo_available()
    assert dist.is_mpi_available() == dist.is_backend_available("mpi")
    assert [dist.is_backend_available(x) for x in ("GLOO", "cpu:gloo", "threads")] == [True] * 3
    assert not any(dist.is_backend_available(x) for x in ("nccl", "ucc", "xccl", BACKEND))
    others = (dist.is_nccl_available, dist.is_ucc_available, dist.is_xccl_available)
    assert not any(ask() for ask in others)


def test_names_of_backends_are_strings():
    assert dist.Backend("NCCL") == dist.Backend.NCCL == "nccl"
    assert dist.get_default_backend_for_device("cpu") == dist.Backend.GLOO
    assert dist.get_default_backend_for_device("cuda:1") == "nccl"
    with pytest.raises(ArgumentError, match="expected a name: got None"):
        dist.Backend(None)
    with pytest.raises(ArgumentError, match="not registered for device : maia"):
        dist.get_default_backend_for_device("maia")


def test_the_rank_on_its_machine_is_the_launchers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if environment().size == 1:
        assert dist.get_node_local_rank(fallback_rank=3) == 3
        with pytest.raises(ConfigError, match="LOCAL_RANK is not in the environment"):
            dist.get_node_local_rank()
    monkeypatch.setenv("LOCAL_RANK", "5")

    assert dist.get_node_local_rank(fallback_rank=3) == 5


def test_the_level_of_messages_is_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "info")
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() is dist.DebugLevel.INFO
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "much")
    with pytest.raises(ConfigError, match="expected one of OFF, INFO, DETAIL: got 'MUCH'"):
        dist.set_debug_level_from_env()
    dist.set_debug_level(dist.DebugLevel.OFF)

    assert dist.get_debug_level() is dist.DebugLevel.OFF


def test_an_agent_of_torchrun_leaves_its_sign(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert not dist.is_torchelastic_launched()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")

    assert dist.is_torchelastic_launched()


def test_groups_are_counted():
    def counted(rank: int, ranks: int) -> list[int]:
        found = [dist.get_pg_count()]
        dist.new_group([0])
        return [*found, dist.get_pg_count()]

    assert dist.get_pg_count() == 0
    assert on_threads(counted, 2) == [[1, 2]] * 2


def test_sums_take_complex_numbers():
    ops = dist.ReduceOp

    assert dist.supports_complex(ops.SUM)
    assert dist.supports_complex(ops.AVG)
    assert not any(dist.supports_complex(op) for op in (ops.MAX, ops.PRODUCT, ops.BXOR))


def test_errors_of_ranks_are_found_by_pytorchs_names():
    kinds = (dist.DistBackendError, dist.DistNetworkError, dist.DistStoreError)

    assert all(issubclass(kind, dist.DistError) for kind in kinds)
    assert issubclass(dist.QueueEmptyError, dist.DistStoreError)
    assert issubclass(dist.DistError, RuntimeError)
