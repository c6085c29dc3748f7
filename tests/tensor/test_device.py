"""There is one device, under its usual spellings; others are refused where they are named."""

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
def test_a_device_that_is_not_there_is_refused(name):
    with pytest.raises(ArgumentError, match=rf"computes on the CPU: got '{name}'"):
        gn.device(name)
    with pytest.raises(ArgumentError):
        gn.zeros(2, device=name)


def test_programs_may_ask_for_a_gpu_and_are_told_that_there_is_none():
    assert not gn.cuda.is_available()
    assert gn.cuda.device_count() == 0
    gn.cuda.manual_seed_all(0)
    with pytest.raises(ArgumentError):
        gn.cuda.synchronize()
