"""Decoders whose parts follow from their config, under Hugging Face's parameter names.

Qwen3's parts: RMSNorm before attention and before the gated MLP, rotary positions, fewer key heads
than query heads, a norm on every query and key, tied embeddings. Other families are in families.py,
configurations in config.py, initial weights in initialization.py, generation with a cache in
generation.py.

Letters: b batch, t tokens, d width, h query heads, g key heads, k width of a head, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

import gnomon as gn
from gnomon import nn
from gnomon.models.causal import CausalLM
from gnomon.models.config import DecoderConfig, DenseConfig, refuse_too_large
from gnomon.models.rotary import rotary_tables
from gnomon.nn import functional as F

__all__ = ["AXES", "DecoderForCausalLM"]

AXES = {
    "embed_tokens.weight": ("vocabulary", "width"),
    "embed_positions.weight": ("positions", "width"),
    "lm_head.weight": ("vocabulary", "width"),
    "q_proj.weight": ("heads", "width"),
    "k_proj.weight": ("key_heads", "width"),
    "v_proj.weight": ("key_heads", "width"),
    "o_proj.weight": ("width", "heads"),
    "gate_proj.weight": ("intermediate", "width"),
    "up_proj.weight": ("intermediate", "width"),
    "down_proj.weight": ("width", "intermediate"),
    "q_proj.bias": ("heads",),
    "k_proj.bias": ("key_heads",),
    "v_proj.bias": ("key_heads",),
    "gate_proj.bias": ("intermediate",),
    "up_proj.bias": ("intermediate",),
}
"""Parameter -> the names of its axes, by which a plan splits them (gnomon/distributed/plans.py)."""
Rotary = tuple[gn.Tensor, gn.Tensor]
"""The cosines and sines of rotary positions."""
ACTIVATIONS: Mapping[str, Callable[[gn.Tensor], gn.Tensor]] = MappingProxyType(
    {
        "silu": F.silu,
        "gelu": F.gelu,
        "relu": F.relu,
        **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh"), partial(F.gelu, approximate="tanh")),
    }
)
"""Activation functions by their name in `hidden_act`."""


class OffsetRMSNorm(nn.RMSNorm):
    """RMSNorm that multiplies by 1 + weight, as Gemma's does."""

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """Divide by the root mean square, in float32, and multiply by 1 + weight."""
        factors = 1 + self.weight.float()
        return F.rms_norm(x.float(), self.normalized_shape, factors, self.eps).to(x.dtype)


NORMS = MappingProxyType({"rms": nn.RMSNorm, "layer": nn.LayerNorm, "offset": OffsetRMSNorm})
"""Norm classes by the config's name for them."""


class Attention(nn.Module):
    """Causal self-attention with grouped queries, over all earlier positions or a window."""

    def __init__(self, config: DecoderConfig, layer: int) -> None:
        super().__init__()
        width, k = config.hidden_size, config.head_dim
        self.heads, self.key_heads, self.head_dim = (
            config.num_attention_heads,
            config.num_key_value_heads,
            k,
        )
        self.window, self.dropout = config.window(layer), config.attention_dropout
        self.scale = config.attention_scale
        inward, outward = config.projection_biases
        self.q_proj = nn.Linear(width, self.heads * k, bias=inward)
        self.k_proj = nn.Linear(width, self.key_heads * k, bias=inward)
        self.v_proj = nn.Linear(width, self.key_heads * k, bias=inward)
        self.o_proj = nn.Linear(self.heads * k, width, bias=outward)
        self.q_norm, self.k_norm = (
            norm_of(config, k) if config.query_key_norm else None for _ in range(2)
        )

    def queries_keys_values(self, x_btd: gn.Tensor, rotary: Rotary | None) -> tuple:
        """Compute queries (b, h, t, k), and keys and values (b, g, t, k), rotated by position."""
        b, t, _ = x_btd.shape
        q, k, v = joint_linears(x_btd, (self.q_proj, self.k_proj, self.v_proj))
        q_bthk = q.reshape(b, t, self.heads, self.head_dim)
        k_btgk = k.reshape(b, t, self.key_heads, self.head_dim)
        if self.q_norm is not None and self.k_norm is not None:
            q_bthk, k_btgk = self.q_norm(q_bthk), self.k_norm(k_btgk)
        v_btgk = v.reshape(b, t, self.key_heads, self.head_dim)
        q_bhtk, k_bgtk = q_bthk.transpose(1, 2), k_btgk.transpose(1, 2)
        if rotary is not None:
            q_bhtk, k_bgtk = rotate(q_bhtk, rotary), rotate(k_bgtk, rotary)
        return q_bhtk, k_bgtk, v_btgk.transpose(1, 2)

    def join(self, y_bhtk: gn.Tensor) -> gn.Tensor:
        """Concatenate the heads' outputs and apply the output projection."""
        b, _, t, _ = y_bhtk.shape
        return self.o_proj(y_bhtk.transpose(1, 2).reshape(b, t, self.heads * self.head_dim))

    def forward(self, x_btd: gn.Tensor, rotary: Rotary) -> gn.Tensor:
        """Attend within whole sequences."""
        q, k, v = self.queries_keys_values(x_btd, rotary)
        dropout, t = self.dropout if self.training else 0.0, x_btd.shape[1]
        if self.window is None or t <= self.window:
            y = F.scaled_dot_product_attention(
                q, k, v, None, dropout, is_causal=True, scale=self.scale, enable_gqa=True
            )
        else:
            seen_ts = self.seen(gn.arange(t).reshape(-1, 1), t)
            y = F.scaled_dot_product_attention(
                q, k, v, seen_ts, dropout, scale=self.scale, enable_gqa=True
            )
        return self.join(y)

    def seen(self, position: gn.Tensor, positions: int) -> gn.Tensor:
        """Make a mask of keys, true where a query at `position` attends to them."""
        others_s = gn.arange(positions)
        seen = others_s <= position
        return seen if self.window is None else seen & (others_s > position - self.window)

    def extend(
        self, x_btd: gn.Tensor, rotary: Rotary, cache: Rotary, positions_bt: gn.Tensor
    ) -> gn.Tensor:
        """Write the keys and values of new positions into the cache, and attend over the cache.

        Which positions are attended to is decided by a mask at any number of tokens, so that the
        bits don't depend on how a text is divided into passes.
        """
        waves = None if rotary is None else tuple(x.unsqueeze(1) for x in rotary)
        q, *new = self.queries_keys_values(x_btd, waves)
        longest, places_b1t1 = cache[0].shape[2], positions_bt.unsqueeze(1).unsqueeze(3)
        for old, x_bgtk in zip(cache, new, strict=True):
            old.scatter_(2, places_b1t1.expand(x_bgtk.shape), x_bgtk)
        seen_b1ts = self.seen(places_b1t1, longest)
        y = F.scaled_dot_product_attention(
            q, *cache, attn_mask=seen_b1ts, scale=self.scale, enable_gqa=True
        )
        return self.join(y)


