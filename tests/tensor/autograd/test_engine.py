"""Backward passes by PyTorch's rules, and slopes against differences."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import GradientError

CASES = {
    "softmax": lambda x: (gn.softmax(x, dim=1) * x.sin()).sum(),
    "views": lambda x: (x.T.reshape(2, 6)[:, 1:] ** 3).sum(),
    "index": lambda x: (x[[0, 2, 0]] * x[:, [1]].T[0, 0]).sum(),
    "written": lambda x: written(x),
    "norm": lambda x: gn.nn.functional.layer_norm(x, (4,)).pow(3).sum(),
    "product": lambda x: (x @ x.T).tanh().sum(),
}


def written(x):
    """A write into a fresh tensor that gradients pass."""
    base = gn.zeros(3, 4, dtype=gn.float64)
    base[1:] = x[:2] * 2
    base[0, :2].add_(x[2, 2:].exp())
    return (base * base).sum()


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_those_of_differences(name, rng):
    function, start = CASES[name], rng.standard_normal((3, 4))
    x = gn.tensor(start, requires_grad=True)

    function(x).backward()

    step, found = 1e-6, np.zeros_like(start)
    for place in np.ndindex(*start.shape):
        ends = []
        for sign in (1, -1):
            moved = start.copy()
            moved[place] += sign * step
            ends.append(function(gn.tensor(moved)).item())
        found[place] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(x.grad.numpy(), found, rtol=1e-6, atol=1e-7)


def test_gradients_add_up_and_can_be_forgotten():
    x = gn.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    seen = x.grad
    (x * 4).sum().backward()

    assert x.grad.tolist() == [7, 7]
    assert seen.tolist() == [7, 7]
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_two_equal_leaves_have_their_own_gradients():
    a, b = gn.zeros(2, requires_grad=True), gn.zeros(2, requires_grad=True)
    (a * 2 + b * 3).sum().backward()

    assert (a.grad.tolist(), b.grad.tolist()) == ([2, 2], [3, 3])


def test_a_detached_twin_is_a_leaf_of_its_own():
    a = gn.ones(2, requires_grad=True)
    b = a.detach().requires_grad_()
    (a * b).sum().backward()

    assert (a.grad.tolist(), b.grad.tolist()) == ([1, 1], [1, 1])


def test_a_second_backward_is_refused_unless_the_graph_was_retained():
    x = gn.ones(2, requires_grad=True)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()

    with pytest.raises(GradientError, match="second time"):
        loss.backward()
    loss.item()
    with pytest.raises(GradientError, match="second time"):
        loss.backward()
    assert x.grad.tolist() == [4, 4]


def test_gradients_of_gradients():
    x = gn.tensor([2.0], requires_grad=True)
    (first,) = gn.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = gn.autograd.grad(first.sum(), x)

    assert (first.item(), second.item()) == (12, 12)


def test_grad_gathers_nowhere_and_names_unused_inputs():
    x, y = gn.ones(1, requires_grad=True), gn.ones(1, requires_grad=True)

    assert gn.autograd.grad((x * 5).sum(), [x])[0].tolist() == [5]
    assert x.grad is None
    with pytest.raises(GradientError, match="not used"):
        gn.autograd.grad((x * 5).sum(), [x, y])
    assert gn.autograd.grad((x * 5).sum(), [x, y], allow_unused=True)[1] is None


def test_hooks_see_and_change_gradients():
    x = gn.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g) or g * 10)
    handle = x.register_hook(lambda g: seen.append(g))
    y.retain_grad()
    y.sum().backward()

    assert [g.tolist() for g in seen] == [[1, 1], [20, 20]]
    assert y.grad.tolist() == [10, 10]
    assert x.grad.tolist() == [20, 20]
    handle.remove()
    (x * 1).sum().backward()
    assert len(seen) == 2


def test_no_grad_cuts_the_graph_and_enable_grad_mends_it():
    x = gn.ones(2, requires_grad=True)
    with gn.no_grad():
        y = x * 2
        with gn.enable_grad():
            z = x * 3

    @gn.no_grad()
    def quiet():
        return x * 4

    assert (y.requires_grad, z.requires_grad, quiet().requires_grad) == (False, True, False)
    ((y + x) * 1).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_what_cannot_be_differentiated_says_so():
    with pytest.raises(GradientError, match="does not require grad"):
        gn.ones(1).backward()
    with pytest.raises(GradientError, match="scalar outputs"):
        gn.ones(2, requires_grad=True).clone().backward()
    with pytest.raises(GradientError, match="only floats"):
        gn.arange(3).requires_grad_()


def test_threads_gather_in_shared_leaves():
    w = gn.ones(3, requires_grad=True)
    w.tolist()
    results = []

    def work(scale):
        loss = (w * scale).sum()
        results.append(gn.autograd.grad(loss, w)[0].tolist())

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == [[float(k)] * 3 for k in range(6)]


def varied() -> None:
    """Have small whole numbers vary, so that they are inputs of programs."""
    for k in range(4):
        gn.full((5,), float(k)).tolist()


def test_a_factor_that_varies_is_not_taken_for_the_seed():
    varied()
    slopes = []
    for factor in (1.0, 2.0, 3.0):
        x = gn.ones(5, requires_grad=True)
        (x * factor).sum().backward()
        slopes.append(x.grad.tolist())

    assert slopes == [[factor] * 5 for factor in (1.0, 2.0, 3.0)]


def test_a_number_of_a_rule_is_not_taken_for_one_that_varies():
    varied()
    for scale in (1.0, 2.0, 3.0):
        x = gn.full((5,), 0.5, requires_grad=True)
        (x.tanh() * scale).sum().backward()

        assert x.grad.tolist() == pytest.approx([scale * (1 - 0.46211716**2)] * 5, rel=1e-6)


def test_gradients_of_a_leaf_in_memory_of_others_are_those_of_a_leaf_of_its_own():
    array = np.arange(1.0, 4.0, dtype=np.float32)
    lent, own = gn.from_numpy(array).requires_grad_(), gn.tensor(array, requires_grad=True)

    def gradient(x: gn.Tensor) -> list[float]:
        first = (x * x).sum()  # each use reads the memory anew
        return gn.autograd.grad(first + (x.exp() * 2).sum(), x)[0].tolist()

    assert gradient(lent) == gradient(own)
    assert gn.autograd.grad((lent * 3).sum(), [lent, lent])[1].tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(GradientError, match="input 0 is not used by the outputs"):
        gn.autograd.grad((lent * 3).sum(), own)
    assert gn.autograd.grad((lent * 3).sum(), own, allow_unused=True) == (None,)


def test_a_leaf_that_was_stepped_since_it_was_used_is_still_the_one_that_is_asked_for():
    x = gn.ones(3, requires_grad=True)
    loss = (x * 5).sum()
    with gn.no_grad():
        x -= 0.5

    assert gn.autograd.grad(loss, x)[0].tolist() == [5.0, 5.0, 5.0]


def test_a_gradient_of_another_dtype_is_taken_in_the_roots():
    x = gn.ones(3, dtype=gn.float64, requires_grad=True)

    (x**2).backward(gn.tensor([1.0, 2.0, 3.0]))
    (found,) = gn.autograd.grad(x[:2], x, gn.ones(2, dtype=gn.float16))

    assert x.grad.dtype is found.dtype is gn.float64
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    assert found.tolist() == [1.0, 1.0, 0.0]


def test_each_part_of_a_leaf_may_be_a_root():
    x = gn.arange(5.0).requires_grad_()
    parts = x.unbind()
    for part in parts:
        part.backward()
    x[1:3][0].backward()

    assert x.grad.tolist() == [1, 2, 1, 1, 1]
    y = (x * x)[1:3]
    y[0].backward()
    with pytest.raises(GradientError, match="trying to backward through the graph a second time"):
        y[1].backward()


def test_slopes_of_log_odds_at_their_ends_are_infinite():
    x = gn.tensor([0.0, 0.25, 1.0], dtype=gn.float64, requires_grad=True)
    gn.logit(x).sum().backward()

    assert x.grad.tolist() == [float("inf"), 16 / 3, float("inf")]
