"""Captures that serve every size, beside the plain functions: values, state, what may not be seen.

Sizes that Python needs as they are (keys, counts of turns, texts) keep captures of their own.
"""

from __future__ import annotations

import copy
import math
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.capture import size_families
from gnomon.compiler import sized
from gnomon.nn import functional as F

pytestmark = pytest.mark.unit

SIZES = ((5, 7), (3, 10), (6, 11), (9, 4), (12, 5), (3, 13), (14, 20), (2, 9))


def given(n: int, m: int) -> gn.Tensor:
    """An argument of two sizes, the same for the same ones."""
    return gn.from_numpy(np.random.default_rng(n + 97 * m).standard_normal((n, m, 8), np.float32))


def bits(value: Any) -> Any:
    """A result as something to compare, sizes with their classes."""
    if isinstance(value, gn.Tensor):
        return value.detach().numpy().tobytes(), tuple(value.shape), str(value.dtype)
    if isinstance(value, (tuple, list)):
        return type(value), [bits(x) for x in value]
    if isinstance(value, dict):
        return type(value), [(bits(k), bits(x)) for k, x in value.items()]
    if hasattr(value, "__dict__"):
        return type(value), bits(vars(value))
    return type(value), value


def beside(function: Callable, sizes: Sequence[tuple[int, int]] = SIZES, **options: Any) -> Any:
    """The compiled function, which gave what the plain one gives at these sizes, and again."""
    compiled = gn.compile(function, dynamic=True, **options)
    for pair in (*sizes, *sizes):
        assert bits(compiled(given(*pair))) == bits(function(given(*pair))), pair
    return compiled


class Pair(NamedTuple):
    """A result with names."""

    made: gn.Tensor
    rows: int


@dataclass
class Output:
    """A result with attributes, as models give."""

    logits: gn.Tensor
    more: Any = None


def views_of_one(x: gn.Tensor) -> Any:
    """Three views of one storage, and it."""
    y = x @ W
    return y[:1], y[1:], y.view(-1, 8), y


def counted(x: gn.Tensor) -> Output:
    """An object with sizes and an object inside."""
    made = Output((x @ W)[:, -1], {"rows": x.shape[0], "inner": Output(x + 1, [x.shape[1] * 2])})
    made.shape = x.shape
    return made


