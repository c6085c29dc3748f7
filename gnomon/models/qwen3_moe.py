"""A Qwen3-style decoder with experts: each MLP of decoder.py is a router and many small ones here.

A router scores all experts for a token, the best few take it, and what they make of it is added,
weighted by their shares, in the order of their scores, in float32, and rounded once. No token is
dropped: how many an expert gets is a number that only a run knows, and a program serves all. The
numbers of tokens, and so the load, have the batch's row as their unit (decision 0066).

Letters: b batch, t tokens, d width, l blocks of rows, n tokens of a block, e experts, c experts of
a token, s slots of a block (n c), f inner size of an expert.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import gnomon as gn
from gnomon import nn
from gnomon.distributed.token_dispatch.base import TokenDispatcher
from gnomon.distributed.token_dispatch.local import LocalTokenDispatcher
from gnomon.distributed.token_dispatch.travel import RANK_SLOTS, TokenTravel
from gnomon.models.causal import CausalLM, token_losses
from gnomon.models.config import refuse_too_large
from gnomon.models.decoder import ACTIVATIONS, DecoderLayer, DecoderModel, Rotary, own_head
from gnomon.models.decoder import AXES as DENSE
from gnomon.models.qwen3_moe_config import Qwen3MoeConfig
from gnomon.nn import functional as F
from gnomon.ops.canonical import ROWS, leaves

__all__ = ["AXES", "Qwen3MoeForCausalLM", "Routing"]

AXES = {
    "mlp.gate.weight": ("router", "width"),
    "mlp.gate.bias": ("router",),
    "experts.gate_proj.weight": ("expert", "intermediate", "width"),
    "experts.up_proj.weight": ("expert", "intermediate", "width"),
    "experts.down_proj.weight": ("expert", "width", "intermediate"),
    **DENSE,
}
"""The names of each parameter's axes, by which a sharding plan splits them."""


class Routing(NamedTuple):
    """A router's choice of experts for each token of a batch."""

    expert_btc: gn.Tensor
    """The chosen experts of each token, best first."""
    share_btc: gn.Tensor
    """The weight of each chosen expert in the token's output."""
    share_bte: gn.Tensor
    """The router's probabilities of all experts."""

    def counts(self) -> gn.Tensor:
        """The number of tokens of each row that each expert gets, (b, e)."""
        b, _, e = self.share_bte.shape
        slots_bs = self.expert_btc.reshape(b, -1)
        return (slots_bs.unsqueeze(2) == gn.arange(e)).sum(1)

    def uneven(self, counts_be: gn.Tensor) -> gn.Tensor:
        """The load-balancing loss of each row, (b).

        It is the number of experts per token if the load is even, and depends on that row alone.
        """
        _, t, e = self.share_bte.shape
        return (counts_be.float() / t * self.share_bte.mean(1)).sum(1) * e


class Router(nn.Module):
    """A linear layer and softmax that choose the experts of each token."""

    def __init__(self, config: Qwen3MoeConfig) -> None:
        super().__init__()
        self.chosen, self.normalized = config.num_experts_per_tok, config.norm_topk_prob
        self.factor = config.routed_scaling_factor
        self.weight = nn.Parameter(gn.empty((config.num_experts, config.hidden_size)))
        self.bias = (
            nn.Parameter(gn.zeros((config.num_experts,)), requires_grad=False)
            if config.router_bias_rate
            else None
        )
        """A bias that balances the load without a loss; it affects only the choice of experts."""

    def forward(self, x_btd: gn.Tensor) -> Routing:
        """Compute the experts' probabilities in float32 and choose the highest per token."""
        share_bte = F.softmax(F.linear(x_btd, self.weight), dim=-1, dtype=gn.float32)
        seen_bte = share_bte if self.bias is None else share_bte + self.bias
        expert_btc = seen_bte.detach().topk(self.chosen, -1)[1]
        share_btc = share_bte.gather(-1, expert_btc)
        if self.normalized:
            share_btc = share_btc / share_btc.sum(-1, keepdim=True)
        if self.factor != 1:
            share_btc = share_btc * self.factor
        return Routing(expert_btc, share_btc, share_bte)


