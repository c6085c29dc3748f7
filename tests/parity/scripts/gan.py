"""A generative adversarial network on a ring of points: two optimizers, two compiled steps."""

import copy

import numpy as np
import torch
import torch.nn as nn
from torch import optim


class Generator(nn.Module):
    def __init__(self, latent=6, hidden=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(latent, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(True),
            nn.Linear(hidden, hidden),
            nn.Softplus(),
            nn.Linear(hidden, 2),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, hidden),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.main(x).view(-1)


def make_data(dtype, steps, batch=24):
    random = np.random.default_rng(17)
    angle = random.uniform(0, 2 * np.pi, size=(steps, batch))
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    ring += 0.05 * random.normal(size=ring.shape)
    noise = random.normal(size=(steps, 2, batch, 6))
    return torch.tensor(ring, dtype=dtype), torch.tensor(noise, dtype=dtype)


def update_average(average, model, decay=0.9):
    with torch.no_grad():
        for kept, new in zip(average.parameters(), model.parameters(), strict=True):
            kept.mul_(decay).add_(new, alpha=1 - decay)
        for kept, new in zip(average.buffers(), model.buffers(), strict=True):
            kept.copy_(new)


def main(steps, dtype, compile, init):
    ring, noise = make_data(dtype, steps)
    generator, discriminator = Generator().to(dtype), Discriminator().to(dtype)
    init(generator)
    init(discriminator)
    average = copy.deepcopy(generator)
    for parameter in average.parameters():
        parameter.requires_grad_(False)
    criterion = nn.BCEWithLogitsLoss()
    g_optimizer = optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    d_optimizer = optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))

    def d_step(real, z):
        discriminator.zero_grad()
        real_logits = discriminator(real)
        real_loss = criterion(real_logits, torch.full_like(real_logits, 0.9))
        fake = generator(z).detach()
        fake_logits = discriminator(fake)
        fake_loss = criterion(fake_logits, torch.zeros_like(fake_logits))
        loss = real_loss + fake_loss
        loss.backward()
        d_optimizer.step()
        return loss

    def g_step(z):
        generator.zero_grad()
        logits = discriminator(generator(z))
        loss = criterion(logits, torch.ones_like(logits))
        loss.backward()
        g_optimizer.step()
        return loss

    if compile:
        d_step, g_step = torch.compile(d_step), torch.compile(g_step)
    losses, kept = [], []
    for step in range(steps):
        d_loss = d_step(ring[step], noise[step, 0])
        g_loss = g_step(noise[step, 1])
        update_average(average, generator)
        losses.append(d_loss.item() + g_loss.item())
        kept.append(g_loss.item())
    average.eval()
    with torch.no_grad():
        points = average(noise[0, 0])
        radius = points.square().sum(dim=1).sqrt()
        spread = [radius.mean().item(), radius.std().item(), points.var(dim=0).sum().item()]
    keys = [*generator.state_dict(), *discriminator.state_dict()]
    metrics = {"generator": kept, "spread": spread}
    return {"losses": losses, "state_keys": keys, "metrics": metrics}
