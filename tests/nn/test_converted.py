"""Values of a module replaced in place: other dtypes, shared memory, empty tensors."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn


def test_shared_memory_leaves_a_module_as_it_is():
    layer = nn.Linear(2, 3)
    kept, values = layer.weight, layer.weight.tolist()

    assert layer.share_memory() is layer
    assert layer.weight is kept
    assert layer.weight.tolist() == values


def test_an_emptied_module_has_tensors_of_its_shapes_and_dtypes():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).double()

    emptied = model.to_empty(device="cpu")

    assert emptied is model
    assert [tuple(p.shape) for p in model.parameters()] == [(3, 2), (3,), (3,), (3,)]
    assert {p.dtype for p in model.parameters()} == {gn.float64}
    assert model[1].running_mean.shape == (3,)


def test_floats_alone_are_cast():
    layer = nn.BatchNorm1d(3).half()

    assert layer.weight.dtype is gn.float16
    assert layer.num_batches_tracked.dtype is gn.int64


def test_a_module_is_not_asked_for_a_copy():
    layer = nn.Linear(2, 3)

    with pytest.raises(TypeError, match="copy"):
        layer.to(copy=True)
    with pytest.raises(TypeError, match="nonblocking"):
        layer.to("cpu", nonblocking=True)
    assert layer.to(tensor=gn.ones(1, dtype=gn.float64)).weight.dtype is gn.float64
