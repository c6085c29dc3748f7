"""Functions that make tensors place them where they are asked to, or where a block says."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import TraceError

pytestmark = pytest.mark.unit

MAKERS = {
    "arange": lambda: gn.arange(5),
    "asarray": lambda: gn.asarray([1.0]),
    "complex zeros": lambda: gn.zeros(2, dtype=gn.complex64),
    "eye": lambda: gn.eye(3),
    "fftfreq": lambda: gn.fft.fftfreq(4),
    "full": lambda: gn.full((2,), 1.0),
    "hann_window": lambda: gn.hann_window(4),
    "linspace": lambda: gn.linspace(0, 1, 3),
    "rand": lambda: gn.rand(2, 3, 4, 5),
    "randint": lambda: gn.randint(0, 5, (3,)),
    "randperm": lambda: gn.randperm(4),
    "tensor": lambda: gn.tensor([1, 2]),
    "triu_indices": lambda: gn.triu_indices(3, 3),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_a_block_places_new_tensors(make):
    with gn.device("meta"):
        made = make()
        with gn.device("cpu"):
            there = make()

    assert (made.is_meta, there.is_meta) == (True, False)
    assert (made.shape, made.dtype) == (there.shape, there.dtype)
    assert gn.get_default_device() == "cpu"


def test_what_has_memory_or_is_made_like_a_tensor_stays_beside_it():
    x = gn.ones(2)
    with gn.device("meta"):
        made = [gn.from_numpy(np.ones(2)), gn.zeros_like(x), x.new_zeros(3), x.new_tensor([1.0])]

    assert [t.device for t in made] == ["cpu"] * 4
    assert gn.ones_like(gn.empty(2, device="meta")).is_meta


def test_nothing_is_drawn_where_there_are_no_elements():
    gn.manual_seed(3)
    before = gn.rand(2).tolist()

    gn.manual_seed(3)
    with gn.device("meta"):
        nn.LSTM(3, 4, 2), nn.Conv2d(3, 4, 3), gn.randn(2), gn.randperm(4)

    assert gn.rand(2).tolist() == before


def test_a_model_of_any_size_is_made_moved_and_filled():
    with gn.device("meta"):
        layer = nn.Linear(1 << 20, 1 << 20)
    assert layer.weight.is_meta
    assert layer.weight.requires_grad

    small = nn.Linear(2, 3, device="meta")
    with pytest.raises(TraceError, match=r"^to: a tensor on the meta device has no elements"):
        small.to("cpu")
    small.to_empty(device="cpu").reset_parameters()

    assert small(gn.ones(1, 2)).shape == (1, 3)
    assert small.to(device="meta").weight.is_meta
    assert small.to("meta", gn.float64).bias.dtype is gn.float64


def test_values_are_assigned_to_a_model_without_elements():
    known = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    with gn.device("meta"):
        model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    twin = copy.deepcopy(model)

    model.load_state_dict(known.state_dict(), assign=True)

    x = gn.ones(4, 2)
    assert model(x).tolist() == known(x).tolist()
    assert all(t.is_meta for t in twin.state_dict().values())


def test_a_default_can_be_chosen_for_good():
    gn.set_default_device("meta")
    try:
        made = gn.zeros(2)
    finally:
        gn.set_default_device(None)

    assert (made.is_meta, gn.zeros(2).is_meta) == (True, False)
