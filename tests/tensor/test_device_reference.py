"""Tensors on device "reference": moved by one verb, read by copies, refused beside others."""

from __future__ import annotations

import copy
import io
import re

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DeviceError, TraceError
from gnomon.tensor.evaluate import evaluate_all
from gnomon.tensor.tensor import raw

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def x() -> gn.Tensor:
    """A tensor there."""
    return gn.tensor(X, device="reference")


def test_a_tensor_moves_and_says_where_it_is(x):
    here = gn.tensor(X)

    assert x.device == here.to("reference").device == gn.device("reference")
    assert (x.is_cpu, x.is_meta, x.cpu().is_cpu) == (False, False, True)
    assert x.to("reference") is x
    assert here.cpu() is here
    assert x.cpu().equal(here)
    assert repr(x).endswith("device='reference')")


def test_what_is_computed_is_where_its_operands_are(x):
    made = (x + 1).exp() @ x.T

    assert made.device == "reference"
    assert x.sum().item() == 15
    assert x[0].device == x[:, 1].device == x[1, 2].device == "reference"
    assert x[:, 1].tolist() == [1, 4]
    assert x.clone().device == gn.randn_like(x).device == x.to(gn.float64).device == "reference"
    np.testing.assert_allclose(made.cpu().numpy(), np.exp(X + 1) @ X.T, rtol=1e-6)


def test_what_makes_tensors_makes_them_there():
    for make in (gn.ones, gn.zeros, gn.rand, gn.arange, gn.hann_window, gn.randperm, gn.empty):
        assert make(2, device="reference").device == "reference"
    with gn.device("reference"):
        made = gn.full((2,), 3.0, requires_grad=True)
    assert (made.device, made.requires_grad, made.tolist()) == ("reference", True, [3.0, 3.0])


def test_two_devices_do_not_meet_but_a_single_number_goes_anywhere(x):
    with pytest.raises(DeviceError, match="expected all tensors to be on the same device") as told:
        (x + gn.tensor(X)).tolist()
    for device in ("cpu", "reference"):
        assert re.search(
            rf"float32\[2, 3\] on {device} \[{re.escape(__file__)}:\d+\]", str(told.value)
        )

    assert (x * gn.tensor(2.0)).tolist() == (2 * X).tolist()
    assert (gn.tensor(2.0) * x).device == "reference"


def test_what_waits_on_two_devices_is_computed_by_two_programs(x):
    here, there = gn.tensor(X) + 1, x + 1
    gn.evaluate(here, there)
    waits, waits_there = here * 2, there * 2
    evaluate_all()

    assert [a.device.type for a in (waits, waits_there)] == ["cpu", "reference"]
    assert all(raw(a).value is not None for a in (here, there, waits, waits_there))
    assert waits.tolist() == waits_there.tolist()


def test_the_host_has_no_part_in_its_memory(x):
    for use in (x.numpy, lambda: np.asarray(x), x.share_memory_, x.__dlpack__):
        with pytest.raises(DeviceError, match=r"can't convert reference .* Use Tensor.cpu"):
            use()


def test_a_forced_array_is_a_copy(x):
    made = x.numpy(force=True)
    made[0, 0] = 9

    assert x[0, 0].item() == 0


def test_writes_go_there_and_copies_cross(x):
    x[0] = 1.0
    x.add_(1)
    assert (x.device, x.tolist()) == ("reference", [[2, 2, 2], [4, 5, 6]])

    x.copy_(gn.tensor(X))
    here = gn.zeros(2, 3).copy_(x)

    assert x.device == "reference"
    assert here.is_cpu
    assert here.equal(gn.tensor(X))


def test_a_module_trains_as_it_does_on_the_cpu():
    losses = []
    for device in ("cpu", "reference"):
        gn.manual_seed(0)
        layers = gn.nn.Linear(3, 8), gn.nn.GELU(), gn.nn.LayerNorm(8), gn.nn.Linear(8, 2)
        model = gn.nn.Sequential(*layers).to(device)
        optimizer = gn.optim.AdamW(model.parameters(), lr=1e-2)
        given = gn.tensor(X).to(device)
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(given).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert {p.device for p in model.parameters()} == {gn.device(device)}
        assert {p.grad.device for p in model.parameters()} == {gn.device(device)}

    np.testing.assert_allclose(losses[:3], losses[3:], rtol=1e-5)


def test_complex_numbers_move(x):
    made = gn.complex(gn.ones(2), gn.ones(2)).to("reference")

    assert (made.device, made.cpu().tolist()) == ("reference", [1 + 1j, 1 + 1j])


def test_a_module_is_saved_and_loaded(x):
    model, content = gn.nn.Linear(3, 2, device="reference"), io.BytesIO()
    gn.save(model.state_dict(), content)
    content.seek(0)
    other = gn.nn.Linear(3, 2).to("reference")

    other.load_state_dict(gn.load(content))

    assert other.weight.device == "reference"
    assert other.weight.tolist() == model.weight.tolist()
    assert copy.deepcopy(model).weight.tolist() == model.weight.tolist()


def test_the_state_of_an_optimizer_is_loaded_to_where_its_parameters_are():
    states = []
    for device in ("cpu", "reference"):
        p = gn.ones(3, device=device, requires_grad=True)
        optimizer = gn.optim.Adam([p])
        p.square().sum().backward()
        if states:
            optimizer.load_state_dict(states[0])
        optimizer.step()
        states.append(optimizer.state_dict())
        assert optimizer.state[p]["exp_avg"].device == device


def test_what_a_device_does_not_do_is_refused(x):
    with pytest.raises(TraceError, match="moves no tensor"):
        gn.compile(lambda a: a.to("reference") * 2)(gn.ones(2))
    with pytest.raises(ArgumentError, match="computes on the CPU: got 'cuda'"):
        x.to("cuda")
