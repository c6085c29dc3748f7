"""A pruned classifier trained on with a cyclic rate, its averages, and a penalty on gradients."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.utils import prune, spectral_norm
from torch.optim.lr_scheduler import CyclicLR


def make_data(dtype, steps, batch=12):
    random = np.random.default_rng(29)
    x = random.standard_normal((steps, batch, 2, 6, 6))
    return torch.tensor(x, dtype=dtype), torch.tensor(random.integers(0, 3, (steps, batch)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 6, 3, stride=2, groups=2)
        self.head = spectral_norm(nn.Linear(24, 3))

    def forward(self, x):
        x = F.gelu(self.conv2(F.silu(self.conv1(x))))
        return self.head(torch.flatten(x, 1))


def settle(layer):
    """Start the vectors of the power iteration where both libraries have them."""
    for part, value in (("u", layer.weight_u), ("v", layer.weight_v)):
        start = np.random.default_rng(len(part) + value.numel()).standard_normal(value.numel())
        value.copy_(torch.tensor(start / np.linalg.norm(start), dtype=value.dtype))


def main(steps, dtype, compile, init):
    x, labels = make_data(dtype, steps)
    net = Net().to(dtype)
    init(net)
    settle(net.head)
    prune.l1_unstructured(net.conv1, name="weight", amount=0.3)
    prune.ln_structured(net.conv2, name="weight", amount=1, n=2, dim=0)
    both = [(net.conv1, "weight"), (net.conv2, "weight")]
    prune.global_unstructured(both, pruning_method=prune.L1Unstructured, amount=0.2)
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    scheduler = CyclicLR(optimizer, 0.01, 0.1, step_size_up=7, mode="triangular2")

    def step(x, labels):
        x = x.clone().requires_grad_()
        loss = F.cross_entropy(net(x), labels)
        (slope,) = torch.autograd.grad(loss, x, create_graph=True)
        optimizer.zero_grad()
        (loss + slope.square().sum()).backward()
        optimizer.step()
        return loss

    if compile:
        step = torch.compile(step)
    losses, rates = [], []
    for k in range(steps):
        losses.append(step(x[k], labels[k]).item())
        scheduler.step()
        rates += [scheduler.get_last_lr()[0], optimizer.param_groups[0]["momentum"]]
    keys = [*net.state_dict()]
    for layer in (net.conv1, net.conv2):
        prune.remove(layer, "weight")
    zeros = [float((p == 0).sum()) for p in net.parameters()]
    return {
        "losses": losses,
        "state_keys": [*keys, *net.state_dict()],
        "metrics": {"rates": rates, "zeros": zeros},
    }
