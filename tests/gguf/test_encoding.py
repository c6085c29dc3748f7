"""Numbers are quantized to the blocks that gguf-py makes of them, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.gguf.decoding import decoded
from gnomon.gguf.element_types import BY_NAME
from gnomon.gguf.encoding import ENCODERS, encoded
from tests.gguf.test_decoding import GOLDEN

pytestmark = pytest.mark.unit


def packed(name: str, numbers: np.ndarray) -> np.ndarray:
    """The bytes of numbers."""
    return np.concatenate(list(encoded(BY_NAME[name], numbers)))


@pytest.mark.parametrize("name", [*ENCODERS, "BF16"])
def test_blocks_are_gguf_pys(name):
    tensors = gn.gguf.load(GOLDEN / "quantized.gguf").tensors

    found = packed(name, tensors["numbers"].numpy())

    assert found.tobytes() == tensors[f"numbers.{name}"].packed.tobytes()


@pytest.mark.parametrize("name", ENCODERS)
def test_pieces_are_those_of_the_whole(name, monkeypatch):
    numbers = np.random.default_rng(3).normal(size=(3, 96)).astype(np.float32)
    whole = packed(name, numbers)
    monkeypatch.setattr("gnomon.gguf.encoding.AT_ONCE", 64)

    assert len(list(encoded(BY_NAME[name], numbers))) == 5
    assert np.array_equal(packed(name, numbers), whole)


@pytest.mark.parametrize("name", ENCODERS)
def test_tiny_numbers_become_zero_and_what_is_no_number_is_refused(name):
    tiny = np.full((1, 32), 1e-44, np.float32)
    tiny[0, ::2] = 0

    assert not decoded(name, packed(name, tiny), (1, 32)).any()
    for wrong in (np.nan, np.inf, 1e300):
        with pytest.raises(ArgumentError, match=f"{name} holds no infinities and no NaN"):
            packed(name, np.full(32, wrong))
    with pytest.raises(ArgumentError, match=f"{name} holds no numbers as large as"):
        packed(name, np.linspace(-3e38, 3e38, 32))


def test_halves_are_rounded_away_from_zero():
    numbers = np.zeros(32, np.float32)
    numbers[:5] = [127, 2.5, -2.5, 3.5, -0.5]

    assert packed("Q8_0", numbers)[2:7].view(np.int8).tolist() == [127, 3, -3, 4, -1]