W, KERNEL = gn.ones(8, 8) * 0.25, gn.ones(4, 8, 3)
SERVED = {
    "two products": lambda x: (x @ W).relu() @ W,
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(0),
    "softmax": lambda x: x.softmax(1),
    "divided by a size": lambda x: x.sum(0) / x.shape[0],
    "integers times a size": lambda x: (x > 0).sum(0) * x.shape[0],
    "last": lambda x: x[:, -1] * 2,
    "neighbours": lambda x: x[:, 1:] - x[:, :-1],
    "two of three": lambda x: x[:, : x.shape[1] - 1 : 2] * 1,
    "backwards": lambda x: x.flip(1),
    "range": lambda x: x + gn.arange(x.shape[0])[:, None, None],
    "causal": lambda x: (x @ x.mT + gn.ones(x.shape[1], x.shape[1]).tril()).softmax(-1),
    "viewed": lambda x: x.view(x.size(0) * x.size(1), -1).relu().view(x.size(0), -1, 8),
    "heads": lambda x: x.reshape(*x.shape[:2], 2, 4).transpose(1, 2) + 1,
    "joined": lambda x: gn.cat([x, x[:, :1]], 1),
    "padded": lambda x: F.pad(x, (0, 0, 1, 2)),
    "elements": lambda x: x * x.numel() + x.size,
    "sizes of a result": lambda x: x * (x @ W).sum(-1).shape[1],
    "variance": lambda x: x.var(1),
    "sorted": lambda x: x.sort(1).values,
    "expanded": lambda x: x[:1].expand(x.shape[0], -1, -1) + x,
    "convolved": lambda x: F.conv1d(x.transpose(1, 2), KERNEL, padding=1),
    "gathered": lambda x: x.gather(1, gn.zeros(x.shape[0], 1, 8, dtype=gn.int64)),
    "identity": lambda x: x @ x.mT + gn.eye(x.shape[1]),
    "filled": lambda x: gn.full((x.shape[0],), x.shape[1]),
    "attention": lambda x: F.scaled_dot_product_attention(*[x[:, None]] * 3, is_causal=True),
    "written": lambda x: gn.zeros(x.shape[0], x.shape[1] + 1, 8).slice_scatter(x, 1, 1),
    "asked for a class": lambda x: x * 2 if isinstance(x.shape[0], int) else x,
    "remainder": lambda x: x * (x.shape[0] % 2 + x.shape[1] // 3),
    "result": lambda x: (x * 2, x.shape[0], x.shape, [x.shape[1] - 1][0], x.numel()),
    "named result": lambda x: Pair(x @ W, x.shape[0]),
    "object": lambda x: Output((x @ W)[:, -1], (x * 2,)),
    "object with sizes": counted,
    "views": views_of_one,
    "chunks": lambda x: (x @ W).chunk(2, -1),
    "part beside what is made": lambda x: (x[:, 1:], x[: x.shape[0] - 1] + 1),
    "part of a weight": lambda x: (TABLE[: x.shape[1]], x + TABLE[: x.shape[1]]),
    "argument beside what is made": lambda x: (x, x @ W),
    "global mean": lambda x: F.adaptive_avg_pool1d(x.transpose(1, 2), 1),
    "times a quotient": lambda x: x * (1.0 / x.shape[0]) + x.shape[1] / x.shape[0],
    "times half a size": lambda x: x + x.shape[0] * 0.5 - 1.5 * x.shape[1],
    "times a root": lambda x: x * x.shape[1] ** -0.5 * 3.0 / x.shape[0] ** 0.5,
    "in eight bytes": lambda x: x.double() * (1.0 / x.shape[0]) - x.shape[1] / 3,
    "bounded by a quotient": lambda x: x.clamp(max=1 / x.shape[0]),
    "results that are floats": lambda x: (x * 2, 1 / x.shape[0], [x.shape[1] * 0.25]),
    "bags": lambda x: F.embedding_bag((x[..., 0] > 0).to(gn.int64), TABLE, mode="mean"),
}
TABLE = gn.ones(32, 8)


@pytest.mark.parametrize("name", SERVED)
def test_a_capture_serves_further_sizes(name: str):
    compiled = beside(SERVED[name])

    assert compiled.captures <= 3
    assert len(compiled.why_recompiled()) == compiled.captures - 1


def test_results_share_memory_as_those_of_the_plain_function():
    compiled = gn.compile(views_of_one, dynamic=True)
    for pair in (*SIZES, *SIZES[::-1]):
        made, wanted = compiled(given(*pair)), views_of_one(given(*pair))
        for first, rest, flat, whole in (made, wanted):
            first.fill_(3.0)
            flat[-1] = 5.0
            rest[..., 0] += whole[:1, :1, 0]
        assert bits(made) == bits(wanted), pair
    assert compiled.captures == 2


def test_gradients_of_views_and_objects():
    weight = gn.ones(8, 8, requires_grad=True)

    def model(x: gn.Tensor) -> Output:
        y = x @ weight
        return Output(y[:, -1], (y.transpose(0, 1), x.shape[0]))

    compiled = gn.compile(model, dynamic=True)
    for pair in SIZES:
        found = []
        for call in (compiled, model):
            weight.grad, made = None, call(given(*pair))
            (made.logits.sum() + made.more[0].square().mean() * made.more[1]).backward()
            found.append(bits((weight.grad, made.logits, made.more)))
        assert found[0] == found[1], pair
    assert compiled.captures == 2


def caught(make: Callable[[], float]) -> float:
    """A number, or another where that fails."""
    try:
        return make()
    except TypeError:
        return -1.0


NAMES = {3: 2.0, 9: 5.0}
PINNED = {
    "key": lambda x: x * NAMES.get(x.shape[0], 7.0),
    "member": lambda x: x * (x.shape[0] in {3, 9}),
    "turns": lambda x: sum((x[k] for k in range(x.shape[0])), gn.zeros(())),
    "text": lambda x: x * float(f"{x.shape[0]}.5"),
    "hash": lambda x: x * (hash(x.shape) % 5),
    "class": lambda x: x * 2 if type(x.shape[0]) is int else x - 1,
    "length": lambda x: x * len(x),
    "float": lambda x: x * (1.0 / x.shape[0]),
    "root": lambda x: x * math.sqrt(x.shape[1]),
    "product": lambda x: x * math.prod(x.shape),
    "numpy": lambda x: x * float(np.prod(x.shape)) * float(np.sqrt(x.shape[0])),
    "array": lambda x: x[np.zeros(x.shape[1], bool).nonzero()[0]] + 1,
    "bits": lambda x: x * x.shape[1].bit_length(),
    "equal": lambda x: x * 2 if x.shape == (3, 10, 8) else x + 0,
    "copied": lambda x: x * copy.deepcopy(x.shape[0]),
    "key of a result": lambda x: {x.shape[0]: x * 2},
    "count beside a result": lambda x: (x * 2, x.size),
    "set beside a result": lambda x: (x * 2, {x.shape[0], x.shape[1]}),
    "text beside a result": lambda x: (x * 2, f"{x.shape}"),
    "ragged": lambda x: gn.nested.as_nested_tensor(x).mean(1),
    "part": lambda x: (x + 1)[0],
    "as it is": lambda x: x,
    "range looked at": lambda x: x * gn.arange(x.shape[0]).sum().item(),
    "range in numpy": lambda x: x * float(np.asarray(gn.arange(x.shape[1])).sum()),
    "range as lists": lambda x: x + len(gn.zeros(x.shape[0]).tolist()),
    "caught": lambda x: x * caught(lambda: gn.arange(x.shape[0]).sum().item()),
    "samples": lambda x: gn.vmap(lambda row: row * row.shape[0])(x),
    "gradient inside": lambda x: gn.func.grad(lambda y: (y * y.shape[0]).sum())(x),
}


@pytest.mark.parametrize("name", PINNED)
def test_sizes_that_python_needs_as_they_are(name: str):
    beside(PINNED[name])


BRANCHES = {
    "few": lambda x: x * 2 if x.shape[0] > 5 else x - 1,
    "longest": lambda x: x * max(x.shape[0], 7),
    "square": lambda x: x @ x.mT if x.shape[0] < x.shape[1] else x.mT @ x,
    "order": lambda x: x * sorted(x.shape)[0],
    "doubled": lambda x: F.interpolate(x[:, None], scale_factor=2),
    "halved": lambda x: F.interpolate(x[:, None], scale_factor=0.5),
    "bilinear": lambda x: F.interpolate(x[:, None], scale_factor=2.0, mode="bilinear"),
    "corners": lambda x: F.interpolate(x, scale_factor=1.5, mode="linear", align_corners=True),
    "to a size": lambda x: F.interpolate(x[:, None], size=(6, 5), mode="bicubic"),
    "parity": lambda x: x.unflatten(1, (2, -1)).sum(1) if x.shape[1] % 2 == 0 else x + 0,
}


@pytest.mark.parametrize("name", BRANCHES)
def test_each_way_has_a_capture(name: str):
    sizes = [(n, m) for n in range(2, 9) for m in range(9, 15)]
    compiled = beside(BRANCHES[name], sizes)

    assert compiled.captures < len(sizes) / 3


@gn.library.custom_op("sized::summed", mutates_args=())
def summed(x: gn.Tensor, factor: float) -> gn.Tensor:
    """Sums of rows so far, twice."""
    made = np.cumsum(x.numpy(), 0) * factor
    return gn.from_numpy(np.concatenate([made, made]).astype(np.float32))


@summed.register_fake
def shape_of_summed(x: gn.Tensor, factor: float) -> gn.Tensor:
    """Twice the rows; one more look at the size than is needed."""
    rows = x.shape[0] * 2 if x.shape[0] < 100 else x.shape[0] + x.shape[0]
    return gn.empty(rows, *x.shape[1:], dtype=x.dtype)


@gn.library.custom_op("sized::added_", mutates_args=("x",))
def added(x: gn.Tensor, by: int) -> None:
    """Add a number in place."""
    x.add_(by)


@added.register_fake
def shape_of_added(x: gn.Tensor, by: int) -> None:
    """Nothing."""


def adding(x: gn.Tensor) -> gn.Tensor:
    """Add in place to what the function made."""
    y = x * 2
    added(y, 3)
    return y + 1


def test_custom_operations():
    assert beside(lambda x: summed(x + 1, 2.0) * 3).captures == 2
    assert beside(adding).captures == 2
    beside(lambda x: summed(x, float(x.shape[1])) * 3)


def test_a_fake_that_needs_the_number():
    names = {5: 1.0, 6: 2.0}

    @gn.library.custom_op("sized::named", mutates_args=())
    def named(x: gn.Tensor) -> gn.Tensor:
        return gn.zeros(int(names.get(x.shape[0], 3.0)))

    @named.register_fake
    def shape_of_named(x: gn.Tensor) -> gn.Tensor:
        return gn.empty(int(names.get(x.shape[0], 3.0)))

    compiled = gn.compile(lambda x: named(x) + 1, dynamic=True)
    for n in (3, 4, 5, 6, 7, 6, 5):
        assert compiled(gn.ones(n)).tolist() == [1.0] * int(names.get(n, 3.0)), n


def test_ragged_batches():
    def attended(values: gn.Tensor, offsets: gn.Tensor) -> Any:
        x = gn.nested.nested_tensor_from_jagged(values, offsets, max_seqlen=9)
        q = (x @ W).unflatten(-1, (2, 4)).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, q, q).transpose(1, 2).flatten(-2)
        return y.values(), y.mean(1), x.softmax(1).values()

    compiled = gn.compile(attended, dynamic=True)
    for ends in (
        [0, 2, 5],
        [0, 3, 4, 9],
        [0, 9, 9, 10, 12],
        [0, 4],
        [0, 1, 2, 3, 4, 5, 14],
        [0, 5],
    ):
        values = given(ends[-1], 1)[:, 0]
        made, wanted = (f(values, gn.tensor(ends)) for f in (compiled, attended))
        assert bits(made) == bits(wanted), ends
    assert compiled.captures <= 4
    with pytest.raises(gn.errors.ShapeError, match="offsets must go from 0 to 6, never down"):
        compiled(given(6, 1)[:, 0], gn.tensor([0, 4, 3, 6]))[0].numpy()


