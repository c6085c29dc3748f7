"""What numpy says of the idioms: casts as gnomon defines them, masks and numbers of all kinds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnomon.compiler.idioms import converted, idioms, masks_of, samples, suspects
from gnomon.dtypes import bfloat16, bool_, int8, int64, uint8

pytestmark = pytest.mark.unit


def test_casts_keep_low_bits_and_round_once():
    x = np.array([300.0, -300.0, np.nan, 2.9, -2.9], np.float32)

    assert converted(x, int8).tolist() == [44, -44, 0, 2, -2]
    assert converted(x, uint8).tolist() == [44, 212, 0, 2, 254]
    assert converted(x.astype(np.float64) * 1e38, int64).tolist() == [
        2**63 - 1,
        -(2**63),
        0,
        2**63 - 1,
        -(2**63),
    ]
    assert converted(x, bool_).tolist() == [True] * 5
    assert float(converted(np.array([1.00390625], np.float64), bfloat16)[0]) == 1.0


def test_masks_hold_no_lane_each_end_and_all():
    for lanes in (2, 8, 16):
        found = masks_of(lanes)

        assert {frozenset(), frozenset({0}), frozenset({lanes - 1})} <= set(found)
        assert frozenset(range(lanes)) in found


def test_numbers_have_odd_ones_among_them():
    found = [float(x) for x in samples(np.dtype("float32"), 16, 1)]

    assert any(map(math.isnan, found))
    assert max(abs(x) for x in found if x == x) > 1e29


def test_suspects_are_stores_of_one_lane():
    names = [idiom.name for idiom in suspects()]

    assert len(names) == len(set(names)) > 30
    assert all(len(mask) == 1 for idiom in suspects() for mask in idiom.masks)
    assert {idiom.name for idiom in idioms(thorough=False)} > set(names)
