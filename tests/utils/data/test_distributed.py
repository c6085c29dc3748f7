"""The share of a dataset that each rank reads."""

from __future__ import annotations

import pytest

from gnomon.errors import ArgumentError, CollectiveError
from gnomon.utils.data import DataLoader, DistributedSampler
from tests.distributed.on_threads import on_threads

ITEMS = list(range(10))


def shares(**options: object) -> list[list[int]]:
    """The numbers that each of 3 ranks reads."""
    return [list(DistributedSampler(ITEMS, 3, rank, **options)) for rank in range(3)]


def test_shares_are_of_equal_length():
    assert shares(shuffle=False) == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]
    assert shares(shuffle=False, drop_last=True) == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_the_order_follows_from_seed_and_epoch():
    first, again, other = (shares(seed=seed) for seed in (0, 0, 1))
    sampler = DistributedSampler(ITEMS, 3, 0)
    sampler.set_epoch(1)

    assert sorted({k for share in first for k in share}) == ITEMS
    assert first == again != other
    assert list(sampler) == other[0]
    assert len(sampler) == 4


def test_ranks_are_asked_of_the_group():
    def read(rank: int, ranks: int) -> list[list[int]]:
        sampler = DistributedSampler(ITEMS, shuffle=False)
        return [batch.tolist() for batch in DataLoader(ITEMS, batch_size=2, sampler=sampler)]

    assert on_threads(read, 2) == [[[0, 2], [4, 6], [8]], [[1, 3], [5, 7], [9]]]


def test_what_is_no_rank_is_refused():
    with pytest.raises(ArgumentError, match="rank 3 is none of 3"):
        DistributedSampler(ITEMS, 3, 3)
    with pytest.raises(CollectiveError, match="there is no process group"):
        DistributedSampler(ITEMS)
