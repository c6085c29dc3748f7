"""Places of a fixed number for rows that travel: which row each has, if any, and where rows go.

Each block has as many places for each rank, its capacity; a rank's rows take its first ones, sorted
by expert. How places reach their ranks is a dispatcher's business.
"""

from __future__ import annotations

from typing import NamedTuple

from gnomon.distributed.token_dispatch.base import Routes
from gnomon.tensor.creation import arange
from gnomon.tensor.tensor import Tensor

__all__ = ["PlacedSlots", "placed"]


class PlacedSlots(NamedTuple):
    """The places of each block's slots among the rows for all ranks: p places (ranks times k)."""

    slot_lp: Tensor
    """The slot at each place."""
    held_lp: Tensor
    """Whether there is one."""
    place_ls: Tensor
    """The place of each slot."""
    fits_ls: Tensor
    """Whether there is one."""


def placed(routes: Routes, size_lr: Tensor, owner_ls: Tensor, capacity: int) -> PlacedSlots:
    """Places for the slots of a routing.

    Shapes: size_lr (l, r), owner_ls (l, s)

    size_lr: the slots of each block for each rank; owner_ls: the rank of each slot's expert.
    """
    (blocks, slots), ranks = routes.order_ls.shape, size_lr.shape[1]
    first_lr, number_k = size_lr.cumsum(1) - size_lr, arange(capacity)
    place_lrk = (first_lr.unsqueeze(2) + number_k).clip(max=max(slots - 1, 0))
    slot_lp = routes.order_ls.gather(1, place_lrk.reshape(blocks, ranks * capacity))
    held_lp = (number_k < size_lr.unsqueeze(2)).reshape(blocks, ranks * capacity)
    number_ls = routes.back_ls - first_lr.gather(1, owner_ls)
    place_ls = owner_ls * capacity + number_ls.clip(max=capacity - 1)
    return PlacedSlots(slot_lp, held_lp, place_ls, number_ls < capacity)
