"""Operations whose gradients a user wrote; tests/parity compares them with PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import GradientError
from gnomon.tensor.tensor import raw
from tests.gradients import Square


class Scaled(gn.autograd.Function):
    """x · factor, whose backward counts its calls and has a slope of its own."""

    calls = 0

    @staticmethod
    def forward(context, x, factor, slope):
        context.slope = slope
        context.save_for_backward(x)
        return x * factor

    @staticmethod
    def backward(context, g):
        Scaled.calls += 1
        (x,) = context.saved_tensors
        return g * context.slope + 0 * x, None, None


def leaf(*values):
    return gn.tensor([float(v) for v in values], requires_grad=True)


@pytest.fixture
def calls():
    """How often Scaled.backward was called since the test began."""
    start = Scaled.calls
    return lambda: Scaled.calls - start


def test_the_users_gradient_is_taken_and_not_the_derived_one():
    x = leaf(1, 2)
    y = Scaled.apply(x * 2, 3, 10)
    y.sum().backward()

    assert y.tolist() == [6, 12]
    assert x.grad.tolist() == [20, 20]
    assert repr(y.grad_fn) == "<ScaledBackward>"


def test_every_pass_calls_backward_once_more_and_reads_its_own_attributes(calls):
    for k in range(1, 4):
        x = leaf(1)
        Scaled.apply(x, 2, k).sum().backward()

        assert x.grad.tolist() == [k]
        assert calls() == k


def test_without_gradients_there_is_nothing_to_call():
    x = leaf(1)
    with gn.no_grad():
        assert not Scaled.apply(x, 2, 1).requires_grad
    assert not Scaled.apply(x.detach(), 2, 1).requires_grad


def test_a_loss_that_is_read_first_calls_backward_once(calls):
    x = leaf(1, 2)
    loss = Scaled.apply(x.sin(), 2, 5).sum()
    loss.item()
    assert calls() == 0
    loss.backward()

    assert calls() == 1
    assert x.grad.tolist() == pytest.approx([5 * 0.5403023, 5 * -0.4161468])


def test_compiled_functions_keep_the_users_gradient(calls):
    def inside(x, slope):
        x.grad = None
        loss = Scaled.apply(x, 2, slope).sum()
        loss.backward()
        return loss

    step = gn.compile(inside)
    forward = gn.compile(lambda x, slope: Scaled.apply(x, 2, slope).sum())
    for slope in (3, 4, 3):
        x = leaf(1, 2)
        step(x, slope)
        assert x.grad.tolist() == [slope, slope]
        x.grad = None
        forward(x, slope).backward()
        assert x.grad.tolist() == [slope, slope]


def test_a_compiled_forward_that_is_read_first_keeps_it_too():
    forward = gn.compile(lambda x: Scaled.apply(x.sin(), 2, 7).sum())
    for _ in range(3):
        x = leaf(0)
        loss = forward(x)
        loss.item()
        loss.backward()

        assert x.grad.tolist() == [7]


def test_what_was_saved_is_let_go_with_the_graph():
    x = leaf(1, 2)
    y = Scaled.apply(x, 2, 1)
    loss = y.sum()
    loss.backward()
    del y, loss

    assert raw(x).value is not None
    assert x.grad.tolist() == [1, 1]


class Wrong(gn.autograd.Function):
    """A backward whose result is what apply is told."""

    @staticmethod
    def forward(context, x, answer):
        context.answer = answer
        return x + 1

    @staticmethod
    def backward(context, g):
        return context.answer(g)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda g: (g, g, None, g), r"Wrong.backward: returned an incorrect number of gradients"),
        (lambda g: g, r"Wrong.backward: returned an incorrect number of gradients \(expected 2"),
        (lambda g: (g[:1, :1].expand(5, 7), None), r"invalid gradient at index 0 - got \[5, 7\]"),
    ],
)
def test_gradients_that_do_not_fit_are_refused(answer, message):
    x = gn.ones(2, 3, requires_grad=True)

    with pytest.raises(GradientError, match=message):
        Wrong.apply(x, answer).sum().backward()


def test_gradients_of_arguments_that_were_not_given_are_none():
    x = gn.ones(2, requires_grad=True)
    Wrong.apply(x, lambda g: (g * 3, None, None, None)).sum().backward()

    assert x.grad.tolist() == [3, 3]


def test_what_is_not_defined_or_not_allowed_is_said():
    class Empty(gn.autograd.Function):
        pass

    class Hides(gn.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.mark_dirty(x)
            return x + 1

    with pytest.raises(NotImplementedError, match="define forward"):
        Empty.apply(leaf(1))
    with pytest.raises(GradientError, match="must be among its results"):
        Hides.apply(leaf(1) * 1)


class Clipped(gn.autograd.Function):
    """ReLU in place, whose backward reads the result."""

    @staticmethod
    def forward(context, x, scale):
        context.mark_dirty(x)
        x.clamp_(min=0).mul_(scale)
        context.save_for_backward(x)
        return x

    @staticmethod
    def backward(context, gradient):
        (y,) = context.saved_tensors
        return gradient * (y > 0) * 3, None


def test_forward_may_write_to_an_argument_that_it_marks_and_gives_back():
    a = gn.tensor([-1.0, 2.0, 3.0], requires_grad=True)
    x = a * 2

    y = Clipped.apply(x, 3)

    assert y is x
    assert x.tolist() == [0.0, 12.0, 18.0]
    (x * x).sum().backward()
    assert a.grad.tolist() == [0.0, 2 * 12 * 3 * 2, 2 * 18 * 3 * 2]


def test_a_view_that_is_written_to_changes_its_base():
    a = gn.tensor([-1.0, 2.0], requires_grad=True)
    x = a * 1

    Clipped.apply(x[:1], 3)

    assert x.tolist() == [0.0, 2.0]
    x.sum().backward()
    assert a.grad.tolist() == [0.0, 1.0]


def test_a_leaf_is_not_written_to_and_what_needs_no_gradient_is():
    with pytest.raises(GradientError, match="leaf"):
        Clipped.apply(gn.ones(2, requires_grad=True), 3)
    x = gn.tensor([-1.0, 2.0])
    assert Clipped.apply(x, 2) is x
    assert x.tolist() == [0.0, 4.0]


def test_an_argument_may_be_marked_and_given_back_unchanged():
    class Passes(gn.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.mark_dirty(x)
            return x

        @staticmethod
        def backward(context, gradient):
            return gradient * 5

    a = gn.ones(2, requires_grad=True)
    (Passes.apply(a * 1) * 2).sum().backward()
    assert a.grad.tolist() == [10.0, 10.0]


def test_a_function_that_may_be_told_to_write_is_a_function():
    made = gn.autograd.InplaceFunction(inplace=True)

    assert isinstance(made, gn.autograd.Function)
    assert made.inplace


@pytest.mark.parametrize("is_lent", [False, True])
def test_a_saved_leaf_is_itself_and_has_gradients_inside(is_lent: bool):
    weight = gn.nn.Parameter(gn.ones(2))
    if is_lent:
        weight.data = gn.from_numpy(np.ones(2, np.float32))
    seen = []

    class Again(gn.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx, g):
            (w,) = ctx.saved_tensors
            with gn.enable_grad():
                (inner,) = gn.autograd.grad((weight * 2).sum(), w)
            seen.append(w is weight)
            return g * w, inner

    x = gn.ones(2, requires_grad=True)
    Again.apply(x, weight).sum().backward()

    assert seen == [True]
    assert weight.grad.tolist() == [2, 2]


def test_a_saved_leaf_that_was_written_to_comes_with_its_old_value():
    class Product(gn.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    x, w = (gn.ones(2, requires_grad=True) for _ in range(2))
    made = Product.apply(x, w).sum()
    with gn.no_grad():
        w.fill_(5.0)
    made.backward()

    assert x.grad.tolist() == [1, 1]


def test_a_function_may_be_differentiable_once():
    class OnceSquare(Square):
        backward = staticmethod(gn.autograd.once_differentiable(Square.backward))

    x, seed = gn.tensor(3.0, requires_grad=True), gn.tensor(1.0, requires_grad=True)
    (plain,) = gn.autograd.grad(OnceSquare.apply(x), x)
    (tied,) = gn.autograd.grad(OnceSquare.apply(x), x, seed, create_graph=True)

    assert plain.item() == tied.item() == 6.0
    assert tied.requires_grad
    assert not plain.requires_grad
    with pytest.raises(GradientError, match="once_differentiable"):
        tied.backward()
