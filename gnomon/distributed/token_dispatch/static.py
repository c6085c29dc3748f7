"""Dispatch by even messages of a fixed size: numbers of rows are data, and no size follows them.

Each block has so many rows for each rank, its capacity; those that no token fills are 0. A row is
written where its expert's run is, by the rank that sends it, and read there. So one program serves
every routing, a captured step is one native call, and its buffers are planned once. Tokens above
the capacity make a step that is to be replayed with the largest one, and whose results are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TypeVar

from gnomon.distributed.functional import all_reduce, all_to_all_single
from gnomon.distributed.groups import Group
from gnomon.distributed.token_dispatch.base import Dispatched, Routes, TokenDispatcher
from gnomon.distributed.token_dispatch.places import PlacedSlots, placed
from gnomon.distributed.token_dispatch.shares import Shares
from gnomon.dtypes import int64
from gnomon.errors import ArgumentError
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import tensor, zeros
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

__all__ = ["StaticTokenDispatcher"]

T = TypeVar("T")


class StaticTokenDispatcher(TokenDispatcher):
    """Each rank of a group has some blocks of tokens and some experts; messages have fixed sizes.

    blocks is the number of a rank's blocks, or a list of every rank's; they add up to a power of
    two. Of e experts rank k of w has those from k e // w to (k + 1) e // w. `init_buffer` gives
    each block `load` times the rows that an even load has for a rank.
    """

    def __init__(
        self,
        experts: int,
        blocks: int | Sequence[int] = 1,
        group: Group = None,
        load: float = 1.25,
    ) -> None:
        self.shares, self.load = Shares(experts, blocks, group), load
        super().__init__(experts, self.shares.blocks[self.shares.rank])
        self.own = slice(*self.shares.experts[self.shares.rank])
        self.capacity = self.worst = 0
        """Rows of a block for a rank: as many as there are places for, and the most that occur."""
        self._most = zeros((), dtype=int64)
        experts_of = self.shares.experts
        self._edges = tensor([0, *(end for _, end in experts_of)])
        owners = [r for r, (low, high) in enumerate(experts_of) for _ in range(low, high)]
        self._owners = tensor(owners, dtype=int64)

    def init_buffer(self, tokens: int, chosen: int) -> None:
        """Fix the capacity for blocks of so many tokens, each with so many experts."""
        self.worst = tokens * chosen
        share = max(high - low for low, high in self.shares.experts) / max(self.experts, 1)
        self.capacity = self.within(self.worst * share)

    def within(self, rows: float) -> int:
        """The capacity for a measured load."""
        return max(1, min(self.worst, ceil(rows * self.load)))

    def most(self) -> int:
        """The largest number of a block's rows for one rank since the last call, over all ranks."""
        with no_grad():
            found = int(all_reduce(self._most, "max", self.shares.group).item())
            self._most.zero_()
        return found

    def replayed(self, step: Callable[[], T]) -> T:
        """The step's result, by the largest buffer where tokens passed the capacity.

        All ranks call it. The step gives what it computes, and writes nothing that it would read.
        For later steps a capacity that was passed is `load` times the rows that there were.
        """
        made, most = step(), self.most()
        if most > self.capacity:
            self.capacity = self.worst
            made = step()
            self.capacity = self.within(self.most())
        return made

    def carry(self, x_lsd: Tensor, routes: Routes) -> tuple[Tensor, Tensor, PlacedSlots]:
        """Put slots in places, and send each rank its places."""
        (blocks, slots), d = routes.order_ls.shape, x_lsd.shape[2]
        if blocks and not 0 < slots <= self.worst:
            raise ArgumentError(
                f"dispatch: blocks of {slots} slots, and buffers for {self.worst}. "
                "Call init_buffer(tokens of a block, experts of a token)."
            )
        places, k = self.placed(routes), self.capacity
        rows_lpd = FUNCTIONS["reordered"](x_lsd, places.slot_lp, places.place_ls)
        rows_lpd = FUNCTIONS["where"](places.held_lp.unsqueeze(2), rows_lpd, 0.0)
        rows_lrkd = rows_lpd.reshape(blocks, self.ranks, k, d)
        rows = rows_lrkd.transpose(0, 1).reshape(self.ranks * blocks * k, d)
        rows = all_to_all_single(rows, *self.sizes, self.shares.group)
        ends = self.shares.arriving(routes.counts_le).cumsum(1)
        return rows, FUNCTIONS["clip"](ends, None, k), places

    def bring(self, rows: Tensor, sent: Dispatched) -> Tensor:
        """Send places back to their ranks, and order slots by token."""
        places, blocks, d = sent.trip, self.blocks, rows.shape[1]
        goes, comes = self.sizes
        rows = all_to_all_single(rows, comes, goes, self.shares.group)
        rows_rlkd = rows.reshape(self.ranks, blocks, self.capacity, d)
        rows_lpd = rows_rlkd.transpose(0, 1).reshape(blocks, self.ranks * self.capacity, d)
        rows_lpd = FUNCTIONS["where"](places.held_lp.unsqueeze(2), rows_lpd, 0.0)
        y_lsd = FUNCTIONS["reordered"](rows_lpd, places.place_ls, places.slot_lp)
        # tokens that had no place become NaN: it shows where a step was not replayed
        return FUNCTIONS["where"](places.fits_ls.unsqueeze(2), y_lsd, float("nan"))

    @property
    def ranks(self) -> int:
        """The ranks of the group."""
        return len(self.shares.blocks)

    @property
    def sizes(self) -> tuple[list[int], list[int]]:
        """The numbers of rows from each rank, and to it."""
        comes = [blocks * self.capacity for blocks in self.shares.blocks]
        return comes, [self.blocks * self.capacity] * self.ranks

    def placed(self, routes: Routes) -> PlacedSlots:
        """Places for the slots of a routing; the longest run is recorded."""
        none_l1 = zeros(len(routes.order_ls), 1, dtype=int64)
        ends = FUNCTIONS["cat"]([none_l1, routes.counts_le.cumsum(1)], 1)
        edges_lr = ends.index_select(1, self._edges)
        size_lr = edges_lr[:, 1:] - edges_lr[:, :-1]
        self.noted(size_lr)
        owners_le = self._owners.expand(len(routes.order_ls), self.experts)
        return placed(routes, size_lr, owners_le.gather(1, routes.expert_ls), self.capacity)

    def noted(self, size_lr: Tensor) -> None:
        """Record the longest run, to be read at the end of a step."""
        if size_lr.shape[0]:
            self._most.copy_(FUNCTIONS["maximum"](self._most, size_lr.max()))
