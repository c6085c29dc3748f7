"""Convert a model between GGUF and Hugging Face's files: configs, names, arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, brief
from gnomon.gguf.element_types import plain_dtype
from gnomon.gguf.families import FAMILIES, KEYS, GGUFFamily, family_of, gguf_name, hugging_face_name
from gnomon.gguf.file import GGUFFile, GGUFTensor
from gnomon.gguf.rotation import (
    FACTORS,
    in_halves,
    in_pairs,
    llama3_factors,
    rotation_keys,
    rotation_of,
)
from gnomon.gguf.writing import LaterArray, array_of_value
from gnomon.ops.blocks import FORMATS
from gnomon.tensor.encoded import from_blocks
from gnomon.tensor.tensor import Tensor, from_array

__all__ = ["DecodedTensors", "ROUTER", "from_hugging_face", "to_hugging_face"]

ROUTER = "ffn_gate_inp.weight"
ARCHITECTURE = "general.architecture"
TOKENS = {"bos": "bos_token_id", "eos": "eos_token_id", "padding": "pad_token_id"}
NEUTRAL: dict[str, tuple] = {
    "hidden_act": ("silu", None),
    "use_sliding_window": (False, None),
    "partial_rotary_factor": (1, None),
    "decoder_sparse_step": (1, None),
    "mlp_only_layers": ([], None),
    "pretraining_tp": (1, None),
}
"""Fields of configs that have no key in GGUF, and their allowed values."""


@dataclass(frozen=True)
class LaterTensor:
    """A tensor of a file whose values are decoded on access."""

    tensor: GGUFTensor
    heads: int = 0
    """The number of heads if rows are in another order in the file; else 0."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return self.tensor.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of its values; blocks are decoded to float32."""
        return np.dtype(plain_dtype(self.tensor.type) or np.float32)

    def __getitem__(self, where: Any) -> np.ndarray:
        return self.ordered(self.tensor.numpy())[where]

    def ordered(self, rows: np.ndarray) -> np.ndarray:
        """The file's rows in Hugging Face's order."""
        return in_halves(rows, self.heads) if self.heads else rows

    def encoded(self, activations: str = "") -> Tensor | None:
        """A matrix that stays in the file's blocks; None for other tensors."""
        if self.tensor.type not in FORMATS or len(self.shape) != 2:
            return None
        packed = from_array(self.ordered(self.tensor.packed))
        return from_blocks(packed, self.tensor.type, activations)


class DecodedTensors(Mapping[str, np.ndarray]):
    """Tensors by Hugging Face's names, each decoded on access."""

    def __init__(self, later: dict[str, LaterTensor]) -> None:
        self.later = later
        """The tensors by name, not decoded yet."""

    def __getitem__(self, name: str) -> np.ndarray:
        return self.later[name][...]

    def __iter__(self) -> Iterator[str]:
        return iter(self.later)

    def __len__(self) -> int:
        return len(self.later)


def to_hugging_face(file: GGUFFile) -> tuple[dict[str, Any], DecodedTensors]:
    """The config and tensors of a file's model, as in Hugging Face's files.

    Supported are llama, qwen2, qwen3 and qwen3moe. Plain numbers keep their type, blocks become
    float32; each array is made on access.

    Raises ArgumentError for another architecture, and for keys and tensors that have no
    counterpart.
    """
    family = family_of("name", file.metadata.get(ARCHITECTURE))
    try:
        if family is None:
            known = ", ".join(x.name for x in FAMILIES)
            raise ArgumentError(
                f"{ARCHITECTURE} is {brief(file.metadata.get(ARCHITECTURE))}, and known are {known}"
            )
        config = config_of(file, family)
        return config, DecodedTensors(tensors_of(file, family, config))
    except ArgumentError as refused:
        raise ArgumentError(f"gguf.to_hugging_face: {file.path}: {refused}.") from refused


