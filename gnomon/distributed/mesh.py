"""A mesh: ranks along named axes, and where each rank stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from gnomon.errors import LayoutError
from gnomon.passes.layout import REPLICATED, Layout, Placement, Split


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

    def place(self, rank: int) -> dict[str, int]:
        """A rank's number along every axis."""
        found = {}
        for name, count in reversed(self.axes):
            rank, found[name] = divmod(rank, count)
        return {name: found[name] for name, _ in self.axes}


def placement(layout: Layout, axis: str) -> Placement:
    """What a layout says about a mesh axis."""
    return layout.get(axis, REPLICATED)


def local_part(mesh: Mesh, rank: int, layout: Layout, whole: np.ndarray) -> np.ndarray:
    """The part of an array that a rank holds."""
    for name, count in mesh.axes:
        lying = placement(layout, name)
        if not isinstance(lying, Split):
            continue
        if whole.shape[lying.axis] % count:
            raise LayoutError(
                f"local_part: {count} ranks of mesh axis {name!r} do not divide axis {lying.axis} "
                f"of {whole.shape}. Split another axis."
            )
        whole = np.split(whole, count, lying.axis)[mesh.place(rank)[name]]
    return np.ascontiguousarray(whole)


def whole_of(mesh: Mesh, layout: Layout, parts: Sequence[np.ndarray]) -> np.ndarray:
    """The array of which every rank holds its part; replicas are taken from the first rank."""
    held = list(parts)
    for name, count in reversed(mesh.axes):
        lying = placement(layout, name)
        groups = [held[k : k + count] for k in range(0, len(held), count)]
        if isinstance(lying, Split):
            held = [np.concatenate(group, lying.axis) for group in groups]
        else:
            held = [group[0] for group in groups]
    return held[0]
