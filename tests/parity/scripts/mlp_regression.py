"""Regression of a smooth function by a small multilayer perceptron; the model is compiled."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class MLP(nn.Module):
    def __init__(self, sizes, dropout=0.0):
        super().__init__()
        layers = []
        for i in range(len(sizes) - 2):
            layers += [nn.Linear(sizes[i], sizes[i + 1]), nn.GELU(), nn.Dropout(dropout)]
        layers.append(nn.Linear(sizes[-2], sizes[-1]))
        self.net = nn.Sequential(*layers)
        self.skip = nn.Linear(sizes[0], sizes[-1], bias=False)

    def forward(self, x):
        return self.net(x) + torch.tanh(self.skip(x))


def make_data(dtype):
    random = np.random.default_rng(0)
    x = random.normal(size=(240, 5))
    y = np.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3] + 0.1 * random.normal(size=(240, 1))
    return torch.tensor(x, dtype=dtype), torch.from_numpy(y).to(dtype)


def evaluate(model, loader, device):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            total += F.l1_loss(model(x), y, reduction="sum").item()
            count += y.size(0)
    model.train()
    return total / count


def main(steps, dtype, compile, init):
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, y = make_data(dtype)
    train = DataLoader(TensorDataset(x[:200], y[:200]), batch_size=40, shuffle=False)
    held_out = DataLoader(TensorDataset(x[200:], y[200:]), batch_size=16)

    model = MLP([5, 32, 24, 1]).to(dtype).to(device)
    init(model)
    forward = torch.compile(model) if compile else model
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.03, momentum=0.9, nesterov=True, weight_decay=1e-4
    )
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7)

    losses, held, norms = [], [], []
    while len(losses) < steps:
        running = 0.0
        for batch_x, batch_y in train:
            if len(losses) == steps:
                break
            batch_x, batch_y = batch_x.to(device), batch_y.to(device)
            optimizer.zero_grad(set_to_none=True)
            prediction = forward(batch_x)
            loss = criterion(prediction, batch_y)
            running += loss.item()
            loss.backward()
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        held.append(evaluate(model, held_out, device))
        print(f"lr {scheduler.get_last_lr()[0]:.4f} train {running:.4f} last {loss:.4f}")
    rates = [group["lr"] for group in optimizer.param_groups]
    metrics = {"held_out": held, "norms": norms, "rates": rates}
    return {"losses": losses, "state_keys": list(model.state_dict()), "metrics": metrics}
