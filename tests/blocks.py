"""An MLP and a transformer block with their gradients, as graphs: what Gate A is measured on.

Not a test. Letters: b batch, t tokens, d width, h heads, k width of one head, f width inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gnomon.dtypes import DType, float32
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import constant
from gnomon.ops.activations import gelu, silu
from gnomon.ops.attention import attention
from gnomon.ops.linalg import linear
from gnomon.ops.normalization import rms_norm
from gnomon.ops.primitives import reduce, reshape
from gnomon.ops.view_primitives import permute
from tests.gradients import gradients

Shapes = dict[str, tuple[int, ...]]


def mlp_shapes(b: int, d: int, f: int) -> Shapes:
    """The inputs of `mlp`."""
    return {"x": (b, d), "w1": (f, d), "b1": (f,), "w2": (d, f), "b2": (d,)}


def mlp(x: Node, w1: Node, b1: Node, w2: Node, b2: Node) -> Node:
    """Two layers with a GELU between."""
    return linear(gelu(linear(x, w1, b1)), w2, b2)


def block_shapes(b: int, t: int, d: int, f: int) -> Shapes:
    """The inputs of `block`."""
    return {
        **{"x": (b, t, d), "norm1": (d,), "wq": (d, d), "wk": (d, d), "wv": (d, d), "wo": (d, d)},
        **{"norm2": (d,), "gate": (f, d), "up": (f, d), "down": (d, f)},
    }


def block(heads: int) -> Callable[..., Node]:
    """Causal attention, then a gated MLP, each on a normalized copy and added back."""

    def forward(x_btd: Node, norm1: Node, wq: Node, wk: Node, wv: Node, wo: Node, *mlp: Node):
        b, t, d = x_btd.shape
        norm2, gate, up, down = mlp

        def split(z_btd: Node) -> Node:
            return permute(reshape(z_btd, (b, t, heads, d // heads)), (0, 2, 1, 3))

        y_btd = rms_norm(x_btd, d, norm1, eps=1e-5)
        q, k, v = (split(linear(y_btd, w)) for w in (wq, wk, wv))
        mixed = attention(q, k, v, causal=True)
        joined = reshape(permute(mixed, (0, 2, 1, 3)), (b, t, d))
        x_btd = x_btd + linear(joined, wo)
        y_btd = rms_norm(x_btd, d, norm2, eps=1e-5)
        return x_btd + linear(silu(linear(y_btd, gate)) * linear(y_btd, up), down)

    return forward


def step(f: Callable[..., Node], shapes: Shapes, dtype: DType = float32) -> Graph:
    """The mean square of f's result, and the gradients of all inputs."""
    arena = Arena()
    leaves = [arena.input(shape, dtype, name) for name, shape in shapes.items()]
    y = f(*leaves)
    loss = reduce("add", y * y, tuple(range(y.rank))) * (1 / y.size)
    found = gradients(loss, constant(arena, 1.0, dtype), leaves)
    return Graph(leaves, [loss, *(g for g in found if g is not None)])


def inputs_of(shapes: Shapes, seed: int = 0) -> list[np.ndarray]:
    """Random inputs; weights scaled so that values keep their size."""
    rng = np.random.default_rng(seed)
    return [scaled(rng, shape).astype(np.float32) for shape in shapes.values()]


def scaled(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Normal numbers; matrices divided by the root of what they sum over, vectors near 1."""
    x = rng.normal(size=shape)
    if len(shape) == 1:
        return 1 + x / 10
    return x / np.sqrt(shape[-1]) if len(shape) == 2 else x