def test_sizes_0_and_1_and_equal_ones():
    sizes = [
        (5, 7),
        (3, 10),
        (1, 6),
        (0, 5),
        (4, 1),
        (4, 0),
        (6, 6),
        (8, 8),
        (9, 8),
        (1, 1),
        (2, 2),
    ]
    beside(lambda x: (x @ W).sum(1) + x.shape[0], sizes)


def test_what_is_not_asked_for():
    for options in ({"dynamic": False}, {"mode": "max-autotune"}):
        compiled = gn.compile(lambda x: x * 2, **options)
        for n in range(3, 9):
            compiled(gn.ones(n))
        assert compiled.captures == 6
    compiled = gn.compile(lambda x: x * 2)
    for n in range(3, 9):
        compiled(gn.ones(n))
    assert compiled.captures == 3, "the third size asks where nothing else is said"


class Counted(nn.Module):
    """A module with buffers that calls change."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = 1.0
        self.register_buffer("rows", gn.zeros(()))
        self.register_buffer("mean", gn.zeros(8))

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        self.rows += x.shape[0]
        self.mean.copy_(x.mean((0, 1)))
        return x * self.rows * self.scale


def test_buffers_and_attributes_that_change():
    plain, module = Counted(), Counted()
    compiled = gn.compile(module, dynamic=True)
    for k, pair in enumerate(SIZES):
        plain.scale = module.scale = float(k // 3)
        assert bits(compiled(given(*pair))) == bits(plain(given(*pair)))
        assert bits(module.rows) == bits(plain.rows)
        assert bits(module.mean) == bits(plain.mean)


def test_python_state_that_changes():
    settings, factors = {"scale": 1.0}, [1.0, 2.0]

    def scaled(x: gn.Tensor) -> gn.Tensor:
        return x * settings["scale"] + factors[0] + x.shape[0]

    compiled = gn.compile(scaled, dynamic=True)
    for k in range(3, 24):
        settings["scale"], factors[0] = 1.0 + (k // 8), float(k // 10)
        assert bits(compiled(given(k, 2))) == bits(scaled(given(k, 2)))
    assert compiled.captures < 12


def test_an_argument_that_is_written_to():
    def grown(x: gn.Tensor) -> gn.Tensor:
        x.add_(1)
        return x * 2

    compiled = gn.compile(grown, dynamic=True)
    for k in range(3, 9):
        x, y = given(k, 2), given(k, 2)
        assert bits(compiled(x)) == bits(grown(y))
        assert bits(x) == bits(y)
    assert compiled.captures == 2


def test_effects_are_done_once_a_call():
    seen, told = [], []

    def noting(x: gn.Tensor) -> gn.Tensor:
        seen.append(x.shape[0])
        return x * 2

    def late(x: gn.Tensor) -> gn.Tensor:
        if x.shape[0] > 6:
            told.append(x.shape[0])
        return x * 2

    for function, kept in ((noting, seen), (late, told)):
        compiled = gn.compile(function, dynamic=True)
        for k in range(3, 10):
            compiled(gn.ones(k))
        wanted = [*range(3, 10)] if kept is seen else [7, 8, 9]
        assert kept == wanted
        assert all(type(n) is int for n in kept)


def test_an_effect_before_an_error_is_not_done_twice():
    done = []

    def failing(x: gn.Tensor) -> gn.Tensor:
        if x.shape[0] > 5:
            done.append(1)
            raise ValueError("too long")
        return x * 2

    compiled = gn.compile(failing, dynamic=True)
    for k in (3, 4, 5):
        compiled(gn.ones(k))
    with pytest.raises(gn.errors.TraceError, match="failing has changed Python values while"):
        compiled(gn.ones(7))
    assert done == [1]


def test_an_effect_before_a_look_is_not_done_twice():
    done = []

    def looking(x: gn.Tensor) -> gn.Tensor:
        if x.shape[0] > 5:
            done.append(1)
            if x.sum() > 0:
                return x * 3
        return x * 2

    compiled = gn.compile(looking, dynamic=True)
    for k in (3, 4, 5, 7, 8, 6):
        assert compiled(gn.ones(k)).tolist() == [3.0 if k > 5 else 2.0] * k
    assert done == [1, 1, 1]


def test_errors_are_those_of_the_plain_function():
    def limited(x: gn.Tensor) -> gn.Tensor:
        if x.shape[0] > 8:
            raise ValueError(f"too long: {x.shape[0]}")
        return x * 2

    compiled = gn.compile(limited, dynamic=True)
    for k in (3, 4, 5, 9, 7, 10, 4, 11):
        if k > 8:
            with pytest.raises(ValueError, match=f"too long: {k}"):
                compiled(gn.ones(k))
        else:
            assert compiled(gn.ones(k)).tolist() == [2.0] * k


def test_looks_at_values_are_breaks_as_before():
    def either(x: gn.Tensor) -> gn.Tensor:
        if x.shape[0] > 9 and x.sum() > 0:
            return x * 2
        return x - 1

    beside(either, [(n, 2) for n in (3, 4, 5, 6, 12, 8, 13, 14, 15, 4, 30)])


def test_what_a_size_was_given_to_does_not_keep_it():
    @lru_cache
    def doubled(n: int) -> int:
        return n * 2

    kept: dict[str, Any] = {}

    def keeping(x: gn.Tensor) -> gn.Tensor:
        kept["rows"] = x.shape[0]
        return x * 2

    beside(lambda x: x * doubled(x.shape[0]))
    assert doubled(3) == 6
    assert type(doubled(3)) is int
    compiled = gn.compile(keeping, dynamic=True)
    for k in range(3, 9):
        compiled(gn.ones(k))
        assert type(kept["rows"]) is int
        assert kept["rows"] == k
        assert pickle.loads(pickle.dumps(kept)) == {"rows": k}


def test_a_failed_attempt_leaves_nothing_behind():
    kept = []

    def odd(x: gn.Tensor) -> gn.Tensor:
        y = x @ W
        kept.append(y)
        if len(kept) > 1:
            kept.pop(0)
        return y * NAMES.get(x.shape[0], 1.0)

    compiled = gn.compile(odd, dynamic=True)
    for pair in SIZES:
        assert bits(compiled(given(*pair))) == bits((given(*pair) @ W) * NAMES.get(pair[0], 1.0))
        assert bits(kept[0]) == bits(given(*pair) @ W)
    weight = gn.ones(2, requires_grad=True)
    weight.sum().backward()
    gn.optim.SGD([weight], 0.5).step()  # computes all that waits
    assert weight.tolist() == [0.5, 0.5]


def trained(compile: Callable, make: Callable[[], nn.Module], loss: Callable) -> list[Any]:
    """Losses and parameters of steps at several sizes."""
    gn.manual_seed(0)
    model = make()
    optimizer = gn.optim.AdamW(model.parameters(), 1e-2)

    def step(x: gn.Tensor) -> gn.Tensor:
        optimizer.zero_grad()
        value = loss(model, x)
        value.backward()
        optimizer.step()
        return value.detach()

    run = compile(step)
    gn.manual_seed(1)
    found = [bits(run(given(*pair))) for pair in SIZES]
    return [*found, *map(bits, model.parameters()), *map(bits, model.buffers()), run]


class Normed(nn.Module):
    """Batch norm over batches and lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.BatchNorm1d(8), nn.Linear(8, 8)

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return self.linear(self.norm(x.transpose(1, 2)).transpose(1, 2))


