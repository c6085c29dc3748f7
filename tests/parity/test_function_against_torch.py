"""autograd.Function: the same classes and calls in both libraries."""

from __future__ import annotations

import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity


def classes(lib):
    """Functions of every style, over one of the libraries."""

    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(context, x):
            y = x.exp()
            context.save_for_backward(y)
            return y

        @staticmethod
        def backward(context, g):
            (y,) = context.saved_tensors
            return g * y

    class Polar(lib.autograd.Function):
        """Two results and a position that has no gradient; keeps by setup_context."""

        @staticmethod
        def forward(x, y, power):
            length = (x * x + y * y) ** 0.5
            return length, x * y**power, length.argmax()

        @staticmethod
        def setup_context(context, inputs, output):
            x, y, context.power = inputs
            context.save_for_backward(x, y, output[0])
            context.mark_non_differentiable(output[2])

        @staticmethod
        def backward(context, g, h, none):
            x, y, length = context.saved_tensors
            p = context.power
            assert context.needs_input_grad == (True, True, False)
            return g * x / length + h * y**p, g * y / length + h * x * p * y ** (p - 1), None

    class Halves(lib.autograd.Function):
        """Results without gradients stay None."""

        @staticmethod
        def forward(context, x):
            context.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(context, g, h):
            context.seen = (g is None, h is None)
            return sum(part * k for part, k in ((g, 2), (h, 3)) if part is not None)

    return Exp, Polar, Halves


def told(lib):
    """Values and gradients of a few programs."""
    exp, polar, halves = classes(lib)
    x = lib.tensor([0.5, -1.0, 2.0], requires_grad=True)
    y = lib.tensor([1.5, 0.25, -2.0], requires_grad=True)
    found = []

    def gather(loss):
        x.grad = y.grad = None
        loss.backward()
        found.append([loss.item(), *(None if t.grad is None else t.grad.tolist() for t in (x, y))])

    gather((exp.apply(x * y) * y).sum())
    length, product, place = polar.apply(x, y, 3)
    gather((length * product).sum())
    found.append([place.item(), place.requires_grad, length.requires_grad])
    gather(polar.apply(x, y.sin(), 2)[1].sum())
    gather(halves.apply(x)[1].sum())
    gather(halves.apply(exp.apply(y))[0].mean())
    (slope,) = lib.autograd.grad((exp.apply(x) * x).sum(), x, create_graph=True)
    gather((slope * slope).sum())
    twice = exp.apply(x).sum()
    twice.backward(retain_graph=True)
    gather(twice)
    return found


def flat(value):
    """The numbers of nested lists."""
    if isinstance(value, list):
        return [x for part in value for x in flat(part)]
    return [value]


def test_values_and_gradients_of_functions_are_torchs():
    mine, theirs = flat(told(gn)), flat(told(torch))

    assert [x is None for x in mine] == [x is None for x in theirs]
    assert [x or 0 for x in mine] == pytest.approx([x or 0 for x in theirs], rel=1e-5)
