"""The training steps that the bit tests divide: an MLP and a stack of transformer blocks.

Plain functions over nodes. Each gives a step's graph: loss, gradients, updated parameters and
optimizer state, with the tables that say along which axis each parameter may be split. Not a test.

Letters: b batch, t tokens, d width, h heads, k width of a head, f inner width, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.dtypes import DType, float32, int64
from gnomon.ir.node import Arena, Graph, Node, Shape
from gnomon.ir.operators import elementwise
from gnomon.ops.activations import relu, silu
from gnomon.ops.attention import attention
from gnomon.ops.canonical import CONTRACTED, leaves
from gnomon.ops.cross_entropy import cross_entropy
from gnomon.ops.embedding import embedding
from gnomon.ops.joining import cat
from gnomon.ops.linalg import linear
from gnomon.ops.normalization import rms_norm
from gnomon.ops.placements import REPLICATED, Placement, Split
from gnomon.ops.primitives import reduce, reshape
from gnomon.ops.view_primitives import permute, slice_
from tests.distributed.rank_programs import Layout
from tests.gradients import gradients
from tests.graphs import seed_of


@dataclass(frozen=True)
class Step:
    """A training step: its graph, the names of inputs and outputs, and which axes may be split."""

    graph: Graph
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    batch: frozenset[str]
    """Inputs whose axis 0 is rows."""
    tensor: dict[str, tuple[int, ...]]
    """Parameter -> the axes that tensor parallelism may split, the best first."""

    def layout(self, name: str, mesh: dict[str, int], fully: bool = False) -> Layout:
        """How a value lies: rows split along "data", parameters along "tensor"."""
        found: dict[str, Placement] = {}
        parameter = name.rpartition(":")[2]
        if "data" in mesh and (name in self.batch or (fully and name != "loss")):
            found["data"] = Split(0)
        if "tensor" in mesh and parameter in self.tensor:
            shape = self.graph.inputs[self.inputs.index(parameter)].shape
            found["tensor"] = shared_axis(shape, self.tensor[parameter], mesh["tensor"])
        return found

    def arrays(self, seed: int, vocabulary: int = 0) -> list[np.ndarray]:
        """Inputs to run with: small weights, tokens below the vocabulary."""
        rng = np.random.default_rng(seed)
        return [value_for(rng, x, vocabulary) for x in self.graph.inputs]


def shared_axis(shape: Shape, candidates: Sequence[int], ranks: int) -> Placement:
    """A split along the first candidate that cuts between leaves; else replicated."""
    for axis in candidates:
        if leaves(shape[axis], CONTRACTED) % ranks == 0:
            return Split(axis)
    return REPLICATED


def value_for(rng: np.random.Generator, x: Node, vocabulary: int) -> np.ndarray:
    """Numbers for one input."""
    if x.dtype.is_integer:
        return rng.integers(0, vocabulary, x.shape).astype(x.dtype.numpy)
    if x.params["name"].startswith("second:"):
        return rng.random(x.shape).astype(np.float32) * np.float32(1e-4)
    scale = 1.0 if x.params["name"] in ("x", "y") else 0.08
    around = 1.0 if x.params["name"].endswith("norm") else 0.0
    return (around + scale * rng.standard_normal(x.shape)).astype(np.float32)


Loss = Callable[[dict[str, Node]], Node]


def step(
    loss_of: Loss,
    batch: dict[str, tuple[tuple[int, ...], DType]],
    parameters: dict[str, tuple[int, ...]],
    tensor: dict[str, tuple[int, ...]],
    optimizer: str,
) -> Step:
    """The whole step: loss, gradients, update."""
    arena = Arena()
    leaves = {name: arena.input(shape, dtype, name) for name, (shape, dtype) in batch.items()}
    leaves |= {name: arena.input(shape, float32, name) for name, shape in parameters.items()}
    state = {
        f"{moment}:{name}": arena.input(shape, float32, f"{moment}:{name}")
        for name, shape in parameters.items()
        for moment in (("first", "second") if optimizer == "adamw" else ())
    }
    loss = loss_of(leaves)
    found = gradients(loss, seed_of(loss), [leaves[name] for name in parameters])
    outputs = {"loss": loss} | {f"grad:{n}": g for n, g in zip(parameters, found, strict=True)}
    update = adamw if optimizer == "adamw" else sgd
    scale = clipping(found) if optimizer == "adamw" else None
    for name in parameters:
        g = outputs[f"grad:{name}"]
        outputs |= update(name, leaves[name], g if scale is None else g * scale, state)
    inputs = leaves | state
    graph = Graph(list(inputs.values()), list(outputs.values()))
    return Step(graph, tuple(inputs), tuple(outputs), frozenset(batch), tensor)


def clipping(found: list[Node]) -> Node:
    """What brings the norm over all gradients down to 1; each parameter's squares are one sum."""
    total = None
    for g in found:
        squares = reduce("add", g * g, tuple(range(g.rank)))
        total = squares if total is None else total + squares
    assert total is not None, "a step has parameters"
    return elementwise("minimum", 1.0 / elementwise("sqrt", total), 1.0)


def sgd(name: str, weight: Node, g: Node, state: dict[str, Node]) -> dict[str, Node]:
    """weight - rate * gradient."""
    return {f"new:{name}": weight - g * 0.05}


