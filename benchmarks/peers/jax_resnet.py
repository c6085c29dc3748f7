"""The residual network of gnomon/bench/ours/resnet.py in JAX, channels last."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.jax_common import about, surprise

LAYOUT = ("NHWC", "HWIO", "NHWC")


def normed(p: dict, name: str, x: Any, stride: int) -> Any:
    """A convolution and its norm over the batch."""
    w = p[f"{name}.c.weight"]
    edge = w.shape[0] // 2
    x = jax.lax.conv_general_dilated(
        x, w, (stride, stride), [(edge, edge)] * 2, dimension_numbers=LAYOUT
    )
    x = x - x.mean((0, 1, 2))
    x = x * jax.lax.rsqrt((x * x).mean((0, 1, 2)) + 1e-5)
    return x * p[f"{name}.n.weight"] + p[f"{name}.n.bias"]


def resnet(problem: Any) -> dict:
    """One training step."""
    rate, momentum = problem["lr"], problem["momentum"]

    def loss_of(p: dict, x: Any, targets: Any) -> Any:
        x = jax.nn.relu(normed(p, "stem", x, 1))
        for place, (_, stride) in enumerate(problem["blocks"]):
            name = f"blocks.{place}"
            y = normed(p, f"{name}.b", jax.nn.relu(normed(p, f"{name}.a", x, stride)), 1)
            short = f"{name}.short"
            x = jax.nn.relu(y + (normed(p, short, x, stride) if f"{short}.c.weight" in p else x))
        return surprise(x.mean((1, 2)) @ p["fc.weight"].T + p["fc.bias"], targets)

    @partial(jax.jit, donate_argnums=(0, 1))
    def train(p: dict, m: dict, x: Any, targets: Any) -> tuple:
        loss, g = jax.value_and_grad(loss_of)(p, x, targets)
        m = jax.tree.map(lambda a, b: momentum * a + b, m, g)
        return jax.tree.map(lambda w, a: w - rate * a, p, m), m, loss

    weights = {n: w.transpose(2, 3, 1, 0) if w.ndim == 4 else w for n, w in
               problem.weights().items()}  # fmt: skip
    p = jax.tree.map(jnp.asarray, weights)
    state = [p, jax.tree.map(jnp.zeros_like, p)]
    images = np.ascontiguousarray(problem.array("images").transpose(0, 1, 3, 4, 2))
    targets, turn = problem.array("targets").astype(np.int32), itertools.count()

    def step() -> float:
        place = next(turn) % len(images)
        *state[:], loss = train(*state, images[place], targets[place])
        jax.block_until_ready(state)
        return float(loss)

    return {"step": step, "about": about()}
