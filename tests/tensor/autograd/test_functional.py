"""Jacobians and Hessians by PyTorch's older names, beside closed forms."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError

X, Y = gn.tensor([1.0, 2.0]), gn.tensor([3.0, 4.0])
functional = gn.autograd.functional


def cubes(x, y):
    return (x**3 * y).sum()


def test_each_pair_of_inputs_has_its_second_derivatives():
    rows = functional.hessian(cubes, (X, Y))

    assert rows[0][0].tolist() == [[18.0, 0.0], [0.0, 48.0]]
    assert rows[0][1].tolist() == [[3.0, 0.0], [0.0, 12.0]]
    assert rows[1][1].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_products_with_the_hessian():
    for product in (functional.hvp, functional.vhp):
        value, found = product(cubes, (X, Y), (gn.ones(2), gn.ones(2)))
        assert value.item() == 35.0
        assert [part.tolist() for part in found] == [[21.0, 60.0], [3.0, 12.0]]


def test_a_graph_is_kept_where_it_is_asked_for():
    x = X.clone().requires_grad_()

    assert not functional.jacobian(lambda x: x * x, x).requires_grad
    functional.jacobian(lambda x: x * x, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_directions_must_fit():
    with pytest.raises(ArgumentError, match="jvp: v has shapes"):
        functional.jvp(lambda x: x, X, gn.ones(3))
    with pytest.raises(ArgumentError, match="vjp: v may be left out"):
        functional.vjp(lambda x: x, X)
    with pytest.raises(ArgumentError, match="hessian: the function must give one number"):
        functional.hessian(lambda x: x, X)
