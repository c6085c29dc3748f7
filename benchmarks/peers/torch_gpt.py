"""The GPT of gnomon/bench/ours/gpt.py in torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.peers.torch_common import groups, prepared, training


class Block(nn.Module):
    """Attention, then MLP."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = (nn.LayerNorm(width, bias=False) for _ in range(2))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)
        self.fc = nn.Linear(width, 4 * width, bias=False)
        self.out = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One block."""
        b, t, d = x.shape
        parts = self.qkv(self.ln1(x)).split(d, dim=2)
        q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2) for z in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, d))
        return x + self.out(F.gelu(self.fc(self.ln2(x))))


class GPT(nn.Module):
    """Tables, blocks, tied head."""

    def __init__(self, problem: Any) -> None:
        super().__init__()
        width = problem["width"]
        self.wte = nn.Embedding(problem["words"], width)
        self.wpe = nn.Embedding(problem["tokens"], width)
        self.h = nn.ModuleList([Block(width, problem["heads"]) for _ in range(problem["layers"])])
        self.lnf = nn.LayerNorm(width, bias=False)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean loss."""
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        scores = F.linear(self.lnf(x), self.wte.weight)
        return F.cross_entropy(scores.view(-1, scores.shape[-1]), targets.reshape(-1))


def gpt(problem: Any) -> dict:
    """One training step."""
    compiled = prepared(problem)
    model = GPT(problem)
    model.load_state_dict({n: torch.from_numpy(w) for n, w in problem.weights().items()})
    optimizer = torch.optim.AdamW(
        groups(list(model.parameters()), problem["decay"]),
        **{"lr": problem["lr"], "betas": tuple(problem["betas"]), "fused": True},
    )
    windows = torch.from_numpy(problem.array("tokens"))
    batches = [windows[:, :, :-1].contiguous(), windows[:, :, 1:].contiguous()]
    return training(problem, torch.compile(model) if compiled else model, optimizer, batches)
