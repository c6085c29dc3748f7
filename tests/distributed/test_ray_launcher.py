"""Ranks that are actors of a local Ray; skipped where Ray is not installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.distributed.ray_launcher import RAY, RayLauncher, variables_of
from gnomon.errors import ConfigError

INSTALLED = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not INSTALLED, reason="Ray is not installed: pip install ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray of this machine alone."""
    RAY.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    RAY.shutdown()


def summed(value: float) -> tuple[int, str, list[float]]:
    """A sum over ranks."""
    dist.init_process_group()
    x = gn.ones(3) * (value + dist.get_rank())
    dist.all_reduce(x)
    found = dist.get_rank(), dist.get_backend(), x.tolist()
    dist.destroy_process_group()
    return found


def ill(value: float) -> Any:
    """Rank 1 fails while the others wait for it."""
    dist.init_process_group()
    if dist.get_rank() == 1:
        raise ValueError("rank one is ill")
    dist.barrier()


@needs_ray
def test_actors_are_ranks_that_meet(cluster: None):
    found = RayLauncher(2).run(summed, 10.0)

    assert found == [(0, "tcp", [21.0] * 3), (1, "tcp", [21.0] * 3)]


@needs_ray
def test_what_a_rank_raises_is_raised_here(cluster: None):
    with pytest.raises(ValueError, match="rank one is ill"):
        RayLauncher(2).run(ill, 0.0)


@pytest.mark.skipif(INSTALLED, reason="Ray is installed")
def test_without_ray_it_says_what_to_install():
    with pytest.raises(ConfigError, match=r"No module named 'ray'. Install it: pip install ray"):
        RayLauncher(2).run(summed, 1.0)


def test_no_ranks_are_refused():
    with pytest.raises(ConfigError, match="ranks: expected int >= 1: got 0"):
        RayLauncher(0)


def test_ranks_of_one_machine_are_counted_there():
    found = variables_of([("a", 1), ("b", 2), ("a", 3)])

    assert [each["LOCAL_RANK"] for each in found] == ["0", "0", "1"]
    assert [each["LOCAL_WORLD_SIZE"] for each in found] == ["2", "1", "2"]
    assert {(each["MASTER_ADDR"], each["MASTER_PORT"]) for each in found} == {("a", "1")}
