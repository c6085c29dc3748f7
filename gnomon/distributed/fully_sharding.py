"""Fully sharded data parallel by PyTorch's names: each rank keeps a part of every parameter.

`fully_shard` says where parameters lie, and nothing more: programs gather a unit's parameters for
their use, and scatter its gradients in one message (gnomon/passes/coalesce.py). Each rank feeds its
own rows, computes the loss of these, and gradients are averaged over the ranks: as one process's,
whose batch is all rows, and to its bits where 2, 4, 8 or 16 ranks have as many each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gnomon.distributed.device_mesh import DeviceMesh, init_device_mesh
from gnomon.distributed.fsdp_module import FSDPModule, outermost, sharded_class
from gnomon.distributed.groups import get_world_size, init_process_group, is_initialized
from gnomon.distributed.mixed_precision import MixedPrecisionPolicy, refuse_other_dtypes
from gnomon.distributed.plans import ParameterLayout, divisible, lay_out, placement_of, row_beside
from gnomon.errors import ArgumentError
from gnomon.nn.module import Module
from gnomon.ops.layouts import OwnRows, Unit, divided, splits
from gnomon.ops.placements import REPLICATED, Partial, Split
from gnomon.runtime.comm.groups import membership
from gnomon.tensor.layouts import own_rows, part_of, spread, value_layout
from gnomon.tensor.placements import layout_by, placement_on
from gnomon.tensor.pytree import flatten, unflatten
from gnomon.tensor.tensor import Tensor

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "OffloadPolicy",
    "fully_shard",
]


@dataclass
class OffloadPolicy:
    """PyTorch's policy of the memory of parameters between uses; it has no effect."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """PyTorch's policy to store parameters in main memory, where they always are."""

    pin_memory: bool = True


def fully_shard(
    module: Module | Sequence[Module],
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Tensor], Split | None] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Tensor] | None = None,
) -> Any:
    """Shard the parameters of a module, or of several as one unit, over ranks.

    Inner layers are sharded before the modules around them. Along a mesh of two axes parameters are
    replicated over the first. A parameter is split along its first axis that ranks divide, if any.
    Gathered parameters are freed after each use, whatever `reshard_after_forward` says, and are in
    main memory, whatever `offload_policy` says. With `mp_policy` a unit computes in another dtype.

    >>> import gnomon as gn
    >>> model = fully_shard(gn.nn.Linear(4, 2))
    >>> isinstance(model, FSDPModule), model.weight.placements
    (True, (S(0),))
    >>> gn.distributed.destroy_process_group()
    """
    if isinstance(reshard_after_forward, int) and not isinstance(reshard_after_forward, bool):
        raise ArgumentError(
            f"fully_shard: reshard_after_forward={reshard_after_forward}: parts of fewer ranks are "
            "not kept between the passes. Say True or False."
        )
    policy = mp_policy or MixedPrecisionPolicy()
    dtypes = (policy.param_dtype, policy.reduce_dtype, policy.output_dtype)
    refuse_other_dtypes("fully_shard", policy, *dtypes)
    mesh = default_mesh() if mesh is None else mesh
    if mesh.ndim > 2:
        raise ArgumentError(f"fully_shard: expected a mesh of one axis or two: got {mesh}.")
    modules = [module] if isinstance(module, Module) else list(module)
    unit = Unit(membership().number("unit"))
    for each in modules:
        inner = [p for m in each.modules() if isinstance(m, FSDPModule) for p in m.parameters()]
        others = {id(p) for p in (*inner, *(ignored_params or ()))}
        named = [(name, p) for name, p in each.named_parameters() if id(p) not in others]
        ask = shard_placement_fn or no_wish
        lay_out(each, [row_over(name, p, mesh, ask(p), unit) for name, p in named])
        object.__setattr__(each, "__class__", sharded_class(type(each)))
        object.__setattr__(each, "_unit_number", unit.number)
        object.__setattr__(each, "_precision", policy)
        each.register_forward_pre_hook(entering(mesh), prepend=True, with_kwargs=True)
        each.register_forward_hook(leaving(mesh))
    return module


def default_mesh() -> DeviceMesh:
    """The mesh of all ranks."""
    if not is_initialized():
        init_process_group()
    return init_device_mesh("cpu", (get_world_size(),), mesh_dim_names=("shard",))


def is_sharded_along(tensor: Tensor, mesh: DeviceMesh) -> bool:
    """Whether a tensor is sharded over the ranks of a mesh already."""
    return any(name in mesh.names for name, _, _ in value_layout(tensor))


def no_wish(p: Tensor) -> None:
    """Return None: no preference for the axis along which a parameter is split."""


def row_over(
    name: str, p: Tensor, mesh: DeviceMesh, asked: Split | None, unit: Unit
) -> ParameterLayout:
    """The table row of a parameter; along its existing mesh axes it is used without a gather."""
    have = value_layout(p)
    sizes, taken = list(divided(tuple(p.shape), have, "fully_shard")), [k for *_, k in splits(have)]
    free = [k for k in range(p.ndim) if k not in taken] + taken
    if asked is not None:
        wanted = placement_on(asked, p.ndim)
        free = [wanted.axis] if isinstance(wanted, Split) else []
    axis = divisible(sizes, free, mesh.shape[-1])
    over = layout_by(mesh, [*[REPLICATED] * (mesh.ndim - 1), placement_of(axis)], p.ndim)
    return row_beside(name, p, over, tuple(each for each, _, _ in have), unit)


def entering(mesh: DeviceMesh) -> Callable:
    """A hook that combines each rank's rows to the batch of all ranks."""

    def enter(module: Module, inputs: tuple, named: dict[str, Any]) -> Any:
        if outermost.get() not in (None, module):
            return None
        outermost.set(module)
        own: list[Tensor] = []

        def spread_rows(x: Tensor) -> Tensor:
            y = rows_of_ranks(x, mesh)
            own.extend([x] if y is not x else [])
            return y

        found = over_tensors((inputs, named), spread_rows)
        own_rows.set(mesh.names if own else ())
        return found

    return enter


def leaving(mesh: DeviceMesh) -> Callable:
    """A hook that reduces a result to one rank's rows, with averaged gradients."""

    def leave(module: Module, inputs: tuple, output: Any) -> Any:
        if outermost.get() is not module:
            return output
        outermost.set(None)
        own_rows.set(())
        return over_tensors(output, lambda x: own_part(x, mesh))

    return leave


def rows_of_ranks(x: Tensor, mesh: DeviceMesh) -> Tensor:
    """The rows of all ranks, from each rank's own."""
    if not x.ndim or is_sharded_along(x, mesh):
        return x
    layout = tuple((name, n, Split(0)) for name, n in mesh.axes)
    return spread(x, layout, rows=OwnRows(mesh.names), shares=mesh.size())


def own_part(x: Tensor, mesh: DeviceMesh) -> Tensor:
    """One rank's rows of a result, with averaged gradients.

    A value made of all ranks' rows, such as a loss, is whole on each rank, and its gradient is the
    mean of the gradients on ranks.
    """
    placed = {name: each for name, _, each in value_layout(x) if name in mesh.names}
    split = any(isinstance(each, Split) for each in placed.values())
    sums = tuple((name, n, Partial()) for name, n in mesh.axes)
    back = None if split else tuple(each for each in sums if placed.get(each[0]) == REPLICATED)
    return part_of(x, mesh.names, back, shares=mesh.size(), rows=OwnRows(mesh.names))


def over_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A nested structure with its tensors changed."""
    found: list[Tensor] = []
    tree = flatten(value, found)
    return unflatten(tree, [change(x) for x in found])
