"""Device meshes by PyTorch's names: ranks along axes, and the groups that they form there.

A mesh of names and sizes alone (`DeviceMesh.of`) is of a world that need not run: a plan's, or one
whose ranks the trainer connects.

The name of an axis is that of its groups and of layouts over it. It is the same on all ranks, since
all make the same meshes in the same order, and no two meshes share one unless their ranks are the
same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from gnomon.distributed.groups import init_process_group, is_initialized
from gnomon.errors import ArgumentError, LayoutError
from gnomon.runtime.comm.groups import ProcessGroup, membership
from gnomon.tensor.creation import tensor as tensor_of
from gnomon.tensor.device import Device, check_device
from gnomon.tensor.tensor import Tensor

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """A mesh of ranks with named axes, made by all ranks, members or not.

    >>> import gnomon as gn
    >>> mesh = DeviceMesh("cpu", [0], mesh_dim_names=("dp",))
    >>> mesh.shape, mesh.get_coordinate(), mesh["dp"] == mesh
    ((1,), [0], True)
    >>> gn.distributed.destroy_process_group()
    """

    _followed = None
    """All of it: a mesh never changes, and each run takes the groups of its axes' names."""

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        _names: Sequence[str] | None = None,
    ) -> None:
        check_device(device_type)
        self.device_type = Device(device_type).type
        self.ranks = np.asarray(mesh.numpy() if isinstance(mesh, Tensor) else mesh, np.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self.names = join_groups(self) if _names is None else tuple(_names)
        """The names of its axes in groups and layouts."""
        self._whole, self._flat = self, dict[str, DeviceMesh]()

    @staticmethod
    def of(axes: Mapping[str, int] | Iterable[tuple[str, int]]) -> DeviceMesh:
        """The mesh of the first ranks with these axis names and sizes; it connects no ranks.

        >>> mesh = DeviceMesh.of({"data": 2, "tensor": 2})
        >>> mesh.place(3), mesh.beside(3, "data")
        ({'data': 1, 'tensor': 1}, [1, 3])
        """
        sizes = dict(axes)
        ranks = np.arange(prod(sizes.values())).reshape(tuple(sizes.values()))
        return DeviceMesh("cpu", ranks, mesh_dim_names=[*sizes], _names=[*sizes])

    @property
    def mesh(self) -> Tensor:
        """The numbers of its ranks."""
        return tensor_of(self.ranks.tolist())

    @property
    def axes(self) -> tuple[tuple[str, int], ...]:
        """The name and the ranks of every axis, as in layouts."""
        return tuple(zip(self.names, self.shape, strict=True))

    @property
    def divided(self) -> tuple[tuple[str, int], ...]:
        """The axes with more than one rank."""
        return tuple((name, count) for name, count in self.axes if count > 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """The ranks along every axis."""
        return self.ranks.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.ranks.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks: along an axis, or of all."""
        return int(self.ranks.size) if mesh_dim is None else self.ranks.shape[mesh_dim]

    def place(self, rank: int) -> dict[str, int]:
        """The coordinates of a rank in the mesh; empty if it is not in the mesh."""
        found = np.argwhere(self.ranks == rank).tolist()
        return dict(zip(self.names, found[0], strict=True)) if found else {}

    def groups(self, *along: str) -> list[list[int]]:
        """The groups of ranks that differ along some axes only, in order."""
        numbers = sorted(range(self.ndim), key=lambda k: self.names[k] in along)
        count = prod(n for name, n in self.axes if name in along)
        return self.ranks.transpose(numbers).reshape(-1, count).tolist()

    def beside(self, rank: int, axis: str) -> list[int]:
        """The ranks that differ from one along an axis only, itself included, in order."""
        return next(ranks for ranks in self.groups(axis) if rank in ranks)

    def get_rank(self) -> int:
        """The number of this rank among all."""
        return membership().world().rank()

    def get_coordinate(self) -> list[int] | None:
        """The place of this rank along every axis; None where it is not in the mesh."""
        return [*self.place(self.get_rank()).values()] or None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The place of this rank along an axis."""
        return self.get_group(mesh_dim).rank()

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of ranks that differ from this one along an axis only."""
        if mesh_dim is None and self.ndim > 1:
            raise ArgumentError(
                f"get_group: the DeviceMesh has {self.ndim} dimensions: expected `mesh_dim`: "
                "got none. Name one of them."
            )
        name = self.names[self._number(mesh_dim or 0)]
        found = membership().groups.get(name)
        if found is None:
            raise LayoutError(f"get_group: rank {self.get_rank()} is not in {self}.")
        return found

    def get_all_groups(self) -> list[ProcessGroup]:
        """The group along every axis."""
        return [self.get_group(k) for k in range(self.ndim)]

    def _number(self, mesh_dim: int | str) -> int:
        """The number of an axis."""
        names = self.mesh_dim_names or ()
        flat = self._whole._flat.get(mesh_dim) if isinstance(mesh_dim, str) else None
        if flat is not None and flat.names[0] in self.names:
            return self.names.index(flat.names[0])
        if isinstance(mesh_dim, str) and mesh_dim not in names:
            raise KeyError(f"Invalid mesh_dim_name {mesh_dim!r}. Valid ones are {names}.")
        if isinstance(mesh_dim, str):
            return names.index(mesh_dim)
        if not -self.ndim <= mesh_dim < self.ndim:
            raise LayoutError(f"mesh: no dimension {mesh_dim}: {self} has {self.ndim}.")
        return mesh_dim % self.ndim

    def __getitem__(self, names: str | Sequence[str]) -> DeviceMesh:
        """The submesh along some of its axes that contains this rank."""
        if self.mesh_dim_names is None:
            raise LayoutError("mesh: Cannot slice a DeviceMesh without mesh_dim_names.")
        asked = (names,) if isinstance(names, str) else tuple(names)
        if len(asked) == 1 and asked[0] in self._whole._flat:
            return self._whole._flat[asked[0]]
        kept = [self._number(name) for name in asked]
        if not kept or any(a >= b for a, b in pairwise(kept)):
            raise KeyError(
                f"Invalid mesh_dim_names {asked}. Valid ones are {self.mesh_dim_names}, in order."
            )
        return self.along(kept)

    def along(self, kept: Sequence[int]) -> DeviceMesh:
        """The submesh along some axes, by number, that contains this rank."""
        if len(kept) == self.ndim:
            return self
        here = self.get_coordinate() or [0] * self.ndim
        place = tuple(slice(None) if k in kept else here[k] for k in range(self.ndim))
        asked = self.mesh_dim_names and [self.mesh_dim_names[k] for k in kept]
        names = [self.names[k] for k in kept]
        made = DeviceMesh(self.device_type, self.ranks[place], mesh_dim_names=asked, _names=names)
        made._whole = self._whole
        return made

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """The mesh with all its ranks along one axis, which its root mesh then has by name.

        A single axis is the same one under another name: layouts have it once.
        """
        name = mesh_dim_name or "_".join(self.mesh_dim_names or unnamed(self.ndim))
        row = self.ranks.reshape(-1)
        alone = self.names if self.ndim == 1 else None
        made = DeviceMesh(self.device_type, row, mesh_dim_names=(name,), _names=alone)
        made._whole = self._whole
        self._whole._flat[name] = made
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and identity(self) == identity(other)

    def __hash__(self) -> int:
        return hash(identity(self))

    def __repr__(self) -> str:
        named = f", mesh_dim_names={self.mesh_dim_names}" if self.mesh_dim_names else ""
        return f"DeviceMesh({self.device_type!r}, {self.ranks.tolist()}{named})"


def init_device_mesh(
    device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None
) -> DeviceMesh:
    """The mesh of the first ranks, the last axis fastest; connects the ranks if nothing did.

    >>> import gnomon as gn
    >>> init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))["tp"]
    DeviceMesh('cpu', [0], mesh_dim_names=('tp',))
    >>> gn.distributed.destroy_process_group()
    """
    sizes = tuple(mesh_shape)
    if mesh_dim_names is not None and len(sizes) != len(mesh_dim_names):
        raise LayoutError(
            "init_device_mesh: mesh_shape and mesh_dim_names should have same length: got "
            f"{sizes} and {tuple(mesh_dim_names)}."
        )
    ranks = np.arange(prod(sizes)).reshape(sizes)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)


def check(ranks: np.ndarray, names: tuple[str, ...] | None) -> None:
    """Refuse ranks that do not exist, and invalid axis names."""
    if not is_initialized():
        init_process_group()
    world = membership().world().size()
    if ranks.size > world or (ranks.size and ranks.max() >= world):
        raise LayoutError(
            f"mesh: Mesh should not be bigger than default world size {world}: got ranks "
            f"{ranks.tolist()}. Launch as many: gnomon launch -n {ranks.size} ..."
        )
    if not ranks.size or ranks.min() < 0 or len(np.unique(ranks)) < ranks.size:
        raise LayoutError(f"mesh: expected ranks, each once: got {ranks.tolist()}.")
    if names is not None and (len(set(names)) < len(names) or len(names) != ranks.ndim):
        raise LayoutError(
            f"mesh: Each mesh_dim_name must be unique, one for each of {ranks.ndim} dimensions: "
            f"got {names}."
        )


def identity(mesh: DeviceMesh) -> tuple[Any, ...]:
    """The key of a mesh, by which equal ones share groups."""
    return mesh.device_type, mesh.shape, mesh.ranks.tobytes(), mesh.mesh_dim_names


def join_groups(mesh: DeviceMesh) -> tuple[str, ...]:
    """The names of a mesh's axes; its groups are made unless an equal mesh made them."""
    check(mesh.ranks, mesh.mesh_dim_names)
    member = membership()
    for known in member.meshes:
        if known == mesh:
            return known.names
    mesh.names = tuple(member.fresh(name) for name in mesh.mesh_dim_names or unnamed(mesh.ndim))
    if mesh.get_coordinate() is not None:
        for name in mesh.names:
            member.add(member.world().backend, name, mesh.beside(mesh.get_rank(), name))
    member.meshes.append(mesh)
    return mesh.names


def unnamed(count: int) -> list[str]:
    """The generated names of mesh axes without names."""
    return [f"dim {k}" for k in range(count)]
