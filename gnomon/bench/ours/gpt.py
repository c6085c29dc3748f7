"""A small GPT as its users write it: blocks of attention and MLP, AdamW, one compiled step."""

from __future__ import annotations

import functools

import numpy as np

import gnomon as gn
from gnomon import nn
from gnomon.bench.ours.common import about, compiled, load, trained
from gnomon.bench.profile import profile
from gnomon.bench.serve import BenchProblem
from gnomon.nn import functional as F

__all__ = ["gpt", "shapes"]


class GPTBlock(nn.Module):
    """Attention, then MLP, each on a normalized copy and added back."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = (nn.LayerNorm(width, bias=False) for _ in range(2))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)
        self.fc = nn.Linear(width, 4 * width, bias=False)
        self.out = nn.Linear(4 * width, width, bias=False)

    def forward(self, x_btd: gn.Tensor) -> gn.Tensor:
        """One block."""
        b, t, d = x_btd.shape
        parts = self.qkv(self.ln1(x_btd)).split(d, dim=2)
        q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2) for z in parts)
        y_bhtk = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x_btd = x_btd + self.proj(y_bhtk.transpose(1, 2).reshape(b, t, d))
        return x_btd + self.out(F.gelu(self.fc(self.ln2(x_btd))))


class GPT(nn.Module):
    """Tables of tokens and positions, blocks, and the table again as the head."""

    def __init__(self, problem: BenchProblem) -> None:
        super().__init__()
        width = problem["width"]
        self.wte = nn.Embedding(problem["words"], width)
        self.wpe = nn.Embedding(problem["tokens"], width)
        self.h = nn.ModuleList(
            [GPTBlock(width, problem["heads"]) for _ in range(problem["layers"])]
        )
        self.lnf = nn.LayerNorm(width, bias=False)

    def forward(self, tokens_bt: gn.Tensor, targets_bt: gn.Tensor) -> gn.Tensor:
        """The mean loss of predicting each target."""
        x_btd = self.wte(tokens_bt) + self.wpe(gn.arange(tokens_bt.shape[1]))
        for block in self.h:
            x_btd = block(x_btd)
        scores = F.linear(self.lnf(x_btd), self.wte.weight)
        return F.cross_entropy(scores.view(-1, scores.shape[-1]), targets_bt.reshape(-1))


def gpt(problem: BenchProblem) -> dict:
    """One training step of a GPT."""
    return trained(load(GPT(problem), problem.weights()), problem)


def shapes(problem: BenchProblem) -> dict:
    """The training step at many batches and lengths; what counts is how many of them compile."""
    train = compiled(load(GPT(problem), problem.weights()), problem)
    tokens = problem.array("tokens")[0]
    given = [tokens[:batch, : length + 1] for batch, length in problem["shapes"]]

    def step() -> float:
        sides = ((x[:, :-1], x[:, 1:]) for x in given)
        pairs = ([gn.from_numpy(np.ascontiguousarray(side)) for side in pair] for pair in sides)
        return sum(train(*pair).item() for pair in pairs)

    def figures() -> dict[str, float]:
        return {"compiles": train.compiles, "captures": train.captures}

    kernels = functools.partial(profile, step)
    return {"step": step, "about": about(), "profile": kernels, "figures": figures}
