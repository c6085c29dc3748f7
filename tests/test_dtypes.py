"""Dtypes: spelling, promotion, weak scalars, accumulators."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

from gnomon.dtypes import (
    ALL,
    bfloat16,
    bool_,
    dtype_of,
    dtype_of_number,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote,
    uint8,
    uint32,
    uint64,
    weak,
)
from gnomon.errors import DtypeError

pytestmark = pytest.mark.unit

COMPUTED = [d for d in ALL if not d.is_storage_only]
STANDARD = [d for d in COMPUTED if d.name not in ("bfloat16", "float16")]


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
def test_every_spelling_means_the_one_object(dtype):
    assert dtype_of(dtype.name) is dtype_of(dtype.numpy) is dtype_of(dtype) is dtype
    assert copy.deepcopy(dtype) is pickle.loads(pickle.dumps(dtype)) is dtype


def test_an_unknown_dtype_is_named():
    with pytest.raises(DtypeError, match="no such dtype: 'float33'"):
        dtype_of("float33")


@pytest.mark.parametrize("name", ["[", "i4,,", "V-1", "(2,)f4"])
def test_what_numpy_cannot_parse_is_no_dtype(name):
    with pytest.raises(DtypeError, match="no such dtype"):
        dtype_of(name)


def has_no_common_integer(left, right):
    return uint64 in (left, right) and "int" in (left.kind, right.kind)


def test_promotion_within_a_kind_is_numpys():
    for left, right in itertools.product(STANDARD, STANDARD):
        kinds = {left.kind, right.kind}
        if not has_no_common_integer(left, right) and ("float" not in kinds or len(kinds) == 1):
            assert promote(left, right).numpy == np.promote_types(left.numpy, right.numpy)


def test_promotion_does_not_ask_who_comes_first():
    for left, right in itertools.combinations(COMPUTED, 2):
        if not has_no_common_integer(left, right):
            assert promote(left, right) is promote(right, left)


def test_a_float_wins_over_an_integer_and_keeps_its_width():
    assert promote(int64, float16) is float16
    assert promote(bool_, bfloat16) is bfloat16
    assert promote(float16, bfloat16) is float32


def test_no_integer_holds_uint64_and_a_signed_one():
    with pytest.raises(DtypeError, match="holds both uint64 and int8"):
        promote(int8, uint64)


@pytest.mark.parametrize(
    ("dtype", "scalar", "result"),
    [
        (int16, 1, int16),
        (uint8, 1, uint8),
        (int16, True, int16),
        (uint32, 0.5, float32),
        (float64, 1, float64),
        (float16, 2.5, float16),
        (bool_, 1, int64),
        (bool_, True, bool_),
        (int32, 0.5, float32),
    ],
)
def test_a_python_scalar_takes_part_by_kind_only(dtype, scalar, result):
    assert weak(dtype, scalar) is result


def test_pythons_types_mean_what_their_numbers_hold():
    assert [dtype_of(x) for x in (bool, int, float)] == [bool_, int64, float64]
    assert dtype_of(complex) is dtype_of("complex128")
    assert [dtype_of_number(x) for x in (True, 1, 1.0)] == [bool_, int64, float32]


def test_only_truth_values_and_unsigned_integers_have_no_sign():
    unsigned = {x.name for x in ALL if not x.is_signed}

    assert unsigned == {"bool", "uint8", "uint16", "uint32", "uint64"}
