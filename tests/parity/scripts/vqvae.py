"""VQ-VAE: straight-through estimator, argmin over a codebook, and a codebook by running means."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost):
        super().__init__()
        self._embedding_dim, self._num_embeddings = embedding_dim, num_embeddings
        self._embedding = nn.Embedding(self._num_embeddings, self._embedding_dim)
        self._embedding.weight.data.uniform_(-1 / self._num_embeddings, 1 / self._num_embeddings)
        self._commitment_cost = commitment_cost

    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 3, 1).contiguous()
        input_shape = inputs.shape
        flat_input = inputs.view(-1, self._embedding_dim)
        distances = (
            torch.sum(flat_input**2, dim=1, keepdim=True)
            + torch.sum(self._embedding.weight**2, dim=1)
            - 2 * torch.matmul(flat_input, self._embedding.weight.t())
        )
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(
            encoding_indices.shape[0],
            self._num_embeddings,
            device=inputs.device,
            dtype=inputs.dtype,
        )
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight).view(input_shape)
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss
        quantized = inputs + (quantized - inputs).detach()
        avg_probs = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity, encodings


class VectorQuantizerEMA(nn.Module):
    def __init__(self, n_codes, dim, decay=0.9, eps=1e-5):
        super().__init__()
        self.decay, self.eps, self.n_codes = decay, eps, n_codes
        self.register_buffer("codebook", torch.randn(n_codes, dim))
        self.register_buffer("cluster_size", torch.zeros(n_codes))
        self.register_buffer("ema_w", torch.zeros(n_codes, dim))

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.size(1))
        distances = torch.cdist(flat, self.codebook)
        idx = distances.argmin(-1)
        onehot = F.one_hot(idx, self.n_codes).type(flat.dtype)
        q = (
            F.embedding(idx, self.codebook)
            .view(z.size(0), z.size(2), z.size(3), -1)
            .permute(0, 3, 1, 2)
        )
        if self.training:
            with torch.no_grad():
                self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
                dw = onehot.t() @ flat
                self.ema_w.data.mul_(self.decay).add_(dw, alpha=1 - self.decay)
                n = self.cluster_size.sum()
                size = (self.cluster_size + self.eps) / (n + self.n_codes * self.eps) * n
                self.codebook.copy_(self.ema_w / size.unsqueeze(1))
        loss = 0.25 * F.mse_loss(q.detach(), z)
        return loss, z + (q - z).detach(), idx


class Residual(nn.Module):
    def __init__(self, c, h):
        super().__init__()
        self._block = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(c, h, 3, 1, 1, bias=False),
            nn.ReLU(),
            nn.Conv2d(h, c, 1, bias=False),
        )

    def forward(self, x):
        return x + self._block(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(1, 8, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1),
            Residual(8, 4),
        )
        self.pre = nn.Conv2d(8, 4, 1)
        self.vq = VectorQuantizer(6, 4, 0.25)
        self.vq2 = VectorQuantizerEMA(5, 4)
        self.dec = nn.Sequential(
            nn.Conv2d(4, 8, 3, padding=1),
            Residual(8, 4),
            nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1),
        )

    def forward(self, x):
        z = self.pre(self.enc(x))
        loss1, q1, perplexity, _ = self.vq(z)
        loss2, q2, idx = self.vq2(z)
        return loss1 + loss2, self.dec(q1 + 0.5 * q2), perplexity, idx


def main(steps, dtype, compile, init):
    rng = np.random.default_rng(6)
    data = torch.from_numpy(rng.random((16, 1, 8, 8))).to(dtype)
    variance = data.var().item()
    model = Model().to(dtype)
    init(model)
    model.vq2.codebook.data.copy_(torch.from_numpy(rng.normal(size=(5, 4))).to(dtype) * 0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, amsgrad=False)

    def step(x):
        optimizer.zero_grad()
        vq_loss, recon, perplexity, idx = model(x)
        recon_error = F.mse_loss(recon, x) / variance
        loss = recon_error + vq_loss
        loss.backward()
        optimizer.step()
        return loss, perplexity, torch.bincount(idx, minlength=5) if not compile else idx

    run = torch.compile(step) if compile else step
    losses, perplexities = [], []
    for i in range(steps):
        loss, p, _ = run(data[i % 4 * 4 : i % 4 * 4 + 4])
        losses.append(loss.item())
        perplexities.append(p.item())
    return {
        "losses": losses,
        "state_keys": list(model.state_dict().keys()),
        "metrics": {"p": perplexities},
    }
