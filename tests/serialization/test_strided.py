"""Offsets, sizes and strides as views: what numpy shows of the same memory."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.ops.strides import merged
from gnomon.serialization.strided import is_whole, strided


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (24,), (1,)),
        (5, (2, 3), (3, 1)),
        (1, (3, 2), (6, 2)),
        (2, (4, 3), (1, 4)),
        (3, (2, 5, 1), (0, 1, 9)),
        (0, (4, 4), (1, 1)),
        (7, (), ()),
        (24, (0, 3), (3, 1)),
        (0, (3, 2), (8, 5)),
    ],
)
def test_it_shows_what_numpy_shows(offset, size, stride):
    memory = np.arange(24, dtype=np.float32)
    steps = tuple(4 * step for step in stride)
    meant = np.lib.stride_tricks.as_strided(memory[offset:], size, steps)

    found = strided(gn.tensor(memory), offset, size, stride)

    assert found.shape == size
    assert found.tolist() == meant.tolist()


def test_a_write_to_what_does_not_overlap_is_seen_by_the_storage():
    storage = gn.zeros(12)

    strided(storage, 1, (2, 3), (6, 2)).fill_(1)

    assert storage.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]


def test_all_elements_in_order_are_the_whole():
    assert is_whole(6, 0, (2, 1, 3), (3, 77, 1))
    assert is_whole(0, 0, (0, 3), (3, 1))
    assert not is_whole(6, 0, (3, 2), (1, 3))
    assert not is_whole(6, 1, (5,), (1,))
    assert merged([2, 3, 4], [12, 4, 1]) == ([24], [1])