class MLP(nn.Module):
    """A two-layer MLP, or a gated one such as SwiGLU."""

    def __init__(self, config: DenseConfig) -> None:
        super().__init__()
        width, inner, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.activation = ACTIVATIONS[config.hidden_act]
        self.gate_proj = nn.Linear(width, inner, bias=bias) if config.gated else None
        self.up_proj = nn.Linear(width, inner, bias=bias)
        self.down_proj = nn.Linear(inner, width, bias=bias)

    def forward(self, x_btd: gn.Tensor) -> gn.Tensor:
        """Apply the MLP to each position."""
        if self.gate_proj is None:
            return self.down_proj(self.activation(self.up_proj(x_btd)))
        gate, up = joint_linears(x_btd, (self.gate_proj, self.up_proj))
        return self.down_proj(self.activation(gate) * up)


class DecoderLayer(nn.Module):
    """The base of pre-norm decoder layers: attention, then a feed-forward block `mlp`."""

    def __init__(
        self, config: DecoderConfig, layer: int, block: Callable[[Any], nn.Module]
    ) -> None:
        super().__init__()
        self.self_attn = Attention(config, layer)
        self.mlp = block(config)
        self.input_layernorm = norm_of(config, config.hidden_size)
        self.post_attention_layernorm = norm_of(config, config.hidden_size)
        self.norms_after, self.dropout = config.norms_after, config.resid_pdrop
        if config.norms_after:
            self.pre_feedforward_layernorm = norm_of(config, config.hidden_size)
            self.post_feedforward_layernorm = norm_of(config, config.hidden_size)

    def after_attention(self, y_btd: gn.Tensor) -> gn.Tensor:
        """Apply the norm after attention, if there is one, and dropout to attention's output."""
        if self.norms_after:
            y_btd = self.post_attention_layernorm(y_btd)
        return self.dropped(y_btd)

    def feed_forward(self, x_btd: gn.Tensor) -> gn.Tensor:
        """Compute the feed-forward block's residual branch, with its norms and dropout."""
        if not self.norms_after:
            return self.dropped(self.mlp(self.post_attention_layernorm(x_btd)))
        y_btd = self.mlp(self.pre_feedforward_layernorm(x_btd))
        return self.dropped(self.post_feedforward_layernorm(y_btd))

    def dropped(self, y_btd: gn.Tensor) -> gn.Tensor:
        """Apply dropout in training."""
        return F.dropout(y_btd, self.dropout, self.training) if self.dropout else y_btd

    def extend(
        self, x_btd: gn.Tensor, rotary: Rotary, cache: Rotary, positions_bt: gn.Tensor
    ) -> gn.Tensor:
        """Apply the layer to new positions with a KV cache."""
        normal = self.input_layernorm(x_btd)
        y_btd = self.self_attn.extend(normal, rotary, cache, positions_bt)
        x_btd = x_btd + self.after_attention(y_btd)
        return x_btd + self.feed_forward(x_btd)


