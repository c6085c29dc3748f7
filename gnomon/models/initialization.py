"""The initial weights of a decoder.

Matrices are normal with standard deviation 1/(2 sqrt(inputs)): half of what preserves the scale of
activations, because small models learned faster from there (docs/log). Those that write into the
residual stream (o_proj, down_proj) are smaller by sqrt(2 layers), so that the stream does not grow
with depth. Embeddings have deviation 0.02: tied logits start near uniform. Norm weights start at
one (at zero if they are offsets from 1), biases at zero. A parameter's numbers depend on the seed
and its name alone, those of an expert on its name in Hugging Face's files.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

import gnomon as gn
from gnomon import nn
from gnomon.models.expert_names import expert_name, is_stacked

__all__ = ["initialize"]

EMBEDDING = "embed_tokens.weight"
TABLES = (EMBEDDING, "embed_positions.weight")
WRITES_THE_STREAM = ("o_proj.weight", "down_proj.weight")


def initialize(model: nn.Module, seed: int) -> None:
    """Fill a decoder's parameters from a seed."""
    layers = model.config.num_hidden_layers
    with gn.no_grad():
        for name, parameter in model.named_parameters():
            shape = tuple(parameter.shape)
            first = first_experts if is_stacked(name) else first_value
            if model.config.norms == "offset" and len(shape) == 1:
                parameter.zero_()
            else:
                parameter.copy_(gn.from_numpy(first(name, shape, layers, seed)))


def first_experts(name: str, shape: tuple[int, ...], layers: int, seed: int) -> np.ndarray:
    """The initial value of a parameter that stacks all experts."""
    names = [expert_name(name, expert) for expert in range(shape[0])]
    return np.stack([first_value(each, shape[1:], layers, seed) for each in names])


def first_value(name: str, shape: tuple[int, ...], layers: int, seed: int) -> np.ndarray:
    """The initial value of one parameter."""
    if len(shape) == 1:
        return np.full(shape, 0.0 if name.endswith(".bias") else 1.0, np.float32)
    deviation = 0.02 if name.endswith(TABLES) else 0.5 / math.sqrt(shape[-1])
    if name.endswith(WRITES_THE_STREAM):
        deviation /= math.sqrt(2 * layers)
    return (normal(name, math.prod(shape), seed) * deviation).astype(np.float32).reshape(shape)


def normal(name: str, count: int, seed: int) -> np.ndarray:
    """Nearly normal numbers determined by a name and a seed: sums of twelve uniform integers.

    Logarithms and cosines would differ in their last bit between processors; the bit generator's
    raw stream never changes.
    """
    key = hashlib.sha256(f"{seed}\0{name}".encode()).digest()
    words = np.random.Philox(key=np.frombuffer(key[:16], np.uint64)).random_raw(6 * count)
    halves = words.view(np.uint32).reshape(count, 12).astype(np.int64)
    return (halves.sum(axis=1) - 6 * 2**32) / 2.0**32
