"""Dispatch without ranks: rows are sorted by expert within their blocks, and sorted back."""

from __future__ import annotations

from gnomon.distributed.token_dispatch.base import Dispatched, Routes, TokenDispatcher
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

__all__ = ["LocalTokenDispatcher"]


class LocalTokenDispatcher(TokenDispatcher):
    """Dispatcher for tokens and experts of one rank, without messages.

    blocks is a power of two, as `routed_mm` requires.

    >>> import gnomon as gn
    >>> dispatcher = LocalTokenDispatcher(experts=3)
    >>> x, expert = gn.tensor([[1.0], [2.0]]), gn.tensor([[2], [0]])
    >>> sent = dispatcher.dispatch(x, gn.ones(2, 1), expert)
    >>> sent.rows.flatten().tolist(), sent.ends.tolist()
    ([2.0, 1.0], [[1, 1, 2]])
    >>> y = gn.routed_mm(sent.rows, gn.tensor([[[10.0]], [[20.0]], [[30.0]]]), sent.ends)
    >>> dispatcher.combine(y, sent).flatten().tolist()
    [30.0, 20.0]
    """

    def __init__(self, experts: int, blocks: int = 1) -> None:
        super().__init__(experts, blocks)

    def carry(self, x_lsd: Tensor, routes: Routes) -> tuple[Tensor, Tensor, None]:
        """Order tokens by expert; returns the ends of each expert's rows."""
        (blocks, slots), d = routes.order_ls.shape, x_lsd.shape[2]
        x_lsd = FUNCTIONS["reordered"](x_lsd, routes.order_ls, routes.back_ls)
        return x_lsd.reshape(blocks * slots, d), routes.counts_le.cumsum(1), None

    def bring(self, rows: Tensor, sent: Dispatched) -> Tensor:
        """Order slots by token."""
        order_ls, back_ls = sent.routes.order_ls, sent.routes.back_ls
        y_lsd = rows.reshape(*order_ls.shape, rows.shape[1])
        return FUNCTIONS["reordered"](y_lsd, back_ls, order_ls)
