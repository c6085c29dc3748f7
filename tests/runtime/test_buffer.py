"""The allocator: alignment, reuse, counting, threads, forks; views and foreign memory."""

from __future__ import annotations

import gc
import threading
from collections import deque
from itertools import pairwise

import numpy as np
import pytest

from gnomon.runtime.buffer import ALIGN, HUGE, SMALL, Allocator, DeviceBuffer, size_class
from tests import drawn as st
from tests.drawn import given

pytestmark = pytest.mark.unit


@given(st.integers(1, 1 << 40))
def test_a_size_class_holds_the_request_and_wastes_little(nbytes):
    size = size_class(nbytes)

    assert size >= nbytes
    assert size % ALIGN == 0
    assert size_class(size) == size
    assert size - nbytes < max(ALIGN, nbytes / 8 + 1)


@pytest.mark.parametrize("nbytes", [0, 1, 63, 1000, SMALL, SMALL + 1, HUGE, 3 * HUGE + 5])
def test_blocks_are_aligned_and_writable_to_the_end(nbytes):
    buffer = DeviceBuffer(nbytes)

    buffer.numpy()[:] = 7

    assert buffer.address % ALIGN == 0
    assert buffer.numpy().sum() == 7 * nbytes


def test_live_blocks_do_not_overlap():
    source = Allocator()
    sizes = [size_class(n) for n in (1, 64, 100, 5_000, 70_000, SMALL, SMALL + 1, 100, 1)] * 3

    taken = sorted((source.take(size), size) for size in sizes)

    assert all(a + size <= b for (a, size), (b, _) in pairwise(taken))


def test_several_blocks_at_once_are_apart_and_counted():
    source = Allocator()
    nbytes = [1, 64, 100, 5_000, 70_000, SMALL + 1, 100, 1]
    sizes = list(map(size_class, nbytes))
    for _ in range(2):
        made = source.blocks(nbytes, sizes)

        spans = sorted((x.address, x._size) for x in made)
        assert [x.nbytes for x in made] == nbytes
        assert all(a + size <= b for (a, size), (b, _) in pairwise(spans))
        assert source.use().allocated == sum(sizes)
        del made
    assert source.use() == (0, source.use().reserved, sum(sizes))
    assert source.blocks([], []) == []


def test_a_block_that_came_back_is_used_again():
    source = Allocator()
    first = DeviceBuffer(5_000, source)
    address = first.address

    del first
    gc.collect()

    assert DeviceBuffer(5_000, source).address == address


@pytest.mark.parametrize("nbytes", [5, 5_000, 3 * SMALL])
def test_zeros_are_zeros_also_in_a_block_that_was_used(nbytes):
    source = Allocator()
    first = DeviceBuffer(nbytes, source)
    first.numpy()[:] = 7
    address = first.address
    del first
    gc.collect()

    again, fresh = (DeviceBuffer(nbytes, source, zeros=True) for _ in range(2))

    assert again.address == address
    assert not again.numpy().any()
    assert not fresh.numpy().any()


def test_fresh_pages_are_known_to_hold_zeros():
    source = Allocator()
    address, blank = source.blank(size_class(SMALL + 1))
    source.give(address, size_class(SMALL + 1))

    assert blank
    assert source.blank(size_class(SMALL + 1)) == (address, False)


def test_use_counts_what_is_allocated_reserved_and_at_most_allocated():
    source = Allocator()
    large = size_class(SMALL + 1)

    first, second = DeviceBuffer(large, source), DeviceBuffer(large, source)
    del second
    use = source.use()

    assert (use.allocated, use.reserved, use.peak) == (large, 2 * large, 2 * large)
    del first
    source.reset_peak()
    assert source.use().peak == 0


def test_trimming_returns_idle_large_blocks_and_no_others():
    source = Allocator()
    kept, idle = DeviceBuffer(SMALL + 1, source), DeviceBuffer(4 * SMALL, source)
    kept.numpy()[:] = 3

    del idle
    source.trim()

    assert source.use().reserved == size_class(SMALL + 1)
    assert (kept.numpy() == 3).all()


def test_idle_blocks_are_returned_before_too_many_lie_about():
    source = Allocator(keep=10 * SMALL)

    for multiple in range(2, 12):
        DeviceBuffer(multiple * SMALL, source)

    assert source.use().reserved <= 20 * SMALL


def test_threads_get_blocks_of_their_own():
    source, broken = Allocator(), []

    def work(number: int) -> None:
        for round_ in range(300):
            buffer = DeviceBuffer(64 + 200 * (round_ % 7), source)
            view = buffer.numpy()
            view[:] = number
            if not (view == number).all():
                broken.append(number)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()

    assert not broken
    assert source.use().allocated == 0


def test_a_view_keeps_its_buffer_alive():
    source = Allocator()
    view = DeviceBuffer(4096, source).numpy(np.float32, (32, 32))
    gc.collect()

    assert source.use().allocated == 4096
    del view
    gc.collect()
    assert source.use().allocated == 0


def test_a_view_has_the_type_and_shape_asked_for_and_shares_memory():
    buffer = DeviceBuffer(60)

    buffer.numpy(np.float32, (3, 5))[1, 2] = 2.5

    assert buffer.numpy(np.float32)[7] == 2.5
    assert buffer.numpy(np.float64).shape == (7,)
    assert buffer.numpy(np.int32, (0, 4)).shape == (0, 4)


def test_foreign_memory_is_neither_copied_nor_freed_and_its_owner_lives():
    array = np.arange(6, dtype=np.int16)
    buffer = DeviceBuffer.of(array)

    buffer.numpy(np.int16)[0] = 40
    address = array.ctypes.data

    assert (array[0], buffer.address, buffer.nbytes) == (40, address, 12)
    assert buffer.owner is array


def test_foreign_memory_that_must_not_be_written_stays_so():
    array = np.arange(6)
    array.flags.writeable = False

    buffer = DeviceBuffer.of(array)

    assert buffer.readonly
    assert not buffer.numpy().flags.writeable


def test_a_request_without_room_says_its_size():
    with pytest.raises(MemoryError, match="no memory for"):
        DeviceBuffer(1 << 60)


def test_a_block_that_another_thread_takes_meanwhile_is_nobody_elses():
    class Raced(deque):
        """Looks as if something were in it: another thread took that after the look."""

        def __bool__(self) -> bool:
            return True

    source = Allocator()
    source._returned = Raced()

    assert source.use().allocated == 0
    assert source.take(64) != source.take(64)


def test_a_copy_has_memory_of_its_own_and_a_part_is_lent_to_whom_the_whole_is():
    whole = DeviceBuffer.of(np.arange(4, dtype=np.int32))
    whole.lent = 1

    copy, part = whole.copied(), whole.part(4, 8)
    whole.numpy(np.int32)[1] = 7

    assert copy.numpy(np.int32).tolist() == [0, 1, 2, 3]
    assert (copy.lent, part.lent) == (0, 1)
    assert part.numpy(np.int32).tolist() == [7, 2]
