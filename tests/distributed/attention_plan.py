"""A two-block transformer, and TorchTitan's plan for its attention and MLP. Not a test.

The model is written over whichever package has PyTorch's names, so that both run the same lines.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.tensor import Replicate, Shard
from gnomon.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

HEADS, WIDTH, LENGTH, ROWS, VOCABULARY = 12, 48, 12, 4, 24
MESH_ROWS = 12
"""So many rows every mesh of the tests divides."""
SEED = 5


def model_of(package: Any) -> Any:
    """The model in a package with PyTorch's names, without values of its own."""
    nn, functional = package.nn, package.nn.functional

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wq, self.wk, self.wv, self.wo = (
                nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)
            )

        def forward(self, x: Any) -> Any:
            rows, length, _ = x.shape
            q, k, v = (
                w(x).view(rows, length, -1, WIDTH // HEADS).transpose(1, 2)
                for w in (self.wq, self.wk, self.wv)
            )
            scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
            mixed = functional.softmax(scores, dim=-1) @ v
            return self.wo(mixed.transpose(1, 2).reshape(rows, length, -1))

    class FeedForward(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w1, self.w3 = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
            self.w2 = nn.Linear(2 * WIDTH, WIDTH, bias=False)

        def forward(self, x: Any) -> Any:
            return self.w2(functional.silu(self.w1(x)) * self.w3(x))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention, self.feed_forward = Attention(), FeedForward()
            self.attention_norm, self.ffn_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

        def forward(self, x: Any) -> Any:
            h = x + self.attention(self.attention_norm(x))
            return h + self.feed_forward(self.ffn_norm(h))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tok_embeddings = nn.Embedding(VOCABULARY, WIDTH)
            self.layers = nn.ModuleList([Block(), Block()])
            self.norm = nn.LayerNorm(WIDTH)
            self.output = nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, tokens: Any) -> Any:
            h = self.tok_embeddings(tokens)
            for layer in self.layers:
                h = layer(h)
            return self.output(self.norm(h))

    model = Model()
    rng = np.random.default_rng(SEED)
    with package.no_grad():
        for name, p in sorted(model.named_parameters()):
            drawn = rng.standard_normal(tuple(p.shape)).astype(np.float32) * 0.2
            p.copy_(package.from_numpy(drawn + ("norm.weight" in name)))
    return model


def batch_of(package: Any, rows: int = ROWS) -> tuple[Any, Any]:
    """Tokens and the tokens to predict."""
    rng = np.random.default_rng(SEED + 1)
    drawn = rng.integers(0, VOCABULARY, (2, rows, LENGTH))
    return package.from_numpy(drawn[0].copy()), package.from_numpy(drawn[1].copy())


def loss_of(package: Any, model: Any, tokens: Any, wanted: Any) -> Any:
    """The mean cross entropy."""
    logits = model(tokens)
    return package.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), wanted.reshape(-1))


def attention_alone(model: Any, mesh: DeviceMesh) -> None:
    """Divide the heads alone: what goes in and comes out is whole."""
    plan = {f"attention.{name}": ColwiseParallel() for name in ("wq", "wk", "wv")}
    for layer in model.layers:
        parallelize_module(layer, mesh, {**plan, "attention.wo": RowwiseParallel()})


def whole_plan(model: Any, mesh: DeviceMesh) -> None:
    """Divide heads, inner widths and the vocabulary, with norms over stretches of the sequence."""
    parallelize_module(
        model,
        mesh,
        {
            "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "norm": SequenceParallel(),
            "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
        },
    )
    inward = PrepareModuleInput([Shard(1)], [Replicate()])
    for layer in model.layers:
        plan = {
            "attention_norm": SequenceParallel(),
            "attention": inward,
            "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
            "ffn_norm": SequenceParallel(),
            "feed_forward": inward,
            "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
        }
        names = ("attention.wq", "attention.wk", "attention.wv", "feed_forward.w1")
        plan |= {name: ColwiseParallel() for name in (*names, "feed_forward.w3")}
        parallelize_module(layer, mesh, plan)
