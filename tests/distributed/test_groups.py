"""Process groups: which ranks are in which, what leaves nothing behind, and what is refused."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import timedelta

import pytest

import gnomon as gn
import gnomon.distributed as dist
import gnomon.multiprocessing as mp
from gnomon.distributed.processes import free_port
from gnomon.errors import ArgumentError, CollectiveError, ConfigError
from gnomon.runtime.buffer import memory
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_threads import on_threads


def halves(rank: int, ranks: int) -> list:
    """Groups of some ranks, and what they sum."""
    evens = dist.new_group([0, 2])
    mine = dist.split_group(split_ranks=[[0], list(range(1, ranks))])
    x, y = gn.ones(1) * (rank + 1), gn.ones(1) * (rank + 1)
    dist.all_reduce(x, group=evens)
    dist.all_reduce(y, group=mine)
    told = [dist.get_rank(evens), dist.get_world_size(evens), x.item()]
    return [*told, dist.get_process_group_ranks(mine), dist.get_rank(mine), y.item()]


def test_groups_are_of_some_ranks():
    assert on_threads(halves, 3) == [
        [0, 2, 4.0, [0], 0, 1.0],
        [-1, -1, 2.0, [1, 2], 0, 5.0],
        [1, 2, 4.0, [1, 2], 1, 5.0],
    ]


def test_groups_of_processes_are_those_of_threads():
    assert on_mpi(halves, 3) == on_threads(halves, 3)


def test_a_process_alone_is_a_world_of_one():
    assert not dist.is_initialized()
    dist.init_process_group(init_method="env://", timeout=timedelta(seconds=5))
    try:
        x = gn.ones(3)
        work = dist.all_reduce(x, async_op=True)
        assert work.wait()
        assert work.is_completed()
        assert (dist.get_rank(), dist.get_world_size(), x.tolist()) == (0, 1, [1.0] * 3)
        with pytest.raises(CollectiveError, match="there is a group already"):
            dist.init_process_group()
    finally:
        dist.destroy_process_group()


def test_what_is_not_there_is_refused():
    with pytest.raises(CollectiveError, match="there is no process group"):
        dist.all_reduce(gn.ones(1))
    with pytest.raises(
        ConfigError, match="backend: expected one of mpi, node, tcp, threads, fake: got 'ucc'"
    ):
        dist.init_process_group("ucc")
    with pytest.raises(CollectiveError, match=r"nccl: .*anks .* meet by MPI"):
        dist.init_process_group("nccl")
    with pytest.raises(ConfigError, match="rank=0, world_size=2: this is rank 0 of 1"):
        dist.init_process_group("threads", world_size=2, rank=0)


def test_a_group_that_was_destroyed_is_refused():
    def left(rank: int, ranks: int) -> None:
        group = dist.new_group([0, 1])
        dist.destroy_process_group(group)
        with pytest.raises(CollectiveError, match="'group 1' was destroyed"):
            dist.all_reduce(gn.ones(1), group=group)
        with pytest.raises(ArgumentError, match=r"expected ranks below 2, each once: got \[0, 7\]"):
            dist.new_group([0, 7])

    on_threads(left, 2)


counting = threading.Lock()


def used() -> tuple[int, int, int]:
    """Bytes of ours, threads, and file handles of this process."""
    # a thread that lists handles has one open for that: two at a time would count each other's
    with counting:
        return memory.use().allocated, threading.active_count(), len(os.listdir("/proc/self/fd"))


def left(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """What is left of bytes, threads and handles, less what ranks hold at times.

    That is a few tensors, and the scratch that a second rank takes when both first run at once.
    """
    nbytes, *others = (now - then for then, now in zip(before, after, strict=True))
    return [max(0, nbytes - 80_000), *(max(0, other) for other in others)]


def many_groups(rank: int, ranks: int, count: int) -> list[tuple[int, int, int]]:
    """Make and leave groups, and use each tenth; what is in use before and afterwards."""
    seen = []
    for k in range(count + 100):
        group = dist.new_group(list(range(ranks)))
        if k % 10 == 0:
            x = gn.ones(4)
            dist.all_reduce(x, group=group)
            del x
        dist.destroy_process_group(group)
        if k in (99, count + 99):
            dist.barrier()
            gc.collect()
            seen.append(used())
            dist.barrier()
    return seen


def test_ten_thousand_groups_leave_nothing_behind():
    # in a process of its own: workers that other tests woke have threads and handles too
    found = subprocess.check_output([sys.executable, "-m", __name__], text=True)

    assert [left(*pair) for pair in json.loads(found)] == [[0, 0, 0]] * 2


def hundreds(rank: int, ranks: int) -> list[tuple[int, int, int]]:
    """The same of a few hundred."""
    return many_groups(rank, ranks, 200)


def test_hundreds_of_groups_of_processes_leave_nothing_behind():
    assert [left(*pair) for pair in on_mpi(hundreds, 2)] == [[0, 0, 0]] * 2


if __name__ == "__main__":
    print(json.dumps(on_threads(lambda rank, ranks: many_groups(rank, ranks, 10_000), 2)))


def meet(rank: int, method: str | None, port: int, total: gn.Tensor) -> None:
    """One of two processes that say of themselves which rank they are."""
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port))
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=2)
    x = gn.full((2,), rank + 1.0)
    dist.all_reduce(x)
    total[rank] = x + 10 * dist.get_rank() + 100 * dist.get_world_size()
    dist.destroy_process_group()


@pytest.mark.parametrize("method", [None, "env://", "tcp://127.0.0.1:{port}"])
def test_processes_that_a_program_starts_meet(method):
    port, total = free_port(), gn.zeros(2, 2).share_memory_()

    mp.spawn(meet, (method and method.format(port=port), port, total), nprocs=2)

    assert total.tolist() == [[203, 203], [213, 213]]


def test_where_ranks_meet_is_said():
    for method in ("tcp://here", "tcp://here:port", ""):
        with pytest.raises(ConfigError, match="init_method: expected tcp://HOST:PORT, file://"):
            dist.init_process_group("gloo", init_method=method, rank=0, world_size=2)
    assert not dist.is_initialized()


def test_a_size_without_a_rank_is_refused():
    with pytest.raises(ConfigError, match="world_size=2 needs a rank of 0 to 1: got -1"):
        dist.init_process_group("gloo", world_size=2)
