"""Hooks of tensors: who is told a gradient, and until when."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import GradientError


def test_a_hook_is_told_the_gradient_until_it_is_removed():
    x, seen = gn.ones(2, requires_grad=True), []
    with x.register_hook(lambda g: seen.append(g.tolist())):
        (x * 3).sum().backward()

    (x * 5).sum().backward()

    assert seen == [[3.0, 3.0]]


def test_what_a_hook_returns_takes_the_gradients_place():
    x = gn.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 10)

    y.sum().backward()

    assert x.grad.tolist() == [20.0, 20.0]


def test_a_hook_may_wait_until_the_gradient_is_gathered():
    x, seen = gn.ones(1, requires_grad=True), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))

    for _ in range(2):
        (x * 3).sum().backward()

    assert seen == [3.0, 6.0]


def test_a_tensor_in_the_middle_keeps_its_gradient_when_asked_to():
    x = gn.ones(2, requires_grad=True)
    kept, equal = x * 2, x * 2
    kept.retain_grad()

    (kept.sum() + equal.sum()).backward()

    assert kept.grad.tolist() == [1.0, 1.0]


def test_a_tensor_without_gradients_has_no_hooks():
    with pytest.raises(GradientError, match="does not require grad"):
        gn.ones(1).register_hook(print)


def test_a_tensor_that_was_used_is_hooked_and_keeps_its_gradient():
    x, seen = gn.ones(2, requires_grad=True), []
    y = x * 2
    loss = (y * 3).sum()
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.retain_grad()

    loss.backward()

    assert seen == [[3.0, 3.0]]
    assert y.grad.tolist() == [3.0, 3.0]


def test_a_view_of_a_leaf_is_hooked():
    x, seen = gn.ones(3, 2, requires_grad=True), []
    row = x[1]
    row.register_hook(lambda g: seen.append(g.tolist()))
    row.retain_grad()

    (row[1:] * 5 + row.sum() + x.sum()).sum().backward()

    assert seen == [[1.0, 6.0]]
    assert row.grad.tolist() == [1.0, 6.0]


def test_hooks_belong_to_a_value_and_kept_gradients_to_the_tensor():
    x, seen = gn.ones(2, requires_grad=True), {"before": [], "after": []}
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: seen["before"].append(g.tolist()))
    y.mul_(3)
    y.register_hook(lambda g: seen["after"].append(g.tolist()))

    (y * 5).sum().backward()

    assert seen == {"before": [[15.0, 15.0]], "after": [[5.0, 5.0]]}
    assert y.grad.tolist() == [5.0, 5.0]


def test_equal_tensors_before_and_after_have_hooks_of_their_own():
    x, seen = gn.ones(2, requires_grad=True), []
    y = x * 2
    used = y * 3
    y.register_hook(lambda g: seen.append(g.tolist()))
    equal = x * 2

    (used + equal).sum().backward()

    assert seen == [[3.0, 3.0]]


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
