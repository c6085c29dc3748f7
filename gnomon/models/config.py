"""The sizes of a Qwen3-style decoder, and Hugging Face's config.json for it.

Field names are Hugging Face's. How a run is trained is not here: gnomon/train/config.py.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Annotated

import msgspec
from msgspec import Meta

from gnomon.errors import ConfigError, brief, clipped
from gnomon.runtime.buffer import memory
from gnomon.tensor.shapes import is_shapes_only

__all__ = [
    "Qwen3Config",
    "flops_per_token",
    "from_hugging_face",
    "refuse_too_large",
    "to_hugging_face",
]

Size = Annotated[int, Meta(ge=1, le=1 << 24)]
Positive = Annotated[float, Meta(gt=0, le=1e30)]


@dataclass(frozen=True, kw_only=True)
class Qwen3Config:
    """The sizes of a model: width, depth, heads."""

    vocab_size: Annotated[int, Meta(ge=257, le=1 << 24)] = 4096
    """Tokens: 256 bytes, the end mark, and what the tokenizer merges."""
    hidden_size: Size = 256
    intermediate_size: Size = 704
    num_hidden_layers: Annotated[int, Meta(ge=1, le=1024)] = 4
    num_attention_heads: Size = 4
    num_key_value_heads: Size = 2
    head_dim: Annotated[int, Meta(ge=2, le=1 << 16, multiple_of=2)] = 64
    max_position_embeddings: Size = 512
    """The longest context."""
    rope_theta: Positive = 10_000.0
    rms_norm_eps: Positive = 1e-6

    @property
    def matrix_parameters(self) -> int:
        """Weights that every token is multiplied by; the tied embedding counts once, as the head.

        >>> Qwen3Config(num_hidden_layers=1).matrix_parameters - 4096 * 256
        737280
        """
        heads = self.num_attention_heads * 2 + self.num_key_value_heads * 2
        layer = self.hidden_size * (heads * self.head_dim + 3 * self.intermediate_size)
        return self.num_hidden_layers * layer + self.vocab_size * self.hidden_size

    @property
    def parameters(self) -> int:
        """All weights: matrices, and the norms' vectors."""
        norms = 2 * self.hidden_size + 2 * self.head_dim
        return self.matrix_parameters + self.num_hidden_layers * norms + self.hidden_size

    @property
    def problem(self) -> tuple[str, str] | None:
        """The field that does not fit the others and why, or None."""
        heads, shared = self.num_attention_heads, self.num_key_value_heads
        if heads % shared:
            return "num_key_value_heads", f"a divisor of num_attention_heads ({heads})"
        return None


def flops_per_token(config: Qwen3Config, context: int) -> int:
    """Multiplications and additions that training spends on one token, forward and backward.

    Attention is counted causally: a token looks at half of the context on average.
    """
    width = config.num_attention_heads * config.head_dim
    return 6 * config.matrix_parameters + 6 * config.num_hidden_layers * context * width


def to_hugging_face(config: Qwen3Config) -> dict[str, object]:
    """The contents of config.json."""
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "hidden_act": "silu",
        "initializer_range": 0.02,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "use_cache": True,
        "use_sliding_window": False,
        **asdict(config),
    }


def from_hugging_face(found: dict[str, object]) -> Qwen3Config:
    """The sizes in a config.json; what this decoder cannot be is refused."""
    for name, wanted in (("model_type", "qwen3"), ("tie_word_embeddings", True)):
        if found.get(name) != wanted:
            came = brief(found.get(name))
            raise ConfigError(f"config.json: {name} must be {wanted!r}: got {came}.")
    names = [field.name for field in fields(Qwen3Config)]
    missing = [name for name in names if name not in found]
    if missing:
        raise ConfigError(f"config.json: {', '.join(missing)} must be there.")
    try:
        config = msgspec.convert({name: found[name] for name in names}, Qwen3Config)
    except msgspec.ValidationError as wrong:
        raise ConfigError(f"config.json: {clipped(wrong)}.") from None
    if config.problem:
        raise ConfigError(f"config.json: {config.problem[0]} must be {config.problem[1]}.")
    return config


def refuse_too_large(config: Qwen3Config, copies: int = 1) -> None:
    """Stop before a model is made that cannot fit: copies of its weights, and its rotary tables.

    Training holds four: weights, gradients, two averages.
    """
    if is_shapes_only():
        return
    tables = 24 * config.max_position_embeddings * config.head_dim
    needed = 4 * copies * config.parameters + tables
    if needed > memory.limit:
        raise ConfigError(
            f"model: {config.parameters:,} parameters and {config.max_position_embeddings:,} "
            f"positions need {needed / 1e9:,.1f} GB: the limit is {memory.limit / 1e9:,.1f} GB. "
            "Take smaller sizes."
        )
