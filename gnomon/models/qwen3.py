"""A Qwen3-style dense decoder: what one reads in a page, under Hugging Face's parameter names.

RMSNorm before attention and before the gated MLP, rotary positions, fewer key heads than query
heads, a norm on every query and key, one matrix for embedding and head. Sizes are in config.py,
first weights in initialization.py, generation with a cache in gnomon/train/generate.py.

Letters: b batch, t tokens, d width, h query heads, g key heads, k width of a head, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gnomon as gn
from gnomon import nn
from gnomon.models.causal import CausalLM
from gnomon.models.config import DecoderConfig, Qwen3Config, refuse_too_large
from gnomon.nn import functional as F

__all__ = ["AXES", "Qwen3ForCausalLM"]

AXES = {
    "embed_tokens.weight": ("vocabulary", "width"),
    "q_proj.weight": ("heads", "width"),
    "k_proj.weight": ("key_heads", "width"),
    "v_proj.weight": ("key_heads", "width"),
    "o_proj.weight": ("width", "heads"),
    "gate_proj.weight": ("intermediate", "width"),
    "up_proj.weight": ("intermediate", "width"),
    "down_proj.weight": ("width", "intermediate"),
}
"""Parameter -> the names of its axes, by which a plan splits them (gnomon/distributed/plans.py)."""


class Attention(nn.Module):
    """Each position reads from itself and from those before it."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        width, k = config.hidden_size, config.head_dim
        self.heads, self.key_heads, self.head_dim = (
            config.num_attention_heads,
            config.num_key_value_heads,
            k,
        )
        self.q_proj = nn.Linear(width, self.heads * k, bias=False)
        self.k_proj = nn.Linear(width, self.key_heads * k, bias=False)
        self.v_proj = nn.Linear(width, self.key_heads * k, bias=False)
        self.o_proj = nn.Linear(self.heads * k, width, bias=False)
        self.q_norm = nn.RMSNorm(k, eps=config.rms_norm_eps)
        self.k_norm = nn.RMSNorm(k, eps=config.rms_norm_eps)

    def queries_keys_values(self, x_btd: gn.Tensor, rotary: tuple[gn.Tensor, gn.Tensor]) -> tuple:
        """Queries, keys and values with heads in front of positions, rotated by position."""
        b, t, _ = x_btd.shape
        weights = [layer.weight for layer in (self.q_proj, self.k_proj, self.v_proj)]
        q, k, v = F.linears(x_btd, weights)
        q_bthk = self.q_norm(q.reshape(b, t, self.heads, self.head_dim))
        k_btgk = self.k_norm(k.reshape(b, t, self.key_heads, self.head_dim))
        v_btgk = v.reshape(b, t, self.key_heads, self.head_dim)
        q_bhtk, k_bgtk = q_bthk.transpose(1, 2), k_btgk.transpose(1, 2)
        return rotate(q_bhtk, rotary), rotate(k_bgtk, rotary), v_btgk.transpose(1, 2)

    def join(self, y_bhtk: gn.Tensor) -> gn.Tensor:
        """The heads' results, side by side and projected."""
        b, _, t, _ = y_bhtk.shape
        return self.o_proj(y_bhtk.transpose(1, 2).reshape(b, t, self.heads * self.head_dim))

    def forward(self, x_btd: gn.Tensor, rotary: tuple[gn.Tensor, gn.Tensor]) -> gn.Tensor:
        """Attention over a whole sequence."""
        q, k, v = self.queries_keys_values(x_btd, rotary)
        return self.join(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))

    def extend(
        self,
        x_b1d: gn.Tensor,
        rotary: tuple[gn.Tensor, gn.Tensor],
        cache: tuple[gn.Tensor, gn.Tensor],
        position_1: gn.Tensor,
    ) -> gn.Tensor:
        """Attention of one new position over the cache, which takes it in."""
        q, k, v = self.queries_keys_values(x_b1d, rotary)
        keys, values = (
            old.index_copy_(2, position_1, new) for old, new in zip(cache, (k, v), strict=True)
        )
        seen_1s = (gn.arange(keys.shape[2]) <= position_1).reshape(1, -1)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=seen_1s, enable_gqa=True)
        return self.join(y)


