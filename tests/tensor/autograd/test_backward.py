"""A loop derives its backward pass once; what a plan gives is what the rules give."""

from __future__ import annotations

import gc
import importlib

import gnomon as gn

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
