"""Ranks as threads of one process: the backend of tests, and of several programs on one machine.

Ranks meet at a barrier per group, put down references, take those meant for them, and meet again
before anyone goes on. A rank that fails breaks every barrier, so that the others say so at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from threading import Barrier, BrokenBarrierError, Lock

from gnomon.errors import CollectiveError
from gnomon.runtime.comm.base import Arrays, Communicator

PATIENCE = 120.0
"""Seconds that a rank waits for the others before it gives up."""


class Group:
    """The ranks that differ in one mesh axis only."""

    def __init__(self, count: int) -> None:
        self.barrier = Barrier(count)
        self.table: list[Sequence[Arrays]] = [()] * count


class World:
    """Everything that the ranks of one mesh share."""

    def __init__(self, axes: Mapping[str, int], patience: float = PATIENCE) -> None:
        self.axes, self.patience = dict(axes), patience
        self.failure: tuple[int, BaseException] | None = None
        self._groups: dict[tuple, Group] = {}
        self._change = Lock()
        for place in product(*(range(n) for n in self.axes.values())):
            for k, (name, count) in enumerate(self.axes.items()):
                self._groups.setdefault((name, *place[:k], *place[k + 1 :]), Group(count))

    @property
    def size(self) -> int:
        """The number of ranks."""
        return prod(self.axes.values())

    def communicator(self, rank: int) -> ThreadCommunicator:
        """One rank's end; ranks count through the mesh with its last axis fastest."""
        return ThreadCommunicator(self, rank)

    def group(self, name: str, others: Sequence[int]) -> Group:
        """The ranks along an axis, by the places along the other axes."""
        return self._groups[name, *others]

    def fail(self, rank: int, cause: BaseException) -> None:
        """Remember the first failure and wake whoever waits."""
        with self._change:
            self.failure = self.failure or (rank, cause)
        for group in self._groups.values():
            group.barrier.abort()


class ThreadCommunicator(Communicator):
    """One thread's end of a world."""

    def __init__(self, world: World, rank: int) -> None:
        self.world, self.rank = world, rank
        self._places: dict[str, int] = {}
        for name, count in reversed(world.axes.items()):
            rank, self._places[name] = divmod(rank, count)

    def ranks(self, mesh: str) -> int:
        """How many ranks there are along a mesh axis."""
        return self.world.axes[mesh]

    def place(self, mesh: str) -> int:
        """The own number along a mesh axis."""
        return self._places[mesh]

    def group(self, mesh: str) -> str:
        """Which ranks meet along a mesh axis, by their places along the other axes."""
        return ", ".join(f"{name} {k}" for name, k in self._places.items() if name != mesh)

    def swap(self, mesh: str, outgoing: Sequence[Arrays]) -> list[Arrays]:
        """Exchange references, between two barriers."""
        names = self.world.axes
        group = self.world.group(mesh, [self._places[n] for n in names if n != mesh])
        here = self._places[mesh]
        group.table[here] = outgoing
        self._meet(group.barrier, mesh)
        received = [given[here] for given in group.table]
        self._meet(group.barrier, mesh)
        return received

    def _meet(self, barrier: Barrier, mesh: str) -> None:
        """Wait for the others, and say who failed or that nobody came."""
        try:
            barrier.wait(self.world.patience)
        except BrokenBarrierError:
            failure = self.world.failure
            if failure is None:
                raise CollectiveError(
                    f"rank {self.rank}: no answer along mesh axis {mesh!r} within "
                    f"{self.world.patience:g} s. Look for a rank that runs another program."
                ) from None
            rank, cause = failure
            raise CollectiveError(
                f"rank {self.rank}: gave up along mesh axis {mesh!r} because rank {rank} failed: "
                f"{type(cause).__name__}: {cause}"
            ) from cause