def config_of(file: GGUFFile, family: GGUFFamily) -> dict[str, Any]:
    """The config of a file's model."""
    start = f"{family.name}."
    said = {k[len(start) :]: as_json(k, x) for k, x in file.metadata.items() if k.startswith(start)}
    rotary = {k[len("rope.") :]: said.pop(k) for k in list(said) if k.startswith("rope.")}
    config = {KEYS[key]: said.pop(key) for key in list(said) if key in KEYS}
    check_counts(config, "hidden_size", "num_hidden_layers", "num_attention_heads")
    heads = config["num_attention_heads"]
    size = config.setdefault("head_dim", config["hidden_size"] // heads)
    config.setdefault("num_key_value_heads", heads)
    check_counts(config, "head_dim", "num_key_value_heads")
    if size % 2:
        raise ArgumentError(f"heads have {size} numbers, which make no pairs")
    sizes = {"rope.dimension_count": rotary.pop("dimension_count", size)}
    sizes["attention.value_length"] = said.pop("attention.value_length", size)
    strange = [*said, *(key for key, x in sizes.items() if x != size)]
    if strange:
        raise ArgumentError(f"{start}{clipped_key(strange[0])} has no place in a config")
    embedded = file.tensors.get("token_embd.weight")
    if embedded is not None:
        config["vocab_size"] = embedded.shape[0] if embedded.shape else 0
    factors = file.tensors[FACTORS].numpy() if FACTORS in file.tensors else None
    config["rope_parameters"] = rotation_of(rotary, factors, size)
    config |= {"model_type": family.model_type, "hidden_act": "silu"}
    config["tie_word_embeddings"] = "output.weight" not in file.tensors
    if family.experts:
        config |= {"norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []}
    if not family.biases:
        config["attention_bias"] = "blk.0.attn_q.bias" in file.tensors
    if family.paired:
        config["mlp_bias"] = "blk.0.ffn_gate.bias" in file.tensors
    for own, field in TOKENS.items():
        if f"tokenizer.ggml.{own}_token_id" in file.metadata:
            key = f"tokenizer.ggml.{own}_token_id"
            config[field] = as_json(key, file.metadata[key])
    return config


def check_counts(config: Mapping[str, Any], *fields: str) -> None:
    """Raise ArgumentError if a field is not a positive integer."""
    for field in fields:
        if type(config.get(field)) is not int or config[field] < 1:
            raise ArgumentError(f"{field} is {brief(config.get(field))}")


def clipped_key(key: str) -> str:
    """A key as error messages show it."""
    return brief(key)[1:-1]


def as_json(key: str, value: Any) -> int | float | str | bool:
    """A value as JSON has it; a float32 becomes its shortest decimal form."""
    if isinstance(value, np.float32):
        return float(str(value))
    found = value.item() if isinstance(value, np.generic) else value
    if not isinstance(found, int | float | str):
        raise ArgumentError(f"{clipped_key(key)} is {brief(value)}, and no single value")
    return found


def tensors_of(
    file: GGUFFile, family: GGUFFamily, config: dict[str, Any]
) -> dict[str, LaterTensor]:
    """The tensors of a file by Hugging Face's names."""
    found: dict[str, LaterTensor] = {}
    for name, tensor in file.tensors.items():
        if name == FACTORS:
            continue
        theirs = hugging_face_name(name)
        if theirs is None:
            raise ArgumentError(f"tensor {brief(name)} is none of {family.name}")
        heads = heads_of(family, name, config)
        if "{}" in theirs:
            count = config.get("num_experts", 0)
            if len(tensor.shape) < 2 or tensor.shape[0] != count or 0 in tensor.shape:
                raise ArgumentError(f"tensor {brief(name)} has not {count} experts")
            found |= {theirs.format(k): LaterTensor(tensor.part(k)) for k in range(count)}
        elif heads and (not tensor.shape or tensor.shape[0] != heads * config["head_dim"]):
            raise ArgumentError(f"tensor {brief(name)} has shape {tensor.shape}")
        else:
            found[theirs] = LaterTensor(tensor, heads)
    return found


def heads_of(family: GGUFFamily, name: str, config: Mapping[str, Any]) -> int:
    """The number of heads if a tensor's rows are in another order in the file; else 0."""
    part = name.rpartition(".")[0].rpartition(".")[2]
    if not family.paired or part not in ("attn_q", "attn_k"):
        return 0
    return config["num_attention_heads" if part == "attn_q" else "num_key_value_heads"]


# the reverse


def from_hugging_face(
    config: Mapping[str, Any], tensors: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Convert a Hugging Face model to GGUF's tensors and metadata, for `save`.

    Vectors and routers become float32, as llama.cpp requires; experts are stacked. The tokenizer's
    keys are not included.

    Raises ArgumentError for another model type, and for settings that have no key.
    """
    try:
        family = family_of("model_type", config.get("model_type"))
        if family is None:
            known = ", ".join(x.model_type for x in FAMILIES)
            raise ArgumentError(
                f"model_type is {brief(config.get('model_type'))}, and known are {known}"
            )
        return tensors_for(family, config, tensors), metadata_for(family, config)
    except ArgumentError as refused:
        raise ArgumentError(f"gguf.from_hugging_face: {refused}.") from refused


def metadata_for(family: GGUFFamily, config: Mapping[str, Any]) -> dict[str, Any]:
    """GGUF's metadata for a config."""
    shares = {"norm_topk_prob": (True,), "routed_scaling_factor": (1, None)}
    neutral = NEUTRAL | shares if family.experts else NEUTRAL
    for field, values in neutral.items():
        if config.get(field) not in values:
            raise ArgumentError(f"{field} is {brief(config.get(field))}, which has no key")
    start, size = f"{family.name}.", head_size(config)
    found: dict[str, Any] = {ARCHITECTURE: family.name}
    for key, field in KEYS.items():
        if config.get(field) is not None:
            number = np.float32 if key.endswith("epsilon") else np.uint32
            found[start + key] = number(config[field])
    found |= {start + f"attention.{x}_length": np.uint32(size) for x in ("key", "value")}
    found[f"{start}rope.dimension_count"] = np.uint32(size)
    for key, value in rotation_keys(rotation_in(config)).items():
        found[f"{start}rope.{key}"] = value
    return found


def head_size(config: Mapping[str, Any]) -> int:
    """The width of an attention head."""
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def rotation_in(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config's rope_parameters, from the current or older fields."""
    if config.get("rope_parameters"):
        return dict(config["rope_parameters"])
    scaling = dict(config.get("rope_scaling") or {})
    kind = scaling.pop("type", None) or scaling.pop("rope_type", "default")
    scaling.pop("rope_type", None)
    return {"rope_theta": config.get("rope_theta", 10000.0), "rope_type": kind, **scaling}


def tensors_for(
    family: GGUFFamily, config: Mapping[str, Any], tensors: Mapping[str, Any]
) -> dict[str, Any]:
    """Tensors by GGUF's names, with rows in GGUF's order."""
    found: dict[str, Any] = {}
    experts: dict[str, dict[int, np.ndarray]] = {}
    for theirs, value in tensors.items():
        named = gguf_name(theirs)
        if named is None:
            raise ArgumentError(f"tensor {brief(theirs)} is none of {family.model_type}")
        name, expert = named
        if name == "output.weight" and config.get("tie_word_embeddings"):
            continue
        if expert is not None:
            experts.setdefault(name, {})[expert] = value
            found[name] = None  # its place in the order
            continue
        heads = heads_of(family, name, config)
        if heads and value.shape[0] % (2 * heads):
            raise ArgumentError(f"tensor {brief(theirs)} has shape {tuple(value.shape)}")
        wide = len(value.shape) == 1 or name.endswith(ROUTER)
        make = partial(gguf_array, value, heads, wide)
        later = isinstance(value, LaterArray)
        dtype = np.dtype(np.float32) if wide else value.dtype
        found[name] = LaterArray(value.shape, dtype, make) if later else make()
    for name, parts in experts.items():
        if sorted(parts) != list(range(config.get("num_experts", 0))):
            raise ArgumentError(f"{name} has not {config.get('num_experts')} experts")
        values = [parts[k] for k in sorted(parts)]
        first, make = values[0], partial(stacked, values)
        later, shape = isinstance(first, LaterArray), (len(values), *first.shape)
        found[name] = LaterArray(shape, first.dtype, make) if later else make()
    rotation = rotation_in(config)
    if rotation.get("rope_type") == "llama3":
        found[FACTORS] = llama3_factors(rotation, head_size(config))
    return found


def gguf_array(value: Any, heads: int, wide: bool) -> np.ndarray:
    """A tensor's array with rows in GGUF's order, converted to float32 if `wide`."""
    array = in_pairs(array_of_value(value), heads) if heads else array_of_value(value)
    return array.astype(np.float32) if wide else array


def stacked(values: list[Any]) -> np.ndarray:
    """Stack the arrays of all experts."""
    return np.stack([array_of_value(x) for x in values])