MODELS = {
    "batch norm": Normed,
    "dropout": lambda: nn.Sequential(
        nn.Linear(8, 16), nn.Dropout(0.5), nn.GELU(), nn.Linear(16, 8)
    ),
    "norm": lambda: nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 8)),
    "attention": lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True),
    "recurrent": lambda: nn.LSTM(8, 4, batch_first=True),
}


@pytest.mark.parametrize("name", MODELS)
def test_training_steps(name: str):
    def loss(model: nn.Module, x: gn.Tensor) -> gn.Tensor:
        made = model(x)
        made = made[0] if isinstance(made, tuple) else made
        return F.mse_loss(made.sum(-1), x.mean(-1))

    plain = trained(lambda f: f, MODELS[name], loss)
    found = trained(lambda f: gn.compile(f, dynamic=True), MODELS[name], loss)

    assert found[:-1] == plain[:-1]
    assert found[-1].captures < len(SIZES) or name == "recurrent"


def test_gradients_outside():
    layer = nn.Linear(8, 4)
    compiled = gn.compile(lambda x: layer(x).square().mean(), dynamic=True)
    for pair in SIZES:
        found = []
        for call in (compiled, lambda x: layer(x).square().mean()):
            x = given(*pair).requires_grad_()
            layer.zero_grad()
            call(x).backward()
            found.append((bits(x.grad), bits(layer.weight.grad)))
        assert found[0] == found[1]
    assert compiled.captures <= 3


