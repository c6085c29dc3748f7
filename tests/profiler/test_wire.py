"""What is written in protobuf's wire format is read back."""

from __future__ import annotations

import pytest

from gnomon.profiler import wire
from tests import drawn as st
from tests.drawn import given
from tests.profiler.packets import fields

pytestmark = pytest.mark.unit

field_numbers = st.integers(1, 2**20)
whole = st.integers(-(2**63), 2**64 - 1)


@given(field_numbers, whole)
def test_a_whole_number_is_read_back(field, value):
    assert fields(wire.number(field, value)) == [(field, value % 2**64)]


@given(field_numbers, st.integers(0, 2**64 - 1), st.text(max_size=5))
def test_fields_in_a_message_are_read_back(field, value, words):
    inner = [wire.fixed(3, value), wire.string(9, words), wire.double(2, 1.0)]

    (read,) = fields(wire.message(field, *inner, width=5))

    assert read[0] == field
    assert fields(read[1]) == [(3, value), (9, words.encode()), (2, 0x3FF0000000000000)]
