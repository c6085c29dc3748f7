"""Gradients that a pass has found: which tensors gather them, and after which hooks."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import GradientError


def test_a_result_that_is_asked_for_gathers_its_gradient():
    x = gn.ones(2, requires_grad=True)
    y = x * 2

    (y * 3).sum().backward(inputs=[y])

    assert y.grad.tolist() == [3.0, 3.0]
    assert x.grad is None


def test_hooks_of_what_is_not_asked_for_are_not_called():
    x, w, seen = gn.ones(2, requires_grad=True), gn.ones(2, requires_grad=True), []
    x.register_hook(seen.append)

    (x * w).sum().backward(inputs=[w])

    assert (seen, w.grad.tolist()) == ([], [1.0, 1.0])


def test_a_pass_to_no_inputs_is_refused():
    x = gn.ones(2, requires_grad=True)

    with pytest.raises(GradientError, match="`inputs` cannot be empty"):
        x.sum().backward(inputs=[])


def test_a_hook_sees_all_of_a_leafs_gradient_though_it_was_written_to():
    x, seen = gn.ones(2, requires_grad=True), []
    before = x * 2
    x.register_hook(lambda g: seen.append(g.tolist()))
    with gn.no_grad():
        x.mul_(3)

    (before + x * 5).sum().backward()

    assert (seen, x.grad.tolist()) == ([[7.0, 7.0]], [7.0, 7.0])
