"""The base class of all decoders: losses, training objective, and steps with a KV cache.

Layers, and what flows between them, belong to each model (decoder.py, qwen3_moe.py).

Letters: b batch, t tokens, g key heads, k width of a head, v vocabulary.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import gnomon as gn
from gnomon import nn
from gnomon.distributed.token_dispatch.travel import TokenTravel
from gnomon.models.config import DecoderConfig
from gnomon.models.generation import GeneratesTokens
from gnomon.models.saving import PretrainedModel
from gnomon.nn import functional as F
from gnomon.utils.checkpoint import checkpoint

__all__ = ["Cache", "CausalLM", "token_losses"]

Cache = list[tuple[gn.Tensor, gn.Tensor]]
"""The KV cache: per layer the keys and values, each (b, g, longest, k)."""


class CausalLM(GeneratesTokens, PretrainedModel):
    """A causal language model; `model` holds its embedding, layers and final norm."""

    config: DecoderConfig
    model: nn.Module
    recomputes = False
    """Whether the backward pass recomputes each layer from its inputs to save memory."""

    lm_head: nn.Linear | None
    """The output layer, or None if the embedding's weight is used instead."""

    @property
    def head(self) -> gn.Tensor:
        """The weight (v, d) that maps hidden states to logits."""
        return (self.lm_head or self.model.embed_tokens).weight

    @abstractmethod
    def forward(self, tokens_bt: gn.Tensor) -> gn.Tensor:
        """Return logits (b, t, v) of the token that follows each position."""

    @abstractmethod
    def objective(self, window_bt: gn.Tensor) -> tuple[gn.Tensor, ...]:
        """The training loss over rows, its `losses`, and the values that `settle` needs."""

    def call_layer(self, layer: nn.Module, *inputs: Any) -> Any:
        """Call a layer, with activation checkpointing if `recomputes` is true."""
        return checkpoint(layer, *inputs) if self.recomputes else layer(*inputs)

    def settle(self, found: Sequence[gn.Tensor], taken: gn.Tensor) -> dict[str, gn.Tensor]:
        """Update state without gradients after a step; return numbers for the metrics.

        found: the objective's further results, over all rows. taken: whether the optimizer stepped.
        """
        return {}

    def send_tokens(self, travel: TokenTravel | None) -> None:
        """Choose whether tokens are sent to experts; a model without experts does nothing."""

    def losses(self, window_bt: gn.Tensor) -> gn.Tensor:
        """The cross-entropy, in nats, of every token of each row but its first."""
        return token_losses(self(window_bt[:, :-1]), window_bt)

    @property
    def device(self) -> gn.device:
        """The device of its parameters."""
        return next(self.parameters()).device

    def empty_cache(self, batch: int, longest: int | None = None) -> Cache:
        """An empty KV cache for `longest` positions, by default the model's maximum."""
        c = self.config
        size = c.max_position_embeddings if longest is None else longest
        shape = (batch, c.num_key_value_heads, size, c.head_dim)
        kind, place = self.head.dtype, self.device

        def table() -> gn.Tensor:
            return gn.zeros(shape, dtype=kind, device=place)

        return [(table(), table()) for _ in range(c.num_hidden_layers)]

    def extend(
        self,
        tokens_bt: gn.Tensor,
        start_b: gn.Tensor,
        cache: Cache,
        last_b: gn.Tensor | None = None,
    ) -> gn.Tensor:
        """Append tokens to each row's KV cache and return logits (b, v) of the token after them.

        start_b: the position of each row's first new token. last_b: the index of each row's last
        real token in tokens_bt, if rows are padded on the right; the padding's cache entries are
        overwritten by the next call at those positions.

        Positions are a tensor and the cache is written in place, so that one compiled program
        serves every position.
        """
        model, (b, t) = self.model, tokens_bt.shape
        positions_bt = start_b.reshape(-1, 1) + gn.arange(t)
        x_btd, rotary = model.embedded(tokens_bt, positions_bt), model.rotary(positions_bt)
        for layer, pair, old in zip(model.layers, rotary, cache, strict=True):
            x_btd = layer.extend(x_btd, pair, old, positions_bt)
        x_bd = x_btd[:, -1] if last_b is None else x_btd[gn.arange(b), last_b]
        return F.linear(model.norm(x_bd), self.head)


def token_losses(scores_btv: gn.Tensor, window_bt: gn.Tensor) -> gn.Tensor:
    """The cross-entropy, in nats, of every token of each window but its first, (b, t)."""
    b, t, v = scores_btv.shape
    targets = window_bt[:, 1:].reshape(b * t)
    scores = scores_btv.reshape(b * t, v)
    return F.cross_entropy(scores, targets, reduction="none").reshape(b, t)
