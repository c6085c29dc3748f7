"""Graph layers of torch_geometric on a random graph: python graph_net.py LAYER."""

import sys

import numpy as np
import torch
import torch.nn.functional as F
from steps import labels, train
from torch_geometric import nn as graph

rng = np.random.default_rng(4)
x = torch.from_numpy(rng.standard_normal((50, 16)).astype(np.float32))
edges = torch.from_numpy(rng.integers(0, 50, (2, 200)))
layer = getattr(graph, sys.argv[1])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = layer(16, 32), layer(32, 7)

    def forward(self, x, edges):
        return self.second(F.relu(self.first(x, edges)), edges)


model, y = Net(), labels(50, 7)
train(model, lambda step: F.cross_entropy(model(x, edges), y), lr=1e-2)
