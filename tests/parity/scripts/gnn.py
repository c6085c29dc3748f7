"""Graph networks of index_add_, scatter_add and scatter_reduce; mean pooling of graphs."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class GCNConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.Tensor(d_in, d_out))
        self.bias = nn.Parameter(torch.Tensor(d_out))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x, edge_index):
        n = x.size(0)
        loops = torch.arange(n, dtype=torch.long).unsqueeze(0).repeat(2, 1)
        edge_index = torch.cat([edge_index, loops], dim=1)
        row, col = edge_index
        deg = torch.zeros(n, dtype=x.dtype).scatter_add_(
            0, col, torch.ones_like(col, dtype=x.dtype)
        )
        deg_inv_sqrt = deg.pow(-0.5)
        deg_inv_sqrt[deg_inv_sqrt == float("inf")] = 0
        norm = deg_inv_sqrt[row] * deg_inv_sqrt[col]
        x = x @ self.weight
        out = torch.zeros_like(x)
        out.index_add_(0, col, norm.view(-1, 1) * x[row])
        return out + self.bias


class GATConv(nn.Module):
    def __init__(self, d_in, d_out, heads=2):
        super().__init__()
        self.heads, self.d_out = heads, d_out
        self.lin = nn.Linear(d_in, heads * d_out, bias=False)
        self.att_src = nn.Parameter(torch.randn(1, heads, d_out))
        self.att_dst = nn.Parameter(torch.randn(1, heads, d_out))

    def forward(self, x, edge_index):
        n = x.shape[0]
        h = self.lin(x).view(n, self.heads, self.d_out)
        src, dst = edge_index[0], edge_index[1]
        alpha = (h * self.att_src).sum(-1)[src] + (h * self.att_dst).sum(-1)[dst]
        alpha = F.leaky_relu(alpha, 0.2)
        index = dst.unsqueeze(-1).expand_as(alpha)
        top = torch.full((n, self.heads), float("-inf"), dtype=x.dtype).scatter_reduce(
            0, index, alpha.detach(), reduce="amax", include_self=True
        )
        alpha = (alpha - top.gather(0, index)).exp()
        total = torch.zeros(n, self.heads, dtype=x.dtype).scatter_add(0, index, alpha)
        alpha = alpha / (total.index_select(0, dst) + 1e-16)
        out = torch.zeros(n, self.heads, self.d_out, dtype=x.dtype)
        out = out.index_add(0, dst, h[src] * alpha.unsqueeze(-1))
        return out.flatten(1)


class Net(nn.Module):
    def __init__(self, d=6, classes=3):
        super().__init__()
        self.convs = nn.ModuleList([GCNConv(d, 8), GATConv(8, 4)])
        self.norms = nn.ModuleList(nn.LayerNorm(8) for _ in range(2))
        self.lin = nn.Linear(16, classes)

    def forward(self, x, edge_index, batch):
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = F.elu(norm(conv(x, edge_index)))
        g = int(batch.max()) + 1 if not hasattr(self, "graphs") else self.graphs
        count = (
            torch.bincount(batch, minlength=g).clamp(min=1).to(x.dtype)
            if not hasattr(self, "graphs")
            else self.counts
        )
        mean = torch.zeros(g, x.size(1), dtype=x.dtype).index_add_(0, batch, x) / count.unsqueeze(1)
        best = torch.zeros(g, x.size(1), dtype=x.dtype).scatter_reduce(
            0, batch.unsqueeze(1).expand(-1, x.size(1)), x, "mean", include_self=False
        )
        return F.log_softmax(self.lin(torch.cat([mean, best], 1)), dim=-1)


def main(steps, dtype, compile, init):
    rng = np.random.default_rng(9)
    n, graphs = 30, 5
    batch = torch.tensor(np.sort(rng.integers(0, graphs, n)))
    edges = rng.integers(0, n, (2, 60))
    edges = edges[:, batch.numpy()[edges[0]] == batch.numpy()[edges[1]]]
    edge_index = torch.tensor(edges, dtype=torch.int64)
    x = torch.tensor(rng.normal(size=(n, 6)), dtype=dtype)
    y = torch.tensor(rng.integers(0, 3, graphs))
    model = Net().to(dtype)
    init(model)
    model.graphs = graphs
    model.counts = torch.bincount(batch, minlength=graphs).clamp(min=1).to(dtype)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    forward = torch.compile(model) if compile else model
    losses = []
    for _ in range(steps):
        model.train()
        optimizer.zero_grad()
        out = forward(x, edge_index, batch)
        loss = F.nll_loss(out, y, weight=torch.tensor([1.0, 2.0, 0.5], dtype=dtype))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    adj = torch.zeros(n, n, dtype=dtype)
    adj[edge_index[0], edge_index[1]] = 1.0
    adj = torch.maximum(adj, adj.t())
    lap = torch.diag(adj.sum(1)) - adj
    energy = torch.trace(x.t() @ lap @ x).item()
    counts = torch.unique(batch, return_counts=True)[1].tolist()
    return {
        "losses": losses,
        "state_keys": list(model.state_dict().keys()),
        "metrics": {"energy": energy, "counts": counts, "pred": out.max(dim=1)[1].tolist()},
    }
