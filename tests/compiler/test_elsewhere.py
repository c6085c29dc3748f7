"""Captured functions run on the device that their inputs are on."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import DeviceError, TraceError

F = gn.nn.functional


def test_one_capture_serves_tensors_of_both_devices():
    f = gn.compile(lambda x, k: (x * k + 1, x.sum(), x.t()))
    x = gn.arange(6.0).reshape(2, 3)
    for device in ("cpu", "reference", "cpu"):
        made = f(x.to(device), 2.0)
        assert {y.device for y in made} == {gn.device(device)}
        assert [y.tolist() for y in made] == [(x * 2 + 1).tolist(), 15.0, x.t().tolist()]
    assert f.captures == 1


def test_a_compiled_step_writes_parameters_and_states_of_a_device():
    found = []
    for device in ("cpu", "reference"):
        gn.manual_seed(0)
        model = gn.nn.Sequential(gn.nn.Linear(3, 4), gn.nn.BatchNorm1d(4), gn.nn.Linear(4, 2))
        model = model.to(device)
        optimizer = gn.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        x, target = gn.arange(12.0, device=device).reshape(4, 3) / 12, gn.tensor([0, 1, 1, 0])

        @gn.compile
        def step(x, target, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            return loss

        losses = [step(x, target.to(device)).item() for _ in range(4)]
        assert {p.device for p in model.parameters()} == {gn.device(device)}
        found.append(
            [*losses, *model[0].weight.flatten().tolist(), *model[1].running_mean.tolist()]
        )

    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)


def test_what_is_written_in_place_is_seen_by_views():
    x = gn.zeros(2, 3, device="reference")
    row = x[1]
    add = gn.compile(lambda x: x.add_(1))
    for _ in range(2):
        add(x)

    assert row.device == "reference"
    assert row.tolist() == [2, 2, 2]


def test_a_function_that_looks_at_values_goes_on_with_what_it_saw():
    @gn.compile
    def f(x):
        return x * 2 if x.sum() > 1 else x - 1

    assert f(gn.ones(2, device="reference")).tolist() == [2, 2]
    assert f(gn.zeros(2, device="reference")).tolist() == [-1, -1]
    assert f(gn.zeros(2)).device == "cpu"


def test_sizes_that_vary_are_served():
    f = gn.compile(lambda x: (x * x).cumsum(0))
    for n in (1, 2, 5, 7, 3):
        assert (
            f(gn.arange(float(n), device="reference")).tolist()
            == np.cumsum(np.arange(n) ** 2.0).tolist()
        )


def test_gradients_pass_a_compiled_forward():
    f = gn.compile(lambda x: (x**3).sum())
    x = gn.tensor([1.0, 2.0], device="reference", requires_grad=True)
    f(x).backward()

    assert (x.grad.device, x.grad.tolist()) == ("reference", [3, 12])


def test_a_function_sees_the_devices_of_its_arguments_while_it_is_captured():
    seen, w = [], gn.ones(2, device="reference")

    @gn.compile
    def f(a):
        made = a * 2 + w
        seen.extend(map(str, (a.device, made.device, (made + gn.zeros_like(a)).device)))
        return gn.zeros(2, device=a.device) + made.copy_(a).to(a.device)

    assert f(gn.ones(2, device="reference")).device == "reference"
    assert seen == ["reference"] * 3
    with pytest.raises(TraceError, match="moves no tensor to another device"):
        gn.compile(lambda a: a.to("cpu"))(gn.ones(2, device="reference"))


def test_a_move_is_refused_before_any_other_device_was_used():
    program = (
        "import gnomon as gn\n"
        "try: print(gn.compile(lambda a: a.to('reference') * 2)(gn.ones(2)))\n"
        "except gn.errors.TraceError as error: print(error)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "moves no tensor to another device" in done.stdout


def test_inputs_of_two_devices_are_refused():
    f = gn.compile(lambda x, y: x + y)

    with pytest.raises(DeviceError, match=r"same device: got .* on reference and .* on cpu"):
        f(gn.ones(2, device="reference"), gn.ones(2))
    assert f(gn.ones(2, device="reference"), gn.ones(())).tolist() == [2, 2]
