"""A variational autoencoder whose noise comes from numpy; training resumes from a checkpoint."""

import io

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, pixels, hidden, latent):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(pixels, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent)
        )
        self.decoder = nn.Sequential()
        self.decoder.add_module("expand", nn.Linear(latent, hidden))
        self.decoder.add_module("act", nn.ELU())
        self.decoder.add_module("pixels", nn.Linear(hidden, pixels))
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    def encode(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=-1)
        return mu, logvar

    def reparameterize(self, mu, logvar, noise):
        std = torch.exp(0.5 * logvar)
        return mu + noise * std

    def forward(self, x, noise):
        x = x.view(x.shape[0], -1)
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar, noise)
        if self.training:
            self.seen += x.shape[0]
        return self.decoder(z), mu, logvar


def elbo(logits, x, mu, logvar, beta):
    target = x.reshape(x.size(0), -1)
    rebuilt = F.binary_cross_entropy(torch.sigmoid(logits), target, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (rebuilt + beta * kl) / x.size(0), rebuilt, kl


def make_data(dtype, count=80, size=8, latent=4):
    random = np.random.default_rng(5)
    rows = np.arange(size)
    images = np.zeros((count, size, size))
    for image in images:
        image[random.integers(0, size)] = 1.0
        image[:, random.integers(0, size)] = 0.75
    images += 0.02 * rows
    noise = random.standard_normal((count, latent))
    images = np.clip(images, 0.0, 1.0)
    return torch.tensor(images, dtype=dtype), torch.tensor(noise, dtype=dtype)


def save(model, optimizer):
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    return file


def main(steps, dtype, compile, init):
    images, noise = make_data(dtype)
    loader = DataLoader(TensorDataset(images, noise), batch_size=20)
    model = VAE(64, 32, 4).to(dtype)
    init(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, amsgrad=False)

    def train_step(x, eps, beta):
        logits, mu, logvar = model(x, eps)
        loss, rebuilt, kl = elbo(logits, x, mu, logvar, beta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, rebuilt, kl

    if compile:
        train_step = torch.compile(train_step)
    warm_up = torch.linspace(0.1, 1.0, steps, dtype=dtype)
    losses, divergences = [], []
    while len(losses) < steps:
        for x, eps in loader:
            loss, rebuilt, kl = train_step(x, eps, warm_up[len(losses)])
            losses.append(loss.item())
            divergences.append(kl.item() / (rebuilt.item() + kl.item()))
            if len(losses) == steps // 2:
                checkpoint = torch.load(save(model, optimizer))
                model.load_state_dict(checkpoint["model"])
                optimizer.load_state_dict(checkpoint["optimizer"])
            if len(losses) == steps:
                break

    model.eval()
    with torch.no_grad():
        line = torch.linspace(-1.0, 1.0, 3, dtype=dtype)
        down, across = torch.meshgrid(line, line, indexing="ij")
        grid = torch.stack([down.flatten(), across.flatten()], dim=1)
        grid = torch.cat([grid, torch.zeros_like(grid)], dim=1)
        drawn = model.decoder(grid).sigmoid().view(-1, 8, 8).mean(dim=(1, 2))
    metrics = {"divergences": divergences, "drawn": drawn.tolist(), "seen": [model.seen.item()]}
    return {"losses": losses, "state_keys": list(model.state_dict()), "metrics": metrics}
