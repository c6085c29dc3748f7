"""gradcheck passes right gradients, and finds planted wrong ones."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, GradientError

X = gn.tensor([[0.5, 1.5]], dtype=gn.float64, requires_grad=True)


def test_right_gradients_pass():
    w = gn.tensor([[2.0, 1.0], [0.0, 3.0]], dtype=gn.float64, requires_grad=True)

    assert gn.autograd.gradcheck(lambda x, w, n: ((x @ w).tanh() * n, x.sum()), (X, w, 3.0))


def test_wrong_gradients_are_told_or_raised():
    def square(x):
        return x.detach() * x  # its gradient lacks the factor 2

    with pytest.raises(GradientError, match="output 0 for input 0"):
        gn.autograd.gradcheck(square, X)
    assert not gn.autograd.gradcheck(square, X, raise_exception=False)


def test_float32_is_too_coarse():
    with pytest.raises(ArgumentError, match="float64"):
        gn.autograd.gradcheck(gn.exp, gn.ones(2, requires_grad=True))


def test_gradients_of_gradients_are_checked_too():
    w = gn.tensor([[2.0, 1.0], [0.0, 3.0]], dtype=gn.float64, requires_grad=True)

    assert gn.autograd.gradgradcheck(lambda x, w: ((x @ w).tanh(), (x * x).sum()), (X, w))
    assert gn.autograd.gradgradcheck(lambda x: x**3, X, gn.ones(1, 2, dtype=gn.float64))


class Cube(gn.autograd.Function):
    """A function whose gradient is right and whose gradient's is not."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(context, g):
        return 3 * g * context.saved_tensors[0].detach() * context.saved_tensors[0]


def test_a_wrong_second_gradient_is_found():
    assert gn.autograd.gradcheck(Cube.apply, X)
    assert not gn.autograd.gradgradcheck(Cube.apply, X, raise_exception=False)


def test_complex_numbers_are_their_parts():
    z = gn.tensor([0.5 + 1j, 2 - 0.25j], requires_grad=True)
    z = z.detach().to(gn.complex128).requires_grad_()

    assert gn.autograd.gradcheck(lambda z: (z * z.conj() * (1 + 2j), z.abs()), z)
    assert gn.autograd.gradcheck(lambda z, x: z.exp() * x, (z, X.detach()[0].requires_grad_()))
    assert gn.autograd.gradgradcheck(lambda z: z * z, z)
    with pytest.raises(GradientError, match="output 0 for input 0"):
        gn.autograd.gradcheck(lambda z: z.detach() * z, z)


def test_nothing_has_no_wrong_gradient():
    nothing = gn.empty(3, 0, dtype=gn.float64, requires_grad=True)

    assert gn.autograd.gradcheck(gn.exp, nothing)
    assert gn.autograd.gradcheck(lambda x, y: x.sum() + y, (nothing, X))
