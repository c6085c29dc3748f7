"""The yardsticks are what the programs of those names give."""

from __future__ import annotations

import pytest

from gnomon.train.compression import gzip_bits_per_byte, xz_bits_per_byte

pytestmark = pytest.mark.unit


def test_what_repeats_costs_little_and_noise_costs_its_length(rng):
    text, noise = b"return self\n" * 5000, rng.bytes(60_000)

    assert xz_bits_per_byte(text) < 0.1
    assert gzip_bits_per_byte(text) < 0.1
    assert 8 <= xz_bits_per_byte(noise) < 8.1
    assert 8 <= gzip_bits_per_byte(noise) < 8.1
