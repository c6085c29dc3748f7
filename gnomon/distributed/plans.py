"""Plans: which parameters, and which rows of a batch, lie over which mesh axes.

Parameters name their axes (a model's table), a plan maps these names to mesh axes. What a plan
leaves open, the cost model decides for each program (gnomon/passes/choose.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.tensor.dtensor import lay
from gnomon.distributed.token_dispatch.travel import TokenTravel
from gnomon.errors import ArgumentError, LayoutError
from gnomon.ir.node import Shape
from gnomon.nn.module import Module
from gnomon.ops.layouts import ALONE, MeshLayout, Unit
from gnomon.ops.placements import REPLICATED, Placement, Split
from gnomon.program.reductions import AUTO
from gnomon.tensor.layouts import in_order, spread, value_layout
from gnomon.tensor.tensor import Tensor

__all__ = ["AxisNames", "PLAN", "ParameterLayout", "ShardingPlan", "bound_of", "distribute"]

AxisNames = Mapping[str, Sequence[str]]
"""The end of a parameter's name -> the names of its axes."""
TENSOR = dict.fromkeys(("heads", "key_heads", "intermediate", "vocabulary"), "tensor")


class ParameterLayout(NamedTuple):
    """A row of a table of parameters: one, its shape, and its layout.

    A plan makes a table of a whole model; `fully_shard` and each style of `parallelize_module` make
    one of a module.
    """

    name: str
    shape: Shape
    layout: MeshLayout
    keeps: tuple[str, ...]
    """Mesh axes along which it stays sharded in use; along others it is gathered for its use."""
    unit: Unit = ALONE
    """The unit that it is gathered with: its layer, or all that is outside of layers."""


@dataclass(frozen=True)
class ShardingPlan:
    """A plan of the mesh axes that shard parameters, rows and tokens; others replicate.

    axes: the mesh axis of each axis name of parameters. rows: the mesh axes that shard the batch.
    fully: the mesh axes that shard every parameter, gathered for use. reductions: the most that may
    be under way, 0 for any. token_dispatch: the axis names of experts to whose ranks tokens are
    sent.

    >>> plan, mesh = ShardingPlan(), DeviceMesh.of({"shard": 2, "tensor": 2})
    >>> plan.layout(mesh, ("intermediate", "width"), (64, 32))
    (('shard', 2, S(1)), ('tensor', 2, S(0)))
    """

    axes: Mapping[str, str] = field(default_factory=lambda: TENSOR)
    """Name of a parameter's axis -> the mesh axis that splits it."""
    rows: tuple[str, ...] = ("data", "shard")
    """Mesh axes over which the rows of a batch are spread."""
    fully: tuple[str, ...] = ("shard",)
    """Mesh axes that share out every parameter: each rank keeps a part, gathered for its use.

    A parameter with a name in `axes` for one of them is sharded by that name, and not gathered.
    """
    reductions: int | str = 0
    """The most units' gradients under way at once; 0: any number; "auto"."""
    token_dispatch: tuple[str, ...] = ()
    """Names of `axes` to whose ranks tokens travel, so that no matrix and no sum of one does."""

    def layout(self, mesh: DeviceMesh, names: Sequence[str], shape: Shape) -> MeshLayout:
        """The layout of a parameter."""
        sizes, found = list(shape), {}
        for mesh_axis, ranks in mesh.divided:
            named = [k for k, name in enumerate(names) if self.axes.get(name) == mesh_axis]
            # a vocabulary that ranks do not divide: they split the width of its table
            others = [k for k in range(len(shape)) if named and k not in named]
            found[mesh_axis] = divisible(sizes, [*named, *others], ranks)
        for mesh_axis, ranks in mesh.divided:
            if mesh_axis in self.fully and found[mesh_axis] is None:
                free = [k for k in range(len(shape)) if k not in found.values()]
                found[mesh_axis] = divisible(sizes, free, ranks)
        return tuple((name, ranks, placement_of(found[name])) for name, ranks in mesh.divided)

    def keeps(self, mesh: DeviceMesh, names: Sequence[str]) -> tuple[str, ...]:
        """The mesh axes along which a parameter stays sharded in use: all that do not gather it.

        A fully sharding axis gathers it, unless one of the parameter's axis names is mapped to it.
        """
        named = {self.axes.get(name) for name in names}
        return tuple(name for name, _ in mesh.divided if name not in self.fully or name in named)

    def travel(self, mesh: DeviceMesh) -> TokenTravel | None:
        """The exchange of tokens along a mesh axis; None without one."""
        named = {self.axes.get(name) for name in self.token_dispatch}
        return next((TokenTravel(each) for each in mesh.divided if each[0] in named), None)

    def table(self, model: Module, axes: AxisNames, mesh: DeviceMesh) -> list[ParameterLayout]:
        """The layout of every parameter, by name."""
        rows = ((name, tuple(p.shape)) for name, p in model.named_parameters())
        units: dict[str, int] = {}
        table = [
            ParameterLayout(
                name,
                shape,
                self.layout(mesh, names_of(name, axes), shape),
                self.keeps(mesh, names_of(name, axes)),
                Unit(units.setdefault(layer_of(name), len(units)), self.reductions),
            )
            for name, shape in rows
        ]
        self.refuse_idle(table, mesh)
        return table

    def refuse_idle(self, table: Sequence[ParameterLayout], mesh: DeviceMesh) -> None:
        """Refuse a mesh axis of several ranks over which neither rows nor parameters are split."""
        split = {name for row in table for name, _, each in row.layout if each != REPLICATED}
        for name, ranks in mesh.divided:
            if name not in split and name not in self.rows:
                axes = ", ".join(sorted(k for k, place in self.axes.items() if place == name))
                raise LayoutError(
                    f"plan: {ranks} ranks of mesh axis {name!r} divide no parameter's {axes}, so "
                    "all would compute the same. Use a number of ranks that divides one of them."
                )


