"""Python objects between ranks."""

from __future__ import annotations

import pytest

import gnomon.distributed as dist
from gnomon.errors import ShapeError
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_threads import on_threads


def exchanged(rank: int, ranks: int) -> list:
    """Objects by every way."""
    every, at_root, given, own = [None] * ranks, [None] * ranks, [rank, "own"], [None]
    dist.all_gather_object(every, {"rank": rank})
    dist.gather_object([rank], at_root if rank == 1 else None, dst=1)
    dist.broadcast_object_list(given, src=1)
    dist.scatter_object_list(own, [10 * k for k in range(ranks)] if rank == 0 else None, src=0)
    return [every, at_root, given, own]


def test_objects_go_where_they_are_sent():
    every = [{"rank": 0}, {"rank": 1}]

    assert on_threads(exchanged, 2) == [
        [every, [None, None], [1, "own"], [0]],
        [every, [[0], [1]], [1, "own"], [10]],
    ]


def test_processes_exchange_them_alike():
    assert on_mpi(exchanged, 2) == on_threads(exchanged, 2)


def test_a_list_without_a_place_for_each_rank_is_refused():
    def short(rank: int, ranks: int) -> None:
        with pytest.raises(ShapeError, match="expected a list of 2, a place for each rank: got 1"):
            dist.all_gather_object([None], rank)

    on_threads(short, 2)


def passed_on(rank: int, ranks: int) -> list:
    """Objects from one rank to the next, of other sizes at each."""
    given, came = [{"rank": rank}, "x" * 1000 * (rank + 1)], [None, None]
    if rank == 0:
        dist.send_object_list(given, dst=1)
        source = dist.recv_object_list(came, src=1)
    else:
        source = dist.recv_object_list(came, group_src=0)
        dist.send_object_list(given, group_dst=0)
    return [source, came[0], len(came[1])]


def test_objects_go_from_rank_to_rank():
    assert on_threads(passed_on, 2) == [[1, {"rank": 1}, 2000], [0, {"rank": 0}, 1000]]
    assert on_mpi(passed_on, 2) == on_threads(passed_on, 2)


def test_a_rank_that_is_not_in_the_group_sends_nothing():
    def alone(rank: int, ranks: int) -> list:
        group = dist.new_group([0])
        if rank == 0:
            return [None]
        return [dist.send_object_list([1], 0, group), dist.recv_object_list([None], 0, group)]

    assert on_threads(alone, 2)[1] == [None, -1]