class MLP(nn.Module):
    """A gated layer: what passes is decided by a second product."""

    def __init__(self, config: Qwen3Config) -> None:
        super().__init__()
        width, inner = config.hidden_size, config.intermediate_size
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x_btd: gn.Tensor) -> gn.Tensor:
        """SwiGLU."""
        gate, up = F.linears(x_btd, [self.gate_proj.weight, self.up_proj.weight])
        return self.down_proj(F.silu(gate) * up)


class DecoderLayer(nn.Module):
    """Attention, then a block, each on a normalized copy and added back."""

    def __init__(self, config: DecoderConfig, block: Callable[[Any], nn.Module]) -> None:
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = block(config)
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def fed(self, x_btd: gn.Tensor) -> gn.Tensor:
        """The block's share of the result."""
        return self.mlp(self.post_attention_layernorm(x_btd))

    def extend(
        self,
        x_b1d: gn.Tensor,
        rotary: tuple[gn.Tensor, gn.Tensor],
        cache: tuple[gn.Tensor, gn.Tensor],
        position_1: gn.Tensor,
    ) -> gn.Tensor:
        """One layer for one new position."""
        normal = self.input_layernorm(x_b1d)
        x_b1d = x_b1d + self.self_attn.extend(normal, rotary, cache, position_1)
        return x_b1d + self.fed(x_b1d)


class Qwen3DecoderLayer(DecoderLayer):
    """Attention, then MLP."""

    def __init__(self, config: Qwen3Config) -> None:
        super().__init__(config, MLP)

    def forward(self, x_btd: gn.Tensor, rotary: tuple[gn.Tensor, gn.Tensor]) -> gn.Tensor:
        """One layer over a whole sequence."""
        x_btd = x_btd + self.self_attn(self.input_layernorm(x_btd), rotary)
        return x_btd + self.fed(x_btd)


class Qwen3Model(nn.Module):
    """Embedding, layers of a class, and the last norm: Hugging Face's `model`."""

    def __init__(self, config: DecoderConfig, layer: Callable[[Any], nn.Module]) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([layer(config) for _ in range(config.num_hidden_layers)])
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        cosines, sines = rotary_tables(config)
        self.register_buffer("cosines", gn.from_numpy(cosines), persistent=False)
        self.register_buffer("sines", gn.from_numpy(sines), persistent=False)


class Qwen3ForCausalLM(CausalLM):
    """Scores for the next token at every position."""

    def __init__(self, config: Qwen3Config) -> None:
        super().__init__()
        refuse_too_large(config)
        self.config = config
        self.model = Qwen3Model(config, Qwen3DecoderLayer)

    @property
    def head(self) -> gn.Tensor:
        """The embedding, once more."""
        return self.model.embed_tokens.weight

    def forward(self, tokens_bt: gn.Tensor) -> gn.Tensor:
        """Scores (b, t, v) of the token that follows each position."""
        model, length = self.model, tokens_bt.shape[1]
        rotary = model.cosines[:length], model.sines[:length]
        x_btd = model.embed_tokens(tokens_bt)
        for layer in model.layers:
            x_btd = self.through(layer, x_btd, rotary)
        return F.linear(model.norm(x_btd), self.head)

    def objective(self, window_bt: gn.Tensor) -> tuple[gn.Tensor, ...]:
        """The mean loss of all tokens, and each one's."""
        losses_bt = self.losses(window_bt)
        return losses_bt.mean(), losses_bt


def rotary_tables(config: DecoderConfig) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of every position's angle for each half of a head, (longest, k / 2).

    Computed in float64 and rounded once.
    """
    half = np.arange(0, config.head_dim, 2) / config.head_dim
    positions = np.arange(config.max_position_embeddings)
    angles = np.outer(positions, config.rope_theta**-half)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def rotate(x_bhtk: gn.Tensor, rotary: tuple[gn.Tensor, gn.Tensor]) -> gn.Tensor:
    """Rotate each pair (i, i + k/2) of a head by its position's angle."""
    cosine, sine = rotary
    first, second = x_bhtk.chunk(2, dim=-1)
    return gn.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)
