"""What JAX's workloads share: AdamW, and what JAX says of itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def about() -> dict[str, str]:
    """Version, and what multiplies."""
    return {"version": jax.__version__, "products": "XLA's own (Eigen)"}


def adamw(problem: Any, loss_of: Callable, weights: dict) -> dict:
    """A training step: loss and gradients, AdamW, in one donated program."""
    rate, decay, (beta1, beta2) = problem["lr"], problem["decay"], problem["betas"]

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def train(p: Any, m: Any, v: Any, count: Any, tokens: Any, targets: Any) -> tuple:
        loss, g = jax.value_and_grad(loss_of)(p, tokens, targets)
        count = count + 1
        m = jax.tree.map(lambda a, b: beta1 * a + (1 - beta1) * b, m, g)
        v = jax.tree.map(lambda a, b: beta2 * a + (1 - beta2) * b * b, v, g)
        first, second = 1 - beta1**count, 1 - beta2**count

        def moved(w: Any, a: Any, b: Any) -> Any:
            kept = w * (1 - rate * (decay if w.ndim >= 2 else 0.0))
            return kept - rate * (a / first) / (jnp.sqrt(b / second) + 1e-8)

        return jax.tree.map(moved, p, m, v), m, v, count, loss

    state = [weights, *(jax.tree.map(jnp.zeros_like, weights) for _ in range(2)), jnp.float32(0)]
    windows, turn = problem.array("tokens").astype(np.int32), itertools.count()

    def step() -> float:
        window = windows[next(turn) % len(windows)]
        *state[:], loss = train(*state, window[:, :-1], window[:, 1:])
        jax.block_until_ready(state)
        return float(loss)

    return {"step": step, "about": about()}


def surprise(scores: Any, targets: Any) -> Any:
    """The mean of minus the log of the right one's chance."""
    chances = jax.nn.log_softmax(scores, -1)
    return -jnp.take_along_axis(chances, targets[..., None], -1).mean()


def causal(q: Any, k: Any, v: Any) -> Any:
    """Attention over (b, t, h, k), each position to those before it."""
    t, width = q.shape[1], q.shape[-1]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width).astype(np.float32)
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)
