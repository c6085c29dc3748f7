"""K-quants are as near to numbers as llama.cpp's own, and weights say where."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import ArgumentError
from gnomon.gguf.decoding import decoded
from gnomon.gguf.element_types import BY_NAME
from gnomon.gguf.encoding import encoded
from gnomon.gguf.k_quants import SEARCHES
from tests.gguf.test_encoding import packed

pytestmark = pytest.mark.unit

STEPS = {"Q4_K": 15, "Q5_K": 31, "Q6_K": 63}


def again(name: str, numbers: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Numbers, quantized and decoded."""
    pieces = encoded(BY_NAME[name], numbers.astype(np.float32), weights)
    return decoded(name, np.concatenate(list(pieces)), numbers.shape)


def decibels(numbers: np.ndarray, found: np.ndarray) -> float:
    """How far the power of numbers is above that of their errors."""
    return 10 * np.log10(np.square(numbers).sum() / np.square(numbers - found).sum())


@pytest.mark.parametrize(("name", "least"), [("Q4_K", 22.9), ("Q5_K", 28.8), ("Q6_K", 35.0)])
def test_gaussian_numbers_are_as_near_as_those_of_llama_cpp(name, least):
    numbers = np.random.default_rng(46).normal(size=(1 << 12, 256))

    assert decibels(numbers, again(name, numbers)) >= least


@pytest.mark.parametrize(("name", "least"), [("Q4_0", 21.3), ("Q8_0", 45.3)])
def test_other_blocks_are_as_near_as_before(name, least):
    numbers = np.random.default_rng(46).normal(size=(1 << 10, 256))

    assert decibels(numbers, again(name, numbers)) >= least


@pytest.mark.parametrize("name", SEARCHES)
def test_numbers_of_a_block_come_back(name, rng):
    numbers = again(name, rng.normal(size=(8, 256)))

    found = again(name, numbers)

    assert np.square(found - numbers).sum() < 1e-4 * np.square(numbers).sum()


@pytest.mark.parametrize("name", SEARCHES)
def test_a_block_does_not_depend_on_its_neighbours(name, rng, monkeypatch):
    numbers, weights = rng.normal(size=(3, 768)), rng.random(768).astype(np.float32)
    whole = again(name, numbers, weights)
    monkeypatch.setattr("gnomon.gguf.encoding.AT_ONCE", 256)

    assert np.array_equal(again(name, numbers, weights), whole)
    assert np.array_equal(again(name, numbers[1:2], weights), whole[1:2])
    assert np.array_equal(again(name, numbers, weights * np.float32(4)), whole)


@pytest.mark.parametrize("name", SEARCHES)
def test_weighted_errors_are_smaller_with_weights(name, rng):
    numbers, weights = rng.normal(size=(64, 512)), (rng.random(512) ** 4).astype(np.float32)

    plain, weighted = (
        np.sum(weights * np.square(numbers - again(name, numbers, x))) for x in (None, weights)
    )

    assert weighted < 0.9 * plain


@pytest.mark.parametrize("name", SEARCHES)
def test_columns_without_weight_count_alike(name, rng):
    numbers = rng.normal(size=(2, 256))

    found = again(name, numbers, np.zeros(256, np.float32))

    assert np.array_equal(found, again(name, numbers, np.ones(256, np.float32)))
    assert np.array_equal(found, again(name, numbers))


@pytest.mark.parametrize("name", SEARCHES)
def test_zeros_and_tiny_numbers_become_zero(name):
    for number in (0.0, -0.0, 1e-44, -1e-44, 1e-30):
        assert not again(name, np.full((1, 256), number)).any()


@pytest.mark.parametrize("name", SEARCHES)
def test_constants_stay(name):
    for number in (1.0, -1.0, 0.37, -0.5, 1e4):
        found = again(name, np.full((1, 256), number))

        assert np.abs(found / number - 1).max() < 2e-3


@pytest.mark.parametrize("name", SEARCHES)
def test_one_huge_number_stays_and_its_part_alone_is_coarse(name, rng):
    numbers = rng.normal(size=(1, 512))
    numbers[0, 300] = 1e5

    found = again(name, numbers)

    assert abs(found[0, 300] / 1e5 - 1) < 1e-2
    assert np.array_equal(found[:, :256], again(name, numbers[:, :256]))


@pytest.mark.parametrize("name", SEARCHES)
def test_what_halves_cannot_hold_is_refused(name):
    for wrong in (np.nan, np.inf, -np.inf, 1e300):
        with pytest.raises(ArgumentError, match=f"{name} holds no infinities and no NaN"):
            packed(name, np.full(256, wrong))
    for large in (1e10, 1e20, 3e38):
        for numbers in (np.linspace(-large, large, 256), np.full(256, -large)):
            with pytest.raises(ArgumentError, match=f"{name} holds no numbers as large as"):
                packed(name, numbers)


@pytest.mark.parametrize("name", SEARCHES)
def test_numbers_evenly_spread_are_within_half_a_step_and_a_bit(name):
    numbers = np.random.default_rng(1).permutation(np.linspace(-1, 1, 256)).reshape(1, 256)

    error = np.abs(again(name, numbers) - numbers).max()

    assert error < 1.2 / STEPS[name]
