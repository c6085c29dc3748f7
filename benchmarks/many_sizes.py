"""Programs that meet a new size at every step: captures, compilations, passes, milliseconds.

Run by hand (python -m benchmarks.many_sizes [--only NAME;...] [--steps N] [--json PATH]). Each case
takes steps of sizes that did not come before; nothing is on the disk. Milliseconds are those of
the process: the first, the second and the third step, then the median of all later ones, which is
what a further size costs; the last column is the same sizes once more, when they are known. A
program counts as compiled if it needed machine code that was not there, and as passed if the
passes ran on its graph.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np

import gnomon as gn
from gnomon import nn
from gnomon.compiler import build, pipeline
from gnomon.ir import memo
from gnomon.models.config import Qwen3Config
from gnomon.models.decoder import DecoderForCausalLM
from gnomon.nn import functional as F
from gnomon.settings import override

Step = Callable[[int], Any]
Case = tuple[Step, list[int], Any]
"""A step at one of its sizes, the sizes, and the compiled function behind it, if there is one."""


def model() -> DecoderForCausalLM:
    """A decoder of two small layers."""
    sizes = {"hidden_size": 64, "intermediate_size": 128, "head_dim": 16, "vocab_size": 320}
    return DecoderForCausalLM(Qwen3Config(num_hidden_layers=2, **sizes))


def lengths(count: int) -> list[int]:
    """Lengths 2, 3, 4 and so on, with some far away."""
    return [*range(2, count - 1), 200, 333, 500]


def tokens(length: int) -> gn.Tensor:
    """A row of tokens."""
    return gn.from_numpy(np.arange(length).reshape(1, -1) % 320)


def sampled(count: int) -> Case:
    """The next token of a growing sequence, compiled."""
    decoder = model()
    following = gn.compile(lambda x: decoder(x)[:, -1].argmax(-1))
    return quiet(lambda n: following(tokens(n)).tolist()), lengths(count), following


def sampled_eagerly(count: int) -> Case:
    """The same without compile."""
    decoder = model()
    return quiet(lambda n: decoder(tokens(n))[:, -1].argmax(-1).tolist()), lengths(count), None


def cached(count: int) -> Case:
    """Attention of one token over keys and values that grow by concatenation, without compile."""
    width = 32
    weights = nn.Linear(width, 3 * width)

    def step(n: int) -> Any:
        kept = gn.from_numpy(np.ones((2, 1, 4, n - 1, 8), np.float32))
        q, k, v = weights(gn.ones(1, 1, width)).reshape(1, 3, 4, 1, 8).unbind(1)
        k, v = gn.cat([kept[0], k], 2), gn.cat([kept[1], v], 2)
        return F.scaled_dot_product_attention(q, k, v).sum().item()

    return quiet(step), lengths(count), None


def experts(count: int) -> Case:
    """A loop over experts whose counts follow from data, without compile."""
    layers = [nn.Linear(16, 16) for _ in range(4)]

    def step(n: int) -> Any:
        given = gn.from_numpy(np.random.default_rng(n).standard_normal((40, 16), dtype=np.float32))
        chosen = np.random.default_rng(n).integers(0, 4, 40)
        parts = [F.silu(f(given[np.flatnonzero(chosen == k)])) for k, f in enumerate(layers)]
        return gn.cat(parts).sum().item()

    return quiet(step), list(range(count)), None


def routed(count: int) -> Case:
    """A loop over eight experts, two of a token, whose counts follow from data, compiled."""
    router = nn.Linear(16, 8)
    layers = [nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16)) for _ in range(8)]

    @gn.compile
    def forward(x: gn.Tensor) -> gn.Tensor:
        shares, chosen = router(x).softmax(-1).topk(2, -1)
        out = gn.zeros_like(x)
        for k, layer in enumerate(layers):
            row, place = gn.where(chosen == k)
            if row.numel():
                out = out.index_add(0, row, layer(x[row]) * shares[row, place][:, None])
        return out

    return quiet(lambda n: forward(values_of(n, 96, 16)).sum().item()), list(range(count)), forward


def chosen(count: int) -> Case:
    """What a mask keeps, and of that what is above its mean, compiled."""

    @gn.compile
    def forward(x: gn.Tensor) -> gn.Tensor:
        kept = x[x[:, 0] > 0]
        return kept[kept[:, 1] > kept[:, 1].mean()].softmax(-1).sum(0)

    return quiet(lambda n: forward(values_of(n, 256, 16)).tolist()), list(range(count)), forward


def recurrent(count: int) -> Case:
    """Training an LSTM of two layers at lengths, compiled."""
    layers = nn.LSTM(16, 32, num_layers=2, batch_first=True)
    optimizer = gn.optim.AdamW(layers.parameters())

    @gn.compile
    def train(x: gn.Tensor) -> gn.Tensor:
        optimizer.zero_grad()
        loss = (layers(x)[0] ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return lambda n: train(values_of(n, 4, n, 16)).item(), lengths(count), train


def values_of(seed: int, *shape: int) -> gn.Tensor:
    """Values of a shape, others for each seed."""
    return gn.from_numpy(np.random.default_rng(seed).standard_normal(shape, np.float32))


def mlp(count: int) -> Case:
    """Three layers at batches and lengths, compiled."""
    layers = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32), nn.Linear(32, 8))
    return batches(gn.compile(layers), 32, count)


def encoder(count: int) -> Case:
    """An encoder's layer at batches and lengths, compiled."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return batches(gn.compile(layer), 32, count)


