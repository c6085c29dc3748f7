"""A decoder with routed experts: grouped queries, norms on queries and keys, SwiGLU experts."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon import nn
from gnomon.bench.ours.common import trained
from gnomon.bench.serve import BenchProblem
from gnomon.models.decoder import rotate
from gnomon.nn import functional as F

__all__ = ["moe"]

Rotary = tuple[gn.Tensor, gn.Tensor]


class ProblemWeights(nn.Module):
    """A module whose parameters are the problem's, by name."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        super().__init__()
        for name, array in weights.items():
            setattr(self, name, nn.Parameter(gn.from_numpy(array)))


class MoELayer(ProblemWeights):
    """Attention, then experts."""

    def __init__(self, problem: BenchProblem, weights: dict[str, np.ndarray]) -> None:
        super().__init__(weights)
        self.heads, self.key_heads = problem["heads"], problem["key_heads"]
        self.width, self.chosen = problem["head_width"], problem["chosen"]

    def attend(self, x_btd: gn.Tensor, rotary: Rotary) -> gn.Tensor:
        """Attention of each position to itself and those before it."""
        b, t, _ = x_btd.shape
        q, k, v = (F.linear(x_btd, w).view(b, t, -1, self.width) for w in (self.q, self.k, self.v))
        q = rotate(normal(q, self.qn).transpose(1, 2), rotary)
        k = rotate(normal(k, self.kn).transpose(1, 2), rotary)
        y_bhtk = F.scaled_dot_product_attention(
            q, k, v.transpose(1, 2), is_causal=True, enable_gqa=True
        )
        return F.linear(y_bhtk.transpose(1, 2).reshape(b, t, -1), self.o)

    def route(self, x_nd: gn.Tensor) -> gn.Tensor:
        """Every token through its best experts, weighted by how well they suit."""
        share_ne = F.softmax(F.linear(x_nd, self.gate), -1)
        share_nc, expert_nc = share_ne.topk(self.chosen, -1)
        share_nc = share_nc / share_nc.sum(-1, keepdim=True)
        expert_r = expert_nc.reshape(-1)
        order_r = expert_r.argsort(stable=True)
        experts = gn.arange(self.gate.shape[0])
        ends = (expert_r.unsqueeze(0) <= experts.unsqueeze(1)).sum(1).to(gn.int32)
        x_rd = x_nd[order_r // self.chosen]
        up_rf = gn.grouped_mm(x_rd, self.w3, offs=ends)
        inner_rf = F.silu(gn.grouped_mm(x_rd, self.w1, offs=ends)) * up_rf
        y_rd = gn.grouped_mm(inner_rf, self.w2, offs=ends)
        y_ncd = y_rd[order_r.argsort()].view(*expert_nc.shape, -1)
        return (y_ncd * share_nc.unsqueeze(-1)).sum(1)

    def forward(self, x_btd: gn.Tensor, rotary: Rotary) -> gn.Tensor:
        """One layer."""
        x_btd = x_btd + self.attend(normal(x_btd, self.n1), rotary)
        y_nd = normal(x_btd, self.n2).view(-1, x_btd.shape[-1])
        return x_btd + self.route(y_nd).view(*x_btd.shape)


class MoEDecoder(ProblemWeights):
    """Embedding, layers, last norm, head."""

    def __init__(self, problem: BenchProblem) -> None:
        weights = problem.weights()
        super().__init__({name: weights[name] for name in ("emb", "head", "nf")})
        layers = [
            {n.split(".")[1]: w for n, w in weights.items() if n.startswith(f"{layer}.")}
            for layer in range(problem["layers"])
        ]
        self.layers = nn.ModuleList([MoELayer(problem, found) for found in layers])
        angles = problem.array("angles")
        self.rotary = tuple(gn.from_numpy(f(angles).astype(np.float32)) for f in (np.cos, np.sin))

    def forward(self, tokens_bt: gn.Tensor, targets_bt: gn.Tensor) -> gn.Tensor:
        """The mean loss of predicting each target."""
        x_btd = F.embedding(tokens_bt, self.emb)
        for layer in self.layers:
            x_btd = layer(x_btd, self.rotary)
        scores = F.linear(normal(x_btd, self.nf), self.head)
        return F.cross_entropy(scores.view(-1, scores.shape[-1]), targets_bt.reshape(-1))


def normal(x: gn.Tensor, weight: gn.Tensor) -> gn.Tensor:
    """Rows divided by the root of their mean square."""
    return F.rms_norm(x, weight.shape, weight, 1e-6)


def moe(problem: BenchProblem) -> dict:
    """One training step of a decoder with experts."""
    return trained(MoEDecoder(problem), problem)
