"""Saved tensors: what gradients read is packed when it is computed, and unpacked to be read."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import gnomon as gn
from gnomon.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from gnomon.errors import DtypeError, GradientError
from tests.gradients import Square

F = gn.nn.functional


def leaf(*values: float) -> gn.Tensor:
    return gn.tensor(list(values), requires_grad=True)


def test_gradients_read_what_is_unpacked():
    x, y = leaf(2.0, 3.0), leaf(5.0, 7.0)
    with saved_tensors_hooks(lambda t: t * 10, lambda t: t + 1):
        z = x * y

    z.sum().backward()

    assert z.tolist() == [10.0, 21.0]
    assert x.grad.tolist() == [51.0, 71.0]
    assert y.grad.tolist() == [21.0, 31.0]


def test_what_no_gradient_reads_is_not_packed():
    x, plain, seen = leaf(2.0), gn.tensor([3.0]), []
    with saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = x + plain
        assert seen == []
        z = x * plain
        (only,) = seen
        assert only is not x
        assert only.tolist() == [3.0]
        with gn.no_grad():
            x.exp()
        assert len(seen) == 1

    (y + z).backward()

    assert x.grad.tolist() == [4.0]


def test_a_leaf_is_packed_as_itself_and_the_inner_hooks_alone_are_called():
    x, outer, inner = leaf(2.0), [], []
    with (
        saved_tensors_hooks(lambda t: outer.append(t) or t, lambda t: t),
        saved_tensors_hooks(lambda t: inner.append(t) or t, lambda t: t),
    ):
        x * x

    assert outer == []
    assert inner[0] is x


def test_gradients_of_gradients_pass_what_was_unpacked():
    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = (x**3).exp()
    (first,) = gn.autograd.grad(y, x, create_graph=True)
    (second,) = gn.autograd.grad(first, x)

    # (3 x²)² e^(x³) + 6 x e^(x³), at 2
    assert second.item() == pytest.approx(156 * np.exp(8), rel=1e-6)


def test_a_users_function_has_its_saved_tensors_packed():
    x = leaf(3.0)
    with saved_tensors_hooks(lambda t: t.item(), lambda number: gn.tensor([number * 10])):
        y = Square.apply(x)
    y.backward()

    assert x.grad.tolist() == [60.0]


def test_writes_after_packing_change_nothing():
    x = leaf(2.0, 3.0)
    with save_on_cpu(pin_memory=True):
        y = x * 1
        z = y * y
        y.zero_()
        y.relu_()

    (z + y).sum().backward()

    assert x.grad.tolist() == [4.0, 6.0]


def test_what_hooks_must_not_do_is_refused():
    x = leaf(2.0)
    with (
        saved_tensors_hooks(lambda t: t.add_(1), lambda t: t),
        pytest.raises(GradientError, match="modifying its input in place"),
    ):
        (x * 2).exp()
    for made, error in ((7, DtypeError), (gn.ones(3), GradientError)):
        with saved_tensors_hooks(lambda t: t, lambda t, made=made: made):
            y = x * x
        with pytest.raises(error, match="unpack_hook"):
            y.backward()
    with (
        disable_saved_tensors_hooks("not here"),
        pytest.raises(GradientError, match="not here"),
        save_on_cpu(),
    ):
        pass


STEPS = (
    lambda a, b: a * b,
    lambda a, b: a @ b.t() @ b * 0.1,
    lambda a, b: a.tanh(),
    lambda a, b: a.softmax(-1),
    lambda a, b: (a - a.mean(0, keepdim=True)) / (a.std(0, keepdim=True) + 1),
    lambda a, b: F.layer_norm(a, (3,)),
    lambda a, b: a[gn.tensor([2, 0, 1])],
    lambda a, b: gn.where(a > b, a, b * 2),
    lambda a, b: gn.cat([a[:1], b[1:]]),
    lambda a, b: a.cumsum(0),
    lambda a, b: a.amax(1, keepdim=True) * b,
    lambda a, b: a.clone().mul_(b),
)


@pytest.mark.parametrize("seed", range(4))
def test_hooks_that_give_back_what_they_get_change_no_gradient(seed, rng):
    arrays = rng.normal(size=(2, 3, 3))

    def gradients():
        r, values = Random(seed), [gn.tensor(x, requires_grad=True) for x in arrays]
        leaves = list(values)
        for _ in range(8):
            values.append(r.choice(STEPS)(r.choice(values), r.choice(values)))
        return sum(x.square().mean() for x in values[-4:]), leaves

    plain, leaves = gradients()
    plain.backward()
    with saved_tensors_hooks(lambda t: t.numpy(force=True).copy(), gn.from_numpy):
        packed, others = gradients()
    packed.backward()

    for x, y in zip(leaves, others, strict=True):
        assert (x.grad is None) == (y.grad is None)
        if x.grad is not None:
            np.testing.assert_allclose(y.grad.numpy(), x.grad.numpy(), rtol=1e-12, atol=1e-14)
