"""state_dict and load_state_dict: shared memory, reports, complaints."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import CheckpointError


def test_a_state_shares_the_modules_memory():
    layer = nn.Linear(2, 3)

    state = layer.state_dict()
    with gn.no_grad():
        layer.bias.fill_(7.0)

    assert state["bias"].tolist() == [7.0] * 3
    assert not state["bias"].requires_grad
    assert layer.state_dict(prefix="x.", keep_vars=True)["x.bias"] is layer.bias


def test_loading_copies_and_reports():
    one, two = nn.Linear(2, 3), nn.Linear(2, 3)
    kept = two.weight

    report = two.load_state_dict(one.state_dict())

    assert repr(report) == "<All keys matched successfully>"
    assert two.weight is kept
    assert two.weight.tolist() == one.weight.tolist()
    assert two.weight.requires_grad


def test_keys_that_do_not_fit_are_named():
    layer = nn.Linear(2, 3)
    state = {"weight": gn.ones(3, 2), "wheels": gn.ones(1)}

    with pytest.raises(CheckpointError) as complaint:
        layer.load_state_dict(state)
    report = layer.load_state_dict(state, strict=False)

    assert 'Missing key(s) in state_dict: "bias".' in str(complaint.value)
    assert 'Unexpected key(s) in state_dict: "wheels".' in str(complaint.value)
    assert report.missing_keys == ["bias"]
    assert report.unexpected_keys == ["wheels"]


def test_sizes_that_differ_are_refused_even_when_keys_may_differ():
    with pytest.raises(CheckpointError, match=r"size mismatch for bias: .*\(4,\).*\(3,\)"):
        nn.Linear(2, 3).load_state_dict({"bias": gn.ones(4)}, strict=False)


def test_values_are_assigned_when_that_is_asked():
    layer, weight = nn.Linear(2, 3), gn.ones(3, 2, dtype=gn.float64)

    layer.load_state_dict({"weight": weight, "bias": gn.zeros(3)}, assign=True)

    assert layer.weight.dtype is gn.float64
    assert isinstance(layer.weight, nn.Parameter)


def test_running_statistics_are_saved_and_loaded():
    one, two = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    one(gn.tensor([[1.0, 2.0], [3.0, 6.0]]))

    two.load_state_dict(one.state_dict())

    names = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert list(one.state_dict()) == names
    assert two.running_mean.tolist() == pytest.approx([0.2, 0.4])
    assert int(two.num_batches_tracked) == 1


class Noted(dict):
    """A state with the notes that PyTorch keeps beside it."""


def test_a_state_of_before_batches_were_counted_is_whole():
    net = nn.Sequential(nn.BatchNorm1d(2))
    old = {k: v for k, v in net.state_dict().items() if "num_batches" not in k}
    new = Noted(old)
    new._metadata = {"0": {"version": 2}}

    assert net.load_state_dict(old).missing_keys == []
    with pytest.raises(CheckpointError, match=r"Missing key.*0\.num_batches_tracked"):
        net.load_state_dict(new)
    assert net.load_state_dict({}, strict=False).missing_keys == [k for k in old]
