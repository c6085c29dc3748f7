"""Gradients of what a captured function and others read: added up in the order of a plain run.

Equal expressions are one node in a plain run, and of several calls one each: where two calls
compute one thing, their gradients are not those of a plain run to the last bit.
"""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from tests.strategies import same_bits


def inner(w, a, b):
    """Two readers of w."""
    return (w * a).sin() + (w * b).exp()


def after(f, w, a, b):
    return f(w, a, b) + (w * 0.7).cos()


def before(f, w, a, b):
    return (w * 0.7).cos() + f(w, a, b)


def twice(f, w, a, b):
    return f(w, b, a) * f(w, a * 3, b * 5) + f(w, a * 2, b * 7)


def on_its_own_result(f, w, a, b):
    return f(f(w, a, b), w, b) + w * w


def of_parts(f, w, a, b):
    return f(w[1:], a[1:], b[:-1]) + f(w[:-1], a[1:], b[1:]) * w[0] + w[2:4].sum()


def gradients(program, f, seed):
    """The gradients of all operands."""
    rng = np.random.default_rng(seed)
    given = [gn.tensor(rng.standard_normal(5), dtype=gn.float32).requires_grad_() for _ in range(3)]
    program(f, *given).sum().backward()
    return [x.grad.numpy() for x in given]


PROGRAMS = [after, before, twice, on_its_own_result, of_parts]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_have_the_bits_of_a_plain_run(program):
    compiled = gn.compile(inner)
    for seed in range(6):
        plain, captured = (gradients(program, f, seed) for f in (inner, compiled))
        for x, y in zip(plain, captured, strict=True):
            assert same_bits(x, y), seed


def test_a_backward_pass_frees_nothing_of_the_value_that_an_optimizer_writes():
    def run(around):
        weight = gn.tensor([1.0, 2.0, 3.0], requires_grad=True)
        weight.grad, found = gn.ones(3), []
        optimizer = gn.optim.SGD([weight], lr=0.1)

        def outer(x):
            a, b = x * 1.0, x.sum()

            def step():
                nonlocal a, b
                if float((a * weight).sum()) > 1e6:
                    return a.tolist(), b
                with gn.no_grad():
                    optimizer.step()
                (weight * a.detach()).sum().backward()
                for _ in range(2):
                    b = b + a.sum()
                    a = a * weight
                return a.tolist(), b

            return step()

        taken = around(outer)
        for _ in range(3):
            a, b = taken(gn.tensor([1.0, -1.0, 2.0]))
            b.backward()
            found.append((a, b.item(), weight.grad.tolist(), weight.tolist()))
        return found

    assert run(gn.compile) == run(lambda f: f)


def reads_around_numpy(w, a, b):
    """Readers of a value before and after numpy had its memory."""
    x = w * a
    early = x.sin()
    if x.detach().numpy()[1] > 0:
        early = early * 2
    return early + x.exp() * b + (x * 0.7).cos() * a


def reads_what_was_copied(w, a, b):
    x = w * a
    early, array = x.sin(), x.detach().numpy()
    y = x * b + early
    kept = x.detach().numpy()
    return y + x.exp() + float(array[0] + kept[1]) * x.cos()


def without_numpy(program):
    """The program where values are read as lists, which lend nothing."""
    lends = gn.Tensor.numpy

    def call(*given):
        gn.Tensor.numpy = gn.Tensor.tolist
        try:
            return program(*given)
        finally:
            gn.Tensor.numpy = lends

    return call


@pytest.mark.parametrize("program", [reads_around_numpy, reads_what_was_copied])
def test_a_value_that_numpy_was_lent_has_the_gradient_of_one_that_it_was_not(program):
    for seed in range(8):
        lent, captured, kept = (
            gradients(lambda f, *given: f(*given), f, seed)
            for f in (program, gn.compile(program), without_numpy(program))
        )
        assert all(map(same_bits, lent, kept)), seed
        assert all(map(same_bits, lent, captured)), seed
