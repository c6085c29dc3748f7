"""Tensor parallel by the names of torch.distributed.tensor.parallel: a style for each module.

A style shards a module's parameters over the ranks of a mesh, and says which layouts its inputs
have and its results get. Programs are divided by that; collectives stand where layouts change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.plans import lay_out, row_beside
from gnomon.distributed.tensor.dtensor import from_first
from gnomon.errors import ArgumentError, LayoutError
from gnomon.nn.embedding import Embedding
from gnomon.nn.linear import Linear
from gnomon.nn.module import Module
from gnomon.ops.placements import REPLICATED, Placement, Split, placement_of
from gnomon.tensor.layouts import part_of, spread, value_layout
from gnomon.tensor.placements import layout_by
from gnomon.tensor.tensor import Tensor

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]

Asked = Placement | Sequence[Placement | None] | None
"""The placement of one tensor, or of each of several; None keeps the present one."""


class ParallelStyle:
    """Base of the styles of dividing a module."""

    def apply(self, module: Module, mesh: DeviceMesh) -> None:
        """Divide a module over the ranks of a mesh."""
        raise NotImplementedError(f"{type(self).__name__}: a style says apply(module, mesh).")


class ByWeight(ParallelStyle):
    """Base of styles that split a layer's weight."""

    splits: ClassVar[Mapping[type[Module], Mapping[str, Placement]]]
    """Kind of module -> how its parameters lie."""
    layouts: ClassVar[tuple[Placement, Placement]]
    """The placements of inputs and outputs if none are given."""

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        given = zip((input_layouts, output_layouts), self.layouts, strict=True)
        asked = (own if each is None else placement_of(each) for each, own in given)
        self.input_layouts, self.output_layouts = asked
        self.use_local_output = use_local_output

    def wanted(self, module: Module) -> Placement:
        """The layout of the input that the layer computes with."""
        raise NotImplementedError

    def apply(self, module: Module, mesh: DeviceMesh) -> None:
        """Split the weight; inputs and outputs get the style's layouts."""
        kind = next((kind for kind in self.splits if isinstance(module, kind)), None)
        if kind is None:
            raise ArgumentError(
                f"{type(self).__name__}: expected a Linear or an Embedding: got "
                f"{type(module).__name__}. Name its layers in the plan."
            )
        lay_parameters(module, mesh, self.splits[kind])
        have, want = [self.input_layouts], [self.wanted(module)]
        PrepareModuleInput(have, want).apply(module, mesh)
        out = (self.output_layouts, self.use_local_output)
        module.register_forward_hook(lambda m, given, made: given_out(made, mesh, *out))


class ColwiseParallel(ByWeight):
    """Shard a Linear by outputs, or an Embedding by columns.

    >>> import gnomon as gn
    >>> mesh = DeviceMesh("cpu", [0], mesh_dim_names=("tp",))
    >>> parallelize_module(gn.nn.Linear(4, 2), mesh, ColwiseParallel()).weight.placements
    (S(0),)
    >>> gn.distributed.destroy_process_group()
    """

    splits: ClassVar = {
        Linear: {"weight": Split(0), "bias": Split(0)},
        Embedding: {"weight": Split(1)},
    }
    layouts: ClassVar = (REPLICATED, Split(-1))

    def wanted(self, module: Module) -> Placement:
        """The input's layout: replicated."""
        return REPLICATED


class RowwiseParallel(ByWeight):
    """Shard a Linear by inputs, or an Embedding by rows; outputs are summed."""

    splits: ClassVar = {
        Linear: {"weight": Split(1), "bias": REPLICATED},
        Embedding: {"weight": Split(0)},
    }
    layouts: ClassVar = (Split(-1), REPLICATED)

    def wanted(self, module: Module) -> Placement:
        """The input's layout: sharded like the weight's inputs; positions are replicated."""
        return Split(-1) if isinstance(module, Linear) else REPLICATED


