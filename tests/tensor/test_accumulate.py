"""gn.accumulate: microbatches change memory, and no bit of loss and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F
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


def test_every_number_of_microbatches_gives_the_bits_of_a_plain_backward():
    w, bias, loss_of, batch = problem()
    loss = loss_of(batch)
    loss.backward()
    expected = bits(loss.detach(), w.grad, bias.grad)

    assert [after(n) == expected for n in (1, 2, 4, 8)] == [True] * 4


def test_what_stands_beside_the_loss_is_given_for_all_rows():
    expected = after(1)
    for microbatches in (1, 2, 4):
        _, _, loss_of, batch = problem()

        def both(batch, loss_of=loss_of):
            given, _ = batch
            return loss_of(batch), (given > 0).sum((0, 1)), given.mean()

        def step(batch, both=both, n=microbatches):
            return gn.accumulate(both, batch, microbatches=n)

        for found in (step(batch), gn.compile(step)(batch)):
            loss, counts, mean = found
            assert bits(loss) == expected[:1]
            assert counts.numpy().tolist() == (batch[0].numpy() > 0).sum((0, 1)).tolist()
            assert bits(mean) == bits(batch[0].mean())
            assert not loss.requires_grad


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


@pytest.mark.parametrize(("rows", "microbatches"), [(6, 4), (4, 0)])
def test_microbatches_that_do_not_divide_the_rows_are_refused(rows, microbatches):
    _, _, loss_of, batch = problem(rows)

    with pytest.raises(ArgumentError, match=f"{microbatches} microbatches do not divide {rows}"):
        gn.accumulate(loss_of, batch, microbatches=microbatches)


def test_tensors_without_equal_rows_are_refused():
    with pytest.raises(ArgumentError, match=r"equally many rows: got \[2, 4\]"):
        gn.accumulate(lambda b: b[0].sum(), (gn.ones((2, 3)), gn.ones((4, 3))), microbatches=2)


def test_microbatches_share_their_programs():
    after(4)
    before = sum(map(len, evaluate._programs.values()))

    after(4)

    assert sum(map(len, evaluate._programs.values())) == before


def routed():
    """A loss over routed experts, attention and a large vocabulary, and its rows."""
    rng = np.random.default_rng(8)

    def parameter(*shape: int) -> gn.Tensor:
        values = rng.standard_normal(shape) * 0.1
        return gn.tensor(values.astype(np.float32), requires_grad=True)

    parameters = [parameter(*s) for s in ((4, 32), (4, 32, 48), (4, 48, 32), (512, 32))]
    gate, up, down, head = parameters

    def loss_of(batch):
        x_btd, wanted_bt = batch
        heads_bhtk = x_btd.reshape(*x_btd.shape[:2], 4, 8).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(*[heads_bhtk] * 3, is_causal=True)
        x_nd = (x_btd + mixed.transpose(1, 2).reshape(x_btd.shape)).reshape(-1, 32)
        expert_n = (x_nd @ gate.T).argmax(-1)
        order_n = expert_n.argsort(stable=True)
        ends = (expert_n.unsqueeze(0) <= gn.arange(4).unsqueeze(1)).sum(1).to(gn.int32)
        inner = F.silu(gn.grouped_mm(x_nd[order_n], up, offs=ends))
        y_nd = gn.grouped_mm(inner, down, offs=ends)[order_n.argsort()]
        options = F.LinearCrossEntropyOptions(chunking_method="vocab_chunking")
        return F.linear_cross_entropy(x_nd + y_nd, head, wanted_bt.reshape(-1), options=options)

    x = gn.tensor(rng.standard_normal((8, 16, 32)).astype(np.float32))
    return parameters, loss_of, (x, gn.tensor(rng.integers(0, 512, (8, 16))))


@pytest.mark.parametrize("microbatches", [1, 2, 4, 8])
def test_kernels_written_by_hand_run_in_microbatches_too(microbatches):
    parameters, loss_of, batch = routed()
    expected = gn.accumulate(loss_of, batch, microbatches=1), *(p.grad for p in parameters[1:])
    expected = bits(*expected)
    for p in parameters:
        p.grad = None

    def step(batch):
        return gn.accumulate(loss_of, batch, microbatches=microbatches)

    compiled = gn.compile(step)
    loss = compiled(batch)

    assert bits(loss, *(p.grad for p in parameters[1:])) == expected
    names = compiled.explain()
    assert all(name in names for name in ("attention_forward", "grouped_rows", "grouped_steps"))
