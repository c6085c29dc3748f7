"""Ranks' shares: gradients of plain parameters in fully sharded modules are the ranks' own."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import fully_shard
from gnomon.errors import LayoutError
from tests.distributed.on_threads import on_threads

X = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)


class Scaled(nn.Module):
    """Rows moved, times a function of a parameter, times another: all but the first are ignored."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.moved = nn.Linear(4, 6), nn.Parameter(gn.arange(6.0) * 0.1)
        self.scale = nn.Parameter(gn.arange(6.0) - 2.0)
        self.last = nn.Parameter(gn.arange(12.0).reshape(2, 6) * 0.1)

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        y = (self.inner(x) + self.moved) * self.scale.tanh()
        return y @ self.last.t() + self.moved[:2]


class TokensFirst(nn.Module):
    """Rows become the second axis for the ignored parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.weight = nn.Linear(4, 4), nn.Parameter(gn.eye(4))
        self.moved = nn.Parameter(gn.arange(4.0))

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        y = self.inner(x.reshape(-1, 1, 4).expand(-1, 3, 4)) * gn.tensor([1.0, 2.0, 3.0])[:, None]
        return (y.transpose(0, 1) @ self.weight + self.moved).transpose(0, 1)


@gn.compile
def scaled(x: gn.Tensor, scale: gn.Tensor) -> gn.Tensor:
    """A product in a program of its own."""
    return x * scale.tanh()


class CallsCompiled(TokensFirst):
    """Rows and an ignored parameter go to a compiled function."""

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return scaled(self.inner(x) @ self.weight, self.moved)


class InHalf(TokensFirst):
    """The ignored parameters are used in half precision."""

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        y = self.inner(x).bfloat16() @ self.weight.bfloat16()
        return y.float() * self.moved


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (Scaled, (4, 4)),
        (Scaled, (2, 2, 2)),
        (Scaled, (3, 4, 1)),
        (TokensFirst, (2, 2)),
        (TokensFirst, (2, 2, 2)),
        (TokensFirst, (1, 3)),
        (CallsCompiled, (2, 2)),
        (InHalf, (2, 2)),
        (Scaled, (2, 2, 2, 2)),
    ],
    ids=str,
)
def test_gradients_of_ignored_parameters_are_the_ranks_own(
    kind: type[nn.Module], rows: tuple[int, ...], compiled: bool
):
    data = np.random.default_rng(2).normal(size=(sum(rows), 4)).astype(np.float32)
    parts = np.split(data, np.cumsum(rows)[:-1])

    def trained_on(part: np.ndarray, sharded: bool) -> list[np.ndarray]:
        gn.manual_seed(0)
        model = kind()
        if sharded:
            shape = (2, 2) if len(rows) == 4 else (len(rows),)
            ignored = {p for p in model.parameters() if p not in {*model.inner.parameters()}}
            fully_shard(model, mesh=init_device_mesh("cpu", shape), ignored_params=ignored)

        def loss_of(x: gn.Tensor) -> gn.Tensor:
            return model(x).square().mean()

        (gn.compile(loss_of) if compiled else loss_of)(gn.tensor(part)).backward()
        found = [p.grad for p in model.parameters()]
        return [(x.full_tensor() if hasattr(x, "placements") else x).numpy() for x in found]

    alone = [trained_on(part, sharded=False) for part in parts]
    found = on_threads(lambda rank, ranks: trained_on(parts[rank], sharded=True), len(rows))

    means = [np.mean(each, axis=0) for each in zip(*alone, strict=True)]
    shared = {k for k, (name, _) in enumerate(kind().named_parameters()) if "inner" in name}
    assert len(shared) == 2
    for grads, own in zip(found, alone, strict=True):
        for k, have in enumerate(grads):
            want = means[k] if k in shared else own[k]
            np.testing.assert_allclose(have, want, rtol=2e-5, atol=1e-5)


class ScaledLoss(nn.Linear):
    """A module that computes its loss, and scales it."""

    def __init__(self) -> None:
        super().__init__(4, 4)
        self.scale = nn.Parameter(gn.tensor(2.0))

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return super().forward(x).square().mean() * self.scale


@pytest.mark.parametrize("compiled", [False, True])
def test_a_gradient_of_what_is_made_of_all_rows_is_that_of_all(compiled: bool):
    def work(rank: int, ranks: int) -> float:
        gn.manual_seed(0)
        model = ScaledLoss()
        if ranks > 1:
            fully_shard(model, ignored_params={model.scale})
        loss = (gn.compile(model) if compiled else model)(gn.tensor(np.split(X, ranks)[rank]))
        loss.backward()
        return model.scale.grad.item()

    assert on_threads(work, 2) == on_threads(work, 1) * 2


class ByRow(nn.Linear):
    """A plain tensor of as many rows as all ranks have."""

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return super().forward(x) + self.plain


def test_an_own_gradient_that_no_rank_has_alone_is_refused():
    def work(rank: int, ranks: int) -> None:
        model = ByRow(4, 4)
        fully_shard(model)
        object.__setattr__(model, "plain", gn.ones(6, 4).requires_grad_())
        with pytest.raises(LayoutError, match="none has its own share"):
            model(gn.tensor(X[3 * rank :][:3])).square().mean().backward()

    on_threads(work, 2)


def test_an_own_gradient_has_no_gradient():
    def work(rank: int, ranks: int) -> None:
        model = Scaled()
        fully_shard(model, ignored_params={model.moved, model.scale, model.last})
        loss = model(gn.tensor(X[3 * rank :][:3])).square().mean()
        (g,) = gn.autograd.grad(loss, [model.last], create_graph=True)
        with pytest.raises(LayoutError, match="has no gradient itself"):
            g.sum().backward()

    on_threads(work, 2)


class Random(nn.Module):
    """Random operations on rows and on plain parameters, of which all are ignored."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.inner, self.seed = nn.Linear(4, 4), seed
        rng = np.random.default_rng(seed)
        shapes = {"row": (4,), "square": (4, 4), "token": (3, 1), "one": (1,)}
        for name, shape in shapes.items():
            drawn = rng.normal(size=shape).astype(np.float32) * 0.5
            setattr(self, name, nn.Parameter(gn.tensor(drawn)))
        self.inner.weight.data = gn.tensor(rng.normal(size=(4, 4)).astype(np.float32))
        self.inner.bias.data = gn.tensor(rng.normal(size=4).astype(np.float32))

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """The operations of the seed, on rows (n, 3, 4)."""
        y = self.inner(x).reshape(-1, 1, 4) * self.token
        source, turned = random.Random(self.seed), False
        steps: dict[str, Callable[[gn.Tensor], gn.Tensor]] = {
            "scale": lambda y: y * self.row,
            "move": lambda y: y + self.row.tanh() * self.one,
            "product": lambda y: y @ self.square,
            "linear": lambda y: nn.functional.linear(y, self.square.t(), self.row),
            "norm": lambda y: nn.functional.layer_norm(y, (4,), self.row, self.square[0]),
            "softmax": lambda y: y.softmax(-1) + y,
            "mean": lambda y: y - y.mean(-1, keepdim=True) * self.one,
            "heads": lambda y: (y.unflatten(-1, (2, 2)) * self.row[:2]).flatten(-2),
            "twice": lambda y: gn.cat([y[..., :2] * self.row[2:], y[..., 2:]], -1),
            "checked": lambda y: gn.where(y > self.row, y, self.one),
            "gram": lambda y: (y.unsqueeze(-1) * self.square).sum(-1),
            "view": lambda y: y * self.row.reshape(1, 4) + self.row.reshape(1, 4).tanh(),
            "outer": lambda y: y @ (self.row[:, None] * self.row),
            "largest": lambda y: y.amax(-1, keepdim=True) * self.one + y,
            "along": lambda y: y.cumsum(-1) * self.row,
            "letters": lambda y: gn.einsum("...i,ji->...j", y, self.square),
        }
        tokens: dict[str, Callable[[gn.Tensor], gn.Tensor]] = {
            "rows": lambda y: y + self.square[(y[..., 0] > 0).long()],
            "attend": lambda y: nn.functional.scaled_dot_product_attention(y, y * self.row, y),
            "convolve": lambda y: nn.functional.conv1d(y, self.square[:3, :3, None]),
            "weigh": lambda y: y * self.token.softmax(0),
        }
        for _ in range(5):
            usable = steps if turned else steps | tokens
            name = source.choice([*usable, "turn"])
            turned ^= name == "turn"
            y = y.transpose(0, 1) if name == "turn" else usable[name](y)
        return y.transpose(0, 1) if turned else y


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(k, marks=pytest.mark.long) for k in (100, 200, 300))]
)
def test_random_modules_have_own_gradients(first: int):
    for seed in range(first, first + (8 if first == 0 else 100)):
        rows = random.Random(seed).choice([(2, 2), (2, 2, 2), (1, 3), (2, 1, 1, 2)])
        data = np.random.default_rng(seed).normal(size=(sum(rows), 4)).astype(np.float32)
        parts = np.split(data, np.cumsum(rows)[:-1])
        compiled = seed % 2 == 1
        alone = [own_gradients(Random(seed), part, 0, compiled) for part in parts]
        found = on_threads(
            lambda rank, ranks, seed=seed, parts=parts, compiled=compiled: own_gradients(
                Random(seed), parts[rank], ranks, compiled
            ),
            len(rows),
        )
        for have, want in zip(found, alone, strict=True):
            for name, g in have.items():
                assert g is None or np.allclose(g, want[name], rtol=1e-4, atol=1e-4), (seed, name)
                assert (g is None) == (want[name] is None), (seed, name)


def own_gradients(
    model: nn.Module, part: np.ndarray, ranks: int, compiled: bool
) -> dict[str, np.ndarray | None]:
    """The gradients of the plain parameters of a model, which ranks divide or a process has."""
    plain = {name: p for name, p in model.named_parameters() if "inner" not in name}
    if ranks:
        fully_shard(model, ignored_params={*plain.values()})

    def loss_of(x: gn.Tensor) -> gn.Tensor:
        return (model(x) * 0.1).tanh().square().mean()

    (gn.compile(loss_of) if compiled else loss_of)(gn.tensor(part)).backward()
    return {name: None if p.grad is None else p.grad.numpy() for name, p in plain.items()}
