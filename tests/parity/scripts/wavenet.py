"""WaveNet: dilated causal Conv1d in gated blocks, weight norm, mu-law codes, windows of signals."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm


class CausalConv1d(nn.Conv1d):
    def __init__(self, in_channels, out_channels, kernel_size, dilation=1, **kwargs):
        super().__init__(in_channels, out_channels, kernel_size, dilation=dilation, **kwargs)
        self.left = (kernel_size - 1) * dilation

    def forward(self, x):
        return super().forward(F.pad(x, (self.left, 0)))


class ResidualBlock(nn.Module):
    def __init__(self, channels, skip, dilation):
        super().__init__()
        self.filter = CausalConv1d(channels, channels, 2, dilation=dilation)
        self.gate = CausalConv1d(channels, channels, 2, dilation=dilation)
        self.res = nn.Conv1d(channels, channels, 1)
        self.skip = nn.Conv1d(channels, skip, 1)

    def forward(self, x):
        h = torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x))
        return self.res(h) + x, self.skip(h)


class WaveNet(nn.Module):
    def __init__(self, classes=16, channels=8, skip=12, layers=4):
        super().__init__()
        self.embed = nn.Conv1d(classes, channels, 1)
        self.blocks = nn.ModuleList(ResidualBlock(channels, skip, 2**i) for i in range(layers))
        self.head = nn.Sequential(
            nn.ReLU(), weight_norm(nn.Conv1d(skip, skip, 1)), nn.ReLU(), nn.Conv1d(skip, classes, 1)
        )

    def forward(self, x):
        x = self.embed(x)
        skips = 0
        for block in self.blocks:
            x, s = block(x)
            skips = skips + s
        return self.head(skips)


def mu_law_encode(x, mu):
    mu = torch.tensor(mu - 1, dtype=x.dtype)
    y = torch.sign(x) * torch.log1p(mu * torch.abs(x)) / torch.log1p(mu)
    return ((y + 1) / 2 * mu + 0.5).to(torch.int64)


def main(steps, dtype, compile, init):
    t = torch.linspace(0, 8 * np.pi, 64, dtype=dtype)
    waves = torch.stack([torch.sin(t * f) * 0.8 for f in (1.0, 1.5, 2.0, 0.7)])
    codes = mu_law_encode(waves, 16)
    onehot = F.one_hot(codes, 16).to(dtype).transpose(1, 2)
    model = WaveNet().to(dtype)
    init(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
    forward = torch.compile(model) if compile else model
    losses = []
    for _ in range(steps):
        logits = forward(onehot[:, :, :-1])
        loss = F.cross_entropy(logits, codes[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    smooth = F.avg_pool1d(waves.unsqueeze(1), 4, stride=2, padding=1).squeeze(1)
    peaks = (
        F.max_pool1d(waves[:, None], kernel_size=3, stride=1, padding=1)
        .eq(waves[:, None])
        .sum()
        .item()
    )
    frames = waves.unfold(1, 16, 8) * torch.hann_window(16, dtype=dtype)
    return {
        "losses": losses,
        "state_keys": list(model.state_dict().keys()),
        "metrics": {
            "smooth": smooth.sum().item(),
            "peaks": peaks,
            "energy": frames.pow(2).sum(-1).flatten().tolist(),
        },
    }
