"""Storages: the memory that tensors show parts of."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, TraceError


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


def test_views_have_their_bases_storage():
    x = gn.arange(12.0).reshape(4, 3)
    kept = x.untyped_storage()
    row, flat = x[1:], x.view(-1)

    places = {t.untyped_storage().data_ptr() for t in (x, row, flat)}

    assert places == {x.data_ptr()} == {kept.data_ptr()}
    assert row.untyped_storage().nbytes() == 48
    assert row.data_ptr() - row.untyped_storage().data_ptr() == 12


def test_tensors_that_are_equal_by_chance_have_storages_of_their_own():
    x, y = gn.zeros(3), gn.zeros(3)
    z = x.clone()

    assert len({t.untyped_storage().data_ptr() for t in (x, y, z)}) == 3
    assert x.data_ptr() == x.untyped_storage().data_ptr()


def test_a_parameter_and_its_state_have_one_storage():
    layer = gn.nn.Linear(2, 3)

    saved = layer.state_dict()["weight"].untyped_storage()

    assert saved.data_ptr() == layer.weight.untyped_storage().data_ptr()
    assert saved.device == layer.weight.device
    assert len(saved) == saved.size() == saved.nbytes() == 24


def test_a_typed_storage_counts_elements():
    kept = gn.zeros(5, 2, dtype="int64").storage()

    assert (len(kept), kept.size(), kept.element_size(), kept.nbytes()) == (10, 10, 8, 80)
    assert kept.dtype is gn.int64
    assert kept.untyped().size() == 80


def test_what_is_written_while_a_storage_is_held_stays_in_its_place():
    x = gn.zeros(3)
    kept = x.untyped_storage()

    x.add_(1.0)

    assert x.untyped_storage().data_ptr() == kept.data_ptr()
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_a_captured_tensor_has_no_memory_yet():
    def asked(x):
        return (x + 1).untyped_storage().nbytes()

    with pytest.raises(TraceError, match="not known yet"):
        gn.compile(asked, breaks="error")(gn.ones(3))


def test_a_file_is_read_by_parts(tmp_path):
    values = np.arange(6, dtype=np.float32)
    values.tofile(tmp_path / "kept")

    kept = gn.UntypedStorage.from_file(str(tmp_path / "kept"), shared=False, nbytes=24)
    part = gn.asarray(kept[8:20], dtype=gn.uint8).view(gn.float32)

    assert len(kept) == 24
    assert part.tolist() == [2.0, 3.0, 4.0]
    assert kept[3] == values.view(np.uint8)[3]
    with pytest.raises(ArgumentError, match="step 1"):
        kept[::2]


def test_what_is_written_to_a_private_file_stays_out_of_it(tmp_path):
    (tmp_path / "kept").write_bytes(b"abcd")

    kept = gn.UntypedStorage.from_file(str(tmp_path / "kept"), nbytes=4)
    np.asarray(kept)[:] = 0

    assert list(np.asarray(kept)) == [0, 0, 0, 0]
    assert (tmp_path / "kept").read_bytes() == b"abcd"


def test_a_storage_shows_its_tensors_bytes():
    x = gn.tensor([1, 2], dtype="int16")

    x.storage()[:]
    np.asarray(x.untyped_storage())[0] = 7

    assert x.tolist() == [7, 2]


def test_elements_of_complex_storages_are_complex():
    z = gn.tensor([1 + 2j, 3 + 4j])
    found = z[1:].storage()

    assert found.tolist() == z.tolist()
    assert (found.dtype, found.size(), found.untyped().nbytes()) == (gn.complex64, 2, 16)
    assert gn.zeros(0, dtype=gn.complex64).set_(found).tolist() == z.tolist()
    assert np.asarray(found).tolist() == z.tolist()


def test_a_storage_is_one_and_a_tensor_is_none():
    x = gn.ones(2)

    assert gn.is_storage(obj=x.untyped_storage())
    assert gn.is_storage(x.storage())
    assert not gn.is_storage(x)
