"""Configurations of mixture-of-experts decoders, and of published models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from gnomon.models.config import DecoderConfig, Size

__all__ = ["PRESETS", "Qwen3MoeConfig"]

Coefficient = Annotated[float, Meta(ge=0, le=1e6)]


@dataclass(frozen=True, kw_only=True)
class Qwen3MoeConfig(DecoderConfig):
    """The configuration of a decoder whose MLPs are mixtures of experts."""

    model_type: Literal["qwen3_moe"] = "qwen3_moe"
    num_experts: Annotated[int, Meta(ge=1, le=4096)] = 8
    num_experts_per_tok: Annotated[int, Meta(ge=1, le=4096)] = 2
    moe_intermediate_size: Size = 256
    """The inner size of one expert."""
    norm_topk_prob: bool = True
    """Whether the chosen experts' weights are scaled to sum to 1 for each token."""
    routed_scaling_factor: Annotated[float, Meta(gt=0, le=1e6)] = 1.0
    """A factor of the chosen experts' weights, as in DeepSeek's models."""
    router_aux_loss_coef: Coefficient = 0.001
    """The factor of the load-balancing loss; 0 means no such loss."""
    router_bias_rate: Coefficient = 0.0
    """The step size of the experts' balancing biases; 0 means no biases."""

    described: ClassVar[Mapping[str, object]] = {
        "architectures": ["Qwen3MoeForCausalLM"],
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
    }
    may_lack: ClassVar[frozenset[str]] = DecoderConfig.may_lack | {
        *("router_aux_loss_coef", "router_bias_rate", "routed_scaling_factor")
    }

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """Map the fields of a config.json to the names of this class's fields."""
        others = super().read_fields({"use_sliding_window": False} | found)
        others.pop("intermediate_size", None)  # of the dense layers, of which there are none
        experts = others.pop("num_local_experts", others.get("num_experts"))
        return others if experts is None else {**others, "num_experts": experts}

    def written_fields(self) -> dict[str, object]:
        """The fields to write to config.json, with older names beside the current ones."""
        return super().written_fields() | {"num_local_experts": self.num_experts}

    @property
    def multiplied(self) -> int:
        """The number of a layer's weights that one token uses: its experts' and the router's."""
        return self.hidden_size * self.num_experts + self.num_experts_per_tok * self.expert

    @property
    def mlp_parameters(self) -> int:
        """The number of parameters in a layer's experts and router."""
        biases = self.num_experts if self.router_bias_rate else 0
        return self.hidden_size * self.num_experts + self.num_experts * self.expert + biases

    @property
    def expert(self) -> int:
        """The number of weights of one expert: gate, up and down projections."""
        return 3 * self.hidden_size * self.moe_intermediate_size

    @property
    def inner_size(self) -> int:
        """The experts' inner size, which tensor parallelism may split."""
        return self.moe_intermediate_size

    @property
    def problem(self) -> tuple[str, str] | None:
        """The first field that does not fit the others and its allowed values, or None."""
        if self.num_experts_per_tok > self.num_experts:
            return "num_experts_per_tok", f"at most num_experts ({self.num_experts})"
        return self.heads_problem


def published(layers: int, width: int, heads: int, inner: int) -> Qwen3MoeConfig:
    """The configuration of a published model with 128 experts, eight per token."""
    return Qwen3MoeConfig(
        vocab_size=151_936,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=4,
        head_dim=128,
        max_position_embeddings=40_960,
        rope_theta=1e6,
        num_experts=128,
        num_experts_per_tok=8,
        moe_intermediate_size=inner,
        tie_word_embeddings=False,
    )


PRESETS = {
    "debug": Qwen3MoeConfig(
        vocab_size=512,
        hidden_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=24,
        max_position_embeddings=128,
        moe_intermediate_size=96,
    ),
    "1b-a0.2b": Qwen3MoeConfig(
        vocab_size=32_768,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        num_key_value_heads=4,
        max_position_embeddings=4096,
        num_experts=64,
        num_experts_per_tok=8,
        moe_intermediate_size=512,
    ),
    "30b-a3b": published(48, 2048, 32, 768),
    "235b-a22b": published(94, 4096, 64, 1536),
}
"""Configurations by name, from a debug model of a million weights to Qwen3-235B-A22B."""
