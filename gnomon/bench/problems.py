"""The problems themselves: settings, first weights and inputs, the same for every contender.

How a contender solves one is in gnomon/bench/ours and benchmarks/peers. Random numbers are numpy's,
from a fixed seed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["MAKERS", "write_problem"]

ProblemArrays = dict[str, np.ndarray]
Settings = dict[str, Any]


class Draw:
    """Normal numbers of a given spread, in float32."""

    def __init__(self, seed: int = 0) -> None:
        self.generator = np.random.default_rng(seed)

    def __call__(self, *shape: int, spread: float = 0.02) -> np.ndarray:
        numbers = self.generator.standard_normal(shape, np.float32)
        return numbers * np.float32(spread)


def windows(settings: Settings, count: int = 32) -> np.ndarray:
    """Batches of token numbers, one longer than what is predicted."""
    shape = (count, settings["batch"], settings["tokens"] + 1)
    return np.random.default_rng(1).integers(0, settings["words"], shape)


def gpt(settings: Settings) -> ProblemArrays:
    """A GPT's tables, blocks and norms, as (out, in) matrices."""
    draw, width = Draw(), settings["width"]
    last = 0.02 / math.sqrt(2 * settings["layers"])
    weights = {
        "wte.weight": draw(settings["words"], width),
        "wpe.weight": draw(settings["tokens"], width),
        "lnf.weight": np.ones(width, np.float32),
    }
    for layer in range(settings["layers"]):
        block = {
            "ln1": np.ones(width, np.float32),
            "ln2": np.ones(width, np.float32),
            "qkv": draw(3 * width, width),
            "proj": draw(width, width, spread=last),
            "fc": draw(4 * width, width),
            "out": draw(width, 4 * width, spread=last),
        }
        weights.update({f"h.{layer}.{name}.weight": array for name, array in block.items()})
    return {"tokens": windows(settings), **named(weights)}


def named(weights: ProblemArrays) -> ProblemArrays:
    """Weights under the names by which `Problem.weights` finds them."""
    return {f"w:{name}": array for name, array in weights.items()}


def moe(settings: Settings) -> ProblemArrays:
    """A decoder with experts: each expert's matrices are (in, out), the others (out, in)."""
    draw, width, inner = Draw(), settings["width"], settings["inner"]
    heads, key_heads, k = settings["heads"], settings["key_heads"], settings["head_width"]
    weights = {
        "emb": draw(settings["words"], width),
        "head": draw(settings["words"], width),
        "nf": np.ones(width, np.float32),
    }
    for layer in range(settings["layers"]):
        experts = settings["experts"]
        block = {
            "n1": np.ones(width, np.float32),
            "n2": np.ones(width, np.float32),
            "qn": np.ones(k, np.float32),
            "kn": np.ones(k, np.float32),
            "q": draw(heads * k, width),
            "k": draw(key_heads * k, width),
            "v": draw(key_heads * k, width),
            "o": draw(width, heads * k),
            "gate": draw(experts, width),
            "w1": draw(experts, width, inner),
            "w3": draw(experts, width, inner),
            "w2": draw(experts, inner, width),
        }
        weights.update({f"{layer}.{name}": array for name, array in block.items()})
    return {"tokens": windows(settings), "angles": angles(settings["tokens"], k), **named(weights)}


def angles(tokens: int, width: int) -> np.ndarray:
    """The angle by which each pair of a head turns at each position, in float64."""
    return np.outer(np.arange(tokens), 10000.0 ** -(np.arange(0, width, 2) / width))


def lce(settings: Settings) -> ProblemArrays:
    """Rows, a matrix of classes, and the right class of each row."""
    draw, width, words = Draw(), settings["width"], settings["words"]
    targets = np.random.default_rng(1).integers(0, words, settings["rows"])
    rows = draw(settings["rows"], width, spread=1.0)
    return {"x": rows, "w": draw(words, width), "targets": targets}


