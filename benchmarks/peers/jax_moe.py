"""The decoder with experts of gnomon/bench/ours/moe.py in JAX, every expert on every token."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.jax_common import adamw, causal, surprise


def normal(x: Any, weight: Any) -> Any:
    """RMS norm."""
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight


def moe(problem: Any) -> dict:
    """One training step."""
    angles = problem.array("angles")
    cosine, sine = (jnp.asarray(f(angles).astype(np.float32))[None, :, None] for f in
                    (np.cos, np.sin))  # fmt: skip
    share = problem["heads"] // problem["key_heads"]

    def rotate(x: Any) -> Any:
        first, second = jnp.split(x, 2, -1)
        return jnp.concatenate([first * cosine - second * sine, second * cosine + first * sine], -1)

    def attend(x: Any, w: dict) -> Any:
        b, t, _ = x.shape
        q, k, v = ((x @ w[n].T).reshape(b, t, -1, problem["head_width"]) for n in "qkv")
        k, v = rotate(normal(k, w["kn"])), v
        k, v = (jnp.repeat(z, share, 2) for z in (k, v))
        return causal(rotate(normal(q, w["qn"])), k, v).reshape(b, t, -1) @ w["o"].T

    def route(x: Any, w: dict) -> Any:
        chance = jax.nn.softmax(x @ w["gate"].T, -1)
        best, expert = jax.lax.top_k(chance, problem["chosen"])
        rows = jnp.arange(x.shape[0])[:, None]
        best = best / best.sum(-1, keepdims=True)
        weight = jnp.zeros_like(chance).at[rows, expert].set(best)
        up = jnp.einsum("nd,edf->enf", x, w["w3"])
        inner = jax.nn.silu(jnp.einsum("nd,edf->enf", x, w["w1"])) * up
        return jnp.einsum("end,ne->nd", jnp.einsum("enf,efd->end", inner, w["w2"]), weight)

    names = ("n1", "n2", "qn", "kn", "q", "k", "v", "o", "gate", "w1", "w3", "w2")

    def loss_of(p: dict, tokens: Any, targets: Any) -> Any:
        x = p["emb"][tokens]
        for layer in range(problem["layers"]):
            w = {name: p[f"{layer}.{name}"] for name in names}
            x = x + attend(normal(x, w["n1"]), w)
            y = normal(x, w["n2"])
            x = x + route(y.reshape(-1, y.shape[-1]), w).reshape(x.shape)
        return surprise(normal(x, p["nf"]) @ p["head"].T, targets)

    return adamw(problem, loss_of, jax.tree.map(jnp.asarray, problem.weights()))
