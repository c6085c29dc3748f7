"""Programs may ask for a GPU, and are told that there is none."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.tensor.absent import ANSWERS, CLASSES, REFUSED

pytestmark = pytest.mark.unit

DEVICES = ("accelerator", "cuda", "mps", "mtia", "xpu")


@pytest.mark.parametrize("name", DEVICES)
def test_there_is_no_device_and_no_memory_of_one(name):
    absent = getattr(gn, name)

    assert (absent.is_available(), absent.device_count(), absent.memory_allocated()) == (
        False,
        0,
        0,
    )
    assert absent.max_memory_allocated(0) == 0
    assert (absent.memory_stats(), absent.get_rng_state_all()) == ({}, [])
    assert absent.empty_cache() is absent.manual_seed_all(3) is absent.current_accelerator() is None
    assert set(dir(absent)) == {*ANSWERS, *CLASSES, *REFUSED}
    assert all(hasattr(absent, known) for known in dir(absent))
    assert not hasattr(absent, "nonsense")


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_needs_the_device_is_refused_by_its_name(name):
    with pytest.raises(ArgumentError, match=rf"cuda\.{name}: this machine computes on the CPU"):
        getattr(gn.cuda, name)(0)


def test_its_classes_are_types_that_cannot_be_made():
    assert gn.cuda.Event is gn.cuda.Event
    assert not isinstance(3, gn.cuda.Stream)
    with pytest.raises(ArgumentError, match=r"cuda\.Event: this machine"):
        gn.cuda.Event(enable_timing=True)


def test_marks_and_blocks_do_nothing():
    with gn.cuda.nvtx.range("step"), gn.cuda.device(0), gn.cuda.stream(None):
        assert gn.cuda.nvtx.range_push("forward") is None


def test_the_cpu_is_a_device_by_pytorchs_names():
    assert (gn.cpu.is_available(), gn.cpu.device_count(), gn.cpu.current_device()) == (1, 1, "cpu")
    with gn.cpu.stream(None):
        assert gn.cpu.synchronize() is None


def test_switches_are_set_and_read_by_nothing():
    gn.backends.cuda.matmul.allow_tf32 = True
    gn.backends.cuda.enable_flash_sdp(True)
    with gn.backends.cudnn.flags(enabled=False, benchmark=True), gn.backends.cuda.sdp_kernel():
        assert not gn.backends.cudnn.is_available()
    assert gn.backends.cudnn.version() is None
    assert not gn.backends.mps.is_built()
    assert not gn.backends.cuda.flash_sdp_enabled()
    gn.backends.cuda.matmul.allow_tf32 = False


def test_blocks_that_do_nothing_decorate_functions():
    for block in (gn.backends.cudnn.flags(enabled=True), gn.cuda.nvtx.range("step")):
        assert block(lambda x: x + 1)(2) == 3