def test_threads_that_capture_at_once():
    layer = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
    compiled, wrong = gn.compile(gn.no_grad()(lambda x: layer(x) + x.shape[0]), dynamic=True), []

    def work(start: int) -> None:
        for k in range(8):
            x = given(3 + (start + 3 * k) % 11, 4 + (start * k) % 5)
            with gn.no_grad():
                if bits(compiled(x)) != bits(layer(x) + x.shape[0]):
                    wrong.append(tuple(x.shape))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_programs_are_kept_in_number(monkeypatch):
    monkeypatch.setattr(size_families, "SERVED", 3)
    compiled = gn.compile(lambda x: x * x.shape[0], dynamic=True)
    for _ in range(2):
        for n in range(3, 14):
            assert compiled(gn.ones(n)).tolist() == [float(n)] * n
    assert compiled.captures == 2
    assert len(compiled.captured()) == 2 + 3


def test_what_is_told_of_a_program_that_was_filled_in():
    compiled = beside(lambda x: (x @ W).relu().sum(1))

    assert "float32[2, 9, 8] -> float32[2, 8]" in compiled.explain()
    assert all(record.name for record in compiled.kernels())
    saved = compiled.precompile(given(15, 21))
    assert len(saved) >= 1


def test_a_position_outside_names_its_line():
    compiled = gn.compile(lambda x, places: x[places] * x.shape[0], dynamic=True)
    for n in (3, 4, 5, 6):
        assert compiled(gn.ones(n), gn.tensor([n - 1])).tolist() == [float(n)]
    with pytest.raises(IndexError, match=r"outside its axis.*test_sized_captures"):
        compiled(gn.ones(7), gn.tensor([7])).tolist()