class SequenceParallel(ParallelStyle):
    """Shard activations along the sequence, for norms and dropout between split layers."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.split, self.use_local_output = Split(sequence_dim), use_local_output

    def apply(self, module: Module, mesh: DeviceMesh) -> None:
        """Replicate the parameters, and shard inputs along the sequence."""
        lay_parameters(module, mesh, {})
        PrepareModuleInput([self.split], [self.split]).apply(module, mesh)
        out = (self.split, self.use_local_output)
        module.register_forward_hook(lambda m, given, made: given_out(made, mesh, *out))


class PrepareModuleInput(ParallelStyle):
    """Redistribute a module's inputs from given to desired layouts."""

    def __init__(
        self,
        input_layouts: Asked = None,
        desired_input_layouts: Asked = None,
        input_kwarg_layouts: Mapping[str, Placement] | None = None,
        desired_input_kwarg_layouts: Mapping[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.have, self.want = listed(input_layouts), listed(desired_input_layouts)
        self.named_have = dict(input_kwarg_layouts or {})
        self.named_want = dict(desired_input_kwarg_layouts or {})
        self.use_local_output = use_local_output
        if len(self.have) != len(self.want) or self.named_have.keys() != self.named_want.keys():
            raise ArgumentError(
                "PrepareModuleInput: input_layouts and desired_input_layouts should have same "
                f"length: got {input_layouts} and {desired_input_layouts}."
            )

    def apply(self, module: Module, mesh: DeviceMesh) -> None:
        """Add the hook that redistributes inputs."""
        local = self.use_local_output

        def enter(module: Module, inputs: tuple, named: dict[str, Any]) -> Any:
            rest = inputs[len(self.have) :]
            moved = [
                redistributed(x, mesh, *each, local)
                for x, *each in zip(inputs, self.have, self.want, strict=False)
            ]
            named_moved = {
                word: redistributed(named[word], mesh, have, self.named_want[word], local)
                for word, have in self.named_have.items()
                if word in named
            }
            return (*moved, *rest), {**named, **named_moved}

        module.register_forward_pre_hook(enter, with_kwargs=True)


class PrepareModuleOutput(ParallelStyle):
    """Redistribute a module's outputs from given to desired layouts."""

    def __init__(
        self,
        *,
        output_layouts: Asked,
        desired_output_layouts: Asked,
        use_local_output: bool = True,
    ) -> None:
        self.have, self.want = listed(output_layouts), listed(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.have) != len(self.want):
            raise ArgumentError(
                "PrepareModuleOutput: output_layouts and desired_output_layouts should have same "
                f"length: got {output_layouts} and {desired_output_layouts}."
            )

    def apply(self, module: Module, mesh: DeviceMesh) -> None:
        """Add the hook that redistributes outputs."""

        def leave(module: Module, inputs: tuple, output: Any) -> Any:
            alone = not isinstance(output, tuple)
            moved = [
                redistributed(x, mesh, *each, self.use_local_output)
                for x, *each in zip(
                    [output] if alone else output, self.have, self.want, strict=True
                )
            ]
            return moved[0] if alone else tuple(moved)

        module.register_forward_hook(leave)


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh,
    parallelize_plan: ParallelStyle | Mapping[str, ParallelStyle],
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """A module divided over a mesh of one axis: by one style, or by a style for each name.

    Names may have stars: "layers.*.mlp.up". All ranks begin with the first one's parameters; with
    `src_data_rank` None each has its own.
    """
    if device_mesh.ndim != 1:
        raise LayoutError(
            f"parallelize_module: expected a mesh of one axis: got {device_mesh}. "
            'Name one: mesh["tp"].'
        )
    if src_data_rank is not None:
        for p in module.parameters():
            if not value_layout(p):
                p.data = from_first(p.detach(), device_mesh, 0, src_data_rank)
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.apply(module, device_mesh)
        return module
    for pattern, style in parallelize_plan.items():
        found = [inner for name, inner in module.named_modules() if fits(name, pattern)]
        if not found:
            raise ArgumentError(
                f"parallelize_module: no module is named {pattern!r}. See named_modules()."
            )
        for inner in found:
            style.apply(inner, device_mesh)
    return module


@contextmanager
def loss_parallel() -> Iterator[None]:
    """PyTorch's context for cross entropy of logits whose classes are sharded.

    It has no effect: such a cross entropy is sharded like any other function, inside and outside,
    and its value and gradients are those of one process.

    >>> with loss_parallel():
    ...     pass
    """
    yield


def fits(name: str, pattern: str) -> bool:
    """Whether a module's name matches a pattern, part by part."""
    parts, wanted = name.split("."), pattern.split(".")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def listed(asked: Asked) -> list[Placement | None]:
    """The layouts of several tensors as a list; a single one, or None, becomes a list of one."""
    return [asked] if asked is None or isinstance(asked, Placement) else list(asked)


def lay_parameters(module: Module, mesh: DeviceMesh, splits: Mapping[str, Placement]) -> None:
    """Shard a module's own parameters over a mesh; those without a split are replicated."""
    rows = (
        row_beside(name, p, layout_by(mesh, [splits.get(name, REPLICATED)], p.ndim), mesh.names)
        for name, p in module.named_parameters(recurse=False)
    )
    lay_out(module, rows)


def redistributed(
    x: Any, mesh: DeviceMesh, have: Placement | None, want: Placement | None, local: bool
) -> Any:
    """Redistribute an input, or this rank's part of one, from one placement to another."""
    if have is None or want is None or not isinstance(x, Tensor):
        return x
    if not any(name in mesh.names for name, _, _ in value_layout(x)):
        x = spread(x, layout_by(mesh, [have], x.ndim))
    return given_out(x, mesh, want, local)


def given_out(x: Any, mesh: DeviceMesh, want: Placement, local: bool) -> Any:
    """A tensor over a mesh in the desired placement, or this rank's part of it."""
    here = tuple(each for each in value_layout(x) if each[0] in mesh.names)
    if here != layout_by(mesh, [want], x.ndim):
        x = x.redistribute(mesh, [want])
    return part_of(x, mesh.names) if local else x
