"""The travelling of a plan's tokens: along which mesh axis, with how many places, learned by steps.

Places for every routing are as many times more than an even one fills as there are ranks. So steps
have `load` times the most that was measured, and one that passes it is taken again with places for
all: it has reported so, and has changed nothing (gnomon/train/step.py).
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TypeVar

from gnomon.distributed.token_dispatch.meshed import MeshTokenDispatcher
from gnomon.nn.ragged import in_steps
from gnomon.tensor.tensor import Tensor

__all__ = ["RANK_SLOTS", "TokenTravel"]

RANK_SLOTS = "rank_slots"
"""The name by which a step tells the most slots of a block for a rank."""

T = TypeVar("T")


class TokenTravel:
    """The exchange of tokens along a mesh axis, given its name and ranks; see `replayed`.

    >>> travel, asked = TokenTravel(("data", 2)), []
    >>> def step(most):
    ...     asked.append(travel.capacity)
    ...     return most
    >>> [travel.replayed(lambda: step(most), int) for most in (10, 12, 20)]
    [10, 12, 20]
    >>> asked, travel.measured  # places for all; 1.25 * 10, rounded up; these, and again for all
    ([0, 16, 16, 0], 32)
    """

    def __init__(self, over: tuple[str, int], load: float = 1.25) -> None:
        self.over, self.load = over, load
        self.capacity = self.measured = 0
        """Places of a block for a rank: in a step under way, and in steps to come; 0: for all."""
        self.is_even = False
        """Whether places are those for an even load: for programs that are looked at, and not run.
        """

    def dispatcher(self, experts: int, blocks: int) -> MeshTokenDispatcher:
        """A dispatcher for `experts` experts and `blocks` blocks."""
        return MeshTokenDispatcher(experts, blocks, self.over, self.places)

    def places(self, slots: int) -> int:
        """The places of a block of `slots` slots on each rank."""
        wanted = self.with_load(slots / self.over[1]) if self.is_even else self.capacity
        return min(wanted or slots, slots)

    def with_load(self, slots: float) -> int:
        """The number of places for `load` times the even load."""
        return in_steps(max(1, ceil(slots * self.load)), least=8)

    def most(self, counts_nle: Tensor) -> Tensor:
        """The largest number of a block's slots for a rank, given each expert's in n layers.

        Shapes: counts_nle (n, l, e) -> ()
        """
        (layers, blocks, experts), ranks = counts_nle.shape, self.over[1]
        return counts_nle.reshape(layers, blocks, ranks, experts // ranks).sum(3).max()

    def replayed(self, step: Callable[[], T], most_of: Callable[[T], int]) -> T:
        """The step's result; it is run again with places for all if there were too few.

        All ranks call it. A step without places for all changes nothing.
        """
        try:
            self.capacity = self.measured
            made = step()
            passed = 0 < self.capacity < most_of(made)
            if passed:
                self.capacity = 0
                made = step()
            if self.capacity == 0:
                self.measured = self.with_load(most_of(made))
        finally:
            self.capacity = 0
        return made
