"""The decoder with experts of gnomon/bench/ours/moe.py in torch: groups when eager, else a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.peers.torch_common import groups, prepared, training


class Weights(nn.Module):
    """A module whose parameters are the problem's, by name."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        super().__init__()
        for name, array in weights.items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(array)))


def rotate(x: torch.Tensor, rotary: tuple) -> torch.Tensor:
    """Rotate pairs."""
    cosine, sine = rotary
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


def normal(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """RMS norm."""
    return F.rms_norm(x, weight.shape, weight, 1e-6)


class Layer(Weights):
    """Attention, then experts."""

    def __init__(self, problem: Any, weights: dict[str, np.ndarray], grouped: bool) -> None:
        super().__init__(weights)
        self.heads, self.key_heads = problem["heads"], problem["key_heads"]
        self.width, self.chosen = problem["head_width"], problem["chosen"]
        self.experts, self.grouped = problem["experts"], grouped

    def attend(self, x: torch.Tensor, rotary: tuple) -> torch.Tensor:
        """Causal attention with shared key heads."""
        b, t, _ = x.shape
        q, k, v = (F.linear(x, w).view(b, t, -1, self.width) for w in (self.q, self.k, self.v))
        q = rotate(normal(q, self.qn).transpose(1, 2), rotary)
        k = rotate(normal(k, self.kn).transpose(1, 2), rotary)
        share = self.heads // self.key_heads
        k, v = k.repeat_interleave(share, 1), v.transpose(1, 2).repeat_interleave(share, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(y.transpose(1, 2).reshape(b, t, -1), self.o)

    def route(self, x: torch.Tensor) -> torch.Tensor:
        """Tokens through their best experts."""
        share, expert = F.softmax(F.linear(x, self.gate), -1).topk(self.chosen, -1)
        share = share / share.sum(-1, keepdim=True)
        return self.by_groups(x, share, expert) if self.grouped else self.by_loop(x, share, expert)

    def by_groups(self, x: torch.Tensor, share: torch.Tensor, expert: torch.Tensor) -> torch.Tensor:
        """Sorted by expert, one grouped product per matrix."""
        flat = expert.reshape(-1)
        order = torch.argsort(flat)
        ends = torch.cumsum(torch.bincount(flat, minlength=self.experts), 0).to(torch.int32)
        token = order // self.chosen
        h = x[token]
        up = F.grouped_mm(h, self.w3, offs=ends)
        inner = F.silu(F.grouped_mm(h, self.w1, offs=ends)) * up
        y = F.grouped_mm(inner, self.w2, offs=ends) * share.reshape(-1)[order, None]
        return torch.zeros_like(x).index_add(0, token, y)

    def by_loop(self, x: torch.Tensor, share: torch.Tensor, expert: torch.Tensor) -> torch.Tensor:
        """Expert after expert."""
        made = torch.zeros_like(x)
        for number in range(self.experts):
            token, slot = torch.where(expert == number)
            h = x[token]
            y = (F.silu(h @ self.w1[number]) * (h @ self.w3[number])) @ self.w2[number]
            made = made.index_add(0, token, y * share[token, slot, None])
        return made

    def forward(self, x: torch.Tensor, rotary: tuple) -> torch.Tensor:
        """One layer."""
        x = x + self.attend(normal(x, self.n1), rotary)
        return x + self.route(normal(x, self.n2).view(-1, x.shape[-1])).view(x.shape)


class Decoder(Weights):
    """Embedding, layers, last norm, head."""

    def __init__(self, problem: Any, grouped: bool) -> None:
        weights = problem.weights()
        super().__init__({name: weights[name] for name in ("emb", "head", "nf")})
        layers = [
            {n.split(".")[1]: w for n, w in weights.items() if n.startswith(f"{layer}.")}
            for layer in range(problem["layers"])
        ]
        self.layers = nn.ModuleList([Layer(problem, found, grouped) for found in layers])
        angles = problem.array("angles")
        self.rotary = tuple(
            torch.from_numpy(f(angles).astype(np.float32)) for f in (np.cos, np.sin)
        )

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean loss."""
        x = F.embedding(tokens, self.emb)
        for layer in self.layers:
            x = layer(x, self.rotary)
        scores = F.linear(normal(x, self.nf), self.head)
        return F.cross_entropy(scores.view(-1, scores.shape[-1]), targets.reshape(-1))


def moe(problem: Any) -> dict:
    """One training step."""
    compiled = prepared(problem)
    model = Decoder(problem, not compiled)
    optimizer = torch.optim.AdamW(
        groups(list(model.parameters()), problem["decay"]),
        **{"lr": problem["lr"], "betas": tuple(problem["betas"]), "fused": True},
    )
    windows = torch.from_numpy(problem.array("tokens"))
    batches = [windows[:, :, :-1].contiguous(), windows[:, :, 1:].contiguous()]
    return training(problem, torch.compile(model) if compiled else model, optimizer, batches)
