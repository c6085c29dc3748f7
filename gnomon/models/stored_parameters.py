"""Read and write parameters in files; each rank handles only the parts that it holds.

A config knows the names in files (`in_files`, `from_files`). The layout on disk is defined in
gnomon/distributed/checkpoint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import gnomon as gn
from gnomon.distributed.checkpoint.parts import DividedTensor, owned, rectangle
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import ALONE
from gnomon.errors import CheckpointError
from gnomon.gguf.hugging_face import LaterTensor
from gnomon.models.expert_files import StackedArrays, StoredArray
from gnomon.ops.layouts import MeshLayout
from gnomon.tensor.layouts import layout_of, local_of, whole_of
from gnomon.tensor.tensor import array_of

if TYPE_CHECKING:
    from gnomon.models.saving import PretrainedModel

__all__ = [
    "OwnPart",
    "Stored",
    "Tensors",
    "entry_as_array",
    "load_parameters",
    "own_part",
    "owned_parts",
    "parameter_tensors",
    "part_of",
    "refuse_difference",
    "refuse_misfit",
]

Tensors = dict[str, DividedTensor]
Stored = Mapping[str, StoredArray]
AnyArray = StoredArray | StackedArrays


class OwnPart(NamedTuple):
    """The part of a tensor that this rank holds, and the tensor's layout."""

    layout: MeshLayout
    array: np.ndarray


def own_part(value: object) -> OwnPart:
    """The part of a tensor that this rank holds; a plain number becomes an array."""
    if not isinstance(value, gn.Tensor):
        return OwnPart((), entry_as_array(value))
    layout = layout_of(value)
    # whoever asks for .numpy() may write there, so what was packed of a weight would be forgotten
    return OwnPart(layout, array_of(local_of(value) if layout else value))


def parameter_tensors(model: PretrainedModel, mesh: DeviceMesh, rank: int) -> Tensors:
    """All parameters by their names in files, with the parts that a rank owns."""
    own = {name: owned_parts(p, mesh, rank) for name, p in model.named_parameters()}
    return model.config.in_files(own)


def owned_parts(value: object, mesh: DeviceMesh, rank: int) -> DividedTensor:
    """A parameter or optimizer state as a DividedTensor with the parts that a rank owns."""
    layout, array = own_part(value)
    shape = tuple(value.shape) if isinstance(value, gn.Tensor) else ()
    return owned(array, shape, layout, mesh, rank)


def load_parameters(
    model: PretrainedModel,
    arrays: Stored,
    mesh: DeviceMesh = ALONE,
    rank: int = 0,
    dtypes: Collection[str] = ("float32",),
    encoded: bool = False,
    activations: str = "",
) -> None:
    """Fill a model's parameters from arrays; names and shapes must match exactly.

    Only the part that this rank of the mesh holds is read. dtypes: those the arrays may have.
    encoded: matrices stored as blocks in a GGUF file replace the parameters, still in blocks.
    activations: the type to which layers of such matrices round their inputs; "" means none.
    """
    wanted = dict(model.named_parameters())
    found = model.config.from_files(arrays, {name: p.shape for name, p in wanted.items()})
    refuse_difference("parameters", wanted, found)
    with gn.no_grad():
        for name, parameter in wanted.items():
            array = found[name]
            refuse_misfit(name, tuple(parameter.shape), array, dtypes)
            blocks = (
                array.encoded(activations) if encoded and isinstance(array, LaterTensor) else None
            )
            if blocks is not None:
                owner, _, last = name.rpartition(".")
                kept = gn.nn.Parameter(blocks, requires_grad=False)
                setattr(model.get_submodule(owner), last, kept)
                continue
            part = part_of(array, parameter, mesh, rank)
            (local_of(parameter) if layout_of(parameter) else parameter).copy_(part)


def part_of(array: AnyArray, like: gn.Tensor, mesh: DeviceMesh, rank: int) -> gn.Tensor:
    """The part of an array that a rank holds of a tensor of its shape."""
    where = rectangle(tuple(like.shape), layout_of(like), mesh.place(rank))
    return gn.from_numpy(np.array(array[where], order="C"))


def entry_as_array(value: object) -> np.ndarray:
    """An optimizer state's whole value as an array."""
    if not isinstance(value, gn.Tensor):
        return np.asarray(value, np.float32)
    return (whole_of(value) if layout_of(value) else value).cpu().numpy()


def refuse_difference(what: str, wanted: Iterable[str], found: Iterable[str]) -> None:
    """Raise CheckpointError if two sets of names differ."""
    missing, strange = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    if missing or strange:
        raise CheckpointError(
            f"checkpoint: {what} differ: missing {missing[:3]}, unknown {strange[:3]}. "
            "The model was another one."
        )


def refuse_misfit(
    name: str, shape: tuple[int, ...], array: AnyArray, dtypes: Collection[str] = ("float32",)
) -> None:
    """Raise CheckpointError if an array has another shape or dtype than the parameter."""
    strange = str(array.dtype) not in dtypes
    if array.shape != shape or strange:
        came = f"{array.shape}" + f" of {array.dtype}" * strange
        raise CheckpointError(
            f"checkpoint: {name} must be {shape}: got {came}. The model was another one."
        )
