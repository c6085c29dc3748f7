"""A mixture of experts with a Python loop over experts, by tokens' choice and by experts' choice.

Every shape is fixed, so that the whole step compiles; moe_ragged.py picks rows by boolean masks.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class TokensChoose(nn.Module):
    """Each token takes its best experts; a mask silences the others."""

    def __init__(self, width, hidden, experts, chosen):
        super().__init__()
        self.chosen = chosen
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList([Expert(width, hidden) for _ in range(experts)])

    def forward(self, x):
        odds = F.softmax(self.router(x), dim=-1)
        weights, picks = torch.topk(odds, self.chosen, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            mask = picks == number
            share = weights.masked_fill(~mask, 0.0).sum(dim=-1)
            out = out + torch.where(mask.any(dim=-1, keepdim=True), expert(x), 0.0) * share[:, None]
        used = F.one_hot(picks, len(self.experts)).sum(dim=1).to(x.dtype).mean(dim=0)
        balance = len(self.experts) * (used * odds.mean(dim=0)).sum()
        return out, balance


class ExpertsChoose(nn.Module):
    """Each expert takes as many tokens as it has room for and adds its answers to their rows."""

    def __init__(self, width, hidden, experts, room):
        super().__init__()
        self.room = room
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(Expert(width, hidden) for _ in range(experts))

    def forward(self, x):
        scores = self.router(x).softmax(dim=1)
        out = x.clone()
        for number, expert in enumerate(self.experts):
            weights, rows = scores[:, number].topk(self.room)
            answer = expert(x[rows]) * weights.unsqueeze(1)
            out.index_add_(0, rows, answer)
        return out


class Model(nn.Module):
    def __init__(self, width=12, classes=5, experts=4):
        super().__init__()
        self.enter = nn.Linear(6, width)
        self.layers = nn.ModuleDict(
            {
                "tokens": TokensChoose(width, 16, experts, chosen=2),
                "experts": ExpertsChoose(width, 16, experts, room=8),
            }
        )
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.leave = nn.Linear(width, classes)

    def forward(self, x):
        x = self.enter(x)
        mixed, balance = self.layers["tokens"](self.norm(x))
        x = self.layers["experts"](x + mixed)
        return self.leave(self.norm(x)), balance


def make_data(dtype, count=96):
    random = np.random.default_rng(23)
    x = random.normal(size=(count, 6))
    y = (x[:, 0] > 0).astype(np.int64) + 2 * (x[:, 1] * x[:, 2] > 0) + (x[:, 3] > 1)
    return torch.tensor(x, dtype=dtype), torch.tensor(y, dtype=torch.int64)


def main(steps, dtype, compile, init):
    x, y = make_data(dtype)
    model = Model().to(dtype)
    init(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)

    def train_step(x, y):
        optimizer.zero_grad()
        logits, balance = model(x)
        loss = F.nll_loss(F.log_softmax(logits, dim=-1), y) + 0.01 * balance
        loss.backward()
        optimizer.step()
        return loss.detach()

    if compile:
        train_step = torch.compile(train_step)
    batches = list(zip(torch.split(x, 32), torch.split(y, 32), strict=True))
    losses = []
    for step in range(steps):
        loss = train_step(*batches[step % len(batches)])
        losses.append(loss.item())
    with torch.no_grad():
        odds = model.layers["tokens"].router(model.enter(x)).softmax(-1)
        first = odds.argmax(-1)
        counts = torch.bincount(first, minlength=4).tolist()
        means = [x[first == e].sum().item() for e in range(4)]
    metrics = {"counts": counts, "means": means}
    return {"losses": losses, "state_keys": list(model.state_dict()), "metrics": metrics}
