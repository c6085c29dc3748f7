"""What ranks do together, written once over one exchange that each backend provides.

A fold of floats is a perfect binary tree in rank order, so its bits follow from the program and not
from who arrives first. Arrays are numpy's; adding two of them is one addition per element.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

Arrays = list[np.ndarray]

FOLDS = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.logical_and,
    "or": np.logical_or,
}


class Communicator(ABC):
    """One rank's end of every mesh axis."""

    @abstractmethod
    def ranks(self, mesh: str) -> int:
        """How many ranks there are along a mesh axis."""

    @abstractmethod
    def place(self, mesh: str) -> int:
        """The own number along a mesh axis."""

    @abstractmethod
    def group(self, mesh: str) -> str:
        """Which ranks meet along a mesh axis, by their places along the other axes."""

    @abstractmethod
    def swap(self, mesh: str, outgoing: Sequence[Arrays]) -> list[Arrays]:
        """Give each rank along the axis its arrays, and get those that each has for this one.

        What is received must not be written to: it may be the sender's memory.
        """

    def all_reduce(self, mesh: str, xs: Arrays, monoid: str, *, ordered: bool = True) -> Arrays:
        """The fold of every rank's arrays: each rank folds a stretch, then all share."""
        count = self.ranks(mesh)
        flat = [np.ravel(x) for x in xs]
        pieces = [[x[slice(*stretch(x.size, count, k))] for x in flat] for k in range(count)]
        mine = self.fold(mesh, pieces, monoid, ordered)
        shared = self.swap(mesh, [mine] * count)
        return [
            np.concatenate([part[k] for part in shared]).reshape(x.shape) for k, x in enumerate(xs)
        ]

    def reduce_scatter(
        self, mesh: str, xs: Arrays, axes: Sequence[int], monoid: str, *, ordered: bool = True
    ) -> Arrays:
        """The fold of every rank's arrays, of which each rank gets its part of an axis."""
        return self.fold(mesh, parts(xs, axes, self.ranks(mesh)), monoid, ordered)

    def all_gather(self, mesh: str, xs: Arrays, axes: Sequence[int]) -> Arrays:
        """Every rank's arrays side by side along an axis each."""
        received = self.swap(mesh, [xs] * self.ranks(mesh))
        return [np.concatenate([r[k] for r in received], axis) for k, axis in enumerate(axes)]

    def all_to_all(
        self, mesh: str, xs: Arrays, axes: Sequence[int], joined: Sequence[int]
    ) -> Arrays:
        """Parts of one axis for each rank; what comes is joined along another."""
        received = self.swap(mesh, parts(xs, axes, self.ranks(mesh)))
        return [np.concatenate([r[k] for r in received], axis) for k, axis in enumerate(joined)]

    def permute_ranks(self, mesh: str, xs: Arrays, shift: int) -> Arrays:
        """The arrays of the rank `shift` places before."""
        count, here = self.ranks(mesh), self.place(mesh)
        received = self.swap(
            mesh, [xs if k == (here + shift) % count else [] for k in range(count)]
        )
        return [x.copy() for x in received[(here - shift) % count]]

    def fold(self, mesh: str, outgoing: list[Arrays], monoid: str, ordered: bool) -> Arrays:
        """Fold what every rank has for this one."""
        received = self.swap(mesh, outgoing)
        return [combine([r[k] for r in received], monoid, ordered) for k in range(len(received[0]))]


def stretch(size: int, count: int, place: int) -> tuple[int, int]:
    """The elements of a flat array that one rank folds.

    >>> [stretch(10, 4, k) for k in range(4)]
    [(0, 2), (2, 5), (5, 7), (7, 10)]
    """
    return size * place // count, size * (place + 1) // count


def parts(xs: Arrays, axes: Sequence[int], count: int) -> list[Arrays]:
    """For each rank its part of every array."""
    cut = [np.split(x, count, axis) for x, axis in zip(xs, axes, strict=True)]
    return [[pieces[k] for pieces in cut] for k in range(count)]


def combine(received: Arrays, monoid: str, ordered: bool = True) -> np.ndarray:
    """The fold of one array per rank: pairs of neighbours until one is left; or in a row.

    >>> int(combine([np.array(k) for k in (1, 2, 3, 4)], "add"))
    10
    """
    fold, level = FOLDS[monoid], list(received)
    if len(level) == 1:
        return level[0].copy()
    while len(level) > 1:
        if ordered and len(level) % 2 == 0:
            level = [
                fold(older, newer) for older, newer in zip(level[::2], level[1::2], strict=True)
            ]
        else:
            level = [fold(level[0], level[1]), *level[2:]]
    return level[0]
