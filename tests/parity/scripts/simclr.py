"""Contrastive pairs, a memory bank, distillation, hooks, a DataLoader, LoRA on a frozen layer."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split


class PairDataset(Dataset):
    def __init__(self, base, noise):
        self.base, self.noise = base, noise

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        return self.base[i] + self.noise[0, i], self.base[i] + self.noise[1, i], i


def nt_xent(z1, z2, temperature=0.5):
    n = z1.size(0)
    z = F.normalize(torch.cat([z1, z2], dim=0), dim=1)
    sim = torch.mm(z, z.T) / temperature
    sim.masked_fill_(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r=2, alpha=4):
        super().__init__()
        self.base = base
        self.base.weight.requires_grad = False
        if self.base.bias is not None:
            self.base.bias.requires_grad = False
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling

    def extra_repr(self):
        return f"scaling={self.scaling}"


class Encoder(nn.Module):
    def __init__(self, d_in=10, d=16, out=8):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Linear(d_in, d), nn.BatchNorm1d(d), nn.SiLU(), nn.Linear(d, d)
        )
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(d, out, bias=False))

    def forward(self, x):
        h = self.backbone(x)
        return h, self.projector(h)


def main(steps, dtype, compile, init):
    rng = np.random.default_rng(8)
    base = torch.tensor(rng.normal(size=(24, 10)), dtype=dtype)
    noise = torch.tensor(rng.normal(size=(2, 24, 10)) * 0.1, dtype=dtype)
    loader = DataLoader(
        PairDataset(base, noise), batch_size=8, shuffle=False, drop_last=True, num_workers=0
    )
    train, val = random_split(
        TensorDataset(base, torch.arange(24) % 3),
        [16, 8],
        generator=torch.Generator().manual_seed(0),
    )
    assert (len(train), len(val)) == (16, 8)
    model, student = Encoder().to(dtype), nn.Linear(10, 8).to(dtype)
    init(model)
    init(student)
    seen = {}
    handle = model.backbone[0].register_forward_hook(
        lambda module, inp, out: seen.update(h=out.detach().mean())
    )
    optimizer = torch.optim.AdamW(
        [
            {"params": model.backbone.parameters(), "lr": 1e-2},
            {"params": model.projector.parameters()},
        ],
        lr=3e-3,
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=10, T_mult=2)
    kd = nn.KLDivLoss(reduction="batchmean")
    triplet = nn.TripletMarginLoss(margin=0.5)
    soft = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9, dampening=0.1)
    losses, kds = [], []
    bank = torch.zeros(24, 8, dtype=dtype)

    def contrast(a, b):
        (_, za), (_, zb) = model(a), model(b)
        return nt_xent(za, zb) + 0.1 * triplet(za, zb, torch.roll(zb, 1, 0)), za

    if compile:
        contrast = torch.compile(contrast)
    it = 0
    while it < steps:
        for a, b, i in loader:
            if it >= steps:
                break
            loss, za = contrast(a, b)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step(it)
            bank[i] = 0.9 * bank[i] + 0.1 * za.detach()
            T = 2.0
            teacher = za.detach()
            kd_loss = (
                kd(F.log_softmax(student(a) / T, dim=1), F.softmax(teacher / T, dim=1)) * T * T
            )
            soft.zero_grad()
            kd_loss.backward()
            soft.step()
            losses.append(loss.item())
            kds.append(kd_loss.item())
            it += 1
    handle.remove()
    model.backbone[0] = LoRALinear(model.backbone[0])
    model.to(dtype)
    model.backbone[0].lora_A.data.copy_(torch.tensor(rng.normal(size=(2, 10))))
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.Adam(trainable, lr=1e-2)
    for _ in range(5):
        opt.zero_grad()
        loss = model(base)[1].pow(2).mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    assert not model.backbone[0].base.weight.requires_grad
    sims = F.cosine_similarity(bank[:, None], bank[None], dim=-1)
    knn = sims.fill_diagonal_(-1).topk(3, dim=1)[1]
    return {
        "losses": losses,
        "state_keys": [*model.state_dict().keys(), repr(model.projector)],
        "metrics": {
            "kd": kds,
            "bank": bank.sum().item(),
            "knn": knn.flatten().tolist(),
            "h": seen["h"].item(),
        },
    }
