"""Dispatch by uneven messages: numbers go first, and each rank gets as many rows as there are.

Numbers are read on the way, which a captured function can't do. A message is the run of one block
for one rank, which stands together on both sides: nothing is packed or unpacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from gnomon.distributed.groups import Group
from gnomon.distributed.token_dispatch.base import Dispatched, Routes, TokenDispatcher
from gnomon.distributed.token_dispatch.shares import Shares
from gnomon.errors import TraceError
from gnomon.nn.ragged import in_steps
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.tensor.collectives import Part, move
from gnomon.tensor.creation import zeros
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.meetings import Do, passing
from gnomon.tensor.state import is_capturing
from gnomon.tensor.tensor import Tensor

__all__ = ["AllToAllTokenDispatcher"]


class Run(NamedTuple):
    """Consecutive rows sent together: the other rank, the first row here, their number."""

    peer: int
    start: int
    size: int


class End(NamedTuple):
    """One side of an exchange: its rows, and the runs among them."""

    rows: int
    runs: list[Run]


class AllToAllTokenDispatcher(TokenDispatcher):
    """Each rank of a group has some blocks of tokens and some experts; as many rows travel as are.

    blocks is the number of a rank's blocks, or a list of every rank's; all add up to a power of
    two. Of e experts rank k of w has those from k e // w to (k + 1) e // w.
    """

    def __init__(self, experts: int, blocks: int | Sequence[int] = 1, group: Group = None) -> None:
        self.shares = Shares(experts, blocks, group)
        super().__init__(experts, self.shares.blocks[self.shares.rank])
        self.own = slice(*self.shares.experts[self.shares.rank])
        """The experts of this rank."""

    def carry(self, x_lsd: Tensor, routes: Routes) -> tuple[Tensor, Tensor, tuple[End, End]]:
        """Send slots to their experts' ranks.

        Returns the rows, the end of each expert's rows in each block, and both sides of the
        exchange.
        """
        if is_capturing():
            raise TraceError(
                "dispatch: uneven messages need numbers that only a run knows. "
                "Call it outside of gn.compile."
            )
        arrived_be = self.shares.arriving(routes.counts_le)
        tokens, experts = self.leaving(routes), self.coming(arrived_be.sum(1).tolist())
        x_lsd = FUNCTIONS["reordered"](x_lsd, routes.order_ls, routes.back_ls)
        x_sd = x_lsd.reshape(tokens.rows, x_lsd.shape[2])
        rows = carried(self.shares.group, x_sd, tokens, experts)
        return rows, arrived_be.cumsum(1), (tokens, experts)

    def bring(self, rows: Tensor, sent: Dispatched) -> Tensor:
        """Send every run back, and order slots by token."""
        tokens, experts = sent.trip
        order_ls, back_ls = sent.routes.order_ls, sent.routes.back_ls
        y_lsd = carried(self.shares.group, rows, experts, tokens)
        y_lsd = y_lsd.reshape(*order_ls.shape, rows.shape[1])
        return FUNCTIONS["reordered"](y_lsd, back_ls, order_ls)

    def leaving(self, routes: Routes) -> End:
        """The runs of each own block to each rank."""
        blocks, slots = routes.order_ls.shape
        runs = []
        for block, counts in enumerate(routes.counts_le.tolist()):
            ends = list(accumulate(counts, initial=block * slots))
            for peer, (low, high) in enumerate(self.shares.experts):
                runs.append(Run(peer, ends[low], ends[high] - ends[low]))
        return End(blocks * slots, runs)

    def coming(self, sizes: Sequence[int]) -> End:
        """The runs of every block to this rank; blocks are padded to the longest."""
        rows = in_steps(max(1, *sizes), least=8)
        owners = [k for k, blocks in enumerate(self.shares.blocks) for _ in range(blocks)]
        runs = [
            Run(k, block * rows, size)
            for block, (k, size) in enumerate(zip(owners, sizes, strict=True))
        ]
        return End(len(sizes) * rows, runs)


def carried(group: ProcessGroup, x: Tensor, source: End, target: End) -> Tensor:
    """Rows exchanged from one side to the other; gaps are 0."""

    def way(source: End, target: End) -> Do:
        def do(x: Tensor) -> Tensor:
            made = zeros(target.rows, x.shape[1], dtype=x.dtype)
            move(group, parts(x, source), parts(made, target)).wait()
            return made

        return do

    return passing(x, way(source, target), way(target, source))


def parts(x: Tensor, end: End) -> list[Part]:
    """The messages of one side's runs."""
    width = x.shape[1]
    found = [Part(run.peer, x, run.start * width, run.size * width) for run in end.runs]
    return [part for part in found if part.size]
