"""Convert experts between files, one tensor per expert, and models, which stack them.

The optimizer's averages, which only Gnomon reads, are stacked in files too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.distributed.checkpoint.parts import DividedTensor, TensorPart
from gnomon.distributed.checkpoint.reader import StoredTensor
from gnomon.gguf.hugging_face import LaterTensor
from gnomon.models.expert_names import expert_name, is_stacked

__all__ = ["StackedArrays", "StoredArray", "by_expert", "stacked"]

StoredArray = np.ndarray | StoredTensor | LaterTensor
"""An array in memory, or one in a file that is read on use."""


def by_expert(tensors: Mapping[str, DividedTensor]) -> dict[str, DividedTensor]:
    """Split each tensor that stacks experts into one tensor per expert, under their file names."""
    found: dict[str, DividedTensor] = {}
    for name, tensor in tensors.items():
        if not is_stacked(name):
            found[name] = tensor
            continue
        for expert in range(tensor.shape[0]):
            found[expert_name(name, expert)] = one_of(tensor, expert)
    return found


def one_of(tensor: DividedTensor, expert: int) -> DividedTensor:
    """The tensor of one expert, with the parts of it that this rank owns."""
    parts = tuple(
        TensorPart(part.offsets[1:], part.array[expert - part.offsets[0]])
        for part in tensor.parts
        if part.offsets[0] <= expert < part.offsets[0] + len(part.array)
    )
    return DividedTensor(tensor.shape[1:], tensor.dtype, parts)


@dataclass(frozen=True)
class StackedArrays:
    """Arrays of one shape in files, read as if they were one stacked array."""

    arrays: Sequence[StoredArray]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the stack, or () if the arrays' shapes differ."""
        shapes = {tuple(x.shape) for x in self.arrays}
        return (len(self.arrays), *shapes.pop()) if len(shapes) == 1 else ()

    @property
    def dtype(self) -> np.dtype:
        """The dtype to which the arrays' dtypes promote."""
        return np.result_type(*{np.dtype(x.dtype) for x in self.arrays})

    def __getitem__(self, where: tuple[slice, ...]) -> np.ndarray:
        return np.stack([x[where[1:]] for x in self.arrays[where[0]]])


def stacked(
    arrays: Mapping[str, StoredArray], shapes: Mapping[str, Sequence[int]]
) -> dict[str, StoredArray | StackedArrays]:
    """Stack the arrays of single experts where the model's parameter holds all of them.

    shapes: those of the model's parameters.
    """
    found: dict[str, StoredArray | StackedArrays] = {**arrays}
    for name, shape in shapes.items():
        names = [expert_name(name, k) for k in range(shape[0])] if is_stacked(name) else []
        if names and name not in found and all(each in found for each in names):
            found[name] = StackedArrays([arrays[each] for each in names])
            for each in names:
                del found[each]
    return found
