"""Blocks decode to the numbers that gguf-py gives, bit by bit, extremes included."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.gguf import decoding
from gnomon.gguf.decoding import DECODERS, decoded
from gnomon.gguf.element_types import BY_NAME
from tests.house import ROOT

pytestmark = pytest.mark.unit

GOLDEN = ROOT / "tests" / "golden" / "gguf"


def bits(numbers: np.ndarray) -> np.ndarray:
    """The bits of numbers; every NaN has the same."""
    if numbers.dtype.kind != "i":
        numbers = np.where(np.isnan(numbers), numbers.dtype.type(np.nan), numbers)
    return numbers.view(f"u{numbers.itemsize}")


@pytest.mark.parametrize("name", DECODERS)
def test_blocks_are_gguf_pys_numbers(name):
    expected = np.load(GOLDEN / "blocks.npz")[f"blocks.{name}"]

    tensor = gn.gguf.load(GOLDEN / "blocks.gguf").tensors[f"blocks.{name}"]
    found = tensor.numpy()

    assert (tensor.type, found.dtype, found.shape) == (name, np.float32, expected.shape)
    assert np.isnan(found).any()
    assert np.array_equal(bits(found), bits(expected))


@pytest.mark.parametrize("name", DECODERS)
def test_a_block_decodes_alike_wherever_it_stands(name, monkeypatch):
    content = gn.gguf.load(GOLDEN / "blocks.gguf").tensors[f"blocks.{name}"].packed
    whole = decoded(name, content, (len(content), BY_NAME[name].elements))
    monkeypatch.setattr(decoding, "AT_ONCE", 3 * BY_NAME[name].elements)

    assert np.array_equal(bits(decoded(name, content, whole.shape)), bits(whole))
    assert np.array_equal(bits(decoded(name, content[5:6], whole[5:6].shape)), bits(whole[5:6]))


def half(number: float) -> bytes:
    """The bytes of a half."""
    return np.float16(number).tobytes()


def test_a_block_of_five_bits_by_hand():
    """Element 1 has its fifth bit in bit 1, element 17 in bit 17, the low bits share a byte."""
    high = (1 << 1 | 1 << 17).to_bytes(4, "little")
    content = half(0.5) + high + bytes([0, 0x43]) + bytes(14)

    found = decoded("Q5_0", np.frombuffer(content, np.uint8), (32,))

    assert found[[0, 1, 17]].tolist() == [-8.0, 0.5 * 3, 0.5 * 4]


def test_a_block_of_six_bits_by_hand():
    """Element 128 + 96 + 5 of the second half: high nibble of byte 64 + 32 + 5, bits 6 and 7."""
    low, high, scales = bytearray(128), bytearray(64), bytearray(16)
    low[64 + 32 + 5], high[32 + 5], scales[(128 + 96 + 5) // 16] = 0x70, 0x80, 0x80
    content = bytes(low + high + scales) + half(2.0)

    found = decoded("Q6_K", np.frombuffer(content, np.uint8), (256,))

    assert found[128 + 96 + 5] == 2.0 * -128 * (0x27 - 32)
    assert np.count_nonzero(found) == 16


def test_minima_of_the_last_parts_have_their_high_bits_elsewhere():
    packed = bytearray(12)
    packed[4], packed[8] = 0b10 << 6, 0x50  # part 4: minimum 0b10_0101, scale 0
    content = half(0.0) + half(-1.0) + bytes(packed) + bytes(128)

    found = decoded("Q4_K", np.frombuffer(content, np.uint8), (256,))

    assert found[128:160].tolist() == [37.0] * 32
    assert not found[:128].any()
    assert not found[160:].any()


@pytest.mark.parametrize("name", DECODERS)
def test_nothing_decodes_to_nothing(name):
    assert decoded(name, np.zeros((0, 7), np.uint8), (0, 256)).shape == (0, 256)
