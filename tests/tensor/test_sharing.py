"""Tensors over memory that others made share it, or are refused."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError


def test_asarray_shares_the_memory_of_what_has_some():
    array, x = np.arange(3.0), gn.arange(3.0)

    for given in (array, memoryview(array)):
        assert gn.asarray(given, copy=False).data_ptr() == array.ctypes.data
        assert gn.asarray(given, copy=True).data_ptr() != array.ctypes.data
    assert gn.asarray(x.__dlpack__(), copy=False).data_ptr() == x.data_ptr()
    assert gn.asarray(x) is x


@pytest.mark.parametrize("words", [{}, {"dtype": gn.float64}, {"copy": True}])
def test_asarray_keeps_history_unless_it_is_switched_off(words):
    for switch in ({}, {"requires_grad": True}):
        x = gn.ones(2, requires_grad=True)
        for given in (x, x * 2):
            made = gn.asarray(given, **words, **switch)
            assert made.requires_grad
            assert (made is given) == (not words)

    result = gn.asarray(x * 2, **words, requires_grad=False)
    assert result.is_leaf
    assert not result.requires_grad
    assert not gn.asarray(x, **words, requires_grad=False).requires_grad
    assert x.requires_grad == bool(words)  # a leaf that is given as it is is switched itself
    assert gn.asarray([1.0], requires_grad=True).is_leaf


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"offset": 8}, "count -1 from byte 8"),
        ({"count": 4}, "count 4 from"),
        ({"count": 0}, "count 0 from"),
        ({"offset": 1}, "count -1 from byte 1"),
    ],
)
def test_bytes_that_a_buffer_lacks_are_no_tensor(words, told):
    with pytest.raises(ArgumentError, match=told):
        gn.frombuffer(bytearray(8), dtype=gn.float32, **words)


def test_a_tensor_over_bytes_may_require_gradients():
    assert gn.frombuffer(bytearray(8), dtype=gn.float32, requires_grad=True).requires_grad


def test_a_copy_does_not_see_what_is_written_to_the_array_later():
    array = np.zeros(3)
    made = gn.asarray(array, copy=True)

    array[:] = 1.0

    assert made.tolist() == [0, 0, 0]
