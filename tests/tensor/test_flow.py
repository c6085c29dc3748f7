"""Control flow gives the same inside gn.compile as outside."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, TraceError


def both(function, *args):
    """The function's results outside and inside of a capture."""
    outside, inside = function(*args), gn.compile(function)(*args)
    return outside, inside


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_cond_takes_one_branch(sign):
    x = gn.tensor([sign, 2.0])
    outside, inside = both(lambda x: gn.cond(x[0] > 0, lambda x: x * 2, lambda x: x - 1, [x]), x)

    assert outside.tolist() == inside.tolist() == ([2, 4] if sign > 0 else [-2, 1])


def test_gradients_pass_the_branch_that_was_taken():
    x = gn.tensor([3.0], requires_grad=True)
    f = gn.compile(lambda x: gn.cond(x.sum() > 0, lambda x: x * 5, lambda x: x * 7, [x]))
    f(x).sum().backward()

    assert x.grad.tolist() == [5]


def test_branches_of_different_shapes_are_refused_inside():
    f = gn.compile(lambda x: gn.cond(x.sum() > 0, lambda x: x, lambda x: x[:1], [x]))

    with pytest.raises(ArgumentError, match="same structure"):
        f(gn.ones(2))


def halve(x):
    return gn.while_loop(
        lambda x, n: x > 1, lambda x, n: (x / 2, n + 1), (x, gn.tensor(0)), max_iterations=8
    )


def test_while_loop_stops_when_its_condition_fails():
    outside, inside = both(halve, gn.tensor(20.0))

    assert [t.item() for t in outside] == [t.item() for t in inside] == [0.625, 5]


def test_an_unbounded_loop_is_refused_inside():
    f = gn.compile(lambda x: gn.while_loop(lambda x: x > 1, lambda x: (x / 2,), (x,)))

    with pytest.raises(TraceError, match="max_iterations"):
        f(gn.tensor(3.0))


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_carries_along_an_axis(reverse):
    def run(xs):
        return gn.scan(lambda c, x: (c * 2 + x, c), gn.tensor(0.0), xs, reverse=reverse)

    outside, inside = both(run, gn.tensor([1.0, 2.0, 3.0]))

    assert outside[0].item() == inside[0].item() == (17 if reverse else 11)
    assert outside[1].tolist() == inside[1].tolist()