PLAN = ShardingPlan()
"""The plan where none is named, by the names of mesh axes: data, shard, tensor."""


def bound_of(where: str, value: object) -> int | str:
    """A bound of concurrent reductions: a number, or "auto".

    >>> bound_of("plan", 2), bound_of("plan", AUTO)
    (2, 'auto')
    """
    if value == AUTO or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ArgumentError(
        f'{where}: expected a number of reductions under way, 0 for any, or "auto": got {value!r}.'
    )


def divisible(sizes: list[int], candidates: Sequence[int], ranks: int) -> int | None:
    """The first axis whose size the ranks divide, updated to a part's; None without one."""
    for axis in candidates:
        if sizes[axis] % ranks == 0:
            sizes[axis] //= ranks
            return axis
    return None


def placement_of(axis: int | None) -> Placement:
    """The placement that shards an axis, or Replicate for None."""
    return REPLICATED if axis is None else Split(axis)


def layer_of(parameter: str) -> str:
    """The layer in a parameter's name; empty outside of layers.

    >>> layer_of("model.layers.3.mlp.up_proj.weight"), layer_of("model.norm.weight")
    ('model.layers.3', '')
    """
    words = parameter.split(".")
    number = next((k for k, word in enumerate(words) if word.isdecimal()), None)
    return "" if number is None else ".".join(words[: number + 1])


def names_of(parameter: str, axes: AxisNames) -> Sequence[str]:
    """The names of a parameter's axes; none if the model does not name them."""
    return next((names for end, names in axes.items() if parameter.endswith(end)), ())


def row_beside(
    name: str, p: Tensor, over: MeshLayout, keeps: tuple[str, ...], unit: Unit = ALONE
) -> ParameterLayout:
    """The table row of a parameter along further mesh axes, beside its existing ones."""
    layout = tuple(sorted((*value_layout(p), *over), key=lambda each: in_order(each[0])))
    return ParameterLayout(name, tuple(p.shape), layout, keeps, unit)


def lay_out(module: Module, rows: Iterable[ParameterLayout]) -> None:
    """Replace the values of a table's parameters by this rank's parts, in the same tensors."""
    parameters = dict(module.named_parameters())
    for row in rows:
        p = parameters[row.name]
        p.data = lay(p.detach(), row.layout, row.keeps, row.unit)


def distribute(model: Module, rows: Iterable[ParameterLayout], mesh: DeviceMesh) -> None:
    """Shard a model's parameters by a plan's table; parameters without a split are replicated.

    Buffers are replicated too: as plain tensors they would vary.
    """
    everywhere = tuple((name, ranks, REPLICATED) for name, ranks in mesh.divided)
    if everywhere:
        lay_out(model, rows)
    for _, buffer in model.named_buffers():
        buffer.data = spread(buffer.detach(), everywhere)