def test_what_is_read_outside_is_no_effect(monkeypatch):
    monkeypatch.setenv("ROWS", "4")
    compiled = gn.compile(
        lambda x: x * NAMES.get(x.shape[0], int(os.environ["ROWS"])), dynamic=True
    )
    for n in range(3, 10):
        assert compiled(gn.ones(n)).tolist() == [NAMES.get(n, 4.0)] * n
    monkeypatch.setenv("ROWS", "6")
    assert compiled(gn.ones(8)).tolist() == [6.0] * 8


class Rotary(nn.Module):
    """A table that grows with the longest length so far, as positions are kept by many models."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = 0
        self.register_buffer("table", gn.zeros(0), persistent=False)

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        if x.shape[1] > self.longest:
            self.longest = x.shape[1]
            self.table = gn.arange(x.shape[1]).float().sin()
        return x * self.table[: x.shape[1], None]


def test_a_table_that_grows_at_a_new_length():
    plain, module = Rotary(), Rotary()
    compiled = gn.compile(module, dynamic=True)
    for m in (9, 4, 5, 6, 3, 12, 7, 11, 20, 15, 13):
        assert bits(compiled(given(3, m))) == bits(plain(given(3, m))), m
        assert (module.longest, type(module.longest)) == (plain.longest, int)
        assert bits(module.table) == bits(plain.table)


def test_what_is_given_beside_an_effect():
    seen = []

    def odd(x: gn.Tensor) -> Any:
        y = x * 2
        if x.shape[0] > 6:
            seen.append(x.shape[0])
            return y[: x.shape[0] - 1], {"rows": x.shape[0], "all": x.size, "shape": y.shape}
        return y

    compiled = gn.compile(odd, dynamic=True)
    for n in (3, 4, 5, 9, 10, 4, 8):
        found = compiled(gn.ones(n))
        if n > 6:
            part, rest = found
            assert (part.shape, rest) == ((n - 1,), {"rows": n, "all": n, "shape": (n,)})
            assert [type(x) for x in (rest["rows"], rest["shape"][0])] == [int, int]
    assert seen == [9, 10, 8]


PICTURES = ((2, 14, 20), (3, 9, 11), (2, 16, 22), (5, 31, 8), (1, 17, 33), (4, 40, 40), (2, 8, 39))


@pytest.mark.parametrize("is_pooled", [False, True])
def test_pictures_of_many_sizes(is_pooled: bool):
    gn.manual_seed(0)
    pool = nn.MaxPool2d(2) if is_pooled else nn.Identity()
    layers = nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), pool, nn.Conv2d(8, 4, 3, padding=1)),
        *(nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)),
    )
    compiled, factor = gn.compile(layers), 2 if is_pooled else 1  # odd sizes leave a row out
    with gn.no_grad(), patch.object(sized, "on_symbols", wraps=sized.on_symbols) as made:
        for batch, high, wide in PICTURES:
            shape = batch, 3, high * factor, wide * factor
            x = gn.from_numpy(np.random.default_rng(high).standard_normal(shape, np.float32))
            assert bits(compiled(x)) == bits(layers(x)), shape
    assert compiled.captures == 4, compiled.why_recompiled()  # a batch of 1 is one of them
    assert made.call_count <= 4  # rows below 32 or not, elements a multiple of 16 or not
