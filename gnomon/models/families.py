"""Configurations of dense decoder families beside Qwen3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from gnomon.models.config import SLIDING, ActivationName, DenseConfig, Positive, Probability, Size
from gnomon.models.config_fields import gathered_rope, refuse_other, windows
from gnomon.models.gpt2_files import gpt2_from_files, gpt2_in_files

__all__ = ["Gemma3TextConfig", "Gpt2Config", "LlamaConfig", "MistralConfig", "Qwen2Config"]


@dataclass(frozen=True, kw_only=True)
class LlamaConfig(DenseConfig):
    """Llama 1 to 3: no norms of queries and keys, biases only if the config has them."""

    model_type: Literal["llama"] = "llama"
    tie_word_embeddings: bool = False
    mlp_bias: bool = False

    query_key_norm: ClassVar[bool] = False
    described: ClassVar[Mapping[str, object]] = {"architectures": ["LlamaForCausalLM"]}
    may_lack: ClassVar[frozenset[str]] = DenseConfig.may_lack | {"mlp_bias", "tie_word_embeddings"}

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """Map a config.json to this class's fields; fields that older files omit get defaults."""
        return windows(gathered_rope(with_heads(found)))


@dataclass(frozen=True, kw_only=True)
class MistralConfig(DenseConfig):
    """Mistral: as Llama, with a sliding window in all layers or in none."""

    model_type: Literal["mistral"] = "mistral"
    tie_word_embeddings: bool = False

    query_key_norm: ClassVar[bool] = False
    described: ClassVar[Mapping[str, object]] = {"architectures": ["MistralForCausalLM"]}
    may_lack: ClassVar[frozenset[str]] = DenseConfig.may_lack | {"tie_word_embeddings"}

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """Map a config.json to this class's fields; fields that older files omit get defaults."""
        return windows(gathered_rope(with_heads({"sliding_window": 4096} | found)))


@dataclass(frozen=True, kw_only=True)
class Qwen2Config(DenseConfig):
    """Qwen2: as Llama, with query, key and value biases and optional windows in upper layers."""

    model_type: Literal["qwen2"] = "qwen2"
    tie_word_embeddings: bool = False

    query_key_norm: ClassVar[bool] = False
    described: ClassVar[Mapping[str, object]] = {"architectures": ["Qwen2ForCausalLM"]}
    may_lack: ClassVar[frozenset[str]] = DenseConfig.may_lack | {"tie_word_embeddings"}

    @property
    def projection_biases(self) -> tuple[bool, bool]:
        """Whether the query, key and value projections have biases, and whether the output has."""
        return True, self.attention_bias

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """Map a config.json to this class's fields; fields that older files omit get defaults."""
        return windows(gathered_rope(with_heads({"use_sliding_window": False} | found)), first=28)


GPT2_FIELDS = MappingProxyType(
    {
        "n_embd": "hidden_size",
        "n_layer": "num_hidden_layers",
        "n_head": "num_attention_heads",
        "n_positions": "max_position_embeddings",
        "n_inner": "intermediate_size",
        "activation_function": "hidden_act",
        "layer_norm_epsilon": "rms_norm_eps",
        "attn_pdrop": "attention_dropout",
    }
)
"""GPT-2's names of fields, and the names used here."""