class StackedLinear(nn.Module):
    """The linear layers of all experts in one weight (e, rows, columns)."""

    def __init__(self, experts: int, rows: int, columns: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(gn.empty((experts, rows, columns)))

    def forward(self, x_sd: gn.Tensor, ends_le: gn.Tensor) -> gn.Tensor:
        """Multiply each row by the matrix of its expert; rows are sorted by expert."""
        return gn.routed_mm(x_sd, self.weight.transpose(1, 2), ends_le)


class Experts(nn.Module):
    """Gated MLPs, each applied to the rows that are routed to it."""

    def __init__(self, config: Qwen3MoeConfig) -> None:
        super().__init__()
        e, d, f = config.num_experts, config.hidden_size, config.moe_intermediate_size
        self.activation = ACTIVATIONS[config.hidden_act]
        self.gate_proj = StackedLinear(e, f, d)
        self.up_proj = StackedLinear(e, f, d)
        self.down_proj = StackedLinear(e, d, f)

    def forward(self, x_sd: gn.Tensor, ends_le: gn.Tensor) -> gn.Tensor:
        """Apply each expert's gated MLP to its rows, which are sorted by expert."""
        gate, up = self.gate_proj(x_sd, ends_le), self.up_proj(x_sd, ends_le)
        return self.down_proj(self.activation(gate) * up, ends_le)


class Qwen3MoeSparseMoeBlock(nn.Module):
    """A mixture of experts: routes tokens to experts and sums their weighted outputs."""

    def __init__(self, config: Qwen3MoeConfig) -> None:
        super().__init__()
        self.gate = Router(config)
        self.experts = Experts(config)
        self.dispatcher_of: Callable[[int, int], TokenDispatcher] = LocalTokenDispatcher
        """Makes a dispatcher, given the numbers of experts and of blocks."""

    def forward(self, x_btd: gn.Tensor) -> tuple[gn.Tensor, Routing, gn.Tensor]:
        """Return the outputs, the routing, and each expert's tokens per row, (b, e)."""
        routing = self.gate(x_btd)
        counts_be = routing.counts()
        (b, _, d), blocks = x_btd.shape, leaves(x_btd.shape[0], ROWS)
        counts_le = counts_be.reshape(blocks, b // blocks, -1).sum(1)
        share, expert = (v.flatten(0, 1) for v in (routing.share_btc, routing.expert_btc))
        dispatcher = self.dispatcher_of(counts_le.shape[1], blocks)
        sent = dispatcher.dispatch(x_btd.reshape(-1, d), share, expert, counts_le)
        y = dispatcher.combine(self.experts(sent.rows, sent.ends), sent)
        return y.reshape(x_btd.shape), routing, counts_be


class Qwen3MoeDecoderLayer(DecoderLayer):
    """A decoder layer whose MLP is a mixture of experts."""

    def __init__(self, config: Qwen3MoeConfig, layer: int) -> None:
        super().__init__(config, layer, Qwen3MoeSparseMoeBlock)

    def forward(self, x_btd: gn.Tensor, rotary: Rotary) -> tuple[gn.Tensor, Routing, gn.Tensor]:
        """Return the layer's outputs, its routing, and each expert's tokens per row, (b, e)."""
        x_btd = x_btd + self.after_attention(self.self_attn(self.input_layernorm(x_btd), rotary))
        y_btd, routing, counts_be = self.mlp(self.post_attention_layernorm(x_btd))
        return x_btd + y_btd, routing, counts_be

    def feed_forward(self, x_btd: gn.Tensor) -> gn.Tensor:
        """Compute the experts' residual branch."""
        return super().feed_forward(x_btd)[0]


class Qwen3MoeForCausalLM(CausalLM):
    """A mixture-of-experts decoder with a language-model head."""

    def __init__(self, config: Qwen3MoeConfig) -> None:
        super().__init__()
        refuse_too_large(config)
        self.config = config
        self.travel: TokenTravel | None = None
        self.uneven_share, self.bias_rate = config.router_aux_loss_coef, config.router_bias_rate
        self.model = DecoderModel(config, Qwen3MoeDecoderLayer)
        self.lm_head = own_head(config)

    def forward(self, tokens_bt: gn.Tensor) -> gn.Tensor:
        """Return logits (b, t, v) of the token that follows each position."""
        return self.routed(tokens_bt)[0]

    def routed(self, tokens_bt: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor, list[gn.Tensor]]:
        """Return logits, the load-balancing loss (b), and each layer's tokens by row and expert."""
        model, where = self.model, slice(tokens_bt.shape[1])
        x_btd = model.embedded(tokens_bt, where)
        uneven, counts = [], []
        for layer, rotary in zip(model.layers, model.rotary(where), strict=True):
            x_btd, routing, counts_be = self.call_layer(layer, x_btd, rotary)
            uneven.append(routing.uneven(counts_be))
            counts.append(counts_be)
        uneven_b = sum(uneven[1:], uneven[0]) / len(uneven)
        return F.linear(model.norm(x_btd), self.head), uneven_b, counts

    def objective(self, window_bt: gn.Tensor) -> tuple[gn.Tensor, ...]:
        """The training loss, each token's loss, their mean, and tokens by layer and expert.

        With experts on other ranks, the result of `most` comes last.
        """
        scores, uneven_b, counts = self.routed(window_bt[:, :-1])
        found = gn.stack([counts_be.sum(0) for counts_be in counts]), *self.most(counts)
        losses_bt = token_losses(scores, window_bt)
        mean, share = losses_bt.mean(), self.uneven_share
        whole = mean + share * uneven_b.mean() if share else mean
        return whole, losses_bt, mean, *found

    def send_tokens(self, travel: TokenTravel | None) -> None:
        """Dispatch tokens to experts on other ranks; None keeps them on this one."""
        self.travel = travel
        for layer in self.model.layers:
            layer.mlp.dispatcher_of = travel.dispatcher if travel else LocalTokenDispatcher

    def most(self, counts: Sequence[gn.Tensor]) -> list[gn.Tensor]:
        """The maximum number of slots that a rank gets in a block, over all layers.

        It is in a list, which is empty if tokens stay on their rank. counts: each layer's tokens by
        row and expert.
        """
        if self.travel is None:
            return []
        counts_nbe = gn.stack(counts)
        layers, b, e = counts_nbe.shape
        blocks = leaves(b, ROWS)
        counts_nlbe = counts_nbe.reshape(layers, blocks, b // blocks, e)
        return [self.travel.most(counts_nlbe.sum(2))]

    def settle(self, found: Sequence[gn.Tensor], taken: gn.Tensor) -> dict[str, gn.Tensor]:
        """Move the experts' biases towards an even load, and return metrics of the load.

        `expert_load` is the busiest expert's tokens divided by an even share, averaged over layers;
        with experts on other ranks, `rank_slots` is the maximum number of slots that a rank gets in
        a block.
        """
        mean, counts, *most = found
        even = counts.float().mean(1, keepdim=True)
        away = (even - counts.float()).sign() * taken.float()
        for layer, steps_e in zip(self.model.layers, away, strict=True):
            bias = layer.mlp.gate.bias
            if bias is not None:
                bias += self.bias_rate * steps_e
        load = (counts.amax(1).float() / even[:, 0]).mean()
        metrics = {"token_loss": mean, "expert_load": load}
        return metrics | dict(zip([RANK_SLOTS], most, strict=False))
