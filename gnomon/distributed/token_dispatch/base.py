"""Token dispatch: rows go to the ranks that hold their experts, and what these make comes back.

Tokens lie in blocks, stretches of their global order (decision 0066), of which each rank holds
some; experts are shared out in order. What an expert sees is the same whoever holds what: rows of
one block stand together, sorted by expert, those of an expert in the order of tokens. `routed_mm`
takes them as they come, so no bit of a product or of its gradient depends on ranks, and no row is
moved again once it is there. The dispatchers' own files say which messages carry rows.

Letters: l blocks of this rank, n tokens of a block, t tokens (l n), c experts of a token, s slots
of a block (n c), d width, e experts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from gnomon.dtypes import DType
from gnomon.errors import ShapeError
from gnomon.tensor.creation import arange
from gnomon.tensor.tensor import Tensor

__all__ = ["Dispatched", "Routes", "TokenDispatcher"]

T = TypeVar("T")


class Routes(NamedTuple):
    """The slots of this rank's tokens, sorted by expert within each block."""

    order_ls: Tensor
    """The slot that comes at each place."""
    back_ls: Tensor
    """The place of each slot."""
    expert_ls: Tensor
    """The expert of each slot."""
    counts_le: Tensor
    """The slots of each expert."""


class Dispatched(NamedTuple):
    """The rows of this rank's experts, and the state that `combine` needs."""

    rows: Tensor
    """(t, d): block after block, each as long as the longest has to be, sorted by expert.

    In a program of whole values rows and ends have an axis of ranks before the others.
    """
    ends: Tensor
    """(l, e): where the run of each of this rank's experts ends, counted from the block's start."""
    share_lnc: Tensor
    routes: Routes
    dtype: DType
    trip: Any
    """A dispatcher's notes, by which results are sent back."""


class TokenDispatcher:
    """Base of dispatchers: orders slots, and sums over a token's experts.

    experts is the number of all of them, blocks that of this rank's blocks of tokens.
    """

    def __init__(self, experts: int, blocks: int) -> None:
        self.experts, self.blocks = experts, blocks
        self.own = slice(0, experts)
        """The experts of this rank."""

    def init_buffer(self, tokens: int, chosen: int) -> None:
        """Fix the sizes of buffers for blocks of so many tokens, each with so many experts."""

    def dispatch(
        self, x: Tensor, share: Tensor, expert: Tensor, counts: Tensor | None = None
    ) -> Dispatched:
        """The rows of this rank's experts, out of all ranks' tokens.

        Shapes: x (t, d), share (t, c), expert (t, c), counts (l, e)

        counts, the slots of each block that go to each expert, are for a caller who has them.
        """
        self.check(x, share, expert)
        blocks, (t, d), c = self.blocks, x.shape, expert.shape[1]
        n = t // max(blocks, 1)
        x_lncd = x.reshape(blocks, n, d).unsqueeze(2).expand(blocks, n, c, d)
        # an expert that is none is refused here: sorted, it would shift others' rows
        known = arange(self.experts).expand(blocks, self.experts)
        expert_ls = known.gather(1, expert.reshape(blocks, n * c))
        if counts is None:
            counts = (expert_ls.unsqueeze(2) == arange(self.experts)).sum(1)
        order_ls = expert_ls.argsort(dim=1, stable=True)
        routes = Routes(order_ls, order_ls.argsort(dim=1), expert_ls, counts)
        rows, ends, trip = self.carry(x_lncd.reshape(blocks, n * c, d), routes)
        return Dispatched(rows, ends, share.reshape(blocks, n, c), routes, x.dtype, trip)

    def combine(self, rows: Tensor, sent: Dispatched) -> Tensor:
        """The sum by shares of what experts made of each token, in the order of a token's experts.

        Shapes: rows (t, d) -> (t, d)

        It is taken in float32 and rounded once.
        """
        (blocks, n, c), d = sent.share_lnc.shape, rows.shape[-1]
        y_lncd = self.bring(rows, sent).reshape(blocks, n, c, d).float()
        y_lnd = (y_lncd * sent.share_lnc.unsqueeze(-1)).sum(2).to(sent.dtype)
        return y_lnd.reshape(blocks * n, d)

    def replayed(self, step: Callable[[], T]) -> T:
        """The step's result; it is run once more after a buffer was too small.

        All ranks call it. The step returns what it computes, and writes nothing that it would read.
        """
        return step()

    def carry(self, x_lsd: Tensor, routes: Routes) -> tuple[Tensor, Tensor, Any]:
        """Send slots to their experts' ranks: rows, the ends of Dispatched, and a note."""
        raise NotImplementedError

    def bring(self, rows: Tensor, sent: Dispatched) -> Tensor:
        """Send rows back to the ranks of their slots: (l, s, d)."""
        raise NotImplementedError

    def check(self, x: Tensor, share: Tensor, expert: Tensor) -> None:
        """Refuse inputs whose shapes do not fit together, or tokens that blocks do not divide."""
        fits = x.ndim == share.ndim == expert.ndim == 2 and share.shape == expert.shape
        if not fits or x.shape[0] != expert.shape[0]:
            raise ShapeError(
                "dispatch: needs (t, d), (t, c) and (t, c): got "
                f"{tuple(x.shape)}, {tuple(share.shape)} and {tuple(expert.shape)}."
            )
        if x.shape[0] % max(self.blocks, 1) or (x.shape[0] and not self.blocks):
            raise ShapeError(
                f"dispatch: {x.shape[0]} tokens do not fall into {self.blocks} blocks of this rank."
            )
