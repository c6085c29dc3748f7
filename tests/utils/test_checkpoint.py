"""Checkpointed parts of a model give the same bits and need less memory."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from gnomon.utils.checkpoint import (
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


def test_values_and_gradients_are_the_functions_own():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x = gn.rand(5, 3)

    plain = model(x)
    (wanted,) = gn.autograd.grad(plain.sum(), [model[0].weight])
    kept = checkpoint(model, x, use_reentrant=False)
    kept.sum().backward()

    assert kept.tolist() == plain.tolist()
    assert model[0].weight.grad.tolist() == wanted.tolist()
    assert checkpoint_sequential(model, 2, x).tolist() == plain.tolist()


def deep() -> nn.ModuleList:
    """Layers that are wide inside."""
    gn.manual_seed(0)
    parts = (nn.Linear(16, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 16))
    return nn.ModuleList([nn.Sequential(*parts[:1], *parts[1:]) for _ in range(5)])


def trained(again: bool, x: np.ndarray) -> tuple[list[bytes], int]:
    """The loss and gradients of a compiled step, and the bytes that its program needs."""
    layers = deep()

    def step(x_nd: gn.Tensor) -> gn.Tensor:
        layers.zero_grad()
        for layer in layers:
            x_nd = x_nd + (checkpoint(layer, x_nd) if again else layer(x_nd))
        loss = (x_nd * x_nd).mean()
        loss.backward()
        return loss.detach()

    program = gn.compile(step)
    loss = program(gn.from_numpy(x))
    *_, kept = program.programs.values()
    found = [loss.numpy().tobytes(), *(p.grad.numpy().tobytes() for p in layers.parameters())]
    return found, kept[-1][1].executable.memory.total


def test_a_compiled_step_needs_the_memory_of_one_layer(rng):
    x = rng.normal(size=(256, 16)).astype("f4")

    plain, most = trained(False, x)
    again, least = trained(True, x)

    assert again == plain
    assert least < most * 0.45


def test_nested_values_pass_and_what_else_is_given_stays():
    w = gn.tensor([2.0, 3.0], requires_grad=True)

    def inner(pair, scale=1.0, *, more):
        a, b = pair
        return {"y": (a * b * w * scale).exp(), "n": (a > 0).sum(), "told": more}

    a = gn.tensor([1.0, -1.0], requires_grad=True)
    made = checkpoint(inner, (a, gn.ones(2)), 0.5, more="so", use_reentrant=False)
    made["y"].sum().backward()

    expected = np.exp(np.array([1.0, -1.5], "f4"))
    np.testing.assert_allclose(made["y"].detach().numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(a.grad.numpy(), expected * [1.0, 1.5], rtol=1e-6)
    np.testing.assert_allclose(w.grad.numpy(), expected * [0.5, -0.5], rtol=1e-6)
    assert made["n"].item() == 1
    assert made["told"] == "so"


def test_a_value_that_was_looked_at_changes_no_bit():
    x = gn.tensor([0.3, 0.7], requires_grad=True)
    y = checkpoint(lambda v: (v * v).sin(), x)
    y.tolist()
    y.sum().backward()
    kept, x.grad = x.grad.numpy().tobytes(), None
    (x * x).sin().sum().backward()

    assert x.grad.numpy().tobytes() == kept


def test_parts_are_not_more_than_functions():
    with pytest.raises(ArgumentError, match="do not fall into 3 parts"):
        checkpoint_sequential([abs, abs], 3, 1)


@pytest.mark.parametrize("block", [set_checkpoint_early_stop, set_checkpoint_debug_enabled])
def test_pytorchs_blocks_change_nothing(block):
    x = gn.ones(2, requires_grad=True)
    with block(True):
        checkpoint(gn.exp, x).sum().backward()

    assert x.grad.equal(gn.exp(x))
