"""Learning to learn sines: gradients of inner steps through functional_call and vmap."""

from functools import partial

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.func import functional_call, grad, vmap


class Net(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.l1, self.l2, self.l3 = (
            nn.Linear(1, hidden),
            nn.Linear(hidden, hidden),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.l3(torch.tanh(self.l2(torch.tanh(self.l1(x)))))


def make_tasks(dtype, steps, tasks=3, points=8):
    random = np.random.default_rng(23)
    height, phase = random.uniform(0.5, 2.0, (2, steps, tasks, 1, 1))
    x = random.uniform(-3, 3, (steps, tasks, 2 * points, 1))
    return torch.tensor(x, dtype=dtype), torch.tensor(height * np.sin(x - phase), dtype=dtype)


def after_inner_steps(net, params, x, y, rate=0.05):
    half = x.shape[0] // 2

    def loss_on(params, x, y):
        return F.mse_loss(functional_call(net, params, (x,)), y)

    for _ in range(2):
        slopes = grad(loss_on)(params, x[:half], y[:half])
        params = {name: params[name] - rate * slopes[name] for name in params}
    return loss_on(params, x[half:], y[half:])


def main(steps, dtype, compile, init):
    x, y = make_tasks(dtype, steps)
    net = Net().to(dtype)
    init(net)
    params = dict(net.named_parameters())
    optimizer = optim.Adam(params.values(), lr=1e-2)

    def step(x, y):
        losses = vmap(partial(after_inner_steps, net, params))(x, y)
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        return losses

    if compile:
        step = torch.compile(step)
    found = [step(x[k], y[k]) for k in range(steps)]
    return {
        "losses": [losses.mean().item() for losses in found],
        "state_keys": [*net.state_dict()],
        "metrics": {"worst": [losses.max().item() for losses in found]},
    }
