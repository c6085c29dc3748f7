"""The sizes of a Qwen3-style decoder, and Hugging Face's config.json for it.

Field names are Hugging Face's. How a run is trained is not here: gnomon/train/config.py.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Annotated

from msgspec import Meta

from gnomon.errors import ConfigError

__all__ = ["Qwen3Config", "flops_per_token", "from_hugging_face", "to_hugging_face"]

Size = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, kw_only=True)
class Qwen3Config:
    """How wide, how deep, how many heads."""

    vocab_size: Annotated[int, Meta(ge=257)] = 4096
    """Tokens: 256 bytes, the end mark, and what the tokenizer merges."""
    hidden_size: Size = 256
    intermediate_size: Size = 704
    num_hidden_layers: Size = 4
    num_attention_heads: Size = 4
    num_key_value_heads: Size = 2
    head_dim: Annotated[int, Meta(ge=2, multiple_of=2)] = 64
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
            raise ConfigError(f"config.json: {name} must be {wanted!r}: got {found.get(name)!r}.")
    names = [field.name for field in fields(Qwen3Config)]
    missing = [name for name in names if name not in found]
    if missing:
        raise ConfigError(f"config.json: {', '.join(missing)} must be there.")
    return Qwen3Config(**{name: found[name] for name in names})
