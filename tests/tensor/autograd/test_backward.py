"""A loop derives its backward pass once; what a plan gives is what the rules give."""

from __future__ import annotations

import gc
import importlib

import pytest

import gnomon as gn
from gnomon.tensor import pieces

plans = importlib.import_module("gnomon.tensor.autograd.backward")


def loss_of(w, x):
    return (gn.tanh(x @ w) * x).sum()


def test_a_second_pass_of_one_structure_makes_no_new_plan():
    w, x = gn.ones(3, 3, requires_grad=True), gn.ones(2, 3)
    counts = []
    gc.collect()
    for _ in range(3):
        loss_of(w, x).backward()
        counts.append(len(plans._plans))

    assert counts[1] == counts[2]


def test_a_plan_gives_what_the_rules_give():
    x = gn.rand(2, 3)
    grads = []
    for slow in (False, True):
        w = (gn.arange(9.0).reshape(3, 3) / 10).requires_grad_()
        loss_of(w, x).backward(create_graph=slow)
        grads.append(w.grad.tolist())

    assert grads[0] == grads[1]


def test_given_gradients_are_inputs_of_the_plan():
    w = gn.ones(2, requires_grad=True)
    for scale in (1.0, 3.0):
        w.grad = None
        (w * 2).backward(gn.tensor([scale, 1.0]))
        assert w.grad.tolist() == [2 * scale, 2]


def test_two_roots_share_one_pass():
    w = gn.ones(2, requires_grad=True)
    h = w * 3
    gn.autograd.backward([h.sum(), (h * h).sum()])

    assert w.grad.tolist() == [21, 21]


STEPS = {
    "floor": lambda x: x.floor(),
    "divided": lambda x: gn.div(x, 2.0, rounding_mode="floor"),
    "cut off": lambda x: gn.div(x, 2.0, rounding_mode="trunc"),
    "a sign": lambda x: gn.copysign(gn.ones(3), x),
    "to the power 0": lambda x: x**0,
    "filled": lambda x: gn.fill(x, 2.0),
    "of an empty part": lambda x: gn.cat([gn.ones(1), x[:0]]),
    "at no position": lambda x: gn.gather(x, 0, gn.zeros(0, dtype=gn.int64)),
}


@pytest.mark.parametrize("captured", [False, True], ids=["at once", "compiled"])
@pytest.mark.parametrize("name", STEPS)
def test_a_leaf_that_is_read_in_steps_has_a_gradient_of_zeros(name, captured):
    x = gn.tensor([1.5, 2.5, 0.5], requires_grad=True)

    def back():
        STEPS[name](x).sum().backward()

    (gn.compile(back) if captured else back)()

    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("read", [lambda x: x.detach(), lambda x: (x > 1).float()])
def test_a_leaf_that_is_only_compared_or_cut_off_has_none_and_is_not_updated(read):
    x, w = gn.ones(3, requires_grad=True), gn.ones(3, requires_grad=True)
    optimizer = gn.optim.SGD([x, w], lr=0.5, weight_decay=0.1)

    (read(x) * w).sum().backward()
    optimizer.step()

    assert x.grad is None
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_a_structure_that_is_likely_to_come_once_has_no_plan(monkeypatch):
    monkeypatch.setattr(pieces, "STRUCTURES", 2)
    monkeypatch.setattr(pieces, "PASSES", 2)
    w, counts, grads = gn.linspace(0.5, 1.5, 3).requires_grad_(), [], []
    for n in (2, 3, 4, 5, 5, 5, 5):
        w.grad = None
        before = len(plans._plans)
        gn.stack([(w * (k + 1)).tanh() for k in range(n)]).sum().backward()
        counts.append(len(plans._plans) - before)
        grads.append(w.grad.tolist())

    assert counts == [1, 1, 0, 0, 0, 1, 0], "what comes again and again is planned"
    assert grads[3] == grads[4] == grads[5] == grads[6]


def test_what_gradients_read_is_found_behind_no_known_value(monkeypatch: pytest.MonkeyPatch):
    """A loop that reads a value in each step walks over the nodes of that step alone."""
    counts, numbered = [], plans.numbered

    def counted(*given):
        found = numbered(*given)
        counts.append(len(found))
        return found

    monkeypatch.setattr(plans, "numbered", counted)
    weight, x = gn.full((2, 2), 0.25, requires_grad=True), gn.ones(2)
    for _ in range(12):
        x = (x @ weight).tanh() + 0.5
        x.sum().item()
    x.sum().backward()

    assert len({*counts[2:]}) == 1
    assert len(counts) == 12
    whole, further = gn.full((2, 2), 0.25, requires_grad=True), gn.ones(2)
    for _ in range(12):
        further = (further @ whole).tanh() + 0.5
    further.sum().backward()
    assert weight.grad.tolist() == whole.grad.tolist()
