"""Several groups made at once, collectives of several tensors, and a barrier that tells."""

from __future__ import annotations

from datetime import timedelta

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.errors import ArgumentError, CollectiveError
from tests.distributed.on_threads import on_threads


def test_groups_of_equal_sizes_share_out_the_ranks():
    def work(rank: int, ranks: int) -> list:
        own, groups = dist.new_subgroups(2)
        x = gn.ones(1) * rank
        dist.all_reduce(x, group=own)
        return [dist.get_process_group_ranks(own), len(groups), x.item()]

    assert on_threads(work, 4) == [[[0, 1], 2, 1.0]] * 2 + [[[2, 3], 2, 5.0]] * 2


def test_groups_are_those_that_are_listed():
    def work(rank: int, ranks: int) -> list:
        own, groups = dist.new_subgroups_by_enumeration([[0, 2]])
        return [own is groups[0], None if own is None else own.ranks]

    assert on_threads(work, 3) == [[True, (0, 2)], [False, None], [True, (0, 2)]]


def test_groups_that_do_not_share_out_the_ranks_are_refused():
    def work(rank: int, ranks: int) -> None:
        for size, told in (
            (None, "expected group_size: got none"),
            (0, "must be positive"),
            (4, "must not exceed the world size"),
            (2, "must be divisible"),
        ):
            with pytest.raises(ArgumentError, match=told):
                dist.new_subgroups(size)
        with pytest.raises(ArgumentError, match="cannot be empty"):
            dist.new_subgroups_by_enumeration([])
        with pytest.raises(ArgumentError, match="Rank 0 has appeared in both subgroup"):
            dist.new_subgroups_by_enumeration([[0, 1], [0, 2]])

    on_threads(work, 3)


@pytest.mark.parametrize("async_op", [False, True])
def test_collectives_of_several_tensors_are_those_of_each(async_op: bool):
    def work(rank: int, ranks: int) -> list:
        xs = [gn.ones(2) * rank, gn.ones(1, dtype=gn.int64) + rank]
        every = [[gn.zeros(2), gn.zeros(1, dtype=gn.int64)] for _ in range(ranks)]
        began = [dist.all_gather_coalesced(every, xs, async_op=async_op)]
        if async_op:
            began[0].wait()
        began.append(dist.all_reduce_coalesced(xs, async_op=async_op))
        if async_op:
            began[1].wait()
            assert began[1].is_completed()
        else:
            assert began == [None, None]
        dist.all_reduce_coalesced(xs[0])
        return [[[x.tolist() for x in row] for row in every], [x.tolist() for x in xs]]

    rows = [[[0.0, 0.0], [1]], [[1.0, 1.0], [2]]]
    assert on_threads(work, 2) == [[rows, [[2.0, 2.0], [3]]]] * 2


def test_a_monitored_barrier_is_passed_together():
    def work(rank: int, ranks: int) -> None:
        for _ in range(3):
            dist.monitored_barrier(timeout=timedelta(seconds=30))
        dist.monitored_barrier(dist.new_group([0, 2]))

    on_threads(work, 3)


@pytest.mark.parametrize(("every", "told"), [(False, "rank 1"), (True, "rank 1, 2")])
def test_a_monitored_barrier_says_who_did_not_come(every: bool, told: str):
    def work(rank: int, ranks: int) -> None:
        if rank == 0:
            with pytest.raises(CollectiveError, match=f"{told} did not come in 10 ms"):
                dist.monitored_barrier(timeout=timedelta(seconds=0.01), wait_all_ranks=every)

    on_threads(work, 3)
