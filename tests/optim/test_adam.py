"""Adam and AdamW beside their formulas, and how few kernels an update is made of."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import gnomon as gn
from gnomon import optim
from gnomon.errors import ArgumentError
from tests.optim.walks import parameters, slope, values, walk


def expected(x: np.ndarray, place: int, steps: int, decay: float) -> np.ndarray:
    """A parameter after steps of AdamW with lr 0.1."""
    mean, square = np.zeros_like(x), np.zeros_like(x)
    for step in range(steps):
        g = slope(step, place)
        x = x * (1 - 0.1 * decay)
        mean = 0.9 * mean + 0.1 * g
        square = 0.99 * square + 0.01 * g * g
        first, second = 1 - 0.9 ** (step + 1), 1 - 0.99 ** (step + 1)
        x = x - 0.1 / first * mean / (np.sqrt(square / second) + 1e-8)
    return x


def test_adamw_follows_its_formula():
    params = parameters()
    before = values(params)

    walk(optim.AdamW(params, 0.1, (0.9, 0.99), weight_decay=0.3), params, range(4))

    for place, (old, new) in enumerate(zip(before, values(params), strict=True)):
        np.testing.assert_allclose(new, expected(old, place, 4, 0.3), rtol=1e-11)


def test_adam_adds_decay_to_the_gradient():
    params = parameters()
    (x, *_) = values(params)
    g = slope(0, 0) + 0.5 * x

    walk(optim.Adam(params, 0.1, weight_decay=0.5), params, range(1))

    np.testing.assert_allclose(values(params)[0], x - 0.1 * g / (np.abs(g) + 1e-8), rtol=1e-10)


def test_options_that_choose_an_implementation_change_no_bit():
    plain, chosen = parameters(dtype="float32"), parameters(dtype="float32")

    walk(optim.AdamW(plain, 0.1, amsgrad=True), plain, range(3))
    walk(optim.AdamW(chosen, 0.1, amsgrad=True, fused=True, foreach=False), chosen, range(3))

    for one, two in zip(values(plain), values(chosen), strict=True):
        np.testing.assert_array_equal(one, two)


def test_half_precision_parameters_are_updated_in_single_precision():
    single, half = parameters(dtype="float32"), parameters(dtype="bfloat16")
    for wide, narrow in zip(single, half, strict=True):
        wide.data.copy_(narrow.detach().float())
        wide.grad = gn.ones_like(wide)
        narrow.grad = gn.ones_like(narrow)

    optim.AdamW(single, 0.1).step()
    optim.AdamW(half, 0.1).step()

    for wide, narrow in zip(single, half, strict=True):
        assert narrow.dtype is gn.bfloat16
        np.testing.assert_array_equal(
            wide.detach().to(gn.bfloat16).float().numpy(), narrow.detach().float().numpy()
        )


def test_twenty_parameters_of_different_shapes_share_a_handful_of_kernels(monkeypatch):
    module = importlib.import_module("gnomon.compiler.build")
    random, built, original = np.random.default_rng(0), [], module.build
    monkeypatch.setattr(
        module, "build", lambda *a, **kw: built.append(original(*a, **kw)) or built[-1]
    )
    shapes = [(k + 2, 2 * k + 3) for k in range(12)] + [(k + 7,) for k in range(8)]
    params = [gn.tensor(random.standard_normal(s), dtype="float32") for s in shapes]
    params = [p.requires_grad_() for p in params]
    optimizer = optim.AdamW(params, lr=0.1)

    for step in range(3):
        for p in params:
            p.grad = gn.tensor(random.standard_normal(tuple(p.shape)), dtype="float32")
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (step + 1)
        optimizer.step()

    (program,) = built
    assert len({kernel.code.symbol for kernel in program.kernels}) <= 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1.0}, "Invalid learning rate: -1.0"),
        ({"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
        ({"eps": -1e-8}, "Invalid epsilon value"),
    ],
)
def test_numbers_out_of_range_are_refused(options: dict, message: str):
    with pytest.raises(ArgumentError, match=message):
        optim.Adam(parameters(), **options)
