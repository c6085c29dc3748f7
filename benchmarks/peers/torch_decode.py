"""One token after another, as gnomon/bench/ours/decode.py, in torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from benchmarks.peers.torch_common import about, prepared
from benchmarks.peers.torch_kernels import DTYPES
from benchmarks.peers.torch_moe import normal, rotate


def decode(problem: Any) -> dict:
    """One token by a decoder with a cache of all positions."""
    compiled = prepared(problem)
    dtype, heads, longest = DTYPES[problem["dtype"]], problem["heads"], problem["longest"]
    weights = {n: torch.from_numpy(w).to(dtype) for n, w in problem.weights().items()}
    angles = problem.array("angles")
    cosines, sines = (torch.from_numpy(f(angles).astype(np.float32)).to(dtype) for f in
                      (np.cos, np.sin))  # fmt: skip
    shape = (1, heads, longest, problem["width"] // heads)
    cache = [(torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype))
             for _ in range(problem["layers"])]  # fmt: skip
    places = torch.arange(longest)

    def extend(token: torch.Tensor, place: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, rotary = F.embedding(token, weights["emb"]), (cosines[place], sines[place])
        seen = (places <= place).reshape(1, -1)
        for layer, (keys, values) in enumerate(cache):
            w = {name: weights[f"{layer}.{name}"] for name in
                 ("n1", "n2", "qkv", "o", "w1", "w3", "w2")}  # fmt: skip
            parts = F.linear(normal(x, w["n1"]), w["qkv"]).chunk(3, -1)
            q, k, v = (z.view(1, heads, 1, -1) for z in parts)
            keys.index_copy_(2, place, rotate(k, rotary))
            values.index_copy_(2, place, v)
            y = F.scaled_dot_product_attention(rotate(q, rotary), keys, values, attn_mask=seen)
            x = x + F.linear(y.reshape(1, -1), w["o"])
            y = normal(x, w["n2"])
            x = x + F.linear(F.silu(F.linear(y, w["w1"])) * F.linear(y, w["w3"]), w["w2"])
        scores = F.linear(normal(x, weights["nf"]), weights["head"])
        return scores.argmax(-1), scores.max()

    function = torch.compile(extend) if compiled else extend
    token, place = torch.tensor([1]), 0

    def step() -> float:
        nonlocal token, place
        with torch.no_grad():
            token, best = function(token, torch.tensor([place % longest]))
        place += 1
        return best.item()

    return {"step": step, "about": about()}