def batches(function: Any, width: int, count: int) -> Case:
    """A function of rows at batches from 1 to 64 and lengths from 1 to 512."""
    rng = np.random.default_rng(0)
    sizes = [(1 + int(rng.integers(64)), 1 + int(rng.integers(512))) for _ in range(count)]

    def step(k: int) -> Any:
        x = gn.from_numpy(np.ones((*sizes[k], width), np.float32))
        return np.array(function(x)).sum()

    return quiet(step), list(range(count)), function


CASES = {
    "sampling": sampled,
    "sampling eager": sampled_eagerly,
    "cache eager": cached,
    "experts eager": experts,
    "experts": routed,
    "masks": chosen,
    "recurrent": recurrent,
    "mlp": mlp,
    "encoder": encoder,
}


def quiet(step: Step) -> Step:
    """A step without gradients."""

    def plain(n: int) -> Any:
        with gn.no_grad():
            return step(n)

    return plain


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """How often programs were compiled, and passes ran, inside."""
    counts = {"compiled": 0, "passed": 0}
    compiled, passes = build.compiled, pipeline.kernels_of

    def compiling(*given: Any) -> Any:
        made = compiled(*given)
        counts["compiled"] += made.fresh > 0
        return made

    def passing(*given: Any, **named: Any) -> Any:
        counts["passed"] += 1
        return passes(*given, **named)

    with (
        patch.object(build, "compiled", compiling),
        patch.object(pipeline, "kernels_of", passing),
    ):
        yield counts


def measure(make: Callable[[int], Case], steps: int) -> dict[str, float]:
    """What a case took."""
    memo.clear()
    gn.manual_seed(0)
    step, sizes, function = make(steps)
    with counted() as counts:
        first = [milliseconds(step, n) for n in sizes]
    again = [milliseconds(step, n) for n in sizes]
    names = ("first", "second", "third")
    return {
        "steps": len(sizes),
        "captures": 0 if function is None else function.captures,
        **counts,
        **dict(zip(names, first, strict=False)),
        "further": statistics.median(first[3:]),
        "most": max(first[3:]),
        "again": statistics.median(again),
    }


def milliseconds(step: Step, n: int) -> float:
    """The time of one step, of this process."""
    began = process_time()
    step(n)
    return 1e3 * (process_time() - began)


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=";".join(CASES))
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--json")
    asked = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with override(cache=False, dynamic_sizes=True):
        for name in asked.only.split(";"):
            found[name] = measure(CASES[name], asked.steps)
            if len(found) == 1:
                print(f"{'':<16}" + "".join(f"{x:>10}" for x in found[name]))
            row = "".join(f"{x:>10.1f}" if x % 1 else f"{x:>10}" for x in found[name].values())
            print(f"{name:<16}{row}", flush=True)
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
