"""The oracle's scalars where numpy alone would say something else."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int64,
    uint8,
    uint64,
)
from tests.oracle.scalars import cast_value, float_value, rsqrt, saturated, sign

pytestmark = pytest.mark.unit


def test_sign_keeps_zeros_and_nan():
    found = sign(np.array([-0.0, 0.0, np.nan, -3.0, np.inf], np.float32))

    assert found.tolist()[3:] == [-1, 1]
    assert np.signbit(found[:2]).tolist() == [True, False]
    assert np.isnan(found[2])


def test_rsqrt_rounds_twice():
    x = np.float32([3.0])

    assert rsqrt(x)[0] == np.float32(1) / np.sqrt(x[0])


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (int8, [0, 0, 0, 1, -1, 44]),
        (uint8, [0, 0, 0, 1, 255, 44]),
        (int64, [2**63 - 1, -(2**63), 0]),
        (uint64, [0, 0, 0, 1, 2**64 - 1]),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_casts_to_integers_stop_at_limits_or_keep_low_bits(dtype: DType, expected: list[int]):
    x = np.array([np.inf, -np.inf, np.nan, 1.9, -1.9, 300.5])

    assert saturated(x, dtype).tolist()[: len(expected)] == expected


def test_a_double_becomes_narrow_by_way_of_float():
    # just above the middle of two bfloat16: rounding to float first loses the difference
    x = np.array([1 + 2.0**-8 + 2.0**-40])

    assert cast_value(x, float64, bfloat16).astype(np.float64)[0] == 1.0


def test_nan_is_true():
    found = cast_value(np.float32([np.nan, 0.0, -0.0, 2.0]), float32, bool_)

    assert found.tolist() == [True, False, False, True]


def test_a_cast_to_itself_changes_nothing():
    x = np.float16([1.5])

    assert cast_value(x, float16, float16) is x


def test_minimum_and_maximum_keep_nan_and_order_zeros():
    a, b = np.float32([np.nan, 0.0, -0.0]), np.float32([1.0, -0.0, 0.0])

    low, high = float_value("minimum", [a, b]), float_value("maximum", [a, b])

    assert np.isnan([low[0], high[0]]).all()
    assert np.signbit(low[1:]).all()
    assert not np.signbit(high[1:]).any()
