"""Memory shared with other libraries through DLPack."""

from __future__ import annotations

import gc
import operator
import sys

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import DtypeError, GradientError


def test_numpy_reads_a_tensors_memory():
    x = gn.arange(6).reshape(2, 3)

    shared = np.from_dlpack(x)

    assert shared.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.shares_memory(shared, x.numpy())


def test_a_tensor_reads_numpys_memory():
    array = np.arange(6.0).reshape(2, 3)

    shared = gn.from_dlpack(array)

    assert shared.dtype is gn.float64
    assert np.shares_memory(array, shared.numpy())


def test_a_layout_that_is_not_row_major_is_copied():
    array = np.arange(6.0).reshape(2, 3)

    assert gn.from_dlpack(array.T).tolist() == array.T.tolist()
    assert gn.from_dlpack(array[:, ::2]).tolist() == array[:, ::2].tolist()


def test_bfloat16_goes_out_and_back():
    x = gn.tensor([1.0, -2.5, 3.0], dtype=gn.bfloat16)

    y = gn.from_dlpack(x)

    assert y.dtype is gn.bfloat16
    assert y.tolist() == [1.0, -2.5, 3.0]


def test_memory_is_given_back_when_the_taker_is_gone():
    tensors = [gn.tensor([1, 2, 3, k]) for k in (1, 2)]
    shared, unused = np.from_dlpack(tensors[0]), tensors[1].__dlpack__()
    buffers = [x._storage.node.value for x in tensors]
    assert [x.lent for x in buffers] == [1, 1]

    del shared, unused
    gc.collect()

    assert [x.lent for x in buffers] == [0, 0]


@pytest.mark.parametrize("taken", [False, True])
def test_a_capsule_may_die_while_an_exception_is_on_its_way(taken: bool):
    unraisable, told = [], sys.unraisablehook
    sys.unraisablehook = unraisable.append
    try:
        for _ in range(3):
            x = gn.arange(4) + 1
            # the list dies where it could not be indexed
            with pytest.raises(TypeError, match="list indices must be integers"):
                operator.getitem([np.from_dlpack(x) if taken else x.__dlpack__()], "a")
    finally:
        sys.unraisablehook = told

    assert not unraisable


def test_all_dtypes_and_layouts_go_out():
    x = gn.arange(24).reshape(2, 3, 4)
    for y in (x.bool(), x.to(gn.uint8), x.half(), x.double(), x.mT, x[:, ::2], x[:0], x[0, 0, 0]):
        shared = np.from_dlpack(y.detach())

        assert shared.dtype == y.dtype.numpy
        assert shared.tolist() == y.tolist()


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_complex_numbers_share_memory_both_ways(kind: type):
    array = (np.arange(6) + 1j).astype(kind).reshape(2, 3)
    x, turned = gn.from_dlpack(array), gn.from_dlpack(array.T)

    array[0, 1] = 7j
    shared = np.from_dlpack(x)

    assert (x.dtype, turned.dtype, shared.dtype) == (kind, kind, kind)
    assert x[0, 1].item() == shared[0, 1] == 7j
    assert turned.shape == (3, 2)
    assert turned[1].tolist() == [1 + 1j, 4 + 1j]
    assert np.from_dlpack(x.mT).tolist() == array.T.tolist()
    assert gn.from_dlpack(array[:0]).shape == (0, 3)


def test_what_dlpack_cannot_say_is_refused():
    with pytest.raises(GradientError, match="detach"):
        gn.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(DtypeError, match="no code for float8"):
        gn.from_numpy(np.ones(2, gn.float8_e5m2.numpy)).__dlpack__()
    with pytest.raises(DtypeError, match="stream must be an int or None: got a str"):
        gn.ones(2).__dlpack__(stream="0")


def test_pytorchs_word_is_heard():
    assert gn.from_dlpack(ext_tensor=np.ones(2)).tolist() == [1, 1]
