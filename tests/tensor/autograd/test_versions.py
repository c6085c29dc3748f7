"""A value that a gradient needs must not be written over."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import GradientError
from gnomon.tensor.autograd.versions import OUTPUT, read_by_gradient


@pytest.mark.unit
def test_what_gradients_read_is_found_in_the_table():
    assert read_by_gradient("add", 2, 0) == frozenset()
    assert read_by_gradient("mul", 2, 0) == {1}
    assert read_by_gradient("tanh", 1, 0) == {OUTPUT}
    assert read_by_gradient("log", 1, 0) == {0}


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


@pytest.mark.parametrize(
    "copied", [lambda x: x.clone(), lambda x: x[1:].clone(), lambda x: x.reshape(1, 2).T.clone()]
)
def test_what_was_copied_may_be_written_over(copied):
    a = gn.ones(2, requires_grad=True)
    x = a + 1
    w = copied(x)
    m = w * w
    x.mul_(2)
    (m.sum() + x.sum()).backward()

    assert a.grad.tolist() == [2.0 + (4.0 if w.numel() == 2 else 0.0), 6.0]


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


def test_a_detached_value_is_no_way_to_what_was_written_over():
    x = gn.ones(3, requires_grad=True)
    z = x * 2
    shown = (z * z).detach()
    z.zero_()

    (x * shown).sum().backward()

    assert x.grad.tolist() == [4.0, 4.0, 4.0]


def step(w: gn.Tensor) -> None:
    w.grad = gn.ones_like(w)
    gn.optim.SGD([w], lr=1.0).step()


def without_gradients(w: gn.Tensor) -> None:
    with gn.no_grad():
        w[1:].mul_(2.0)


WRITES = {"an optimizer": step, "a part of it, without gradients": without_gradients}
PRODUCTS = {
    "linear": lambda h, w: gn.nn.functional.linear(h, w),
    "matmul": lambda h, w: h @ w.t(),
    "convolution": lambda h, w: gn.nn.functional.conv2d(h[None, :, None], w[:, :, None, None]),
    "by number": lambda h, w: h.sum(0) * w,
}


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_a_weight_that_a_gradient_reads_is_protected(product, write, is_read: bool):
    first, w = (gn.ones(3, 3, requires_grad=True) for _ in range(2))
    out = product(gn.ones(3, 3) @ first, w).sum()
    if is_read:
        out.item()
    write(w)

    with pytest.raises(GradientError, match="modified by an inplace operation"):
        out.backward()


@pytest.mark.parametrize("write", [gn.Tensor.zero_, lambda h: h.__setitem__(0, 5.0)])
def test_one_number_written_over_what_a_gradient_reads_is_refused(write):
    gn.ones(2) * 5.0  # constants are kept, and older than what reads
    x, w = (gn.ones(2, requires_grad=True) for _ in range(2))
    h = x + 1
    out = (h * w).sum()
    write(h)

    with pytest.raises(GradientError, match="mul needs a value"):
        out.backward()


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_bias_and_the_last_weight_may_be_written_over(write):
    x, w, b = gn.ones(2, 3), gn.ones(3, 3, requires_grad=True), gn.ones(3, requires_grad=True)
    out = gn.nn.functional.linear(x, w, b).sum()
    write(w)
    write(b)
    out.backward()

    assert w.grad.sum().item() >= 18
    assert b.grad.sum().item() >= 6


def test_a_step_whose_loss_comes_later_is_not_refused():
    first, w = (gn.ones(3, 3, requires_grad=True) for _ in range(2))
    optimizer = gn.optim.SGD([first, w], lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        (gn.ones(3, 3) @ first @ w).sum().backward()
        optimizer.step()

    assert w.grad.isfinite().all()


def test_an_equal_expression_of_another_line_is_another_tensor():
    x, w = (gn.ones(2, requires_grad=True) for _ in range(2))
    a = x + 1
    b = x + 1
    out = b * w
    a.mul_(2)
    out.sum().backward()

    assert w.grad.tolist() == [2, 2]


def test_data_may_be_written_over():
    first, w = (gn.ones(3, 3, requires_grad=True) for _ in range(2))
    out = (gn.ones(3, 3) @ first @ w).sum()
    w.data.clamp_(-0.5, 0.5)
    out.backward()

    assert first.grad is not None


def test_parts_may_be_written_by_data():
    x = gn.ones(3, requires_grad=True)
    stages = x * gn.ones(2, 3)
    first = stages[0] * x
    stages.data[1].copy_(gn.ones(3) * 5.0)
    (first + stages[1]).sum().backward()

    assert x.grad.tolist() == [3, 3, 3]
