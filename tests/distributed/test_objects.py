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
