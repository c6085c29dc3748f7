"""Divide a dataset among ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sized

from gnomon.errors import ArgumentError
from gnomon.runtime.comm.groups import membership
from gnomon.tensor.random import Generator, randperm
from gnomon.utils.data.loading import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """The indices of this rank's items: every world-size-th one; all ranks have equally many.

    The order depends on the seed and the epoch alone: call set_epoch before each epoch. To equalize
    the ranks, items from the order's beginning are repeated, or with drop_last the rest is left
    out.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.num_replicas = membership().world().size() if num_replicas is None else num_replicas
        self.rank = membership().world().rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ArgumentError(
                f"DistributedSampler: rank {self.rank} is none of {self.num_replicas}. "
                "Ranks count from 0."
            )
        self.dataset, self.shuffle, self.seed, self.epoch = dataset, shuffle, seed, 0
        self.drop_last = drop_last
        whole, rest = divmod(len(dataset), self.num_replicas)
        self.num_samples = whole + bool(rest and not drop_last)
        self.total_size = self.num_samples * self.num_replicas

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, on which the next shuffled order depends."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = randperm(count, generator=generator).tolist()
        else:
            order = list(range(count))
        rounds = -(-self.total_size // max(count, 1))
        return iter((order * rounds)[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples
