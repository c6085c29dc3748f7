"""GPT-2's files: matrices are transposed, and those of queries, keys and values are one.

transformer.h.0.attn.c_attn.weight    (d, 3 d), as files have it
model.layers.0.self_attn.k_proj.weight    (d, d), as the model has the middle of it, transposed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gnomon.distributed.checkpoint.parts import DividedTensor, TensorPart
from gnomon.distributed.checkpoint.reader import StoredTensor

__all__ = ["TransposedArray", "gpt2_from_files", "gpt2_in_files"]

NAMES = (
    ("model.embed_tokens.", "transformer.wte."),
    ("model.embed_positions.", "transformer.wpe."),
    ("model.norm.", "transformer.ln_f."),
    ("model.layers.", "transformer.h."),
    (".input_layernorm.", ".ln_1."),
    (".post_attention_layernorm.", ".ln_2."),
    (".self_attn.q_proj.", ".attn.c_attn."),
    (".self_attn.k_proj.", ".attn.c_attn."),
    (".self_attn.v_proj.", ".attn.c_attn."),
    (".self_attn.o_proj.", ".attn.c_proj."),
    (".mlp.up_proj.", ".mlp.c_fc."),
    (".mlp.down_proj.", ".mlp.c_proj."),
)
"""Parts of parameter names and their names in files."""
STEM, HEAD = "transformer.", "lm_head."
THIRDS = ("q_proj", "k_proj", "v_proj")


class FilePlace(NamedTuple):
    """A parameter's place in files: tensor, third of its last axis, whether it is transposed."""

    name: str
    third: int | None
    transposed: bool


def place_of(parameter: str) -> FilePlace:
    """The place in files of a parameter.

    >>> place_of("model.layers.0.self_attn.k_proj.weight")
    FilePlace(name='transformer.h.0.attn.c_attn.weight', third=1, transposed=True)
    """
    name = parameter
    for ours, theirs in NAMES:
        name = name.replace(ours, theirs)
    third = next((k for k, part in enumerate(THIRDS) if f".{part}." in parameter), None)
    return FilePlace(name, third, ".c_" in name and name.endswith(".weight"))


def gpt2_in_files(tensors: Mapping[str, DividedTensor]) -> dict[str, DividedTensor]:
    """Convert parameters to the tensors of GPT-2's files."""
    found: dict[str, DividedTensor] = {}
    for parameter, tensor in tensors.items():
        name, third, transposed = place_of(parameter)
        shape = tensor.shape[::-1] if transposed else tensor.shape
        parts = [TensorPart(x.offsets[::-1], x.array.T) if transposed else x for x in tensor.parts]
        if third is not None:
            width = shape[-1]
            shape = (*shape[:-1], 3 * width)
            parts = [
                TensorPart((*x.offsets[:-1], x.offsets[-1] + third * width), x.array) for x in parts
            ]
        others = found[name].parts if name in found else ()
        found[name] = DividedTensor(shape, tensor.dtype, (*others, *parts))
    return found


@dataclass(frozen=True)
class TransposedArray:
    """A view of an array, or of a third of its last axis, transposed or not."""

    array: np.ndarray | StoredTensor
    third: int | None
    transposed: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the view; a last axis that is not divisible by 3 stays whole."""
        shape = tuple(self.array.shape)
        if self.third is not None and shape and shape[-1] % 3 == 0:
            shape = (*shape[:-1], shape[-1] // 3)
        return shape[::-1] if self.transposed else shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of its elements."""
        return self.array.dtype

    def __getitem__(self, where: tuple[slice, ...]) -> np.ndarray:
        axes = list(where[::-1] if self.transposed else where)
        if self.third is not None:
            first = self.third * (self.array.shape[-1] // 3)
            axes[-1] = slice(axes[-1].start + first, axes[-1].stop + first)
        found = self.array[tuple(axes)]
        return found.T if self.transposed else found


def gpt2_from_files(
    arrays: Mapping[str, np.ndarray | StoredTensor], shapes: Mapping[str, Sequence[int]]
) -> dict[str, np.ndarray | StoredTensor | TransposedArray]:
    """Map the arrays of GPT-2's files to parameters; files may omit the prefix `transformer.`.

    shapes: those of the model's parameters.
    """
    bare = not any(name.startswith(STEM) for name in arrays)
    left = {
        STEM + name if bare and not name.startswith(HEAD) else name: x for name, x in arrays.items()
    }
    found: dict[str, np.ndarray | StoredTensor | TransposedArray] = {}
    places = {parameter: place_of(parameter) for parameter in shapes}
    for parameter, (name, third, transposed) in places.items():
        if name in left:
            found[parameter] = TransposedArray(left[name], third, transposed)
    used = {place.name for place in places.values()}
    return found | {name: x for name, x in left.items() if name not in used}
