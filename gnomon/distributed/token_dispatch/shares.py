"""The shares of a group's ranks: blocks of tokens in their global order, and experts in theirs.

Numbers of slots go ahead of rows, from the ranks of tokens to those of experts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gnomon.distributed.functional import all_to_all_single, member
from gnomon.distributed.groups import Group
from gnomon.errors import LayoutError
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

__all__ = ["Shares"]


class Shares:
    """The blocks and experts of every rank of a group, in rank order.

    blocks is the number of a rank's blocks, or a list of it for every rank; of experts that do not
    divide, the first ranks have one less.
    """

    def __init__(self, experts: int, blocks: int | Sequence[int], group: Group = None) -> None:
        self.group = member("token dispatch", group)
        ranks, self.rank = self.group.size(), self.group.rank()
        self.blocks = [blocks] * ranks if isinstance(blocks, int) else list(blocks)
        bounds = [k * experts // ranks for k in range(ranks + 1)]
        self.experts = list(pairwise(bounds))
        """The first expert of each rank, and the first that is not its own."""
        whole = sum(self.blocks)
        if len(self.blocks) != ranks or min(self.blocks) < 0 or whole < 1 or whole & (whole - 1):
            raise LayoutError(
                f"token dispatch: blocks of {ranks} ranks must add up to a power of two: "
                f"got {self.blocks}."
            )

    def arriving(self, counts_le: Tensor) -> Tensor:
        """The slots of every block for each of this rank's experts, from all ranks' counts."""
        blocks, (first, end) = self.blocks[self.rank], self.experts[self.rank]
        own = end - first
        goes = [(high - low) * blocks for low, high in self.experts]
        comes = [own * k for k in self.blocks]
        flat = all_to_all_single(counts_le.T.reshape(-1), comes, goes, self.group)
        parts = flat.split(comes)
        by_rank = [x.reshape(own, k) for x, k in zip(parts, self.blocks, strict=True)]
        return FUNCTIONS["cat"](by_rank, 1).T
