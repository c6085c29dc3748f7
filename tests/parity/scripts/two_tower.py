"""A contrastive two-tower model with cosine similarity, a learned temperature, and hooks."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class TextTower(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, width, bias=False)

    def forward(self, ids):
        lengths = (ids != 0).sum(dim=1, keepdim=True)
        pooled = self.embedding(ids).sum(dim=1) / lengths
        return self.project(self.norm(pooled))


class FeatureTower(nn.Module):
    def __init__(self, features, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, 2 * width), nn.PReLU(), nn.Linear(2 * width, width), nn.Tanh()
        )

    def forward(self, x):
        return self.layers(x)


class TwoTowers(nn.Module):
    def __init__(self, vocabulary=40, features=7, width=16):
        super().__init__()
        self.towers = nn.ModuleDict()
        self.towers["text"] = TextTower(vocabulary, width)
        self.towers["features"] = FeatureTower(features, width)
        self.logit_scale = nn.Parameter(torch.ones([]) * 2.0)

    def forward(self, ids, features):
        text = F.normalize(self.towers["text"](ids), dim=-1)
        other = self.towers["features"](features)
        other = other / other.norm(dim=-1, keepdim=True)
        return text, other, self.logit_scale.exp()


def contrastive(text, other, scale):
    logits = scale * text @ other.t()
    labels = torch.arange(logits.shape[0], device=logits.device)
    both = F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)
    similar = F.cosine_similarity(text, other, dim=-1)
    others = nn.CosineSimilarity(dim=1)(text, other.roll(1, dims=0))
    margin = torch.clamp(0.2 + others - similar, min=0)
    return both / 2 + 0.1 * margin.mean()


def make_data(dtype, count=60):
    random = np.random.default_rng(19)
    hidden = random.normal(size=(count, 3))
    features = hidden @ random.normal(size=(3, 7)) + 0.1 * random.normal(size=(count, 7))
    ids = np.clip((hidden @ random.normal(size=(3, 5)) * 6 + 20).astype(np.int64), 1, 39)
    ids[::3, 4] = 0
    return torch.from_numpy(ids), torch.from_numpy(features).to(dtype)


def make_optimizer(model):
    decay, others = [], []
    for name, parameter in model.named_parameters():
        plain = parameter.ndim < 2 or name == "logit_scale"
        (others if plain else decay).append(parameter)
    optimizer = torch.optim.AdamW([{"params": decay}], lr=4e-3, weight_decay=0.05)
    optimizer.add_param_group({"params": others, "weight_decay": 0.0, "lr": 1e-3})
    return optimizer


def main(steps, dtype, compile, init):
    ids, features = make_data(dtype)
    model = TwoTowers().to(dtype)
    init(model)
    optimizer = make_optimizer(model)
    calls, sizes = [], []
    before = model.towers["text"].register_forward_pre_hook(
        lambda module, inputs: calls.append(inputs[0].shape[0])
    )
    watch = model.logit_scale.register_hook(lambda gradient: sizes.append(gradient.shape))

    def loss_of(ids, features):
        return contrastive(*model(ids, features))

    loss_of(ids[:4], features[:4]).backward()
    before.remove()
    watch.remove()
    optimizer.zero_grad()
    assert calls == [4]
    assert len(sizes) == 1
    if compile:
        loss_of = torch.compile(loss_of)

    losses, scales = [], []
    order = np.random.default_rng(0)
    for _ in range(steps):
        rows = torch.from_numpy(order.permutation(48)[:24])
        loss = loss_of(torch.index_select(ids, 0, rows), features[rows]) / 2
        first = loss.item()
        loss.backward()
        loss = loss_of(ids[:24], features[:24]) / 2
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            model.logit_scale.clamp_(0, 2.5)
        for group in optimizer.param_groups:
            group["lr"] *= 0.98
        losses.append(first + loss.item())
        scales.append(model.logit_scale.item())

    with torch.no_grad():
        text, other, _ = model(ids[48:], features[48:])
        best = torch.topk(text @ other.mT, k=3, dim=1).indices
        found = (best == torch.arange(12).unsqueeze(1)).any(dim=1)
        recall = found.float().mean().item()
    metrics = {"scales": scales, "recall": [recall]}
    return {"losses": losses, "state_keys": list(model.state_dict()), "metrics": metrics}
