"""A scaler's scale follows what gradients do; tests/parity compares it with PyTorch's."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError


@pytest.fixture
def weight():
    return gn.nn.Parameter(gn.tensor([1.0, 2.0]))


def turn(scaler, optimizer, weight, factor=1.0):
    """One step of a loss whose gradients are the factor."""
    optimizer.zero_grad()
    scaler.scale((weight * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_steps_are_as_without_a_scaler_and_those_that_overflow_are_skipped(weight):
    optimizer = gn.optim.SGD([weight], lr=0.5)
    scaler = gn.amp.GradScaler(init_scale=8.0, growth_interval=2)
    scales = []
    for factor in (1.0, 1.0, float("inf"), 1.0):
        turn(scaler, optimizer, weight, factor)
        scales.append(scaler.get_scale())

    assert weight.tolist() == [-0.5, 0.5]
    assert scales == [8, 16, 8, 8]


def test_gradients_of_half_precision_are_unscaled_once_before_clipping():
    weight = gn.nn.Parameter(gn.tensor([1.0], dtype=gn.float16))
    optimizer = gn.optim.SGD([weight], lr=1.0)
    scaler = gn.amp.GradScaler(init_scale=1024.0)
    scaler.scale((weight * 1e-7).sum()).backward()
    scaler.unscale_(optimizer)

    assert weight.grad.item() > 0
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    scaler.update(4.0)
    assert scaler.get_scale() == 4


def test_a_scaler_that_is_off_does_nothing(weight):
    optimizer = gn.optim.SGD([weight], lr=1.0)
    scaler = gn.amp.GradScaler(enabled=False)
    turn(scaler, optimizer, weight)

    assert weight.tolist() == [0, 1]
    assert (scaler.get_scale(), scaler.state_dict()) == (1, {})


def test_the_state_is_saved_and_taken_over(weight):
    first = gn.amp.GradScaler(init_scale=4.0, growth_interval=3)
    optimizer = gn.optim.SGD([weight], lr=1.0)
    turn(first, optimizer, weight)
    second = gn.amp.GradScaler()
    second.load_state_dict(first.state_dict())
    for _ in range(2):
        turn(second, optimizer, weight)

    assert second.get_scale() == 8
    with pytest.raises(ArgumentError, match="empty"):
        second.load_state_dict({})


def test_factors_that_make_no_sense_are_refused():
    with pytest.raises(ArgumentError, match="growth_factor"):
        gn.amp.GradScaler(growth_factor=1.0)
    with pytest.raises(AssertionError, match="No inf checks"):
        gn.amp.GradScaler().update()


def test_a_scaler_and_autocast_of_a_device_that_is_not_there_are_off():
    x = gn.ones(2, 2)
    for make in (lambda: gn.amp.GradScaler("cuda"), lambda: gn.cuda.amp.GradScaler(8.0)):
        with pytest.warns(UserWarning, match="there is no cuda here"):
            assert not make().is_enabled()
    for make in (lambda: gn.autocast("cuda"), gn.cuda.amp.autocast):
        with pytest.warns(UserWarning, match="autocast: there is no cuda here"), make():
            assert (x @ x).dtype is gn.float32
    with gn.cuda.amp.autocast(False):
        assert (x @ x).dtype is gn.float32
    assert gn.cpu.amp.GradScaler(8.0).get_scale() == 8.0
    with gn.cpu.amp.autocast():
        assert (x @ x).dtype is gn.bfloat16


def test_the_state_of_autocast_is_told_by_device():
    assert gn.amp.is_autocast_available("cpu")
    assert not gn.amp.is_autocast_available("cuda")
    with gn.autocast("cpu", dtype=gn.float16):
        assert gn.is_autocast_enabled("cpu")
        assert not gn.is_autocast_enabled()
        assert gn.get_autocast_dtype("cpu") is gn.float16
        gn.set_autocast_enabled("cpu", False)
        assert not gn.is_autocast_enabled("cpu")
    assert not gn.is_autocast_enabled("cpu")
    assert [gn.get_autocast_dtype(x) for x in ("cpu", "cuda")] == [gn.bfloat16, gn.float16]
    gn.set_autocast_enabled("cpu", True)
    assert gn.is_autocast_enabled("cpu")
    gn.set_autocast_enabled("cpu", False)
    assert [gn.get_autocast_cpu_dtype(), gn.get_autocast_gpu_dtype()] == [gn.bfloat16, gn.float16]
    assert not gn.is_autocast_cpu_enabled()


def test_a_function_of_ones_own_has_the_autocast_of_its_marks():
    seen = []

    def function(**options):
        class Product(gn.autograd.Function):
            @staticmethod
            @gn.amp.custom_fwd(device_type="cpu", **options)
            def forward(context, x):
                context.save_for_backward(x)
                seen.append((x.dtype, (x @ x).dtype))
                return x @ x

            @staticmethod
            @gn.amp.custom_bwd(device_type="cpu")
            def backward(context, gradient):
                (x,) = context.saved_tensors
                seen.append((x @ x).dtype)
                return 2 * gradient @ x

        return Product.apply

    x = gn.ones(2, 2, requires_grad=True)
    for options in ({}, {"cast_inputs": gn.float64}):
        with gn.autocast("cpu"):
            y = function(**options)(x)
        y.sum().backward()
    function(cast_inputs=gn.float64)(x).sum().backward()

    narrow, wide, plain = gn.bfloat16, gn.float64, gn.float32
    assert seen[:2] == [(plain, narrow), narrow]
    assert seen[2:] == [(wide, wide), wide, (plain, plain), plain]
