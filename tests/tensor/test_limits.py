"""What programs may ask about dtypes and about this library."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("dtype", [gn.float16, gn.float32, gn.float64])
def test_limits_of_floats_are_ieees(dtype):
    found, known = gn.finfo(dtype), np.finfo(dtype.numpy)

    assert (found.eps, found.max, found.tiny) == (known.eps, known.max, known.tiny)
    assert (found.bits, found.dtype) == (known.bits, dtype)


def test_limits_of_a_tensor_are_those_of_its_dtype():
    assert gn.iinfo(gn.zeros(2, dtype=gn.uint8)).max == 255
    assert gn.finfo(gn.zeros(2)) == gn.finfo()


def test_kinds_are_the_standards():
    assert gn.isdtype(gn.uint16, "unsigned integer")
    assert not gn.isdtype(gn.bool, "numeric")
    with pytest.raises(ArgumentError, match="no such kind: 'decimal'"):
        gn.isdtype(gn.int8, "decimal")


def test_python_numbers_are_weak_in_results():
    assert gn.result_type(gn.int8, 1) is gn.int8
    assert gn.result_type(gn.bfloat16, 2.5) is gn.bfloat16
    assert gn.result_type(gn.zeros(1, dtype=gn.int32), gn.int64) is gn.int64


def test_a_cast_keeps_values_or_is_not_safe():
    assert gn.can_cast(gn.uint8, gn.int16)
    assert not gn.can_cast(gn.int16, gn.uint8)


def test_the_namespace_tells_what_it_has():
    told = gn.__array_namespace_info__()

    assert set(told.dtypes(kind="real floating")) == {"float32", "float64"}
    assert set(told.dtypes(kind="complex floating")) == {"complex64", "complex128"}
    assert told.default_dtypes()["integral"] is gn.int64
    assert told.devices() == (told.default_device(),)
    assert gn.zeros(1).__array_namespace__() is gn


def test_names_that_programs_ask():
    assert gn.is_complex(gn.ones(1)) is False
    assert gn.get_default_device() == gn.device("cpu")
    assert gn.version.cuda is None
    gn._assert(True, "no")
    with pytest.raises(AssertionError, match="too long"):
        gn._assert(False, "too long")
