"""A mesh: ranks along named axes, and where each rank stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from gnomon.errors import ConfigError, LayoutError
from gnomon.ops.layouts import MeshLayout, splits


@dataclass(frozen=True)
class Mesh:
    """Sizes by name, outermost first; ranks count with the last axis fastest.

    >>> Mesh((("data", 2), ("tensor", 2))).place(3)
    {'data': 1, 'tensor': 1}
    """

    axes: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """The number of ranks."""
        return prod(count for _, count in self.axes)

    @property
    def divided(self) -> tuple[tuple[str, int], ...]:
        """The mesh axes with more than one rank, and their sizes."""
        return tuple((name, count) for name, count in self.axes if count > 1)

    def place(self, rank: int) -> dict[str, int]:
        """A rank's number along every axis."""
        found = {}
        for name, count in reversed(self.axes):
            rank, found[name] = divmod(rank, count)
        return {name: found[name] for name, _ in self.axes}

    def beside(self, rank: int, axis: str) -> list[int]:
        """The ranks that differ from one along an axis alone, itself among them, in order."""
        names = [name for name, _ in self.axes]
        inner = prod(count for _, count in self.axes[names.index(axis) + 1 :])
        first = rank - self.place(rank)[axis] * inner
        return [first + k * inner for k in range(dict(self.axes)[axis])]


ALONE = Mesh(())
"""The mesh of one process."""


def mesh_of(text: str) -> Mesh:
    """A mesh as the command line spells it.

    >>> mesh_of("data=2,tensor=4").axes
    (('data', 2), ('tensor', 4))
    """
    axes: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, count = part.partition("=")
        if not name.isidentifier() or not count.isdecimal() or int(count) < 1 or name in axes:
            raise ConfigError(
                f"--mesh {text}: expected NAME=RANKS, separated by commas, each name once: "
                f"got {part!r}."
            )
        axes[name] = int(count)
    return Mesh(tuple(axes.items()))


def local_part(mesh: Mesh, rank: int, layout: MeshLayout, whole: np.ndarray) -> np.ndarray:
    """The part of an array that a rank holds."""
    for name, count, axis in splits(layout):
        if whole.shape[axis] % count:
            raise LayoutError(
                f"local_part: {count} ranks of mesh axis {name!r} do not divide axis {axis} of "
                f"{whole.shape}. Split another axis."
            )
        whole = np.split(whole, count, axis)[mesh.place(rank)[name]]
    return np.ascontiguousarray(whole)


def whole_of(mesh: Mesh, layout: MeshLayout, parts: Sequence[np.ndarray]) -> np.ndarray:
    """The array of which every rank holds its part; replicas are taken from the first rank."""
    held, split = list(parts), {name: axis for name, _, axis in splits(layout)}
    for name, count in reversed(mesh.axes):
        groups = [held[k : k + count] for k in range(0, len(held), count)]
        if name in split:
            held = [np.concatenate(group, split[name]) for group in groups]
        else:
            held = [group[0] for group in groups]
    return held[0]
