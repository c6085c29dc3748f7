"""Holes of fixed width are filled with what is read back."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.profiler.sheet import Sheet, decimals, varints, widest
from tests import drawn as st
from tests.drawn import given

pytestmark = pytest.mark.unit

numbers = st.lists(st.integers(0, 2**62), min_size=1, max_size=5).map(np.array)


@given(numbers)
def test_digits_are_the_number(values):
    rows = decimals(values, widest(values))

    assert [int(bytes(row)) for row in rows] == values.tolist()
    assert not any(bytes(row).strip().startswith(b"0") for row in rows[values > 0])


@given(numbers)
def test_thousandths_follow_the_point(values):
    rows = [bytes(row).decode().strip() for row in decimals(values, widest(values, True), True)]

    assert rows == [f"{value // 1000}.{value % 1000:03d}" for value in values.tolist()]


@given(numbers)
def test_varints_of_any_width_are_the_number(values):
    width = -(-int(values.max()).bit_length() // 7) + 1

    for value, row in zip(values.tolist(), varints(values, width), strict=True):
        assert sum((int(part) & 0x7F) << (7 * k) for k, part in enumerate(row)) == value
        assert [part >> 7 for part in row] == [1] * (width - 1) + [0]


def test_a_sheet_joins_pieces_and_fills_their_holes():
    sheet = Sheet([b"a  ;", b"bb  ;"])

    sheet.fill(sheet.begins + np.array([1, 2]), decimals(np.array([7, 12]), 2))

    assert bytes(sheet.text) == b"a 7;bb12;"
