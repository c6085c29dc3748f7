"""Tensors sharded over a mesh: from what one rank has, from parts, and all of a module's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.distributed.collectives import broadcast
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.errors import LayoutError
from gnomon.nn.module import Module
from gnomon.ops.layouts import ALONE, MeshLayout, Unit, to_local
from gnomon.ops.placements import REPLICATED, Placement
from gnomon.tensor.layouts import meet, over_pairs, spread, value_layout
from gnomon.tensor.placements import layout_by
from gnomon.tensor.placing import without_elements
from gnomon.tensor.tensor import Tensor, detached, raw, wrap

__all__ = ["DTensor", "distribute_module", "distribute_tensor", "lay"]


class ShardedTensorType(type):
    """The metaclass of DTensor: a sharded tensor is an instance of it, whatever its class."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and bool(value_layout(value))


class DTensor(Tensor, metaclass=ShardedTensorType):
    """A tensor that is sharded over the ranks of a mesh.

    >>> import gnomon as gn
    >>> mesh = DeviceMesh("cpu", [0], mesh_dim_names=("dp",))
    >>> x = DTensor.from_local(gn.ones(2, 3), mesh, [gn.distributed.tensor.Shard(0)])
    >>> isinstance(x, DTensor), x.sum(), x.to_local().shape
    (True, DTensor(Tensor(6.), dp=R), Size([2, 3]))
    >>> gn.distributed.destroy_process_group()
    """

    def __new__(cls, *args: Any, **named: Any) -> Any:
        """Refuse: tensors are sharded by from_local or distribute_tensor."""
        raise LayoutError("DTensor: say DTensor.from_local() or distribute_tensor().")

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
    ) -> Tensor:
        """The value of which a tensor is this rank's part, as the same memory; gradients pass.

        All ranks have parts of one shape; a `shape` that says otherwise is refused, and with
        `run_check` what is replicated becomes the first rank's.
        """
        layout = layout_by(device_mesh, placements, local_tensor.ndim)
        if run_check:
            for k, (*_, placement) in enumerate(layout):
                if placement == REPLICATED:
                    local_tensor = from_first(local_tensor, device_mesh, k, 0)
        made = spread(local_tensor, layout)
        if shape is not None and tuple(shape) != tuple(made.shape):
            raise LayoutError(
                f"from_local: parts {tuple(local_tensor.shape)} make {tuple(made.shape)}: got "
                f"shape {tuple(shape)}. Parts must have equal sizes: pad the last one."
            )
        return made


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Tensor:
    """Shard a leaf over a mesh: the first rank's values, or with None those of each.

    >>> import gnomon as gn
    >>> mesh = DeviceMesh("cpu", [0], mesh_dim_names=("dp",))
    >>> distribute_tensor(gn.arange(4.0), mesh, [gn.distributed.tensor.Shard(0)])
    DTensor(Tensor([0., 1., 2., 3.]), dp=S(0))
    >>> gn.distributed.destroy_process_group()
    """
    if value_layout(tensor):
        if value_layout(tensor) == layout_by(device_mesh, placements, tensor.ndim):
            return tensor
        raise LayoutError("distribute_tensor: this tensor is a DTensor. Use redistribute().")
    if not tensor.is_leaf:
        raise LayoutError(
            "distribute_tensor should be used to distribute leaf tensors: got a result. "
            "Use DTensor.from_local(), which gradients pass."
        )
    layout = layout_by(device_mesh, placements, tensor.ndim)
    whole = tensor.detach()
    if src_data_rank is not None:
        for k in range(device_mesh.ndim):
            whole = from_first(whole, device_mesh, k, src_data_rank)
    return lay(whole, layout).requires_grad_(tensor.requires_grad)


@over_pairs
def lay(
    tensor: Tensor, layout: MeshLayout, keeps: tuple[str, ...] = (), unit: Unit = ALONE
) -> Tensor:
    """A detached value, sharded: this rank keeps its part."""
    part = wrap(to_local(detached(raw(tensor)), layout))
    if part.is_meta:
        return spread(without_elements(part), layout, keeps, unit)
    meet([part])
    return spread(part.clone() if part._storage is tensor._storage else part, layout, keeps, unit)


def from_first(tensor: Tensor, mesh: DeviceMesh, mesh_dim: int, place: int) -> Tensor:
    """The tensor of a rank of the group along a mesh axis, on all of its ranks."""
    group = mesh.get_group(mesh_dim)
    if group.size() == 1 or tensor.is_meta:
        return tensor
    made = tensor.detach().clone()
    broadcast(made, group.ranks[place], group)
    return made


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
) -> Module:
    """A module whose parameters lie over a mesh: as partition_fn lays them, the rest replicated.

    input_fn and output_fn change what goes into the module and what comes out.

    >>> import gnomon as gn
    >>> mesh = DeviceMesh("cpu", [0], mesh_dim_names=("dp",))
    >>> distribute_module(gn.nn.Linear(2, 2), mesh).weight.placements
    (R,)
    >>> gn.distributed.destroy_process_group()
    """
    for name, inner in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, inner, device_mesh)
        for value in (*inner._parameters.values(), *inner._buffers.values()):
            if value is not None and not value_layout(value):
                value.data = distribute_tensor(value.detach(), device_mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, given: input_fn(m, given, device_mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, given, made: output_fn(m, made, device_mesh))
    return module
