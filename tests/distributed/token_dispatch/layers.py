"""A layer of experts by any dispatcher, on one process or on ranks; odd routings. Not a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import gnomon as gn
from gnomon.distributed.token_dispatch.base import TokenDispatcher
from gnomon.distributed.token_dispatch.local import LocalTokenDispatcher
from gnomon.nn import functional as F
from tests.distributed.on_threads import on_threads

BLOCKS, TOKENS, CHOSEN, WIDTH, INNER, EXPERTS = 4, 4, 2, 6, 5, 4
"""Blocks in all, tokens of a block, experts of a token, sizes, experts in all."""
RESULTS = ("y", "x.grad", "share.grad", "up.grad", "down.grad")


class Layer(NamedTuple):
    """What a layer and its gradients are computed of."""

    x: np.ndarray
    share: np.ndarray
    expert: np.ndarray
    seed: np.ndarray
    up: np.ndarray
    down: np.ndarray

    def of_rank(self, tokens: slice, experts: slice) -> Layer:
        """What one rank has of it."""
        return Layer(*(v[tokens] for v in self[:4]), self.up[experts], self.down[experts])


def routings(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The experts of each token: a block of each odd kind, then all tokens to one expert."""
    spread = np.stack([rng.permutation(EXPERTS)[:CHOSEN] for _ in range(TOKENS)])
    blocks = [spread, spread % 2, np.zeros_like(spread), np.full_like(spread, 3) - spread[0]]
    return {
        "spread, few, one, alike": np.concatenate(blocks),
        "the last, twice a token": np.full((BLOCKS * TOKENS, CHOSEN), EXPERTS - 1),
    }


def layer_of(rng: np.random.Generator, expert: np.ndarray, dtype: str = "f4") -> Layer:
    """Random numbers for a routing, some of them zeros of both signs."""
    t, d, f, e = len(expert), WIDTH, INNER, EXPERTS
    x, seed = (rng.normal(size=(t, d)).astype(dtype) for _ in range(2))
    x[:, 0], x[0], seed[:, 1] = -0.0, 0.0, -0.0
    share = rng.random(expert.shape).astype("f4")
    up, down = (rng.normal(size=shape).astype(dtype) for shape in ((e, d, f), (e, f, d)))
    return Layer(x, share, expert, seed, up, down)


def results(dispatcher: TokenDispatcher, layer: Layer, dtype: gn.dtype) -> Callable[..., list]:
    """A gated sum of experts and its gradients: a function of the four tensors that have them."""
    expert = gn.tensor(layer.expert)
    seed = gn.tensor(layer.seed).to(dtype)

    def step(x: gn.Tensor, share: gn.Tensor, up: gn.Tensor, down: gn.Tensor) -> list[gn.Tensor]:
        sent = dispatcher.dispatch(x, share, expert)
        inner = F.silu(gn.routed_mm(sent.rows, up, sent.ends))
        y = dispatcher.combine(gn.routed_mm(inner, down, sent.ends), sent)
        return [y.detach(), *gn.autograd.grad(y, (x, share, up, down), seed)]

    return step


def computed(
    dispatcher: TokenDispatcher, layer: Layer, dtype: gn.dtype = gn.float32, compiled: bool = False
) -> list[np.ndarray]:
    """The results and gradients of a layer, of a step that is replayed where it has to be."""
    tensors = [
        gn.tensor(v).to(gn.float32 if k == 1 else dtype).requires_grad_()
        for k, v in enumerate((layer.x, layer.share, layer.up, layer.down))
    ]
    step = results(dispatcher, layer, dtype)
    step = gn.compile(step) if compiled else step
    made = dispatcher.replayed(lambda: step(*tensors))
    return [v.float().numpy().copy() for v in made]


def alone(layer: Layer, dtype: gn.dtype = gn.float32) -> dict[str, bytes]:
    """What one process gives."""
    made = computed(LocalTokenDispatcher(EXPERTS, BLOCKS), layer, dtype)
    return {name: v.tobytes() for name, v in zip(RESULTS, made, strict=True)}


def on_ranks(
    make: Callable[[], TokenDispatcher], blocks: Sequence[int], layer: Layer, **options: Any
) -> dict[str, bytes]:
    """What ranks give together, that have so many blocks each."""
    starts = np.cumsum([0, *blocks]) * TOKENS

    def one(rank: int, ranks: int) -> list[np.ndarray]:
        dispatcher = make()
        tokens = slice(starts[rank], starts[rank + 1])
        return computed(dispatcher, layer.of_rank(tokens, dispatcher.own), **options)

    made = on_threads(one, len(blocks))
    return {
        name: np.concatenate([each[k] for each in made]).tobytes() for k, name in enumerate(RESULTS)
    }


TRADED = [
    [[0.0, 200.0, 22.0], [101.0, 200.0, 11.0]],
    [[303.0, 800.0, 55.0], [101.0, 200.0, 11.0]],
]
"""What `traded` gives on two ranks: token times weights of its experts, and these weights."""


def traded(dispatcher: TokenDispatcher, rank: int, compiled: bool = False) -> list[list[float]]:
    """What three experts of two ranks make of tokens 0, 1, 2 (3, 4, 5), and its gradient."""
    weights = gn.tensor([1.0, 10.0, 100.0])[dispatcher.own].reshape(-1, 1, 1)

    def step(x: gn.Tensor, expert: gn.Tensor) -> list[gn.Tensor]:
        sent = dispatcher.dispatch(x, gn.ones(3, 2), expert)
        y = dispatcher.combine(gn.routed_mm(sent.rows, weights, sent.ends), sent)
        return [y.detach(), *gn.autograd.grad(y.sum(), (x,))]

    x = gn.tensor([[3.0 * rank], [3.0 * rank + 1], [3.0 * rank + 2]]).requires_grad_()
    expert = gn.tensor([[0, 2], [2, 2], [1, 0]])
    run = gn.compile(step) if compiled else step
    return [v.flatten().tolist() for v in dispatcher.replayed(lambda: run(x, expert))]
