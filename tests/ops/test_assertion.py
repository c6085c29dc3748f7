"""What a user asserts inside of branches and iterations of programs."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.testing import assert_close

pytestmark = pytest.mark.cpu


def checked(x):
    gn._assert(x.sum() > 0, "the sum is positive")
    return x * 2


@pytest.fixture
def branch():
    return gn.compile(lambda p, x: gn.cond(p, checked, lambda x: x - 1, (x,)))


def test_it_holds_where_its_branch_is_taken(branch):
    yes, no = gn.tensor(True), gn.tensor(False)

    assert branch(yes, gn.ones(2)).tolist() == [2.0, 2.0]
    assert branch(no, -gn.ones(2)).tolist() == [-2.0, -2.0]
    with pytest.raises(AssertionError, match=r"^the sum is positive   \[.*n.py:14, inside"):
        branch(yes, -gn.ones(2)).tolist()
    with pytest.raises(AssertionError, match=r"inside of cond at .*test_assertion.py:20\]$"):
        branch(yes, -gn.ones(2)).tolist()
    assert branch(yes, gn.ones(2)).tolist() == [2.0, 2.0]


def test_gradients_pass(branch):
    x = gn.ones(2, requires_grad=True)

    @gn.compile
    def step(p, x):
        made = gn.cond(p, checked, lambda x: x - 1, (x,)).sum()
        made.backward()
        return made

    step(gn.tensor(True), x)
    assert_close(x.grad, gn.full((2,), 2.0))
    with pytest.raises(AssertionError, match="the sum is positive"):
        step(gn.tensor(True), (-gn.ones(2)).requires_grad_()).item()


def test_equal_conditions_keep_their_own_words():
    def twice(x):
        gn._assert(x > 0, "first")
        gn._assert(x > 0, "second")
        return x + 0

    inner = gn.compile(lambda p, x: gn.cond(p, twice, lambda x: x * 1, (x,)))
    assert inner(gn.tensor(True), gn.tensor(1.0)).item() == 1.0
    with pytest.raises(AssertionError, match=r"first|second"):
        inner(gn.tensor(True), gn.tensor(-1.0)).item()


def test_a_branch_inside_of_a_branch():
    def outer(x):
        return gn.cond(x[0] > 0, checked, lambda x: x + 5, (x,))

    f = gn.compile(lambda p, x: gn.cond(p, outer, lambda x: x * 1, (x,)))
    yes, no = gn.tensor(True), gn.tensor(False)
    bad = gn.tensor([1.0, -3.0])

    assert f(no, bad).tolist() == [1.0, -3.0]
    assert f(yes, -gn.ones(2)).tolist() == [4.0, 4.0]
    with pytest.raises(AssertionError, match="the sum is positive"):
        f(yes, bad).tolist()


def test_an_iteration():
    def body(n, x):
        gn._assert(x < 20, "x stays small")
        return n - 1, x * 2

    f = gn.compile(lambda n, x: gn.while_loop(lambda n, x: n > 0, body, (n, x)))
    assert f(gn.tensor(3), gn.tensor(1.0))[1].item() == 8.0
    with pytest.raises(AssertionError, match=r"x stays small .* inside of while_loop"):
        f(gn.tensor(9), gn.tensor(1.0))[1].item()


def test_all_elements_count_and_numbers_that_are_not_zero():
    def body(x):
        gn._assert(x, "no zeros")
        return x * 1

    f = gn.compile(lambda p, x: gn.cond(p, body, lambda x: x * 1, (x,)))
    assert f(gn.tensor(True), gn.tensor([1, 2])).tolist() == [1, 2]
    with pytest.raises(AssertionError, match="no zeros"):
        f(gn.tensor(True), gn.tensor([1, 0])).tolist()


def test_elsewhere_it_is_the_statement():
    gn._assert(gn.tensor(True), "fine")
    with pytest.raises(AssertionError, match=r"^told$"):
        gn._assert(gn.tensor(False), "told")
    with pytest.raises(AssertionError, match=r"^told$"):
        gn._assert(False, "told")
