"""Gradients of what a captured function and others read: added up in the order of a plain run.

Equal expressions are one node in a plain run, and of several calls one each: where two calls
compute one thing, their gradients are not those of a plain run to the last bit.
"""

from __future__ import annotations

import random
from functools import partial

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


def drawn(rng):
    """A few reads of a weight, and steps of its optimizer between them."""
    kinds = ("mul", "sin", "slice", "row", "write", "write")
    return [(rng.choice(kinds), rng.uniform(-2, 2)) for _ in range(rng.randint(2, 5))]


def taken(items, weight, optimizer, t):
    for kind, c in items:
        if kind == "mul":
            t = t + weight * c * t
        elif kind == "sin":
            t = (weight * c + t).sin()
        elif kind == "slice":
            t = t + (weight[1:4] * c).exp().sum()
        elif kind == "row":
            t = t + weight[0] * t
        else:
            optimizer.step()
    return t


def steps(parts, inputs, captures):
    """All that calls leave behind; captures: the part that is captured, "all" or "none"."""
    weight = gn.tensor([0.7, -1.3, 0.4, 1.9, -0.6], requires_grad=True)
    optimizer, found = gn.optim.SGD([weight], lr=0.125), []
    calls = [partial(taken, items, weight, optimizer) for items in parts]
    if captures in range(len(parts)):
        calls[captures] = gn.compile(calls[captures])

    def whole(t):
        for call in calls:
            t = call(t)
        return t

    called = gn.compile(whole) if captures == "all" else whole
    for x in inputs:
        y = called(gn.tensor(x))
        if y.requires_grad:
            y.sum().backward()
        seen = (y.detach(), weight.detach(), weight.grad)
        found.append([None if x is None else x.numpy().tobytes() for x in seen])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_weight_that_is_written_between_reads_has_the_gradient_of_a_plain_run(seed):
    rng, values = random.Random(seed), np.random.default_rng(seed)
    parts = [drawn(rng) for _ in range(3)]
    inputs = [values.standard_normal(5).astype(np.float32) for _ in range(3)]
    plain = steps(parts, inputs, "none")
    for captures in ("all", 0, 1, 2):
        assert steps(parts, inputs, captures) == plain, captures


def test_gradients_of_several_values_of_a_leaf_are_added_before_those_that_it_has():
    """As PyTorch's: one addition for each pass, whatever was written meanwhile."""
    weight, huge = gn.ones(1, requires_grad=True), 2.0**24
    weight.grad = gn.full((1,), huge)
    first = weight * 1.0
    with gn.no_grad():
        weight.add_(1)
    (first + weight * 1.0).sum().backward()
    assert weight.grad.item() == huge + 2


def waves(a, b):
    return (a * b).sin() + a * 0.3


def rises(a, b):
    return b.exp() * 0.1 + (a + b * 0.5).cos() * b


def pairs(a, b):
    """Two results."""
    return (b * a).tanh() * a - b, (a * 0.2).exp() * b


FUNCTIONS = (waves, rises, pairs)
COMPILED = tuple(map(gn.compile, FUNCTIONS))


def drawn_graph(seed, leaves, captures):
    """A value of random calls, some of which are captured."""
    rng, values = random.Random(seed), list(leaves)
    for _ in range(rng.randint(2, 7)):
        k, a, b = rng.randrange(3), rng.choice(values), rng.choice(values)
        functions = COMPILED if rng.random() < 0.6 and captures else FUNCTIONS
        made = functions[k](a, b)
        values += made if isinstance(made, tuple) else [made]
        if rng.random() < 0.3:
            values.append(rng.choice(values) * rng.uniform(-1, 1) + rng.choice(values))
    return sum((rng.choice(values[3:]) * 0.5 for _ in range(2)), values[-1])


@pytest.mark.parametrize("seed", range(40))
def test_a_graph_of_captured_functions_has_the_gradients_of_a_plain_run(seed):
    found = []
    for captures in (False, True):
        rng = np.random.default_rng(seed)
        leaves = [gn.tensor(rng.standard_normal(5)).float().requires_grad_() for _ in range(3)]
        drawn_graph(seed, leaves, captures).sum().backward()
        found.append([None if x.grad is None else x.grad.numpy().tobytes() for x in leaves])
    assert found[0] == found[1]
