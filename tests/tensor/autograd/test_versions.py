"""A value that a gradient needs must not be written over."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import GradientError
from gnomon.nn import functional as F
from gnomon.tensor.autograd.versions import OUTPUT, read_by_gradient
from gnomon.tensor.tensor import node_of

READ = {
    "add": ((True, True), lambda x, y: x + y, set()),
    "mul": ((True, False), lambda x, y: x * y, {1}),
    "square": ((True, True), lambda x, y: x * x, {0, 1}),
    "div": ((True, True), lambda x, y: x / y, {1, OUTPUT}),
    "tanh": ((True,), lambda x, y: x.tanh(), {OUTPUT}),
    "log": ((True,), lambda x, y: x.log(), {0}),
    "relu": ((True,), lambda x, y: F.relu(x), {OUTPUT}),
    "matmul": ((True, False), lambda x, y: x @ y, {1}),
    "softmax": ((True,), lambda x, y: x.softmax(0), {OUTPUT}),
    "sum": ((True,), lambda x, y: x.sum(), set()),
    "group_norm": ((True,), lambda x, y: F.group_norm(x, 2), {0}),
    "cumsum": ((True,), lambda x, y: x.cumsum(0), set()),
}


@pytest.mark.unit
@pytest.mark.parametrize("name", READ)
def test_what_gradients_read_is_found_by_building_them(name):
    needed, function, read = READ[name]
    x, y = (gn.ones(2, 2, requires_grad=True) for _ in range(2))

    assert read_by_gradient(node_of(function(x, y)), needed) == read


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid"])
def test_a_result_that_its_own_gradient_reads_is_protected(name):
    x = gn.ones(2, requires_grad=True)
    y = getattr(x, name)()
    y.add_(1)

    with pytest.raises(GradientError, match="modified by an inplace operation"):
        y.sum().backward()


def test_an_operand_that_a_gradient_reads_is_protected():
    x, w = (gn.ones(2, requires_grad=True) for _ in range(2))
    h = x + 1
    y = h * w
    h.mul_(2)

    with pytest.raises(GradientError, match="mul needs a value"):
        y.sum().backward()


def test_what_no_gradient_reads_may_be_written_over():
    x = gn.ones(2, requires_grad=True)
    h = x + 1
    h.mul_(3).add_(h.detach())
    h[0] = 5
    gn.nn.functional.relu(h, inplace=True)
    h.sum().backward()

    assert x.grad.tolist() == [0, 3]


def test_a_copy_may_be_written_over():
    x = gn.ones(2, requires_grad=True)
    y = x.exp()
    z = y.clone()
    z.add_(1)
    (y + z).sum().backward()

    assert x.grad.tolist() == pytest.approx([2 * 2.718281828] * 2)


def test_an_operation_in_place_keeps_what_it_wrote_over():
    w, x = gn.ones(2, requires_grad=True), gn.ones(2) * 3
    x.mul_(w)
    x.mul_(w)
    x.sum().backward()

    assert w.grad.tolist() == [6, 6]
    y = x.detach() * w
    z = y * y
    y.mul_(w)
    with pytest.raises(GradientError, match="mul needs a value that was written over"):
        z.sum().backward()


@pytest.mark.parametrize("quiet", [lambda x: x, lambda x: x.detach(), lambda x: x[1:]])
def test_a_write_that_gradients_do_not_see_is_seen_here(quiet):
    x = gn.ones(2, requires_grad=True)
    y = x.exp()
    with gn.no_grad():
        quiet(y).add_(1)

    with pytest.raises(GradientError, match="exp needs a value"):
        y.sum().backward()


def test_a_step_between_two_passes_through_the_weights_is_refused():
    gn.manual_seed(0)
    judge, x = gn.nn.Linear(3, 1), gn.ones(2, 3, requires_grad=True)
    optimizer = gn.optim.SGD(judge.parameters(), lr=0.1)
    score = judge(x)
    score.mean().backward(retain_graph=True)
    optimizer.step()

    with pytest.raises(GradientError, match="linear needs a value that was written over"):
        score.sigmoid().mean().backward()
    judge(x).mean().backward()


def test_a_step_of_weights_that_no_gradient_reads_is_none_of_its_business():
    first, second = gn.nn.Linear(3, 2), gn.nn.Linear(2, 2)
    y = second(first(gn.ones(4, 3))).sum()
    with gn.no_grad():
        first.weight.mul_(2)
        second.bias.mul_(2)
    y.backward()

    assert first.weight.grad.shape == (2, 3)


def test_parts_of_a_value_are_written_over_with_it():
    x = gn.ones(3, 2, requires_grad=True)
    h = x * 1
    y = h[0] * h[1]
    h[2] = 0

    with pytest.raises(GradientError, match="mul needs a value"):
        y.sum().backward()
