"""Meshes as the command line spells them, and the parts of arrays that their ranks hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.errors import ConfigError, LayoutError
from gnomon.ops.layouts import MeshLayout, splits

ALONE = DeviceMesh.of(())
"""The mesh of one process."""


def mesh_of(text: str) -> DeviceMesh:
    """A mesh in the command line's notation.

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
    return DeviceMesh.of(axes)


def local_part(mesh: DeviceMesh, rank: int, layout: MeshLayout, whole: np.ndarray) -> np.ndarray:
    """The part of an array that a rank holds."""
    for name, count, axis in splits(layout):
        if whole.shape[axis] % count:
            raise LayoutError(
                f"local_part: {count} ranks of mesh axis {name!r} do not divide axis {axis} of "
                f"{whole.shape}. Split another axis."
            )
        whole = np.split(whole, count, axis)[mesh.place(rank)[name]]
    return np.ascontiguousarray(whole)


def whole_of(mesh: DeviceMesh, layout: MeshLayout, parts: Sequence[np.ndarray]) -> np.ndarray:
    """The whole array of all ranks' parts; replicas are taken from the first rank."""
    held, split = list(parts), {name: axis for name, _, axis in splits(layout)}
    for name, count in reversed(mesh.axes):
        groups = [held[k : k + count] for k in range(0, len(held), count)]
        if name in split:
            held = [np.concatenate(group, split[name]) for group in groups]
        else:
            held = [group[0] for group in groups]
    return held[0]
