"""What a backward pass frees: results that are held hold no activations and no weights."""

from __future__ import annotations

import gc
from collections.abc import Callable
from weakref import ref

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import GradientError
from gnomon.tensor import evaluate

pytestmark = pytest.mark.unit

X = np.random.default_rng(0).normal(size=(6, 4, 16)).astype(np.float32)


def network() -> nn.Sequential:
    gn.manual_seed(0)
    made = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 3))
    evaluate.evaluate_all()
    return made


HELD: dict[str, Callable] = {
    "result": lambda made, loss: made,
    "detached result": lambda made, loss: made.detach(),
    "part of a result": lambda made, loss: made[0].detach(),
    "loss": lambda made, loss: loss,
    "detached loss": lambda made, loss: loss.detach(),
}
READ: dict[str, Callable] = {
    "nothing": lambda made, loss: None,
    "the result": lambda made, loss: made.detach().numpy(),
    "the loss": lambda made, loss: loss.item(),
}


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("held", HELD)
def test_what_is_held_holds_no_weights_of_its_step(held: str, read: str):
    model, outputs, weights = network(), [], []
    optimizer = gn.optim.SGD(model.parameters(), 0.1)
    for x in X:
        weights.append(ref(model[0].weight._storage.node))
        made = model(gn.tensor(x))
        loss = made.square().mean()
        READ[read](made, loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        outputs.append(HELD[held](made, loss))
    del made, loss
    gc.collect()

    assert [node() is not None for node in weights[:-1]] == [False] * (len(X) - 1)
    assert all(np.isfinite(x.detach().numpy()).all() for x in outputs)


@pytest.mark.parametrize("read", READ)
def test_what_was_passed_is_refused_a_second_time(read: str):
    made = network()(gn.tensor(X[0]))
    loss = made.square().mean()
    READ[read](made, loss)
    loss.backward()
    made.tolist()

    with pytest.raises(GradientError, match=r"backward: trying to backward .* a second time"):
        made.sum().backward()


def test_a_graph_that_is_retained_is_passed_again():
    model = network()
    made = model(gn.tensor(X[0]))
    made.square().mean().backward(retain_graph=True)
    first = model[0].weight.grad.clone()
    made.tolist()
    made.square().mean().backward()

    assert model[0].weight.grad.numpy() == pytest.approx((2 * first).numpy(), rel=1e-6)


@pytest.mark.parametrize("read", [False, True])
def test_sums_and_views_are_passed_again(read: bool):
    """Their gradients read no value, so that nothing of them is freed."""
    w = gn.ones(3, 4, requires_grad=True)
    shared = (w + 1).T[1:] * 2 - w.detach().T[1:]
    if read:
        shared.tolist()
    shared.sum().backward()
    shared.tolist()
    (shared * 3).sum().backward()

    assert w.grad.tolist() == [[0, 8, 8, 8]] * 3


def test_equal_results_have_histories_of_their_own():
    model, x = network(), gn.tensor(X[0])
    first, second = model(x), model(x)
    first.square().mean().backward()
    first.tolist(), second.tolist()
    once = model[0].weight.grad.clone()
    second.square().mean().backward()
    again = model(x)
    again.square().mean().backward()

    assert model[0].weight.grad.numpy() == pytest.approx((3 * once).numpy(), rel=1e-6)


def test_gradients_of_some_inputs_free_their_paths_alone():
    a, b = gn.ones(3, requires_grad=True), gn.ones(3, requires_grad=True)
    inside = (b * b).exp()
    made = inside + a * a
    gn.autograd.grad(made.sum(), a)
    inside.tolist(), made.tolist()
    inside.sum().backward()

    assert b.grad.numpy() == pytest.approx(np.full(3, 2 * np.e), rel=1e-6)


@pytest.mark.parametrize("read", ["loss", "choices"])
def test_what_is_read_after_a_pass_is_computed_with_its_gradients(read: str):
    """By itself it would compute the forward once, and the update once more."""
    model = network()
    for x in X[:3]:
        made = model(gn.tensor(x))
        loss = made.square().mean()
        model.zero_grad()
        loss.backward()
        before = evaluate.evaluations
        loss.item() if read == "loss" else made.argmax(1).tolist()

        assert evaluate.evaluations == before + 1
        assert all(p.grad._storage.node.value is not None for p in model.parameters())


def test_values_behind_a_comparison_or_a_detach_are_not_freed():
    """No gradient goes over them in the pass of what is computed from them."""
    model, w = network(), gn.ones(3, requires_grad=True)
    made = model(gn.tensor(X[0]))
    ((made > 0) * w + made.detach() * w).sum().backward()
    made.tolist()
    made.square().mean().backward()

    assert model[0].weight.grad is not None
