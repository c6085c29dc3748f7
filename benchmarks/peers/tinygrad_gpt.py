"""The GPT of gnomon/bench/ours/gpt.py in tinygrad, as one captured step (TinyJit)."""

from __future__ import annotations

import itertools
import math
from importlib.metadata import version
from typing import Any

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit
from tinygrad.nn.optim import AdamW, OptimizerGroup


def about() -> dict[str, str]:
    """Version, and what multiplies."""
    return {"version": version("tinygrad"), "products": f"tinygrad's own ({Device.DEFAULT})"}


def normed(x: Any, weight: Any) -> Any:
    """Rows normalized and scaled."""
    return x.layernorm(eps=1e-5) * weight


def attended(rows: Any, heads: int) -> Any:
    """Causal attention over queries, keys and values that lie beside each other."""
    b, t, width = rows.shape[0], rows.shape[1], rows.shape[2] // 3
    parts = (z.reshape(b, t, heads, width // heads) for z in rows.split(width, -1))
    q, k, v = (z.transpose(1, 2) for z in parts)
    found = q.scaled_dot_product_attention(k, v, is_causal=True)
    return found.transpose(1, 2).reshape(b, t, width)


def gelu(x: Any) -> Any:
    """Exact, by the error function."""
    return x * 0.5 * (1 + (x / math.sqrt(2)).erf())


def optimizer_of(problem: Any, weights: dict) -> Any:
    """AdamW, which shrinks matrices alone."""
    beta1, beta2 = problem["betas"]
    shared = {"lr": problem["lr"], "b1": beta1, "b2": beta2, "eps": 1e-8}
    wide = [x for x in weights.values() if x.ndim >= 2]
    thin = [x for x in weights.values() if x.ndim < 2]
    groups = (AdamW(wide, weight_decay=problem["decay"], **shared),
              AdamW(thin, weight_decay=0.0, **shared))  # fmt: skip
    return OptimizerGroup(*groups)


def gpt(problem: Any) -> dict:
    """One training step."""
    p = {name: Tensor(x).contiguous().realize() for name, x in problem.weights().items()}
    optimizer = optimizer_of(problem, p)
    windows, turns = problem.array("tokens").astype(np.int32), itertools.count()

    def loss_of(tokens: Any, targets: Any) -> Any:
        x = p["wte.weight"][tokens] + p["wpe.weight"].unsqueeze(0)
        for layer in range(problem["layers"]):
            w = {n: p[f"h.{layer}.{n}.weight"] for n in ("ln1", "ln2", "qkv", "proj", "fc", "out")}
            inner = attended(normed(x, w["ln1"]).linear(w["qkv"].T), problem["heads"])
            x = x + inner.linear(w["proj"].T)
            x = x + gelu(normed(x, w["ln2"]).linear(w["fc"].T)).linear(w["out"].T)
        scores = normed(x, p["lnf.weight"]).linear(p["wte.weight"].T)
        rows = scores.reshape(-1, scores.shape[-1])
        return rows.sparse_categorical_crossentropy(targets.reshape(-1))

    @TinyJit
    def train(tokens: Any, targets: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(tokens, targets).backward()
        return loss.realize(*optimizer.schedule_step())

    def step() -> float:
        window = windows[next(turns) % len(windows)]
        given = (Tensor(np.ascontiguousarray(x)) for x in (window[:, :-1], window[:, 1:]))
        with Context(TRAINING=1):
            return float(train(*given).item())

    return {"step": step, "about": about()}
