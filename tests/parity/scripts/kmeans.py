"""k-means, neighbours, PCA and a classifier by hand; two optimizers subclassed from Optimizer."""

import numpy as np
import torch
import torch.nn.functional as F
from torch.optim import Optimizer


class Lion(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        if not lr >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = dict(lr=lr, betas=betas, weight_decay=weight_decay)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                grad = p.grad
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                beta1, beta2 = group["betas"]
                update = exp_avg * beta1 + grad * (1 - beta1)
                p.add_(update.sign_(), alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2)
        return loss


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = torch.norm(
            torch.stack(
                [
                    p.grad.norm(p=2)
                    for g in self.param_groups
                    for p in g["params"]
                    if p.grad is not None
                ]
            ),
            p=2,
        )
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale.to(p))
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        self.zero_grad()


def main(steps, dtype, compile, init):
    rng = np.random.default_rng(12)
    centers = rng.normal(size=(4, 3)) * 4
    X = torch.tensor(np.concatenate([c + rng.normal(size=(20, 3)) for c in centers]), dtype=dtype)
    y = torch.arange(4).repeat_interleave(20)
    C = X[::20].clone() + 0.5
    inertia = []
    for _ in range(8):
        d = torch.cdist(X, C, p=2)
        values, assign = d.min(dim=1)
        inertia.append(values.square().sum().item())
        for k in range(4):
            mask = assign == k
            if mask.sum() > 0:
                C[k] = X[mask].mean(dim=0)
    d = torch.cdist(X, X)
    d.fill_diagonal_(float("inf"))
    neighbours = d.topk(5, largest=False).indices
    votes = torch.mode(y[neighbours], dim=1)[0]
    acc = (votes == y).to(torch.float32).mean().item()
    Xc = X - X.mean(0)
    cov = Xc.T @ Xc / (X.shape[0] - 1)
    v = torch.ones(3, dtype=dtype)
    for _ in range(50):
        v = torch.mv(cov, v)
        v /= v.norm()
    top = torch.dot(v, cov @ v)
    w = torch.zeros(3, 4, dtype=dtype, requires_grad=True)
    b = torch.zeros(4, dtype=dtype, requires_grad=True)
    order = torch.argsort(X[:, 0], descending=True)
    Xs, ys = X[order], y[order]
    losses = []
    for _ in range(steps):
        logits = Xs @ w + b
        loss = -torch.log_softmax(logits, 1)[torch.arange(80), ys].mean() + 1e-3 * w.abs().sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            b -= 0.1 * b.grad
            w.grad.zero_()
            b.grad.zero_()
        losses.append(loss.item())
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4)).to(
        dtype
    )
    init(net)
    lion = Lion(net.parameters(), lr=1e-2, weight_decay=0.1)
    sam = SAM(net.parameters(), torch.optim.SGD, lr=0.05, momentum=0.9)
    for i in range(steps):

        def closure():
            lion.zero_grad()
            loss = F.cross_entropy(net(X), y)
            loss.backward()
            return loss

        if i % 2:
            losses.append(lion.step(closure).item())
        else:
            loss = F.cross_entropy(net(X), y)
            loss.backward()
            sam.first_step()
            F.cross_entropy(net(X), y).backward()
            sam.second_step()
            losses.append(loss.item())
    _, idx = torch.sort(X[:, 1])
    quant = torch.quantile(X[:, 1], torch.tensor([0.1, 0.5, 0.9], dtype=dtype))
    hist = torch.histc(X[:, 0], bins=5, min=-10, max=10)
    return {
        "losses": losses,
        "state_keys": [*net.state_dict(), *sorted(lion.state_dict()["state"][0])],
        "metrics": {
            "inertia": inertia,
            "acc": acc,
            "top": top.item(),
            "idx": idx.tolist(),
            "q": quant.tolist(),
            "hist": hist.tolist(),
        },
    }
