"""Blocks decode to what numpy makes of them, which tests/gguf compares with gguf-py."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.gguf.decoding import DECODERS
from gnomon.gguf.element_types import BY_NAME
from gnomon.ir.node import Arena
from gnomon.ops.blocks import FORMATS, decode_blocks
from gnomon.ops.interpret import interpret
from gnomon.tensor.encoded import from_blocks
from tests.quantized import KINDS, numbers_of


@pytest.mark.parametrize("kind", KINDS)
def test_any_bits_are_decoded_as_numpy_decodes_them(kind: str):
    made = np.random.default_rng(1)
    raw = made.integers(0, 256, (7, 2 * FORMATS[kind].nbytes), np.uint8)  # NaN and infinity too
    raw[0], raw[1] = 0, 255

    found = from_blocks(gn.tensor(raw), kind).numpy()

    np.testing.assert_array_equal(found, numbers_of(kind, raw))


@pytest.mark.parametrize("kind", KINDS)
def test_the_interpreter_decodes_alike(kind: str):
    raw = np.random.default_rng(2).integers(0, 256, (3, FORMATS[kind].nbytes), np.uint8)
    arena = Arena()
    blocks = arena.input(raw.shape, gn.uint8)

    (found,) = interpret([decode_blocks(blocks, kind=kind)], {blocks: raw})

    np.testing.assert_array_equal(found, numbers_of(kind, raw))


@pytest.mark.parametrize("kind", DECODERS)
def test_sizes_are_those_of_files(kind: str):
    assert FORMATS[kind][:2] == (BY_NAME[kind].elements, BY_NAME[kind].nbytes)


def test_rows_without_blocks_and_no_rows_decode_to_nothing():
    assert from_blocks(gn.zeros(3, 0, dtype=gn.uint8), "Q4_K").numpy().shape == (3, 0)
    assert from_blocks(gn.zeros(0, 34, dtype=gn.uint8), "Q8_0").numpy().shape == (0, 32)


@pytest.mark.parametrize(
    ("shape", "dtype", "kind", "error", "words"),
    [
        ((2, 34), gn.uint8, "Q9", ArgumentError, r"no format 'Q9'. Take one of Q4_0, .*Q6_K"),
        ((2, 34), gn.int8, "Q8_0", DtypeError, "must be uint8: got int8"),
        ((2, 35), gn.uint8, "Q8_0", ShapeError, r"rows of 34 bytes a block: got \(2, 35\)"),
        ((34,), gn.uint8, "Q8_0", ShapeError, r"rows of 34 bytes a block: got \(34,\)"),
    ],
)
def test_what_does_not_fit_is_refused(shape, dtype, kind, error, words):
    with pytest.raises(error, match=words):
        from_blocks(gn.zeros(shape, dtype=dtype), kind)
