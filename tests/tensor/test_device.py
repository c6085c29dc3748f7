"""The CPU under its usual spellings, "meta"; others can be named, and are refused in use."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError

pytestmark = pytest.mark.unit


def test_the_cpu_has_several_spellings():
    assert gn.device("cpu") == gn.device("cpu:0") == "cpu"
    assert str(gn.device("cpu", 0)) == "cpu:0"
    assert len({gn.device("cpu"), gn.device("cpu:0")}) == 1


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "mps"])
def test_a_device_that_is_not_there_can_be_named_and_is_refused_in_use(name):
    named = gn.device(name)
    layer, x = gn.nn.Linear(2, 2), gn.ones(2)

    assert (str(named), named.type, gn.device(named)) == (name, name.partition(":")[0], named)
    for device in (name, named):
        uses = (layer.to, x.to, gn.Generator, gn.set_default_device)
        makers = (gn.zeros, gn.rand, gn.arange, gn.hann_window, gn.randperm, gn.fft.fftfreq)
        made = (lambda d, make=make: make(2, device=d) for make in makers)
        layers = (lambda d: gn.nn.Linear(2, 2, device=d), lambda d: gn.nn.GRU(2, 2, device=d))
        like = (lambda d: gn.zeros_like(x, device=d), lambda d: x.new_ones(2, device=d))
        for use in (*uses, *made, *layers, *like, lambda d: gn.tensor([1], None, d)):
            with pytest.raises(ArgumentError, match=rf"computes on the CPU: got '{name}'"):
                use(device)
    with pytest.raises(ArgumentError, match="Give 'cpu', or nothing"), named:
        pass


def test_a_word_that_is_no_device_is_refused_with_those_that_are():
    for name in ("gpu", "cuda:x"):
        with pytest.raises(ArgumentError, match=rf"got '{name}'. A device is one of cpu, cuda"):
            gn.device(name)


def test_a_device_is_a_block_and_prints_its_number():
    with gn.device("cpu") as here:
        assert gn.ones(2).device == here
    assert repr(gn.device("cuda", 1)) == "device(type='cuda', index=1)"


def test_what_makes_a_tensor_takes_pytorchs_words_for_how_it_lies():
    words = {"layout": gn.strided, "pin_memory": False, "requires_grad": True}
    made = [
        *(gn.full((2,), 1.0, **words), gn.linspace(0, 1, 2, **words), gn.eye(2, **words)),
        *(gn.ones_like(gn.ones(2), **words), gn.logspace(0, 1, 2, **words)),
        gn.zeros_like(gn.ones(2), memory_format=gn.preserve_format, **words),
        gn.empty(2, memory_format=gn.contiguous_format, **words),
    ]

    assert all(x.requires_grad and x.shape[0] == 2 for x in made)
    with pytest.raises(ArgumentError, match=r"^zeros: layout is strided: got 'sparse'"):
        gn.zeros(2, layout="sparse")
