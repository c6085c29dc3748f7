"""Memory that numpy can write to belongs to one tensor alone."""

from __future__ import annotations

import numpy as np

import gnomon as gn


def test_numpy_and_tensor_share_memory_both_ways():
    array = np.zeros(3, np.float32)
    x = gn.from_numpy(array)
    array[0] = 5
    x.numpy()[1] = 6

    assert x.tolist() == [5, 6, 0]
    assert np.shares_memory(x.numpy(), array)


def test_a_value_s_array_is_not_a_copy():
    x = gn.ones(3) + 1

    assert np.shares_memory(x.numpy(), x.numpy())
    assert np.shares_memory(np.asarray(x), x.numpy())


def test_a_clone_does_not_see_what_numpy_writes():
    x = gn.ones(3)
    before = x.clone()
    array = x.numpy()
    after = x.clone()
    array[0] = 7

    assert (x.tolist(), before.tolist(), after.tolist()) == ([7, 1, 1], [1, 1, 1], [1, 1, 1])


def test_what_was_copied_from_an_array_does_not_follow_it():
    array = np.ones(2, np.float32)
    x = gn.zeros(2)
    x.copy_(gn.from_numpy(array))
    array[:] = 9

    assert x.tolist() == [1, 1]


def test_pending_readers_are_computed_before_others_can_write():
    x = gn.ones(2)
    y = x + 1
    x.numpy()[:] = 5

    assert y.tolist() == [2, 2]
