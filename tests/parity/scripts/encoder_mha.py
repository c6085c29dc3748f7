"""A bidirectional encoder with nn.MultiheadAttention that tags sequences with several labels."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class EncoderLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, dropout=0.0, batch_first=True)
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.linear1 = nn.Linear(width, hidden)
        self.linear2 = nn.Linear(hidden, width)

    def forward(self, x, padding, need_weights=False):
        mixed, weights = self.attention(
            x, x, x, key_padding_mask=padding, need_weights=need_weights
        )
        x = self.norm1(x + mixed)
        x = self.norm2(x + self.linear2(F.relu(self.linear1(x))))
        return x, weights


class Pooler(nn.Module):
    """One learned query that attends to the sequence, in the (time, batch, width) layout."""

    def __init__(self, width, heads):
        super().__init__()
        self.query = nn.Parameter(torch.zeros(1, 1, width))
        self.attention = nn.MultiheadAttention(width, heads, bias=False)

    def forward(self, x, padding):
        x = x.permute(1, 0, 2)
        query = self.query.expand(1, x.size(1), -1)
        pooled, _ = self.attention(query, x, x, key_padding_mask=padding)
        return pooled.squeeze(0)


class Encoder(nn.Module):
    def __init__(self, vocabulary, labels, width=24, heads=4, depth=2, longest=20):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.register_buffer("positions", self.sinusoids(longest, width), persistent=False)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, 2 * width) for _ in range(depth))
        self.pooler = Pooler(width, heads)
        self.classifier = nn.Linear(2 * width, labels)

    @staticmethod
    def sinusoids(longest, width):
        position = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(100.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2] = torch.sin(position * rate)
        table[:, 1::2] = torch.cos(position * rate)
        return table.round(decimals=3)

    def forward(self, ids, need_weights=False):
        padding = ids.eq(0)
        x = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        x = x + self.positions[: ids.size(1)]
        for layer in self.layers:
            x, weights = layer(x, padding, need_weights)
        keep = (~padding).unsqueeze(-1).to(x.dtype)
        mean = (x * keep).sum(dim=1) / keep.sum(dim=1).clamp(min=1.0)
        pooled = torch.cat([mean, self.pooler(x, padding)], dim=-1)
        return self.classifier(pooled), weights


def make_data(dtype):
    random = np.random.default_rng(3)
    ids = random.integers(1, 30, size=(64, 14))
    lengths = random.integers(5, 15, size=64)
    ids[np.arange(14)[None, :] >= lengths[:, None]] = 0
    labels = np.stack([(ids == k).any(axis=1) for k in (2, 5, 11)], axis=1)
    return torch.from_numpy(ids), torch.from_numpy(labels).to(dtype)


def main(steps, dtype, compile, init):
    ids, labels = make_data(dtype)
    loader = DataLoader(TensorDataset(ids, labels), batch_size=12, drop_last=True)
    model = Encoder(30, 3).to(dtype=dtype)
    init(model)
    forward = torch.compile(model) if compile else model
    weight = torch.tensor([1.0, 2.0, 1.5], dtype=dtype)
    criterion = nn.BCEWithLogitsLoss(pos_weight=weight)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-6)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps, eta_min=1e-4)

    losses = []
    model.train()
    while len(losses) < steps:
        for batch, wanted in loader:
            logits, _ = forward(batch)
            loss = criterion(logits, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.detach().item())
            if len(losses) == steps:
                break

    model.eval()
    with torch.no_grad():
        logits, weights = model(ids[:6], need_weights=True)
        guessed = (torch.sigmoid(logits) > 0.5).to(dtype)
        accuracy = (guessed == labels[:6]).float().mean().item()
    assert weights.shape == (6, 14, 14)
    assert not model.embedding.weight.grad[0].any()
    metrics = {
        "accuracy": [accuracy],
        "attention": weights.sum(dim=(0, 1)).tolist(),
        "rate": scheduler.get_last_lr(),
    }
    return {"losses": losses, "state_keys": list(model.state_dict()), "metrics": metrics}