@dataclass(frozen=True, kw_only=True)
class Gpt2Config(DenseConfig):
    """GPT-2: learned positions, LayerNorm, biases everywhere, an MLP without a gate."""

    model_type: Literal["gpt2"] = "gpt2"
    num_key_value_heads: Size = 4
    hidden_act: ActivationName = "gelu_new"
    resid_pdrop: Probability = 0.0
    embd_pdrop: Probability = 0.0

    query_key_norm: ClassVar[bool] = False
    gated: ClassVar[bool] = False
    mlp_bias: ClassVar[bool] = True
    learned_positions: ClassVar[bool] = True
    norms: ClassVar[Literal["rms", "layer", "offset"]] = "layer"
    described: ClassVar[Mapping[str, object]] = {"architectures": ["GPT2LMHeadModel"]}
    may_lack: ClassVar[frozenset[str]] = DenseConfig.may_lack | {"tie_word_embeddings"}
    in_files: ClassVar[Callable[..., dict[str, Any]]] = staticmethod(gpt2_in_files)
    from_files: ClassVar[Callable[..., dict[str, Any]]] = staticmethod(gpt2_from_files)

    @property
    def projection_biases(self) -> tuple[bool, bool]:
        """Whether the query, key and value projections have biases, and whether the output has."""
        return True, True

    @property
    def problem(self) -> tuple[str, str] | None:
        """The first field that does not fit the others and its allowed values, or None."""
        if self.num_attention_heads * self.head_dim != self.hidden_size:
            return "num_attention_heads", f"a divisor of hidden_size ({self.hidden_size})"
        return self.heads_problem

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """Map a config.json with GPT-2's names to this class's fields."""
        width = found.get("n_embd")
        inner = 4 * width if isinstance(width, int) else None
        absent = {"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
        absent |= dict.fromkeys(("attn_pdrop", "resid_pdrop", "embd_pdrop"), 0.1)
        entries = absent | {k: v for k, v in found.items() if not (k == "n_inner" and v is None)}
        return with_heads(
            {GPT2_FIELDS.get(k, k): v for k, v in ({"n_inner": inner} | entries).items()}
        )

    def written_fields(self) -> dict[str, object]:
        """The fields to write to config.json, under GPT-2's names."""
        fields, theirs = asdict(self), {ours: name for name, ours in GPT2_FIELDS.items()}
        follow = {"head_dim", "num_key_value_heads", "rope_theta", "rope_scaling"}
        follow |= {"sliding_window", "layer_types", "attention_bias"}
        return {theirs.get(k, k): v for k, v in fields.items() if k not in follow}


@dataclass(frozen=True, kw_only=True)
class Gemma3TextConfig(DenseConfig):
    """Gemma 3: windows with their own rotary base in most layers, norms before and after."""

    model_type: Literal["gemma3_text"] = "gemma3_text"
    hidden_act: ActivationName = "gelu_pytorch_tanh"
    query_pre_attn_scalar: Size = 256
    rope_local_base_freq: Positive = 10_000.0

    norms: ClassVar[Literal["rms", "layer", "offset"]] = "offset"
    norms_after: ClassVar[bool] = True
    described: ClassVar[Mapping[str, object]] = {"architectures": ["Gemma3ForCausalLM"]}
    may_lack: ClassVar[frozenset[str]] = DenseConfig.may_lack | {
        "query_pre_attn_scalar",
        "rope_local_base_freq",
        "tie_word_embeddings",
    }

    @property
    def attention_scale(self) -> float | None:
        """The factor of attention's scores, 1 / sqrt(query_pre_attn_scalar)."""
        return self.query_pre_attn_scalar**-0.5

    @property
    def embedding_scale(self) -> float | None:
        """The factor of the token embeddings, sqrt(hidden_size)."""
        return self.hidden_size**0.5

    @property
    def local_theta(self) -> float | None:
        """The rotary base of sliding-window layers."""
        return self.rope_local_base_freq

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """Map a config.json with Gemma 3's names to this class's fields."""
        entries = {"rope_theta": 1e6, "sliding_window": 4096} | found
        entries["hidden_act"] = entries.pop("hidden_activation", "gelu_pytorch_tanh")
        every, layers = entries.pop("sliding_window_pattern", 6), entries.get("num_hidden_layers")
        if (
            entries.get("layer_types") is None
            and isinstance(every, int)
            and isinstance(layers, int)
        ):
            kinds = ("sliding" if (k + 1) % every else "full" for k in range(layers))
            entries["layer_types"] = [f"{kind}_attention" for kind in kinds]
        both = entries.get("rope_parameters")
        if isinstance(both, Mapping) and both.keys() <= {"full_attention", SLIDING}:
            near = gathered_rope({"rope_parameters": both.get(SLIDING)})
            if near["rope_scaling"]:
                refuse_other({f"rope_parameters.{SLIDING}": both[SLIDING]}, (), "gemma3_text")
            entries["rope_local_base_freq"] = near.get("rope_theta", 1e4)
            entries["rope_parameters"] = both.get("full_attention")
        local = entries.pop("rope_local_base_freq", 1e4)
        return windows(gathered_rope(entries)) | {"rope_local_base_freq": local}

    def written_fields(self) -> dict[str, object]:
        """The fields to write to config.json, under Gemma 3's names."""
        fields = super().written_fields()
        near = {"rope_type": "default", "rope_theta": self.rope_local_base_freq}
        both = {"full_attention": fields["rope_parameters"], SLIDING: near}
        kinds = fields["layer_types"] or ["full_attention"] * self.num_hidden_layers
        fields |= {"rope_parameters": both, "layer_types": kinds}
        fields["hidden_activation"] = fields.pop("hidden_act")
        return {k: v for k, v in fields.items() if k not in ("rope_scaling", "use_sliding_window")}


def with_heads(found: dict[str, object]) -> dict[str, object]:
    """Add the defaults of `head_dim`, `num_key_value_heads` and `rope_theta` to a config's fields.

    >>> with_heads({"hidden_size": 8, "num_attention_heads": 2})["head_dim"]
    4
    """
    width, heads = found.get("hidden_size"), found.get("num_attention_heads")
    entries = {k: v for k, v in found.items() if not (k == "head_dim" and v is None)}
    if isinstance(width, int) and isinstance(heads, int) and heads > 0:
        entries = {"head_dim": width // heads, "num_key_value_heads": heads} | entries
    return {"rope_theta": 10_000.0} | entries
