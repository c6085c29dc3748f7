"""What ranks have adds up, and shares that fit no group are refused."""

from __future__ import annotations

import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.distributed.token_dispatch.shares import Shares
from gnomon.errors import ArgumentError, LayoutError
from tests.distributed.on_threads import on_threads


def test_experts_are_shared_out_in_order():
    shares = on_threads(lambda rank, ranks: Shares(7, [1, 1, 2]).experts, 3)

    assert shares == [[(0, 2), (2, 4), (4, 7)]] * 3


def test_numbers_reach_the_ranks_of_experts_in_the_order_of_blocks():
    counts = gn.arange(20).reshape(4, 5)

    def one(rank: int, ranks: int) -> list:
        own = counts[[slice(0, 1), slice(1, 1), slice(1, 4)][rank]]
        return Shares(5, [1, 0, 3]).arriving(own).tolist()

    found = on_threads(one, 3)

    assert found == [counts[:, :1].tolist(), counts[:, 1:3].tolist(), counts[:, 3:].tolist()]


@pytest.mark.parametrize("blocks", [[1, 2], [0, 0], [5, -1], [4], 3])
def test_blocks_that_no_tree_has_are_refused(blocks):
    def one(rank: int, ranks: int) -> None:
        with pytest.raises(LayoutError, match="blocks of 2 ranks must add up to a power of two"):
            Shares(2, blocks)

    on_threads(one, 2)


def test_a_rank_outside_of_the_group_is_refused():
    def one(rank: int, ranks: int) -> None:
        group = dist.new_group([0])
        if rank == 1:
            with pytest.raises(
                ArgumentError, match="token dispatch: this rank is not in the group"
            ):
                Shares(2, 1, group)

    on_threads(one, 2)
