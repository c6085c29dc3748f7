"""Gradients that are given back: batches of them, dicts, zeros for what nothing depends on."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import GradientError


def test_rows_of_a_jacobian_by_one_call():
    x = gn.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    (rows,) = gn.autograd.grad(y, x, gn.eye(3), is_grads_batched=True)

    assert rows.tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]


def test_batches_of_several_outputs_with_gradients_of_their_own():
    x = gn.tensor([1.0, 2.0], requires_grad=True)
    y, z = x**3, x.sum()
    given = [gn.eye(2), gn.ones(2)]
    (rows,) = gn.autograd.grad([y, z], [x], given, create_graph=True, is_grads_batched=True)
    rows.sum().backward()

    assert rows.tolist() == [[4, 1], [1, 13]]
    assert x.grad.tolist() == [6, 12]


@pytest.mark.parametrize("given", [None, [gn.ones(2, 2), gn.ones(3, 2)]])
def test_rows_that_do_not_fit_are_refused(given):
    x = gn.ones(2, requires_grad=True)

    with pytest.raises(GradientError, match="is_grads_batched takes grad_outputs"):
        gn.autograd.grad([x * 2, x * 3], x, given, is_grads_batched=True)


def test_no_rows():
    x = gn.ones(2, requires_grad=True)
    (rows,) = gn.autograd.grad(x * 2, x, gn.ones(0, 2), is_grads_batched=True)

    assert rows.shape == (0, 2)


def test_zeros_take_the_place_of_none():
    x, other = gn.ones(2, requires_grad=True), gn.ones(3, requires_grad=True)
    found = gn.autograd.grad((x * 2).sum(), [x, other], materialize_grads=True)

    assert [g.tolist() for g in found] == [[2, 2], [0, 0, 0]]
    with pytest.raises(GradientError, match="materialize_grads needs allow_unused"):
        gn.autograd.grad((x * 2).sum(), x, allow_unused=False, materialize_grads=True)


def test_inputs_by_name():
    given = {"x": gn.ones(2, requires_grad=True), "other": gn.ones(1, requires_grad=True)}
    found = gn.autograd.grad((given["x"] * 2).sum(), given, allow_unused=True)

    assert list(found) == ["x", "other"]
    assert found["x"].tolist() == [2, 2]
    assert found["other"] is None


def test_an_overwritten_value_is_refused():
    first, w = (gn.ones(2, requires_grad=True) for _ in range(2))
    out = (first * w).sum()
    with gn.no_grad():
        w.mul_(2.0)

    with pytest.raises(GradientError, match="modified by an inplace operation"):
        gn.autograd.grad(out, first)