def resnet(settings: Settings) -> ProblemArrays:
    """Convolutions as (out, in, rows, columns), norms of ones and zeros, images and classes."""
    draw, size, batch = Draw(), settings["size"], settings["batch"]
    weights: ProblemArrays = {}

    def convolution(name: str, out: int, given: int, size: int) -> None:
        spread = math.sqrt(2 / (given * size * size))
        weights[f"{name}.c.weight"] = draw(out, given, size, size, spread=spread)
        weights[f"{name}.n.weight"] = np.ones(out, np.float32)
        weights[f"{name}.n.bias"] = np.zeros(out, np.float32)

    channels = settings["width"]
    convolution("stem", channels, 3, 3)
    for place, (out, stride) in enumerate(settings["blocks"]):
        convolution(f"blocks.{place}.a", out, channels, 3)
        convolution(f"blocks.{place}.b", out, out, 3)
        if stride != 1 or channels != out:
            convolution(f"blocks.{place}.short", out, channels, 1)
        channels = out
    weights["fc.weight"] = draw(settings["classes"], channels, spread=0.05)
    weights["fc.bias"] = np.zeros(settings["classes"], np.float32)
    images = Draw(1)(8, batch, 3, size, size, spread=1.0)
    targets = np.random.default_rng(2).integers(0, settings["classes"], (8, batch))
    return {"images": images, "targets": targets, **named(weights)}


def gemm(settings: Settings) -> ProblemArrays:
    """Two matrices."""
    draw, (m, k, n) = Draw(), settings["sizes"]
    return {"a": draw(m, k, spread=1.0), "b": draw(k, n, spread=1.0)}


def attention(settings: Settings) -> ProblemArrays:
    """Queries, keys, values, and the gradient of the result."""
    draw = Draw()
    return {name: draw(*settings["shape"], spread=1.0) for name in ("q", "k", "v", "g")}


def chains(settings: Settings) -> ProblemArrays:
    """Rows and what goes along them; for an optimizer, a gradient."""
    draw, shape = Draw(), settings["shape"]
    return {"x": draw(*shape, spread=1.0), "g": draw(*shape), "w": draw(shape[-1], spread=1.0)}


def decode(settings: Settings) -> ProblemArrays:
    """A decoder's matrices, as (out, in)."""
    draw, width, inner = Draw(), settings["width"], settings["inner"]
    weights = {
        "emb": draw(settings["words"], width),
        "head": draw(settings["words"], width),
        "nf": np.ones(width, np.float32),
    }
    for layer in range(settings["layers"]):
        block = {
            "n1": np.ones(width, np.float32),
            "n2": np.ones(width, np.float32),
            "qkv": draw(3 * width, width),
            "o": draw(width, width),
            "w1": draw(inner, width),
            "w3": draw(inner, width),
            "w2": draw(width, inner),
        }
        weights.update({f"{layer}.{name}": array for name, array in block.items()})
    k = width // settings["heads"]
    return {"angles": angles(settings["longest"], k), **named(weights)}


def embedding(settings: Settings) -> ProblemArrays:
    """The table that all begin as, the rows that are asked of each, the gradient of their sums."""
    draw, tables, rows = Draw(), settings["tables"], settings["rows"]
    shape = (4, tables, settings["batch"], settings["bag"])
    asked = np.random.default_rng(1).integers(0, rows, shape)
    given = draw(tables, settings["batch"], settings["width"], spread=1.0)
    return {"asked": asked, "g": given, "table": draw(rows, settings["width"])}


def replay(settings: Settings) -> ProblemArrays:
    """A small matrix and what it is multiplied with, so that numbers stay as they are."""
    size = settings["size"]
    return {"x": Draw()(size, size, spread=1.0), "w": np.eye(size, dtype=np.float32)[::-1].copy()}


def shapes(settings: Settings) -> ProblemArrays:
    """A GPT, and tokens for the largest batch of the longest rows."""
    return gpt(settings)


MAKERS: dict[str, Callable[[Settings], ProblemArrays]] = {
    made.__name__: made
    for made in (
        *(gpt, moe, lce, resnet, gemm, attention, chains, decode, embedding, replay, shapes),
    )
}
"""The arrays of a problem, by the workload's name."""


def write_problem(workload: str, settings: Settings, folder: Path) -> None:
    """Write settings and arrays where contenders read them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(settings))
    np.savez(folder / "arrays.npz", **MAKERS[workload](settings))
