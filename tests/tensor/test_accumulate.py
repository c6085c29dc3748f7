"""gn.accumulate: microbatches change memory, and no bit of loss and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.tensor import evaluate


def problem(rows: int = 8):
    """Parameters, a loss over rows, and rows."""
    rng = np.random.default_rng(4)
    w = gn.tensor(rng.standard_normal((5, 3)).astype(np.float32), requires_grad=True)
    bias = gn.tensor(rng.standard_normal(3).astype(np.float32), requires_grad=True)
    x = gn.tensor(rng.standard_normal((rows, 7, 5)).astype(np.float32))
    y = gn.tensor(rng.standard_normal((rows, 7, 3)).astype(np.float32))

    def loss_of(batch):
        given, wanted = batch
        away = gn.tanh(given @ w + bias) - wanted
        return (away * away).mean()

    return w, bias, loss_of, (x, y)


def bits(*tensors) -> list[bytes]:
    return [t.numpy().tobytes() for t in tensors]


def after(microbatches: int) -> list[bytes]:
    """Loss and gradients."""
    w, bias, loss_of, batch = problem()
    loss = gn.accumulate(loss_of, batch, microbatches=microbatches)
    return bits(loss, w.grad, bias.grad)


def test_every_number_of_turns_gives_the_bits_of_a_plain_backward():
    w, bias, loss_of, batch = problem()
    loss = loss_of(batch)
    loss.backward()
    expected = bits(loss.detach(), w.grad, bias.grad)

    assert [after(n) == expected for n in (1, 2, 4, 8)] == [True] * 4


def test_gradients_add_to_those_that_are_there():
    w, _, loss_of, batch = problem()
    gn.accumulate(loss_of, batch, microbatches=2)
    once = w.grad.numpy().copy()

    gn.accumulate(loss_of, batch, microbatches=4)

    np.testing.assert_array_equal(w.grad.numpy(), once + once)


def test_inside_a_compiled_function():
    w, _, loss_of, batch = problem()
    expected = after(1)

    def step(batch):
        return gn.accumulate(loss_of, batch, microbatches=4)

    loss = gn.compile(step)(batch)

    assert bits(loss, w.grad) == expected[:2]


def test_the_loss_is_detached():
    _, _, loss_of, batch = problem()

    assert not gn.accumulate(loss_of, batch, microbatches=2).requires_grad


def test_batches_may_be_dicts_and_pending():
    w = gn.ones((3,), requires_grad=True)
    x = gn.ones((4, 3)) * 2.0

    loss = gn.accumulate(lambda batch: (batch["x"] * w).sum(), {"x": x}, microbatches=2)

    assert (loss.item(), w.grad.tolist()) == (24.0, [8.0, 8.0, 8.0])


@pytest.mark.parametrize(("rows", "turns"), [(6, 4), (4, 0)])
def test_turns_that_do_not_divide_the_rows_are_refused(rows, turns):
    _, _, loss_of, batch = problem(rows)

    with pytest.raises(ArgumentError, match=f"{turns} microbatches do not divide {rows} rows"):
        gn.accumulate(loss_of, batch, microbatches=turns)


def test_tensors_without_equal_rows_are_refused():
    with pytest.raises(ArgumentError, match=r"equally many rows: got \[2, 4\]"):
        gn.accumulate(lambda b: b[0].sum(), (gn.ones((2, 3)), gn.ones((4, 3))), microbatches=2)


def test_turns_share_their_programs():
    after(4)
    before = sum(map(len, evaluate._programs.values()))

    after(4)

    assert sum(map(len, evaluate._programs.values())) == before
