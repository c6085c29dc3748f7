"""Memory of a card shared with other libraries through DLPack."""

from __future__ import annotations

import ctypes
import gc
from ctypes import c_int64
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DeviceError, TraceError
from gnomon.runtime.cuda.driver import driver
from gnomon.tensor.dlpack import (
    CPU,
    CUDA,
    DELETER,
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLTensor,
    device_of,
)
from tests.cuda.cards import fake_card

there = pytest.fixture(fake_card, name="there", autouse=True)

_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NAME = b"dltensor"


class OfAnother:
    """An array of another library's on the card."""

    def __init__(self, numbers: np.ndarray, steps: tuple[int, ...] = (), number: int = 0) -> None:
        self.address = driver().allocate(numbers.nbytes)
        driver().put(self.address, numbers)
        shape = numbers.shape
        self.shape = (c_int64 * len(shape))(*shape)
        self.steps = (c_int64 * len(steps))(*steps) if steps else None
        self.given_back, self.stream, self.number = 0, 0, number
        kind = DLDataType(2, 32, 1)
        array = DLTensor(
            self.address, DLDevice(CUDA, number), len(shape), kind, self.shape, self.steps, 0
        )
        self.managed = DLManagedTensor(array, None, DELETER(self.take_back))

    def take_back(self, _: Any) -> None:
        self.given_back += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CUDA, self.number)

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        self.stream = stream
        return _new(ctypes.addressof(self.managed), NAME, None)

    def numbers(self, count: int) -> list[float]:
        made = np.empty(count, np.float32)
        driver().get(self.address, made)
        return made.tolist()


def test_another_librarys_memory_is_used_where_it_is(there):
    other = OfAnother(np.arange(6, dtype=np.float32).reshape(2, 3))

    x = gn.from_dlpack(other)

    assert (x.device, x.data_ptr(), other.stream) == ("cuda", other.address, 1)
    assert (x * 2).cpu().tolist() == [[0, 2, 4], [6, 8, 10]]
    x.add_(1)
    gn.evaluate(x)
    assert other.numbers(6) == [1, 2, 3, 4, 5, 6]
    driver().put(other.address, np.full(6, 9, np.float32))
    assert x.sum().item() == 54
    assert other.given_back == 0
    del x
    gc.collect()
    assert other.given_back == 1


def test_strides_are_copied(there):
    other = OfAnother(np.arange(6, dtype=np.float32).reshape(2, 3), (1, 2))

    x = gn.from_dlpack(other)

    driver().put(other.address, np.zeros(6, np.float32))
    assert x.cpu().tolist() == [[0, 2, 4], [1, 3, 5]]


def test_ours_goes_out_and_comes_back(there):
    x = gn.arange(6, device="cuda").reshape(2, 3)

    other = gn.from_dlpack(x)

    assert x.__dlpack_device__() == device_of(other) == (CUDA, 0)
    assert (other.data_ptr(), x.device) == (x.data_ptr(), "cuda")
    other.mul_(2)
    gn.evaluate(other)
    assert x.cpu().tolist() == [[0, 2, 4], [6, 8, 10]]
    part = gn.from_dlpack(x[1:, 1:])
    assert part.cpu().tolist() == [[8, 10]]
    assert gn.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()


@pytest.mark.parametrize("kind", ["bfloat16", "float64", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_every_dtype_travels(there, kind, shape):
    x = gn.ones(shape, dtype=kind).to("cuda")

    other = gn.from_dlpack(x)

    assert (other.dtype, other.shape, other.device) == (x.dtype, x.shape, "cuda")
    assert other.cpu().equal(gn.ones(shape, dtype=kind))


def test_another_stream_waits_for_what_was_launched(there):
    x = gn.ones(3, device="cuda") + 1
    before = there.calls["cuCtxSynchronize"]

    for stream in (None, -1, 1):
        x.__dlpack__(stream=stream)
    assert there.calls["cuCtxSynchronize"] == before
    x.__dlpack__(stream=2)
    assert there.calls["cuCtxSynchronize"] == before + 1


def test_the_host_is_given_a_copy(there):
    x = gn.ones(3, device="cuda")

    assert np.from_dlpack(x.cpu()).tolist() == [1, 1, 1]
    assert gn.from_dlpack(x.__dlpack__(dl_device=(CPU, 0))).device == "cpu"
    assert gn.from_dlpack(x, device="cpu").device == "cpu"
    with pytest.raises(ArgumentError, match=r"is on device \(2, 0\), not on device \(1, 0\)"):
        x.__dlpack__(dl_device=(CPU, 0), copy=False)


def test_memory_that_cannot_be_used_is_refused_with_its_place(there):
    far = OfAnother(np.zeros(1, np.float32), number=3)
    with pytest.raises(ArgumentError, match=r"computes on cuda:0: got memory of cuda:3"):
        gn.from_dlpack(far)
    assert far.given_back == 1
    strange = OfAnother(np.zeros(1, np.float32))
    strange.managed.array.device.kind = 10
    with pytest.raises(ArgumentError, match=r"on the CPU or on a card of CUDA: got 10"):
        gn.from_dlpack(strange)
    for device in ("reference", "meta"):
        with pytest.raises(
            DeviceError, match=f"convert {device} device type tensor: other libraries"
        ):
            gn.ones(1, device=device).__dlpack__()


def test_a_captured_function_lends_no_memory_of_what_it_computes(there):
    @gn.compile
    def lends(x):
        return gn.from_dlpack((x + 1).detach()) + 1

    with pytest.raises(TraceError, match="no memory is lent of what is computed"):
        lends(gn.ones(3, device="cuda"))
