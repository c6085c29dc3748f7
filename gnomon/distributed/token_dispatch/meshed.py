"""Dispatch in a program of whole values: rows lie over the ranks of their experts for a while.

A program over a mesh says where rows lie, by blocks before and after, by shares of experts between;
dividing it makes even messages of the changes, as of every other change of a layout. So a plan can
have tokens travel, and a model's code is the same (gnomon/distributed/plans.py).
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.distributed.token_dispatch.base import Dispatched, Routes, TokenDispatcher
from gnomon.distributed.token_dispatch.places import PlacedSlots, placed
from gnomon.errors import LayoutError
from gnomon.ops.layouts import place
from gnomon.ops.placements import REPLICATED, Placement, Split
from gnomon.tensor.functions import FUNCTIONS, apply
from gnomon.tensor.tensor import Tensor

__all__ = ["MeshTokenDispatcher"]


class MeshTokenDispatcher(TokenDispatcher):
    """Dispatcher of rows along one mesh axis, over which blocks and experts are sharded.

    blocks is the number of all blocks. Every block of so many slots has so many places on each
    rank, or for all of them; slots without a place come back as NaN.
    """

    def __init__(
        self,
        experts: int,
        blocks: int,
        over: tuple[str, int],
        places: Callable[[int], int] | None = None,
    ) -> None:
        super().__init__(experts, blocks)
        self.mesh, self.ranks = over
        self.places = places or int
        if experts % self.ranks:
            raise LayoutError(
                f"token dispatch: {self.ranks} ranks of mesh axis {self.mesh!r} do not divide "
                f"{experts} experts. Use another mesh, or a plan in which no token travels."
            )

    def carry(self, x_lsd: Tensor, routes: Routes) -> tuple[Tensor, Tensor, PlacedSlots]:
        """Put slots in places, and send these to their experts' ranks: (r, t, d), (r, l, g)."""
        (blocks, slots), d = routes.order_ls.shape, x_lsd.shape[2]
        k, own = self.places(slots), self.experts // self.ranks
        counts_lrg = routes.counts_le.reshape(blocks, self.ranks, own)
        places = placed(routes, counts_lrg.sum(2), routes.expert_ls // own, k)
        rows_lpd = FUNCTIONS["reordered"](x_lsd, places.slot_lp, places.place_ls)
        rows_lpd = FUNCTIONS["where"](places.held_lp.unsqueeze(2), rows_lpd, 0.0)
        rows_rlkd = rows_lpd.reshape(blocks, self.ranks, k, d).transpose(0, 1)
        rows = self.to_experts(rows_rlkd).reshape(self.ranks, blocks * k, d)
        ends_lrg = FUNCTIONS["clip"](counts_lrg.cumsum(2), None, k)
        return rows, self.to_experts(ends_lrg.transpose(0, 1)), places

    def bring(self, rows: Tensor, sent: Dispatched) -> Tensor:
        """Send places back to their blocks, and order slots by token."""
        places, (blocks, slots), d = sent.trip, sent.routes.order_ls.shape, rows.shape[2]
        k = self.places(slots)
        rows_rlkd = self.to_blocks(rows.reshape(self.ranks, blocks, k, d))
        rows_lpd = rows_rlkd.transpose(0, 1).reshape(blocks, self.ranks * k, d)
        rows_lpd = FUNCTIONS["where"](places.held_lp.unsqueeze(2), rows_lpd, 0.0)
        y_lsd = FUNCTIONS["reordered"](rows_lpd, places.place_ls, places.slot_lp)
        if k == slots:
            return y_lsd
        # tokens that had no place: a step that has such is seen to be none
        return FUNCTIONS["where"](places.fits_ls.unsqueeze(2), y_lsd, float("nan"))

    def to_experts(self, x: Tensor) -> Tensor:
        """A value (r, l, ...), sharded by experts."""
        return self.moved(x, self.spread, Split(0))

    def to_blocks(self, x: Tensor) -> Tensor:
        """A value, resharded by blocks."""
        return self.moved(x, Split(0), self.spread)

    @property
    def spread(self) -> Placement:
        """The placement of blocks: replicated if ranks do not divide them."""
        return REPLICATED if self.blocks % self.ranks else Split(1)

    def moved(self, x: Tensor, have: Placement, want: Placement) -> Tensor:
        """x in another layout; its gradient gets the layout that x had."""
        there, back = (((self.mesh, self.ranks, each),) for each in (want, have))
        return apply(lambda node: place(node, there, back=back), (x,))
