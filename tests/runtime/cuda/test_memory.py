"""The memory of a card: copies in and out, blocks that come back, and a card that is full."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import OutOfMemory
from gnomon.runtime import buffer
from gnomon.runtime.buffer import SLAB, DeviceBuffer
from gnomon.runtime.cuda.memory import CardMemory
from tests.cuda.cards import card
from tests.cuda.fake_driver import FakeDriver


@pytest.fixture
def memory():
    """The memory of a small card of its own."""
    with card(FakeDriver(12 << 20)) as fake:
        made = CardMemory()
        made.fake = fake
        yield made


@pytest.mark.parametrize("size", [0, 1, 5])
def test_bytes_go_there_and_come_back(memory, size):
    given = np.arange(size, dtype=np.float64)
    made = DeviceBuffer.of(given, memory)

    assert made.memory is memory
    assert made.numpy(np.float64, (size,)).tolist() == given.tolist()
    assert made.copied().numpy(np.float64, (size,)).tolist() == given.tolist()


def test_a_copy_within_the_card_does_not_pass_the_host(memory):
    made = DeviceBuffer.of(np.arange(4, dtype=np.int32), memory)
    before = memory.fake.calls["cuMemcpyDtoH_v2"]
    twin = made.copied()

    assert memory.fake.calls["cuMemcpyDtoH_v2"] == before
    assert twin.numpy(np.int32).tolist() == [0, 1, 2, 3]
    assert made.copied(buffer.memory).numpy(np.int32).tolist() == [0, 1, 2, 3]


def test_a_read_is_a_copy(memory):
    made = DeviceBuffer.of(np.arange(4, dtype=np.int32), memory)
    made.numpy(np.int32)[0] = 9

    assert made.numpy(np.int32)[0] == 0
    assert made.part(4, 8).numpy(np.int32).tolist() == [1, 2]


def test_new_memory_is_zeros_where_that_is_asked(memory):
    first = DeviceBuffer(256, memory)
    memory.write(first, np.ones(64, np.int32))
    del first

    assert not DeviceBuffer(256, memory, zeros=True).numpy().any()


def test_a_block_that_comes_back_is_used_again(memory):
    for _ in range(1000):
        DeviceBuffer(100, memory)
        DeviceBuffer(1 << 20, memory)

    assert memory.fake.calls["cuMemAlloc_v2"] == 2
    assert memory.use().allocated == 0
    assert memory.use().reserved == SLAB + (1 << 20)


def test_idle_blocks_make_place_for_others(memory):
    for size in (6 << 20, 7 << 20, 5 << 20):
        made = DeviceBuffer(size, memory)
        del made

    assert memory.fake.calls["cuMemFree_v2"] == 2


def test_a_card_that_is_full_says_how_much_is_free(memory):
    taken = DeviceBuffer(6 << 20, memory)

    with pytest.raises(
        OutOfMemory,
        match=r"cuda: out of memory: tried to allocate 8\.389 MB: 6\.29\d* of 12\.58 MB",
    ):
        DeviceBuffer(8 << 20, memory)

    assert taken.numpy().size == 6 << 20
