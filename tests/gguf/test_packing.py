"""Parts of blocks are packed as they are read."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import ArgumentError
from gnomon.gguf.decoding import fifth_bits, nibbles, scales_and_mins
from gnomon.gguf.packing import half_bytes, inverse, packed_bits, packed_scales

pytestmark = pytest.mark.unit


def test_integers_of_six_bits_come_back(rng):
    scales, mins = rng.integers(0, 64, (2, 50, 8)).astype(np.uint8)

    found = scales_and_mins(packed_scales(scales, mins))

    assert np.array_equal(found[0], scales)
    assert np.array_equal(found[1], mins)


@pytest.mark.parametrize("most", [15, 31])
def test_integers_of_four_and_five_bits_come_back(most, rng):
    q = rng.integers(0, most + 1, (20, 32)).astype(np.uint8)

    *high, low = packed_bits(q, most)

    found = nibbles(low) | (fifth_bits(high[0]) if high else np.uint8(0))
    assert np.array_equal(found, q)


def test_halves_that_overflow_are_refused():
    assert half_bytes("Q8_0", np.float32([[1.0]])).tolist() == [[0, 0x3C]]
    with np.errstate(over="ignore"), pytest.raises(ArgumentError, match=r"Q8_0 holds no .*7e\+04"):
        half_bytes("Q8_0", np.float32([[7e4]]))


def test_nothing_has_the_inverse_of_zero():
    with np.errstate(divide="ignore", over="ignore"):
        assert inverse(np.float32([0.0, 4.0, 1e-45])).tolist() == [0.0, 0.25, 0.0]
