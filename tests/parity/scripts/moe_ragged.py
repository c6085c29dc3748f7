"""A mixture of experts whose rows are picked by boolean masks: shapes follow the data.

It runs eagerly only: a compiled step would branch on traced values.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SparseMoE(nn.Module):
    def __init__(self, width, hidden, experts, chosen):
        super().__init__()
        self.chosen = chosen
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.SiLU(), nn.Linear(hidden, width))
            for _ in range(experts)
        )

    def forward(self, x):
        b, t, c = x.shape
        flat = x.reshape(-1, c)
        weights, picks = torch.topk(self.gate(flat), self.chosen)
        weights = F.softmax(weights, dim=1)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, slot = torch.where(picks == number)
            if rows.numel() == 0:
                continue
            out.index_add_(0, rows, weights[rows, slot, None] * expert(flat[rows]))
        return out.view(b, t, c)


class MaskedMoE(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x):
        odds = self.gate(x).softmax(dim=-1)
        best, pick = odds.max(dim=-1)
        out = x.clone()
        for number, expert in enumerate(self.experts):
            mask = pick == number
            if mask.any():
                out[mask] += best[mask].unsqueeze(-1) * torch.tanh(expert(x[mask]))
        return out


class Model(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.sparse = SparseMoE(width, 14, experts=4, chosen=2)
        self.masked = MaskedMoE(width, experts=3)
        self.leave = nn.Linear(width, 1)

    def forward(self, x):
        x = x + self.sparse(x)
        return self.leave(self.masked(x)).squeeze(-1).mean(dim=1)


def main(steps, dtype, compile, init):
    random = np.random.default_rng(29)
    x = torch.tensor(random.normal(size=(8, 6, 10)), dtype=dtype)
    y = torch.tensor(random.normal(size=8), dtype=dtype)
    model = Model().to(dtype)
    init(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.huber_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "state_keys": list(model.state_dict()), "metrics": {}}
