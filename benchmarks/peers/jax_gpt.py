"""The GPT of gnomon/bench/ours/gpt.py in JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.peers.jax_common import adamw, causal, surprise


def layer_norm(x: Any, weight: Any) -> Any:
    """Rows normalized and scaled."""
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def gpt(problem: Any) -> dict:
    """One training step."""
    heads, width, layers = problem["heads"], problem["width"], problem["layers"]

    def loss_of(p: dict, tokens: Any, targets: Any) -> Any:
        b, t = tokens.shape
        x = p["wte.weight"][tokens] + p["wpe.weight"][None]
        for layer in range(layers):
            w = {n: p[f"h.{layer}.{n}.weight"] for n in ("ln1", "ln2", "qkv", "proj", "fc", "out")}
            parts = jnp.split(layer_norm(x, w["ln1"]) @ w["qkv"].T, 3, -1)
            q, k, v = (z.reshape(b, t, heads, width // heads) for z in parts)
            x = x + causal(q, k, v).reshape(b, t, width) @ w["proj"].T
            inner = jax.nn.gelu(layer_norm(x, w["ln2"]) @ w["fc"].T, approximate=False)
            x = x + inner @ w["out"].T
        return surprise(layer_norm(x, p["lnf.weight"]) @ p["wte.weight"].T, targets)

    return adamw(problem, loss_of, jax.tree.map(jnp.asarray, problem.weights()))