class DenseLayer(DecoderLayer):
    """A decoder layer with a dense MLP."""

    def __init__(self, config: DenseConfig, layer: int) -> None:
        super().__init__(config, layer, MLP)

    def forward(self, x_btd: gn.Tensor, rotary: Rotary) -> gn.Tensor:
        """Apply the layer to whole sequences."""
        x_btd = x_btd + self.after_attention(self.self_attn(self.input_layernorm(x_btd), rotary))
        return x_btd + self.feed_forward(x_btd)


class DecoderModel(nn.Module):
    """The embedding, the layers and the final norm: Hugging Face's `model`."""

    def __init__(self, config: DecoderConfig, layer: Callable[[Any, int], nn.Module]) -> None:
        super().__init__()
        count = config.num_hidden_layers
        self.learned_positions = config.learned_positions
        self.embedding_scale, self.embedding_dropout = config.embedding_scale, config.embd_pdrop
        self.local: list[bool] | None = None
        if config.local_theta is not None:
            self.local = [config.window(number) is not None for number in range(count)]
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([layer(config, number) for number in range(count)])
        self.norm = norm_of(config, config.hidden_size)
        sizes = config.max_position_embeddings, config.head_dim
        if config.learned_positions:
            self.embed_positions = nn.Embedding(sizes[0], config.hidden_size)
            return
        self.tables("", rotary_tables(*sizes, config.rope_theta, config.rope_scaling))
        if config.local_theta is not None:
            self.tables("local_", rotary_tables(*sizes, config.local_theta, None))

    def tables(self, stem: str, waves: tuple[np.ndarray, np.ndarray]) -> None:
        """Register cosines and sines as buffers whose names start with `stem`."""
        for name, table in zip(("cosines", "sines"), waves, strict=True):
            self.register_buffer(stem + name, gn.from_numpy(table), persistent=False)

    def rotary(self, where: slice | gn.Tensor) -> list[Rotary | None]:
        """The cosines and sines of some positions for each layer; None with learned positions."""
        if self.learned_positions:
            return [None] * len(self.layers)
        waves = self.cosines[where], self.sines[where]
        if self.local is None:
            return [waves] * len(self.layers)
        near = self.local_cosines[where], self.local_sines[where]
        return [near if local else waves for local in self.local]

    def embedded(self, tokens_bt: gn.Tensor, where: slice | gn.Tensor) -> gn.Tensor:
        """Embed tokens, with scaling, learned positions and dropout if the config has them."""
        x_btd = self.embed_tokens(tokens_bt)
        if self.embedding_scale is not None:
            x_btd = x_btd * self.embedding_scale
        if self.learned_positions:
            x_btd = x_btd + self.embed_positions.weight[where]
        dropout = self.embedding_dropout
        return F.dropout(x_btd, dropout, self.training) if dropout else x_btd


class DecoderForCausalLM(CausalLM):
    """A dense decoder with a language-model head."""

    def __init__(self, config: DenseConfig) -> None:
        super().__init__()
        refuse_too_large(config)
        self.config = config
        self.model = DecoderModel(config, DenseLayer)
        self.lm_head = own_head(config)

    def forward(self, tokens_bt: gn.Tensor) -> gn.Tensor:
        """Return logits (b, t, v) of the token that follows each position."""
        model, where = self.model, slice(tokens_bt.shape[1])
        x_btd = model.embedded(tokens_bt, where)
        for layer, rotary in zip(model.layers, model.rotary(where), strict=True):
            x_btd = self.call_layer(layer, x_btd, rotary)
        return F.linear(model.norm(x_btd), self.head)

    def objective(self, window_bt: gn.Tensor) -> tuple[gn.Tensor, ...]:
        """The mean loss over all tokens, and the loss of each, (b, t)."""
        losses_bt = self.losses(window_bt)
        return losses_bt.mean(), losses_bt


def norm_of(config: DecoderConfig, width: int) -> nn.Module:
    """Make a norm of the config's kind for vectors of a width."""
    return NORMS[config.norms](width, eps=config.rms_norm_eps)


def own_head(config: DecoderConfig) -> nn.Linear | None:
    """Make the output layer, or return None if the embedding's weight is used instead."""
    if config.tie_word_embeddings:
        return None
    return nn.Linear(config.hidden_size, config.vocab_size, bias=False)


def joint_linears(x_btd: gn.Tensor, layers: Sequence[nn.Linear]) -> tuple[gn.Tensor, ...]:
    """Apply several linear layers to one input in a single matrix product."""
    weights, biases = [x.weight for x in layers], [x.bias for x in layers]
    return F.linears(x_btd, weights, None if biases[0] is None else biases)


def rotate(x_bhtk: gn.Tensor, rotary: Rotary) -> gn.Tensor:
    """Apply rotary positions: rotate each pair (i, i + k/2) of a head by its position's angle."""
    cosine, sine = rotary
    first, second = x_bhtk.chunk(2, dim=-1)
    return gn.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)
