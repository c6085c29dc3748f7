"""Storages: the memory that tensors show parts of."""

from __future__ import annotations

import pytest

import gnomon as gn


def test_views_show_the_memory_of_their_tensor():
    x = gn.arange(6.0).reshape(2, 3)
    mine, its = x.untyped_storage(), x.T[1:].untyped_storage()

    assert mine == its
    assert mine != x.clone().untyped_storage()
    assert (mine.data_ptr(), mine.nbytes(), mine.size(), len(mine)) == (x.data_ptr(), 24, 24, 24)
    assert {mine, its} == {mine}
    assert x[1].storage().tolist() == [0, 1, 2, 3, 4, 5]
    assert x[1].storage()[2:4] == [2, 3]


def test_bytes_are_those_of_memory_in_every_dtype():
    assert gn.tensor([1.0], dtype=gn.bfloat16).untyped_storage().tolist() == [128, 63]
    assert list(gn.tensor([258], dtype=gn.int16).untyped_storage()) == [2, 1]
    assert gn.tensor([1 + 2j]).untyped_storage().nbytes() == 8
    assert gn.zeros(0).untyped_storage().tolist() == []


def test_new_storages_and_their_copies():
    typed = gn.TypedStorage(3, dtype=gn.int64)

    assert (typed.size(), typed.element_size(), typed.nbytes(), typed.dtype) == (3, 8, 24, gn.int64)
    assert typed.untyped() == typed._untyped_storage == typed
    assert typed.clone().tolist() == [0, 0, 0]
    assert gn.UntypedStorage(2).clone().untyped()[1] == 0
    assert typed.device.type == "cpu"
    assert (typed.is_cuda, typed.is_shared(), typed.is_pinned()) == (False, False, False)


def test_memory_keeps_its_size():
    storage = gn.ones(3).storage()

    storage.resize_(3)
    with pytest.raises(ValueError, match="3 elements: got 0"):
        storage.resize_(0)


def test_tensors_that_show_the_same_elements():
    x = gn.ones(2, 3)

    assert x.is_set_to(x.view(2, 3))
    assert not x.is_set_to(x.T)
    assert not x.is_set_to(x.clone())


def test_gradients_do_not_follow():
    x = gn.ones(3, requires_grad=True)

    assert (2 * x).untyped_storage().nbytes() == 12
    assert gn.storage.UntypedStorage is gn.UntypedStorage
