"""The single operations of gnomon/bench/ours/kernels.py in JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.jax_common import about

CHAINS = {
    "softmax": lambda x, w: jax.nn.softmax(x, -1),
    "rms_norm": lambda x, w: x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w,
    "gelu": lambda x, w: jax.nn.gelu(x * w + x, approximate=True) * x,
}


def silent(call: Callable[[], object]) -> dict:
    """A contender whose step gives no loss."""

    def step() -> float:
        jax.block_until_ready(call())
        return 0.0

    return {"step": step, "about": about()}


def lce(problem: Any) -> dict:
    """Linear layer and cross entropy, with gradients."""
    x, w = (jnp.asarray(problem.array(name)) for name in "xw")
    targets = jnp.asarray(problem.array("targets").astype(np.int32))

    def loss_of(x: Any, w: Any) -> Any:
        scores = x @ w.T
        right = jnp.take_along_axis(scores, targets[:, None], -1)[:, 0]
        return (jax.nn.logsumexp(scores, -1) - right).mean()

    function = jax.jit(jax.value_and_grad(loss_of, argnums=(0, 1)))

    def step() -> float:
        loss, made = function(x, w)
        jax.block_until_ready(made)
        return float(loss)

    return {"step": step, "about": about()}


def gemm(problem: Any) -> dict:
    """One product."""
    a, b = (jnp.asarray(problem.array(name)).astype(problem["dtype"]) for name in "ab")
    if problem["transposed"]:
        b = jax.block_until_ready(jnp.asarray(np.ascontiguousarray(np.asarray(b).T)))
        function = jax.jit(lambda a, b: a @ b.T)
    else:
        function = jax.jit(lambda a, b: a @ b)
    return silent(lambda: function(a, b))


def attention(problem: Any) -> dict:
    """Causal attention, forward and backward."""
    q, k, v, given = (jnp.asarray(problem.array(name)) for name in "qkvg")

    def made(q: Any, k: Any, v: Any) -> Any:
        t = q.shape[-2]
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(np.float32)
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
        return jax.nn.softmax(scores, -1) @ v

    @jax.jit
    def function(q: Any, k: Any, v: Any, given: Any) -> tuple:
        result, back = jax.vjp(made, q, k, v)
        return result, back(given)

    return silent(lambda: function(q, k, v, given))


def chains(problem: Any) -> dict:
    """A chain of pointwise operations and sums."""
    if problem["chain"] == "adamw":
        return adamw(problem)
    x, w = (jnp.asarray(problem.array(name)) for name in "xw")
    function = jax.jit(CHAINS[problem["chain"]])
    return silent(lambda: function(x, w))


def adamw(problem: Any) -> dict:
    """One step of AdamW on one tensor, in donated memory."""

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def move(p: Any, m: Any, v: Any, count: Any, g: Any) -> tuple:
        m, v, count = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g, count + 1
        size = 1e-3 / (1 - 0.9**count)
        p = p * (1 - 1e-5) - size * m / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8)
        return p, m, v, count

    p, g = (jnp.asarray(problem.array(name)) for name in "xg")
    state = [p, jnp.zeros_like(p), jnp.zeros_like(p), jnp.float32(0)]

    def call() -> list:
        state[:] = move(*state, g)
        return state

    return silent(call)
