"""Load models from folders of Hugging Face's layout, which saving.py describes.

Tensors are read one parameter at a time, and a rank of a mesh reads only its own parts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gnomon.distributed.checkpoint.reader import StoredTensor, TensorReader
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.dtypes import DType, dtype_of, float32
from gnomon.errors import ArgumentError, CheckpointError, ConfigError, brief
from gnomon.gguf.file import load
from gnomon.gguf.hugging_face import LaterTensor, to_hugging_face
from gnomon.models.bert import BertConfig, BertModel
from gnomon.models.carried import Carried, carried_from
from gnomon.models.causal import CausalLM
from gnomon.models.config import DecoderConfig, PretrainedConfig
from gnomon.models.config_json import converted
from gnomon.models.registry import from_hugging_face, kind_of
from gnomon.models.saving import CONFIG, INDEX
from gnomon.models.stored_parameters import load_parameters
from gnomon.models.text_format import text_format_of
from gnomon.ops.blocks import FORMATS
from gnomon.runtime.json_files import decoded, read_text

__all__ = [
    "FLOATS",
    "from_pretrained",
    "load_pretrained",
    "pretrained_config",
    "pretrained_tensors",
]

FLOATS = ("float32", "bfloat16", "float16", "float64")
"""The dtypes that a model's parameters may have in files."""
WEIGHTS = "model.safetensors"
GGUF, END_OF_MESSAGE = ".gguf", "tokenizer.ggml.eot_token_id"
HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
COMPUTED = (".rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias", ".position_ids")
"""Endings of names of buffers in older files, which are computed here."""


def from_pretrained(
    folder: str | os.PathLike[str],
    *,
    dtype: DType | None = None,
    encoded: bool = False,
    activations: Literal["", "int8"] = "",
) -> CausalLM | BertModel:
    """Load a model from a folder of Hugging Face's layout or from a .gguf file.

    It is a decoder, or for `model_type` bert an encoder, in evaluation mode. The tensors of a .gguf
    file are decoded, and its tokenizer and chat template become files of the model.

    dtype: the parameters'; None means that of config.json, or else that of the files. encoded:
    matrices of a .gguf file stay in blocks, mapped from the file: the same bits in a fraction of
    the memory, without gradients. activations: "int8" makes the layers of such matrices round their
    inputs to int8 and multiply integers, which is faster and gives other bits.

    Raises ConfigError, which names the field, if config.json asks for an unsupported model,
    CheckpointError, which names tensor or file, if tensors do not fit the model, and ArgumentError
    for a GGUF file that cannot be read, for `encoded` with a folder or with a dtype other than
    float32, and for `activations` without `encoded`.

    >>> from_pretrained("there/is/none")
    Traceback (most recent call last):
    gnomon.errors.CheckpointError: checkpoint: there/is/none/config.json cannot be read: \
No such file or directory.
    """
    path = Path(folder)
    if activations and not encoded:
        raise ArgumentError(
            f"from_pretrained: activations={activations!r} is for matrices that stay in blocks. "
            "Set encoded=True too."
        )
    if path.suffix == GGUF:
        return from_gguf(path, dtype, encoded, activations)
    if encoded:
        raise ArgumentError(
            f"from_pretrained: encoded is for .gguf files, which have blocks: got {path}. "
            "Leave it out."
        )
    found = decoded(path / CONFIG, read_text(path / CONFIG), dict[str, Any])
    if found.get("model_type") == "bert":
        model = BertModel(converted(found, BertConfig))
    else:
        config = from_hugging_face(found)
        model = kind_of(config).model(config)
    tensors = pretrained_tensors(path, model.config)
    model.to(dtype or stored_dtype(found, tensors))
    load_parameters(model, tensors, dtypes=FLOATS)
    model.carried = carried_from(path, found)
    return model.eval()


def from_gguf(path: Path, dtype: DType | None, encoded: bool, activations: str = "") -> CausalLM:
    """Load a decoder from a GGUF file; by default parameters have the dtype of its embedding."""
    if encoded and dtype not in (None, float32):
        raise ArgumentError(
            f"from_pretrained: encoded matrices are float32: got dtype {dtype}. Leave it out."
        )
    file = load(path)
    found, tensors = to_hugging_face(file)
    ends = [found.pop("eos_token_id", None), file.metadata.get(END_OF_MESSAGE)]
    try:
        config = from_hugging_face(found)
    except ConfigError as wrong:
        raise ConfigError(f"{path}: its metadata as a {wrong}") from None
    model = kind_of(config).model(config)
    has_blocks = any(x.tensor.type in FORMATS for x in tensors.later.values())
    wide = encoded and has_blocks
    model.to(float32 if wide else dtype or stored_dtype({}, tensors.later))
    kept = {"encoded": encoded, "activations": activations}
    load_parameters(model, tensors.later, dtypes=FLOATS, **kept)
    tokens = {k: found[k] for k in ("bos_token_id", "pad_token_id") if k in found}
    known = [int(k) for k in ends if k is not None]
    fields = tokens | ({"eos_token_id": known} if known else {})
    try:
        files = text_format_of(file).files()
    except ArgumentError:  # the model is whole without a tokenizer
        files = {}
    model.carried = Carried(fields, files)
    return model.eval()


def pretrained_config(folder: Path) -> DecoderConfig:
    """Read the config of a decoder's folder."""
    return from_hugging_face(decoded(folder / CONFIG, read_text(folder / CONFIG), dict[str, Any]))


def load_pretrained(model: CausalLM, folder: Path, mesh: DeviceMesh, rank: int) -> None:
    """Fill a decoder that is sharded over a mesh with a folder's tensors."""
    tensors = pretrained_tensors(folder, model.config)
    load_parameters(model, tensors, mesh, rank, FLOATS)


def pretrained_tensors(folder: Path, config: PretrainedConfig) -> dict[str, StoredTensor]:
    """The tensors of a folder by name, without a tied head and without computed buffers."""
    whole, several = folder / WEIGHTS, folder / INDEX
    if not whole.exists() and not several.exists():
        raise CheckpointError(
            f"checkpoint: {folder} has neither {WEIGHTS} nor {INDEX}. Save it as safetensors."
        )
    reader = TensorReader(several if several.exists() else whole, links=True)
    tensors = {name: x for name, x in reader.items() if not name.endswith(COMPUTED)}
    tied = isinstance(config, DecoderConfig) and config.tie_word_embeddings
    if tied and HEAD in tensors and EMBEDDING in tensors:
        head = tensors.pop(HEAD)
        if not np.array_equal(head[()], tensors[EMBEDDING][()]):
            raise CheckpointError(
                f"checkpoint: {HEAD} must be {EMBEDDING}, since tie_word_embeddings is true: got "
                "other elements. Set tie_word_embeddings to false in config.json."
            )
    return tensors


def stored_dtype(
    found: Mapping[str, object], tensors: Mapping[str, StoredTensor | LaterTensor]
) -> DType:
    """The parameters' dtype: that of config.json, or else of the first tensor."""
    first = next((str(x.dtype) for x in tensors.values()), FLOATS[0])
    stated = found.get("dtype", found.get("torch_dtype")) or first
    if stated not in FLOATS:
        raise ConfigError(
            f"config.json: dtype must be one of {', '.join(FLOATS)}: got {brief(stated)}."
        )
    return dtype_of(stated)
