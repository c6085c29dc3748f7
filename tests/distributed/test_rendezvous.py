"""The places at which ranks find each other: addresses, files, stores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import gnomon as gn
import gnomon.distributed as dist
import gnomon.multiprocessing as mp
from gnomon.distributed.processes import free_port
from gnomon.distributed.rendezvous import address_of, file_of, meet_by, rendezvous
from gnomon.errors import ConfigError


def test_a_method_names_an_address_or_a_file():
    assert address_of("tcp://node1:29500") == ("node1", 29500)
    assert address_of("env://") is address_of(None) is address_of("file:///a") is None
    assert file_of("file:///shared/job") == Path("/shared/job")
    assert file_of("tcp://node1:29500") is file_of(None) is None


def test_ranks_agree_by_a_store_again_and_again():
    store = dist.HashStore()

    def rank(number: int) -> list[tuple[str, int]]:
        return [meet_by(store, number, 3) for _ in range(2)]

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(rank, range(3)))

    assert found == [found[0]] * 3
    assert {host for host, _ in found[0]} == {"127.0.0.1"}


def test_a_url_gives_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "store"
    (store, rank, size) = next(rendezvous(f"file://{file}?rank=0&world_size=2"))
    assert (store.path, rank, size) == (str(file), 0, 2)
    (store, rank, size) = next(rendezvous(f"tcp://localhost:{free_port()}", 0, 1))
    assert (type(store), rank, size) == (dist.TCPStore, 0, 1)
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(ConfigError, match="names no place"):
        next(rendezvous("env://", 0, 1))


def meet(rank: int, way: str, place: str | int, total: gn.Tensor) -> None:
    """One of two processes that meet by a store or a file."""
    if way == "file":
        given = {"init_method": f"file://{place}"}
    else:
        given = {"store": dist.TCPStore("localhost", place, 2, rank == 0)}
    dist.init_process_group("gloo", rank=rank, world_size=2, **given)
    x = gn.full((2,), rank + 1.0)
    dist.all_reduce(x)
    total[rank] = x + 10 * dist.get_rank() + 100 * dist.get_world_size()
    dist.destroy_process_group()


@pytest.mark.parametrize("way", ["file", "store"])
def test_processes_meet(way: str, tmp_path: Path):
    total = gn.zeros(2, 2).share_memory_()
    place = tmp_path / "place" if way == "file" else free_port()

    mp.spawn(meet, (way, place, total), nprocs=2)

    assert total.tolist() == [[203, 203], [213, 213]]
    assert not (tmp_path / "place").exists()


def test_a_store_takes_a_rank_and_a_size_beside_it():
    for given in ({}, {"rank": 0}, {"rank": 0, "world_size": 2, "init_method": "env://"}):
        with pytest.raises(ConfigError, match="a store takes world_size= and rank= beside it"):
            dist.init_process_group("gloo", store=dist.HashStore(), **given)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    dist.destroy_process_group()