def adamw(name: str, weight: Node, g: Node, state: dict[str, Node]) -> dict[str, Node]:
    """Adam with decoupled decay, at its third step."""
    first = state[f"first:{name}"] * 0.9 + g * 0.1
    second = state[f"second:{name}"] * 0.95 + g * g * 0.05
    size = first * (1 / (1 - 0.9**3))
    root = elementwise("sqrt", second * (1 / (1 - 0.95**3))) + 1e-8
    fresh = weight * (1 - 0.01 * 0.1) - size / root * 0.01
    return {f"new:{name}": fresh, f"newfirst:{name}": first, f"newsecond:{name}": second}


# models


def mlp(optimizer: str = "sgd", rows: int = 8, width: int = 256, inner: int = 512) -> Step:
    """Two layers with bias, and the mean of squared differences."""

    def loss_of(leaf: dict[str, Node]) -> Node:
        inside = relu(linear(leaf["x"], leaf["in"], leaf["in_bias"]))
        away = linear(inside, leaf["out"], leaf["out_bias"]) - leaf["y"]
        return reduce("add", away * away, (0, 1, 2)) / float(away.size)

    batch = {name: ((rows, 6, width), float32) for name in ("x", "y")}
    parameters = {
        "in": (inner, width),
        "in_bias": (inner,),
        "out": (width, inner),
        "out_bias": (width,),
    }
    return step(loss_of, batch, parameters, {"in": (0,), "in_bias": (0,), "out": (1,)}, optimizer)


@dataclass(frozen=True)
class Sizes:
    """A decoder's sizes."""

    rows: int = 8
    tokens: int = 10
    heads: int = 6
    shared_by: int = 1
    """Query heads that share a key head."""
    head: int = 64
    inner: int = 512
    vocabulary: int = 300
    layers: int = 1

    @property
    def width(self) -> int:
        """Of the residual stream."""
        return self.heads * self.head

    @property
    def key_heads(self) -> int:
        """Heads of keys and values."""
        return self.heads // self.shared_by


def linears(x: Node, weights: list[Node], groups: int) -> list[Node]:
    """Layers on one x as a single product; outputs of one group of each lie side by side."""
    stacked = cat([reshape(w, (groups, w.shape[0] // groups, w.shape[1])) for w in weights], 1)
    y = linear(x, reshape(stacked, (-(-stacked.size // x.shape[-1]), x.shape[-1])))
    y = reshape(y, (*x.shape[:-1], groups, stacked.shape[1]))
    parts, at = [], 0
    for w in weights:
        size = w.shape[0] // groups
        bounds = (*((0, n, 1) for n in y.shape[:-1]), (at, at + size, 1))
        parts.append(slice_(y, bounds))
        at += size
    return parts


def block(x: Node, leaf: dict[str, Node], layer: int, sizes: Sizes) -> Node:
    """Attention and a gated MLP, each on a normalized copy and added back."""
    b, t, d = x.shape
    own = {name: leaf[f"{layer}.{name}"] for name in NAMES}
    normal = rms_norm(x, d, own["attn_norm"], 1e-6)
    qkv = linears(normal, [own["q"], own["k"], own["v"]], sizes.key_heads)
    in_heads = (
        reshape(part, (b, t, part.size // (b * t * sizes.head), sizes.head)) for part in qkv
    )
    q, k, v = (permute(part, (0, 2, 1, 3)) for part in in_heads)
    y = permute(attention(q, k, v, causal=True), (0, 2, 1, 3))
    x = x + linear(reshape(y, (b, t, d)), own["o"])
    normal = rms_norm(x, d, own["mlp_norm"], 1e-6)
    gate, up = linears(normal, [own["gate"], own["up"]], sizes.inner)
    inside = reshape(silu(gate) * up, (b, t, sizes.inner))
    return x + linear(inside, own["down"])


NAMES = ("attn_norm", "q", "k", "v", "o", "mlp_norm", "gate", "up", "down")


def decoder(optimizer: str = "sgd", sizes: Sizes = Sizes()) -> Step:
    """Blocks between an embedding and its transpose, with cross entropy."""
    d, f = sizes.width, sizes.inner
    shapes = {
        "attn_norm": (d,),
        "q": (d, d),
        "k": (sizes.key_heads * sizes.head, d),
        "v": (sizes.key_heads * sizes.head, d),
        "o": (d, d),
        "mlp_norm": (d,),
        "gate": (f, d),
        "up": (f, d),
        "down": (d, f),
    }
    axes = {"q": 0, "k": 0, "v": 0, "o": 1, "gate": 0, "up": 0, "down": 1}
    layers = range(sizes.layers)
    parameters = {"table": (sizes.vocabulary, d), "positions": (sizes.tokens, d)}
    parameters |= {f"{n}.{name}": shapes[name] for n in layers for name in NAMES}
    parameters |= {"norm": (d,)}
    tensor = {"table": (0, 1)}
    tensor |= {f"{n}.{name}": (axis,) for n in layers for name, axis in axes.items()}

    def loss_of(leaf: dict[str, Node]) -> Node:
        x = embedding(leaf["tokens"], leaf["table"]) + leaf["positions"]
        for layer in layers:
            x = block(x, leaf, layer, sizes)
        scores = linear(rms_norm(x, d, leaf["norm"], 1e-6), leaf["table"])
        return cross_entropy(scores, leaf["targets"], axis=2)

    batch = {name: ((sizes.rows, sizes.tokens), int64) for name in ("tokens", "targets")}
    return step(loss_of, batch, parameters, tensor, optimizer)
