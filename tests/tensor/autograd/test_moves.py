"""Gradients pass moves between devices."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

HERE_AND_THERE = pytest.mark.parametrize(
    ("here", "there"), [("cpu", "reference"), ("reference", "cpu")]
)


@HERE_AND_THERE
def test_a_gradient_is_on_the_device_of_what_was_moved(here, there):
    x = gn.tensor([1.0, 2.0], device=here, requires_grad=True)
    h = x * 3
    for moved in (x.to(there), h.to(there)):
        assert moved.device == there
        assert moved.requires_grad
        assert not moved.is_leaf

    (x.to(there) * h.to(there)).sum().backward()

    assert x.grad.device == here
    assert x.grad.tolist() == [6, 12]
    assert x.grad.tolist() == gn.autograd.grad((x * x * 3).sum(), x)[0].tolist()


@HERE_AND_THERE
def test_a_gradient_of_a_gradient_passes_moves(here, there):
    x = gn.tensor([1.0, 2.0], device=here, requires_grad=True)
    cube = x.to(there) ** 3
    (first,) = gn.autograd.grad(cube.sum(), x, create_graph=True)
    (second,) = gn.autograd.grad((first.to(there) * 2).sum(), x)

    assert first.device == second.device == here
    assert first.tolist() == [3, 12]
    assert second.tolist() == [12, 24]


def test_parts_of_a_model_on_two_devices_are_trained_together():
    found = []
    for there in ("cpu", "reference"):
        gn.manual_seed(0)
        front, back = gn.nn.Linear(3, 4), gn.nn.Linear(4, 1).to(there)
        optimizers = [gn.optim.SGD(m.parameters(), lr=0.1) for m in (front, back)]
        x = gn.arange(6.0).reshape(2, 3) / 6
        for _ in range(3):
            loss = back(front(x).tanh().to(there)).to("cpu").square().mean()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
        found.append([loss.item(), *front.weight.flatten().tolist()])

    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_views_halves_and_what_is_cut_off_move():
    x = gn.arange(6.0, dtype=gn.float16).requires_grad_()
    part = x.reshape(2, 3)[1]
    part.to("reference", gn.float32).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 1, 1, 1]
    assert x.grad.dtype is gn.float16

    with gn.no_grad():
        assert not x.to("reference").requires_grad
    assert not x.detach().to("reference").requires_grad
    assert gn.ones(2, requires_grad=True).to("cpu").is_leaf


def test_a_write_to_what_was_moved_keeps_its_history():
    x = gn.tensor([1.0, 2.0], requires_grad=True)
    moved = x.to("reference")
    moved.mul_(5)
    moved.sum().backward()

    assert moved.tolist() == [5, 10]
    assert x.tolist() == [1, 2]
    assert x.grad.tolist() == [5, 5]


def test_gradients_of_complex_numbers_pass_moves():
    found = []
    for there in ("cpu", "reference"):
        z = gn.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        (z * 2).to(there).abs().sum().to("cpu").backward()
        found.append(z.grad)

    np.testing.assert_allclose(found[0].numpy(), found[1].numpy(), rtol=1e-6)
