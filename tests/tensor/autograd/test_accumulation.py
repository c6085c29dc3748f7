"""Passes that add up gradients are programs of their own: memory is that of one of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.tensor import evaluate
from gnomon.tensor.state import waiting

pytestmark = pytest.mark.unit

X = np.random.default_rng(0).normal(size=(8, 4, 16)).astype(np.float32)


def network() -> nn.Sequential:
    gn.manual_seed(0)
    made = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 3))
    evaluate.evaluate_all()
    return made


def passes(model: nn.Module, count: int, after: Callable = lambda *_: None) -> None:
    """Several passes whose gradients are added up."""
    for k in range(count):
        loss = model(gn.tensor(X[k])).square().mean()
        loss.backward()
        after(k, loss)


def test_no_pass_waits_for_the_next_ones():
    model, waits = network(), []
    before = {*waiting()}  # of other tests, that failed to be computed

    passes(model, 4, lambda k, loss: waits.append({*waiting()} - before))

    assert waits[1:] == [set(), set(), set()]
    assert all(p.grad._storage.node.value is not None for p in model.parameters())


def test_counts_of_passes_share_their_programs(monkeypatch: pytest.MonkeyPatch):
    """A last step of fewer microbatches would wait for programs of its own."""
    prepared, prepare = [], evaluate.prepare

    def counted(*given):
        prepared.append(given)
        return prepare(*given)

    monkeypatch.setattr(evaluate, "prepare", counted)
    model = network()
    optimizer = gn.optim.AdamW(model.parameters(), 1e-2)
    counts = []
    for count in (3, 3, 7, 2):
        passes(model, count)
        optimizer.step()
        optimizer.zero_grad()
        counts.append(len(prepared))

    assert counts[1] == counts[-1]


def test_gradients_have_the_bits_of_passes_that_wait():
    """Passes that retain their graphs wait, and are computed by one program."""
    found = []
    for retain in (False, True):
        model = network()
        for k in range(4):
            model(gn.tensor(X[k])).square().mean().backward(retain_graph=retain)
        found.append([p.grad.numpy().tobytes() for p in model.parameters()])

    assert found[0] == found[1]


def test_passes_over_one_graph_share_its_forward():
    model, before = network(), evaluate.evaluations
    made = model(gn.tensor(X[0]))
    made.sum().backward(retain_graph=True)
    made.square().sum().backward()

    assert evaluate.evaluations == before + 1


def test_a_loss_whose_pass_is_to_come_waits():
    """Computed before its pass, it would be computed once more by it."""
    model = network()
    losses = [model(gn.tensor(X[k])).square().mean() for k in range(3)]
    losses[0].backward()
    losses[1].backward()

    assert [loss._storage.node.value is None for loss in losses] == [False, False, True]


def test_results_on_the_way_are_computed_with_their_pass():
    model, before = network(), evaluate.evaluations
    for k in range(2):
        made = model(gn.tensor(X[k]))
        made.square().mean().backward()
    made.tolist()

    assert evaluate.evaluations == before + 2


@pytest.mark.parametrize("zeros", [False, True], ids=["none", "zeros"])
def test_a_step_of_one_pass_waits_for_its_update(zeros: bool):
    """Gradients that begin as zeros are not of an earlier pass."""
    model = network()
    optimizer = gn.optim.SGD(model.parameters(), 0.1)
    for k in range(3):
        optimizer.zero_grad(set_to_none=not zeros)
        before = evaluate.evaluations
        loss = model(gn.tensor(X[k])).square().mean()
        loss.backward()
        if k:
            assert evaluate.evaluations == before
        optimizer.step()
        loss.item()
