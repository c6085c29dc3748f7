"""The GPT of gnomon/bench/ours/gpt.py in MLX."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mlx.core as mx
import numpy as np


def about() -> dict[str, str]:
    """Version, and what multiplies."""
    return {"version": mx.__version__, "products": f"MLX's own ({mx.default_device()})"}


def layer_norm(x: Any, weight: Any) -> Any:
    """Rows normalized and scaled."""
    return mx.fast.layer_norm(x, weight, None, 1e-5)


def attended(rows: Any, heads: int) -> Any:
    """Causal attention over queries, keys and values that lie beside each other."""
    b, t, width = rows.shape[0], rows.shape[1], rows.shape[2] // 3
    split = (z.reshape(b, t, heads, -1).transpose(0, 2, 1, 3) for z in mx.split(rows, 3, -1))
    scale = 1 / math.sqrt(width // heads)
    found = mx.fast.scaled_dot_product_attention(*split, scale=scale, mask="causal")
    return found.transpose(0, 2, 1, 3).reshape(b, t, width)


def gelu(x: Any) -> Any:
    """Exact, by the error function."""
    return x * 0.5 * (1 + mx.erf(x / math.sqrt(2)))


def gpt(problem: Any) -> dict:
    """One training step."""
    rate, decay, (beta1, beta2) = problem["lr"], problem["decay"], problem["betas"]

    def loss_of(p: dict, tokens: Any, targets: Any) -> Any:
        x = p["wte.weight"][tokens] + p["wpe.weight"][None]
        for layer in range(problem["layers"]):
            w = {n: p[f"h.{layer}.{n}.weight"] for n in ("ln1", "ln2", "qkv", "proj", "fc", "out")}
            inner = attended(layer_norm(x, w["ln1"]) @ w["qkv"].T, problem["heads"])
            x = x + inner @ w["proj"].T
            x = x + gelu(layer_norm(x, w["ln2"]) @ w["fc"].T) @ w["out"].T
        scores = layer_norm(x, p["lnf.weight"]) @ p["wte.weight"].T
        right = mx.take_along_axis(scores, targets[..., None], -1)[..., 0]
        return (mx.logsumexp(scores, -1) - right).mean()

    slopes_of = mx.value_and_grad(loss_of)
    p = {name: mx.array(x) for name, x in problem.weights().items()}
    m, v = ({name: mx.zeros_like(x) for name, x in p.items()} for _ in range(2))
    windows, turns = problem.array("tokens").astype(np.int32), itertools.count()

    def move(name: str, g: Any, count: int) -> None:
        m[name] = beta1 * m[name] + (1 - beta1) * g
        v[name] = beta2 * v[name] + (1 - beta2) * g * g
        kept = p[name] * (1 - rate * (decay if p[name].ndim >= 2 else 0.0))
        size = mx.sqrt(v[name] / (1 - beta2**count)) + 1e-8
        p[name] = kept - rate * (m[name] / (1 - beta1**count)) / size

    def step() -> float:
        turn = next(turns)
        window = windows[turn % len(windows)]
        loss, g = slopes_of(p, mx.array(window[:, :-1]), mx.array(window[:, 1:]))
        for name in p:
            move(name, g[name], turn + 1)
        mx.eval(loss, p, m, v)
        return float(loss)

    return {"step": step, "about": about()}
