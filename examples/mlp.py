"""A small network learns where a point lies, in plain eager code: what PyTorch users write."""

import math

import gnomon as gn
from gnomon import nn, optim

gn.manual_seed(0)
angle = gn.rand(512) * (2 * math.pi)
kind = gn.arange(512) % 2
radius = 1.0 + kind + 0.2 * gn.randn(512)
points = gn.stack([radius * gn.cos(angle), radius * gn.sin(angle)], dim=1)

model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = optim.AdamW(model.parameters(), lr=1e-2)

for step in range(201):
    loss = nn.functional.cross_entropy(model(points), kind)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3}  loss {loss.item():.4f}")

right = (model(points).argmax(dim=1) == kind).float().mean().item()
print(f"{right:.1%} of the points are told right")
assert right > 0.95
