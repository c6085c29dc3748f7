"""The driver's calls: what fails says so, what is lost stays lost, without a card there is none."""

from __future__ import annotations

import os

import numpy as np
import pytest

from gnomon.errors import DeviceError, DeviceLost
from gnomon.runtime.cuda import driver as cuda
from gnomon.runtime.cuda.driver import CardLaunch, Driver, DriverError
from tests.cuda.cards import card
from tests.cuda.fake_driver import ILLEGAL_ADDRESS, OUT_OF_MEMORY, VERSION, FakeDriver
from tests.cuda.test_ptx import STORE_NUMBERS


def test_without_the_library_there_is_no_card(monkeypatch):
    monkeypatch.setattr(cuda, "LIBRARY", "libnowhere.so.1")
    cuda.use(None)

    assert not cuda.has_card()
    assert cuda.reason() == "found no NVIDIA driver on your system: no libnowhere.so.1"
    with pytest.raises(DeviceError, match="there is no card: found no NVIDIA driver"):
        cuda.driver()
    cuda.use(None)


def test_a_card_can_be_hidden(monkeypatch):
    monkeypatch.setenv("GNOMON_CUDA", "0")
    with card():
        assert cuda.driver_or_none() is None
        assert cuda.reason() == "GNOMON_CUDA=0 hides cards; GNOMON_CUDA=1 shows them"
        monkeypatch.setenv("GNOMON_CUDA", "1")
        assert cuda.has_card()


def test_a_card_says_what_it_is():
    found = Driver(FakeDriver(1 << 20))

    assert found.card == (0, "Fake card", (8, 0), 1, 1 << 20)
    assert found.memory() == (1 << 20, 1 << 20)


def test_what_cannot_be_assembled_says_why():
    fake = FakeDriver(1 << 20)
    to = Driver(fake)

    with pytest.raises(DriverError, match=r"cuLinkAddData_v2: CUDA error 218: .*no entry"):
        to.assembled(b".version 8.0")

    assert (to.version, fake.links) == (VERSION, {})


def test_a_rank_beyond_the_cards_is_refused():
    with pytest.raises(DeviceError, match=r"invalid device ordinal: got 2 of 2 devices"):
        Driver(FakeDriver(1 << 20, count=2), 2)


def test_bytes_go_there_and_come_back():
    to = Driver(FakeDriver(1 << 20))
    place, given, seen = to.allocate(100), np.arange(25, dtype=np.int32), np.zeros(25, np.int32)
    to.put(place, given)
    to.fill(place + 4, 0, 4)

    to.get(place, seen)

    assert seen.tolist() == [0, 0, *range(2, 25)]
    to.free(place)
    with pytest.raises(DriverError, match=r"cuda: cuMemFree_v2: CUDA error 1") as told:
        to.free(place)
    assert told.value.code == 1


def test_memory_that_is_not_there_is_an_error_by_its_code():
    with pytest.raises(DriverError, match=r"cuMemAlloc_v2: CUDA error 2: out of memory") as told:
        Driver(FakeDriver(1 << 20)).allocate(1 << 30)

    assert told.value.code == OUT_OF_MEMORY


def test_a_fault_of_a_kernel_is_told_at_the_next_synchronization_and_ever_after():
    to = Driver(FakeDriver(1 << 20))
    kernel = to.function(to.load(STORE_NUMBERS.encode()), "launch")
    table = to.allocate(8)
    to.put(table, np.array([1 << 40], np.int64))
    to.recent.append("the program that stores")

    CardLaunch(to, 1, 32)(kernel, table, 0, 0)

    for _ in range(2):
        with pytest.raises(
            DeviceLost,
            match=rf"the device is lost: cuCtxSynchronize: CUDA error {ILLEGAL_ADDRESS}.*"
            r"since the last synchronization: the program that stores\. Start the process anew",
        ):
            to.synchronize()


def test_a_rank_that_is_shown_one_card_has_that(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert cuda.number_of_rank() == 3
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    assert cuda.number_of_rank() == 3
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    assert cuda.number_of_rank() == 0


def test_a_synchronization_ends_what_could_have_failed():
    to = Driver(FakeDriver(1 << 20))
    to.recent.append("an earlier program")
    to.synchronize()

    assert not to.recent


def test_events_tell_the_milliseconds_between_them():
    to = Driver(FakeDriver(1 << 20))
    began, ended = to.new_event(), to.new_event()
    to.record(began)
    to.record(ended)

    assert to.elapsed(began, ended) == 1.5


def test_the_child_of_a_fork_has_no_card():
    with card():
        child = os.fork()
        if not child:
            try:
                cuda.driver().synchronize()
            except DeviceLost as cause:
                os._exit(0 if "cannot re-initialize CUDA in a forked" in str(cause) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        cuda.driver().synchronize()
