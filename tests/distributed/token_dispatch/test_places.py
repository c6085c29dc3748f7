"""Places of slots: each slot has its own where there are enough, and is told where not."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.distributed.token_dispatch.base import Routes
from gnomon.distributed.token_dispatch.places import PlacedSlots, placed

OWNERS = [[0, 1, 1, 0, 1], [1, 1, 1, 1, 1]]
"""The rank of each slot, of two blocks."""


def found(capacity: int) -> PlacedSlots:
    """The places for two ranks, of one expert each."""
    owner_ls = gn.tensor(OWNERS)
    order_ls = owner_ls.argsort(dim=1, stable=True)
    counts_le = (owner_ls.unsqueeze(2) == gn.arange(2)).sum(1)
    routes = Routes(order_ls, order_ls.argsort(dim=1), owner_ls, counts_le)
    return placed(routes, counts_le, owner_ls, capacity)


@pytest.mark.parametrize("capacity", [1, 2, 3, 5])
def test_a_slot_that_fits_is_at_its_place_and_each_rank_has_the_first_ones(capacity):
    slot_lp, held_lp, place_ls, fits_ls = (v.tolist() for v in found(capacity))

    for block, owners in enumerate(OWNERS):
        for rank in range(2):
            own = [slot for slot, owner in enumerate(owners) if owner == rank]
            mine = slice(rank * capacity, (rank + 1) * capacity)
            kept = len(own[:capacity])
            assert slot_lp[block][mine][:kept] == own[:capacity]
            assert held_lp[block][mine] == [k < kept for k in range(capacity)]
            assert [place_ls[block][s] for s in own[:capacity]] == [*range(mine.start, mine.stop)][
                :kept
            ]
            assert [fits_ls[block][s] for s in own] == [k < kept for k in range(len(own))]
