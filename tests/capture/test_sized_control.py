"""Branches and loops of programs at sizes that vary, beside captures of each and plain runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn

pytestmark = pytest.mark.unit

LENGTHS = (5, 9, 12, 20, 7, 31, 3, 17, 2, 64, 1, 9)
W = gn.from_numpy(np.random.default_rng(1).standard_normal((8, 8), np.float32) * 0.3)


def given(n: int, batch: int = 3) -> gn.Tensor:
    """A batch of sequences, the same for the same sizes."""
    random = np.random.default_rng(n + 100 * batch)
    return gn.from_numpy(random.standard_normal((batch, n, 8), np.float32))


def bits(value: Any) -> Any:
    """A result as something to compare."""
    if isinstance(value, gn.Tensor):
        return value.detach().numpy().tobytes(), tuple(value.shape), str(value.dtype)
    if isinstance(value, (tuple, list)):
        return [bits(x) for x in value]
    return type(value), value


def decayed(x: gn.Tensor, reverse: bool = False) -> Any:
    """Sums that decay along the sequence, and all of them."""
    start = gn.zeros(x.shape[0], 8)
    return gn.scan(lambda c, s: (c * 0.5 + s @ W, c + s), start, x.transpose(0, 1), reverse=reverse)


def turned(x: gn.Tensor) -> gn.Tensor:
    """As many products as the first row's sum says, five at most."""
    count = x[:, 0].sum().abs().long() % 5
    return gn.while_loop(lambda k, y: k < count, lambda k, y: (k + 1, y @ W), (gn.tensor(0), x))[1]


def nested(x: gn.Tensor) -> Any:
    """A loop over the sequence, a loop over the batch in it, and a branch in that."""

    def row(c: gn.Tensor, s: gn.Tensor) -> Any:
        return gn.cond(s.sum() > 0, lambda: c + s, lambda: c - s * 2), s * 2

    def step(c: gn.Tensor, s: gn.Tensor) -> Any:
        last, rows = gn.scan(row, c, s)
        return last * 0.5, rows.sum(0)

    return gn.scan(step, gn.zeros(8), x.transpose(0, 1))


def bounded(x: gn.Tensor) -> gn.Tensor:
    """A loop with a bound, through which gradients pass."""
    carried = gn.tensor(0), x
    made = gn.while_loop(
        lambda k, y: k < 3, lambda k, y: (k + 1, (y @ W).tanh()), carried, max_iterations=4
    )
    return made[1]


FUNCTIONS: dict[str, Callable] = {
    "branch": lambda x: gn.cond(x.sum() > 0, lambda x: x @ W, lambda x: x * 2, (x,)),
    "branch on a size": lambda x: gn.cond(x.sum() > x.shape[1], lambda: x + 1, lambda: -x),
    "loop over the sequence": decayed,
    "backwards": lambda x: decayed(x, True),
    "loop while": turned,  # whose gradients would need a bound
    "nested": nested,
    "bounded": bounded,
    "of a length": lambda x: gn.scan(lambda c, _: (c + 1, c * 2), x.sum(), None, length=x.shape[1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_capture_serves_further_sizes(name: str):
    function = FUNCTIONS[name]
    compiled, apart = gn.compile(function), gn.compile(function, dynamic=False)
    for n in LENGTHS:
        found = bits(compiled(given(n)))
        assert found == bits(apart(given(n))) == bits(function(given(n))), n
    assert compiled.captures <= 5, compiled.why_recompiled()
    assert compiled.kernels()
    assert "kernel" in compiled.explain()


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "loop while"])
def test_gradients(name: str):
    def loss(x: gn.Tensor) -> gn.Tensor:
        made = FUNCTIONS[name](x)
        made = made if isinstance(made, gn.Tensor) else sum(y.sum() for y in made)
        return (made * made).sum()

    inside = gn.compile(gn.func.grad(loss))
    outside, apart = gn.compile(loss), gn.compile(loss, dynamic=False)
    for n in LENGTHS:
        told = []
        for run in (outside, apart):
            x = given(n).requires_grad_()
            run(x).backward()
            told.append(bits(x.grad))
        assert told[0] == told[1] == bits(inside(given(n))), n
    assert inside.captures <= 5, inside.why_recompiled()


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_training_of_recurrent_layers(kind: type):
    def made() -> Any:
        gn.manual_seed(0)
        layers = kind(8, 8, num_layers=2, bidirectional=True, batch_first=True, dropout=0.25)
        optimizer = gn.optim.SGD(layers.parameters(), lr=0.05, momentum=0.9)

        def step(x: gn.Tensor) -> gn.Tensor:
            optimizer.zero_grad()
            loss = (layers(x)[0] ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        return step, layers

    (one, same), (other, twin) = made(), made()
    compiled, apart = gn.compile(one), gn.compile(other, dynamic=False)
    for n in LENGTHS:
        found = []
        for run in (compiled, apart):
            gn.manual_seed(n)
            found.append((bits(run(given(n))), bits(gn.rand(3))))
        assert found[0] == found[1], n
    assert bits([*same.parameters()]) == bits([*twin.parameters()])
    assert compiled.captures <= 5, compiled.why_recompiled()


def test_draws_in_loops_go_on_behind_them():
    def noisy(x: gn.Tensor) -> Any:
        def step(c: gn.Tensor, s: gn.Tensor) -> Any:
            return c + gn.rand(8), s * gn.rand(8)

        return *gn.scan(step, gn.zeros(8), x[0]), gn.rand(2)

    compiled, apart = gn.compile(noisy), gn.compile(noisy, dynamic=False)
    for n in LENGTHS:
        found = []
        for run in (compiled, apart):
            gn.manual_seed(3)
            found.append((bits(run(given(n))), bits(gn.rand(2))))
        assert found[0] == found[1], n
    assert compiled.captures <= 5


def test_counts_from_data():
    def rows(x: gn.Tensor) -> Any:
        kept = x[0][x[0, :, 0] > 0]
        return gn.scan(lambda c, s: (c * 0.5 + s, c.sum()), gn.zeros(8), kept)

    compiled = gn.compile(rows)
    for n in LENGTHS * 2:
        assert bits(compiled(given(n))) == bits(rows(given(n))), n
