"""The sizes of decoders, under Hugging Face's names.

Which models there are, and config.json, is registry.py's business; sizes of a model with experts
are in qwen3_moe_config.py. How a run is trained is not here: gnomon/train/config.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from gnomon.errors import ConfigError
from gnomon.runtime.buffer import memory_limit
from gnomon.tensor.device import META, default_device

__all__ = [
    "DecoderConfig",
    "Positive",
    "Qwen3Config",
    "Size",
    "flops_per_token",
    "refuse_too_large",
]

Size = Annotated[int, Meta(ge=1, le=1 << 24)]
Positive = Annotated[float, Meta(gt=0, le=1e30)]


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(ABC):
    """The sizes that every decoder has: width, depth, heads. `model_type` says which one it is."""

    vocab_size: Annotated[int, Meta(ge=257, le=1 << 24)] = 4096
    """Tokens: 256 bytes, the end mark, and what the tokenizer merges."""
    hidden_size: Size = 256
    num_hidden_layers: Annotated[int, Meta(ge=1, le=1024)] = 4
    num_attention_heads: Size = 4
    num_key_value_heads: Size = 2
    head_dim: Annotated[int, Meta(ge=2, le=1 << 16, multiple_of=2)] = 64
    max_position_embeddings: Size = 512
    """The longest context."""
    rope_theta: Positive = 10_000.0
    rms_norm_eps: Positive = 1e-6

    @property
    @abstractmethod
    def multiplied(self) -> int:
        """Weights of a layer's MLP by which one token is multiplied."""

    @property
    @abstractmethod
    def held(self) -> int:
        """Weights of a layer's MLP, multiplied by or not."""

    @property
    @abstractmethod
    def heads_of_scores(self) -> int:
        """Matrices of the vocabulary's size: one, or an embedding and a head."""

    @property
    @abstractmethod
    def inner_size(self) -> int:
        """The size of the axis inside of an MLP that a plan may split."""

    @property
    def attention_parameters(self) -> int:
        """Weights of a layer's attention, without its norms."""
        heads = self.num_attention_heads * 2 + self.num_key_value_heads * 2
        return self.hidden_size * heads * self.head_dim

    @property
    def matrix_parameters(self) -> int:
        """Weights that every token is multiplied by; a tied embedding counts once, as the head.

        >>> Qwen3Config(num_hidden_layers=1).matrix_parameters - 4096 * 256
        737280
        """
        layer = self.attention_parameters + self.multiplied
        return self.num_hidden_layers * layer + self.vocab_size * self.hidden_size

    @property
    def parameters(self) -> int:
        """All weights: matrices, and the norms' vectors."""
        norms = 2 * self.hidden_size + 2 * self.head_dim
        layers = self.num_hidden_layers * (self.attention_parameters + self.held + norms)
        tables = self.heads_of_scores * self.vocab_size * self.hidden_size
        return layers + tables + self.hidden_size

    @property
    @abstractmethod
    def problem(self) -> tuple[str, str] | None:
        """The field that does not fit the others and why, or None."""

    @property
    def heads_problem(self) -> tuple[str, str] | None:
        """The same, of heads."""
        heads, shared = self.num_attention_heads, self.num_key_value_heads
        if heads % shared:
            return "num_key_value_heads", f"a divisor of num_attention_heads ({heads})"
        return None


@dataclass(frozen=True, kw_only=True)
class Qwen3Config(DecoderConfig):
    """The sizes of a dense decoder."""

    model_type: Literal["qwen3"] = "qwen3"
    intermediate_size: Size = 704

    @property
    def multiplied(self) -> int:
        """Weights of a layer's MLP: gate, up, down."""
        return 3 * self.hidden_size * self.intermediate_size

    @property
    def held(self) -> int:
        """The same: every token is multiplied by all."""
        return self.multiplied

    @property
    def heads_of_scores(self) -> int:
        """One matrix is both."""
        return 1

    @property
    def inner_size(self) -> int:
        """The size of the axis inside of an MLP that a plan may split."""
        return self.intermediate_size

    @property
    def problem(self) -> tuple[str, str] | None:
        """The field that does not fit the others and why, or None."""
        return self.heads_problem


def flops_per_token(config: DecoderConfig, context: int) -> int:
    """Multiplications and additions that training spends on one token, forward and backward.

    Attention is counted causally: a token looks at half of the context on average.
    """
    width = config.num_attention_heads * config.head_dim
    return 6 * config.matrix_parameters + 6 * config.num_hidden_layers * context * width


def refuse_too_large(config: DecoderConfig, copies: int = 1) -> None:
    """Stop before a model is made that cannot fit: copies of its weights, and its rotary tables.

    Training holds four: weights, gradients, two averages.
    """
    if default_device() is META:
        return
    tables = 24 * config.max_position_embeddings * config.head_dim
    needed = 4 * copies * config.parameters + tables
    limit = memory_limit()
    if needed > limit:
        raise ConfigError(
            f"model: {config.parameters:,} parameters and {config.max_position_embeddings:,} "
            f"positions need {needed / 1e9:,.1f} GB: the limit is {limit / 1e9:,.1f} GB. "
            "Take smaller sizes."
        )
