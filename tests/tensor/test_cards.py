"""gn.cuda by PyTorch's names: of a card where there is one, and as if there were none without."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DeviceError
from gnomon.tensor.cards import ON_CARD
from tests.cuda.cards import card, fake_card
from tests.cuda.fake_driver import FakeDriver

there = pytest.fixture(fake_card, name="there")


def test_functions_answer_for_the_card(there):
    kinds = gn.cuda.get_device_properties(0)

    assert (gn.cuda.is_available(), gn.cuda.device_count(), gn.cuda.current_device()) == (1, 1, 0)
    assert (gn.cuda.get_device_name(), gn.cuda.get_device_capability()) == ("Fake card", (8, 0))
    assert (kinds.name, kinds.total_memory, kinds.multi_processor_count) == (
        "Fake card",
        256 << 20,
        1,
    )
    assert gn.cuda.mem_get_info()[1] == 256 << 20
    assert gn.cuda.is_bf16_supported()
    assert set(ON_CARD) < set(dir(gn.cuda))


def test_memory_is_counted(there):
    before = gn.cuda.memory_allocated()
    held = gn.zeros(1 << 18, device="cuda")
    gn.evaluate(held)

    assert gn.cuda.memory_allocated() - before >= 1 << 20
    assert gn.cuda.max_memory_allocated() >= gn.cuda.memory_allocated()
    assert gn.cuda.memory_reserved() >= gn.cuda.memory_allocated()
    gn.cuda.empty_cache()
    gn.cuda.reset_peak_memory_stats()


def test_events_and_streams(there):
    began, ended = gn.cuda.Event(enable_timing=True), gn.cuda.Event(enable_timing=True)
    began.record()
    gn.cuda.current_stream().record_event(ended)
    gn.cuda.synchronize()
    gn.cuda.current_stream().wait_stream(gn.cuda.Stream())

    assert ended.query()
    assert began.elapsed_time(ended) == 1.5
    with gn.cuda.stream(gn.cuda.Stream()):
        gn.cuda.default_stream().synchronize()


def test_a_seed_is_the_seed_of_all(there):
    gn.cuda.manual_seed(3)
    first = gn.randn(4, device="cuda").tolist()
    gn.manual_seed(3)

    assert gn.randn(4).tolist() == first


def test_a_process_has_one_card():
    with card(FakeDriver(1 << 20, count=4)):
        assert gn.cuda.device_count() == 4
        gn.cuda.set_device(0)
        for use in (lambda: gn.cuda.set_device(1), lambda: gn.ones(2, device="cuda:1")):
            with pytest.raises(DeviceError, match="got 'cuda:1' in the process of cuda:0"):
                use()


def test_without_a_card_nothing_is_there():
    assert not gn.cuda.is_available()
    assert gn.cuda.manual_seed(3) is None
    for make in (gn.cuda.Event, gn.cuda.Stream):
        with pytest.raises(ArgumentError, match="this machine computes on the CPU"):
            make()
    with pytest.raises(ArgumentError, match=r"got 'cuda' \(found no NVIDIA driver"):
        gn.ones(2).cuda()
