"""The attributes of tensors that lie over ranks, by PyTorch's names of a DTensor's.

A plain tensor has none of these attributes. A mesh is gnomon/distributed/device_mesh.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.errors import ArgumentError, LayoutError
from gnomon.ops.layouts import MeshLayout
from gnomon.ops.placements import REPLICATED, Partial, Placement, Split, placement_of
from gnomon.ops.primitives import MONOIDS
from gnomon.runtime.comm.groups import membership
from gnomon.tensor.layouts import (
    meet,
    over_pairs,
    part_of,
    pinned,
    sharded,
    shows_others,
    value_layout,
    varying_along,
    whole_of,
)
from gnomon.tensor.tensor import Tensor, node_of, wrap

__all__ = ["layout_by", "mesh_of", "placement_on", "placements_of"]


class OfParts:
    """A descriptor of attributes that only sharded tensors have."""

    def __init__(self, function: Callable, is_property: bool = False) -> None:
        self.function, self.is_property = function, is_property
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    def __get__(self, tensor: Tensor | None, owner: type | None = None) -> Any:
        if tensor is None:
            return self
        if not value_layout(tensor):
            raise AttributeError(
                f"{self.__name__}: this tensor does not lie over ranks. "
                "Use gn.distributed.tensor.distribute_tensor() first."
            )
        made = self.function.__get__(tensor)
        return made() if self.is_property else made


def of_parts(function: Callable) -> Callable:
    """Make a function a method of sharded tensors."""
    setattr(Tensor, function.__name__, OfParts(function))
    return function


def property_of_parts(function: Callable) -> Callable:
    """Make a function a property of sharded tensors."""
    setattr(Tensor, function.__name__, OfParts(function, True))
    return function


# placements are layouts without the names of mesh axes


def layout_by(mesh: Any, placements: Sequence[Placement] | None, rank: int) -> MeshLayout:
    """The layout of a tensor of rank `rank`: a placement for each axis of a mesh."""
    given = (REPLICATED,) * mesh.ndim if placements is None else tuple(placements)
    if len(given) != mesh.ndim:
        raise ArgumentError(
            f"placements: expected one for each of {mesh.ndim} axes of {mesh}: got {given}."
        )
    return tuple(
        (*axis, placement_on(each, rank)) for axis, each in zip(mesh.axes, given, strict=True)
    )


def placement_on(placement: Placement, rank: int) -> Placement:
    """A placement with its axis counted from the first."""
    if isinstance(placement, Partial):
        if placement.monoid not in MONOIDS:
            raise ArgumentError(
                f"placements: no pending fold {placement.reduce_op!r}: expected sum, max, min or "
                "product. Divide by the ranks, and say sum, for an average."
            )
        return placement
    if not isinstance(placement_of(placement), Split):
        return REPLICATED
    if not -rank <= placement.axis < rank:
        raise LayoutError(f"placements: {placement!r} of a tensor of {rank} axes.")
    return Split(placement.axis % rank)


def placements_of(layout: MeshLayout) -> tuple[Placement, ...]:
    """The placements of a layout."""
    return tuple(placement for *_, placement in layout)


def mesh_of(layout: MeshLayout) -> Any:
    """The mesh whose axes a layout names."""
    names = {name for name, _, _ in layout}
    for mesh in membership().meshes:
        kept = [k for k, name in enumerate(mesh.names) if name in names]
        if len(kept) == len(names):
            return mesh.along(kept)
    raise LayoutError(
        f"device_mesh: no mesh of this rank has the axes {sorted(names)}. "
        "Make one by init_device_mesh."
    )


# attributes


@property_of_parts
def placements(self: Tensor) -> tuple[Placement, ...]:
    """The placement along every axis of the tensor's mesh."""
    return placements_of(value_layout(self))


@property_of_parts
def device_mesh(self: Tensor) -> Any:
    """The mesh over which a tensor is sharded."""
    return mesh_of(value_layout(self))


@property_of_parts
def _local_tensor(self: Tensor) -> Tensor:
    """The rank's own part, without gradients."""
    return part_of(self).detach()


@of_parts
def to_local(self: Tensor, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
    """The rank's own part, as the same memory; its gradient gets the tensor's layout, or another.

    A view of other ranks' values is computed here: all ranks call it then.
    """
    back = grad_placements
    if back is not None:
        back = layout_by(mesh_of(value_layout(self)), grad_placements, self.ndim)
    made = part_of(self, back=back)
    if not shows_others(self):
        return made
    made = over_pairs(lambda x: wrap(node_of(x), self.requires_grad))(made)
    meet([made])
    return made


@of_parts
def full_tensor(self: Tensor, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
    """The global value on each rank; all ranks call it."""
    if grad_placements is None:
        return whole_of(self)
    everywhere = self.redistribute(placements=[REPLICATED] * len(value_layout(self)))
    return everywhere.to_local(grad_placements=grad_placements)


@of_parts
def redistribute(
    self: Tensor,
    device_mesh: Any = None,
    placements: Sequence[Placement] | None = None,
    *,
    async_op: bool = False,
) -> Tensor:
    """The value in another layout; all ranks call it, and gradients pass."""
    have = value_layout(self)
    want = layout_by(mesh_of(have) if device_mesh is None else device_mesh, placements, self.ndim)
    if any(isinstance(each[2], Partial) and each not in have for each in want):
        raise ArgumentError(
            f"redistribute: no message makes a pending fold: got {placements}. "
            "Say Replicate() or Shard()."
        )
    own = varying_along(self)
    varies = tuple(name for name, _, each in want if each == REPLICATED and name in own)
    made = moved(self, want, varies)
    meet([made])
    return made


@over_pairs
def moved(tensor: Tensor, layout: MeshLayout, varies: tuple[str, ...]) -> Tensor:
    """A tensor's value in another layout."""
    return sharded(pinned(tensor), layout, tensor.requires_grad, varies=varies)
