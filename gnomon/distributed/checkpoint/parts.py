"""A tensor as ranks hold it: its global shape, and the parts that belong to this one.

Of all ranks exactly one owns each element: those that hold the same part share its rows. Files are
written of parts alone and know nothing of meshes, so that one may be read into another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.ops.layouts import MeshLayout, splits

__all__ = ["DividedTensor", "ElementRuns", "TensorPart", "owned", "rectangle", "runs"]


@dataclass(frozen=True)
class TensorPart:
    """A rectangle of a tensor: its offset along each axis, and its elements."""

    offsets: tuple[int, ...]
    array: np.ndarray


@dataclass(frozen=True)
class DividedTensor:
    """A tensor of which this rank owns some parts, or none."""

    shape: tuple[int, ...]
    """The shape of the whole tensor."""
    dtype: np.dtype
    parts: tuple[TensorPart, ...] = ()

    @property
    def elements(self) -> int:
        """Number of elements of the whole tensor."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """The size of the whole."""
        return self.elements * self.dtype.itemsize

    def staged(self) -> DividedTensor:
        """A copy of the tensor with parts of its own, unaffected by further training."""
        copies = (TensorPart(x.offsets, np.array(x.array, order="C")) for x in self.parts)
        return DividedTensor(self.shape, self.dtype, tuple(copies))


@dataclass(frozen=True)
class ElementRuns:
    """The elements of a part in the whole: runs of one length, in the order of both."""

    starts: np.ndarray
    length: int


def runs(shape: Sequence[int], offsets: Sequence[int], sizes: Sequence[int]) -> ElementRuns:
    """The runs of consecutive elements that a rectangle has in a tensor, rows first.

    >>> found = runs((4, 6), (1, 2), (2, 3))
    >>> found.starts.tolist(), found.length
    ([8, 14], 3)
    >>> runs((4, 6), (1, 0), (2, 6)).length
    12
    """
    axis = len(shape)
    while axis and sizes[axis - 1] == shape[axis - 1]:
        axis -= 1
    axis = max(0, axis - 1)  # the last divided axis still runs on
    length = prod(sizes[axis:])
    strides = [prod(shape[k + 1 :]) for k in range(len(shape))]
    starts = np.array([sum(o * s for o, s in zip(offsets, strides, strict=True))], np.int64)
    for k in range(axis):
        starts = (starts[:, None] + np.arange(sizes[k], dtype=np.int64) * strides[k]).reshape(-1)
    return ElementRuns(starts if length else starts[:0], length)


def rectangle(
    shape: Sequence[int], layout: MeshLayout, place: Mapping[str, int]
) -> tuple[slice, ...]:
    """The rectangle of a tensor in a layout, for the rank at a place of the mesh.

    >>> from gnomon.distributed.tensor import Shard
    >>> rows = Shard(0)
    >>> rectangle((8, 6), (("data", 2, rows), ("tensor", 2, rows)), {"data": 1, "tensor": 0})
    (slice(4, 6, None), slice(0, 6, None))
    """
    begins, sizes = [0] * len(shape), list(shape)
    for name, ranks, axis in splits(layout):
        sizes[axis] //= ranks
        begins[axis] += place[name] * sizes[axis]
    return tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True))


def owned(
    local: np.ndarray, shape: Sequence[int], layout: MeshLayout, mesh: DeviceMesh, rank: int
) -> DividedTensor:
    """A tensor of which a rank has a part, with the rows that it owns among its replicas.

    >>> mesh = DeviceMesh.of({"data": 2})
    >>> [owned(np.ones(5), (5,), (), mesh, rank).parts[0].array.shape for rank in range(2)]
    [(2,), (3,)]
    """
    place = mesh.place(rank)
    where = [x.start for x in rectangle(shape, layout, place)]
    split = {name for name, _, _ in splits(layout)}
    replica, replicas = 0, 1
    for name, ranks in mesh.divided:
        if name not in split:
            replica, replicas = replica * ranks + place[name], replicas * ranks
    if where:
        low, high = (k * len(local) // replicas for k in (replica, replica + 1))
        where[0], local = where[0] + low, local[low:high]
    own = local.size and (where or replica == 0)
    parts = (TensorPart(tuple(where), local),) if own else ()
    return DividedTensor(tuple(shape), local.dtype, parts)
