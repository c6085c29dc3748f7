"""One token after another from a decoder: every weight is read once per token."""

from __future__ import annotations

import functools

import numpy as np

import gnomon as gn
from gnomon.bench.ours.common import about
from gnomon.bench.ours.kernels import DTYPES
from gnomon.bench.ours.moe import ProblemWeights, normal
from gnomon.bench.profile import profile
from gnomon.bench.serve import BenchProblem
from gnomon.models.decoder import rotate
from gnomon.nn import functional as F

__all__ = ["decode"]

Cache = list[tuple[gn.Tensor, gn.Tensor]]


class DenseDecoder(ProblemWeights):
    """A dense decoder with a cache of all positions, so that one program serves every position."""

    def __init__(self, problem: BenchProblem) -> None:
        super().__init__({n.replace(".", "_"): w for n, w in problem.weights().items()})
        self.count, self.heads = problem["layers"], problem["heads"]
        angles = problem.array("angles")
        self.cosines, self.sines = (
            gn.from_numpy(f(angles).astype(np.float32)) for f in (np.cos, np.sin)
        )

    def weight(self, layer: int, name: str) -> gn.Tensor:
        """A layer's weight."""
        return getattr(self, f"{layer}_{name}")

    def attend(
        self, x_1d: gn.Tensor, layer: int, place: gn.Tensor, cache: tuple[gn.Tensor, gn.Tensor]
    ) -> gn.Tensor:
        """Attention of the new position; the cache takes it in."""
        parts = F.linear(x_1d, self.weight(layer, "qkv")).chunk(3, -1)
        q, k, v = (z.view(1, self.heads, 1, -1) for z in parts)
        rotary = (self.cosines[place].to(x_1d.dtype), self.sines[place].to(x_1d.dtype))
        keys, values = (
            c.index_copy_(2, place, z) for z, c in zip((rotate(k, rotary), v), cache, strict=True)
        )
        seen = (gn.arange(keys.shape[2]) <= place).reshape(1, -1)
        y = F.scaled_dot_product_attention(rotate(q, rotary), keys, values, attn_mask=seen)
        return F.linear(y.reshape(1, -1), self.weight(layer, "o"))

    def forward(self, token_1: gn.Tensor, place_1: gn.Tensor, cache: Cache) -> gn.Tensor:
        """Scores of the next token; the cache takes in this one."""
        x_1d = F.embedding(token_1, self.emb)
        for layer in range(self.count):
            w = functools.partial(self.weight, layer)
            x_1d = x_1d + self.attend(normal(x_1d, w("n1")), layer, place_1, cache[layer])
            y_1d = normal(x_1d, w("n2"))
            x_1d = x_1d + F.linear(
                F.silu(F.linear(y_1d, w("w1"))) * F.linear(y_1d, w("w3")), w("w2")
            )
        return F.linear(normal(x_1d, self.nf), self.head)


def decode(problem: BenchProblem) -> dict:
    """One token by a decoder."""
    model = DenseDecoder(problem).to(DTYPES[problem["dtype"]])
    shape = (1, problem["heads"], problem["longest"], problem["width"] // problem["heads"])
    dtype = DTYPES[problem["dtype"]]
    cache = [
        (gn.zeros(shape, dtype=dtype), gn.zeros(shape, dtype=dtype)) for _ in range(model.count)
    ]

    @gn.compile
    def extend(token_1: gn.Tensor, place_1: gn.Tensor, cache: Cache) -> tuple:
        scores = model(token_1, place_1, cache)
        return scores.argmax(-1), scores.max()

    token, place = gn.tensor([1]), 0

    def step() -> float:
        nonlocal token, place
        with gn.no_grad():
            token, best = extend(token, gn.tensor([place % problem["longest"]]), cache)
        place += 1
        return best.item()

    return {
        "step": step,
        "about": about(),
        "profile": functools.partial(profile, step),
    }
