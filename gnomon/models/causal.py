"""The part that every decoder has: losses, a trained objective, one more token with a cache.

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
"""Per layer the keys and the values, (b, g, longest, k), of every position so far."""


class CausalLM(GeneratesTokens, PretrainedModel):
    """A model of the next token; `model` holds embedding, layers and norm."""

    config: DecoderConfig
    model: nn.Module
    recomputes = False
    """The backward pass recomputes each layer from its inputs if this is true."""

    lm_head: nn.Linear | None
    """The layer that scores tokens; None if the embedding does."""

    @property
    def head(self) -> gn.Tensor:
        """The matrix (v, d) that scores tokens."""
        return (self.lm_head or self.model.embed_tokens).weight

    @abstractmethod
    def forward(self, tokens_bt: gn.Tensor) -> gn.Tensor:
        """Scores (b, t, v) of the token that follows each position."""

    @abstractmethod
    def objective(self, window_bt: gn.Tensor) -> tuple[gn.Tensor, ...]:
        """The training loss over rows, its `losses`, and the values that `settle` needs."""

    def through(self, layer: nn.Module, *inputs: Any) -> Any:
        """The results of a layer."""
        return checkpoint(layer, *inputs) if self.recomputes else layer(*inputs)

    def settle(self, found: Sequence[gn.Tensor], taken: gn.Tensor) -> dict[str, gn.Tensor]:
        """Update state without gradients after a step; return numbers for the metrics.

        found: the objective's further results, over all rows. taken: whether the optimizer stepped.
        """
        return {}

    def send_tokens(self, travel: TokenTravel | None) -> None:
        """Choose whether tokens are sent to experts; a model without experts does nothing."""

    def losses(self, window_bt: gn.Tensor) -> gn.Tensor:
        """Minus the log probability, in nats, of every token of each window but its first."""
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
        """Scores (b, v) of what follows after more tokens of each row; the cache takes them in.

        start_b: the position of each row's first token. last_b: the place of each row's last token
        among them, if tokens after it fill the row up: those are seen by nobody, as long as the
        next ones are put in their place.

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
    """Minus the log probability of every token of each window but its first, (b, t)."""
    b, t, v = scores_btv.shape
    targets = window_bt[:, 1:].reshape(b * t)
    scores = scores_btv.reshape(b * t, v)
    return F.cross_entropy(scores, targets, reduction="none").reshape(b, t)
