"""Model families that have known names and settings in both GGUF and Hugging Face's files.

Here are tables and functions that look up in them; hugging_face.py converts tensors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = ["FAMILIES", "GGUFFamily", "KEYS", "family_of", "gguf_name", "hugging_face_name"]


class GGUFFamily(NamedTuple):
    """An architecture's name in GGUF, its model type in configs, and its differences."""

    name: str
    model_type: str
    paired: bool = False
    """Whether rows of q and k are ordered so that neighbours rotate together."""
    experts: bool = False
    biases: bool = False
    """Whether q, k and v always have biases, although no config says so."""


FAMILIES = tuple(
    (
        GGUFFamily("llama", "llama", paired=True),
        GGUFFamily("qwen2", "qwen2", biases=True),
        GGUFFamily("qwen3", "qwen3"),
        GGUFFamily("qwen3moe", "qwen3_moe", experts=True),
    )
)
KEYS: Mapping[str, str] = MappingProxyType(
    {
        "context_length": "max_position_embeddings",
        "embedding_length": "hidden_size",
        "block_count": "num_hidden_layers",
        "feed_forward_length": "intermediate_size",
        "attention.head_count": "num_attention_heads",
        "attention.head_count_kv": "num_key_value_heads",
        "attention.layer_norm_rms_epsilon": "rms_norm_eps",
        "attention.key_length": "head_dim",
        "vocab_size": "vocab_size",
        "expert_count": "num_experts",
        "expert_used_count": "num_experts_per_tok",
        "expert_feed_forward_length": "moe_intermediate_size",
    }
)
"""GGUF's metadata keys, without the architecture, and the config's fields."""
ENDS = MappingProxyType(
    {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
)
LAYER = MappingProxyType(
    {
        "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
        **{f"attn_{x}": f"self_attn.{x}_proj" for x in "qkv"},
        "attn_output": "self_attn.o_proj",
        **{f"attn_{x}_norm": f"self_attn.{x}_norm" for x in "qk"},
        **{f"ffn_{x}": f"mlp.{x}_proj" for x in ("gate", "up", "down")},
        "ffn_gate_inp": "mlp.gate",
        **{f"ffn_{x}_exps": f"mlp.experts.{{}}.{x}_proj" for x in ("gate", "up", "down")},
    }
)
"""Names of a layer's parts in GGUF and Hugging Face; {} is the number of an expert."""
BACK = {theirs: own for own, theirs in (*ENDS.items(), *LAYER.items())}


def hugging_face_name(name: str) -> str | None:
    """Hugging Face's name of a GGUF tensor, with {} for an expert's number; None if unknown.

    >>> hugging_face_name("blk.3.attn_q.bias"), hugging_face_name("blk.0.ffn_up_exps.weight")
    ('model.layers.3.self_attn.q_proj.bias', 'model.layers.0.mlp.experts.{}.up_proj.weight')
    """
    found = re.fullmatch(r"(?:blk\.(0|[1-9]\d{0,5})\.)?(\w+)\.(weight|bias)", name, re.ASCII)
    layer, part, kind = found.groups() if found else (None, "", "")
    own = ENDS.get(part) if layer is None else LAYER.get(part)
    if own is None:
        return None
    return f"{own}.{kind}" if layer is None else f"model.layers.{layer}.{own}.{kind}"


def gguf_name(name: str) -> tuple[str, int | None] | None:
    """GGUF's name of a Hugging Face tensor and its expert's number; None if unknown.

    >>> gguf_name("model.layers.0.mlp.experts.7.up_proj.weight"), gguf_name("lm_head.weight")
    (('blk.0.ffn_up_exps.weight', 7), ('output.weight', None))
    """
    layer = re.match(r"model\.layers\.(0|[1-9]\d{0,5})\.", name, re.ASCII)
    stem, _, kind = name[layer.end() if layer else 0 :].rpartition(".")
    expert = re.search(r"(?<=\.experts\.)(0|[1-9]\d{0,5})(?=\.)", stem, re.ASCII)
    if expert:
        stem = stem[: expert.start()] + "{}" + stem[expert.end() :]
    own = BACK.get(stem)
    if own is None or kind not in ("weight", "bias") or (own in LAYER) != bool(layer):
        return None
    before = f"blk.{layer.group(1)}." if layer else ""
    return f"{before}{own}.{kind}", int(expert.group()) if expert else None


def family_of(field: str, value: Any) -> GGUFFamily | None:
    """The family whose field has a value, or None."""
    known = {getattr(x, field): x for x in FAMILIES}
    return known.get(value) if isinstance(value, str) else None
