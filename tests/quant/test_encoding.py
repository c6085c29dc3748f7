"""Matrices in blocks are near what they were, equal where they can be, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.quant.configs import (
    Float8WeightOnlyConfig,
    Int4WeightOnlyConfig,
    Int8WeightOnlyConfig,
)
from gnomon.quant.encoding import encoded_rows
from gnomon.quant.measures import sqnr
from gnomon.tensor.encoded import from_blocks

GAUSSIAN = np.random.default_rng(0).standard_normal((64, 4096)).astype(np.float32)
EIGHT, FOUR, NARROW = Int8WeightOnlyConfig, Int4WeightOnlyConfig, Float8WeightOnlyConfig


def again(weight: np.ndarray, config) -> gn.Tensor:
    """A matrix that was quantized and decoded."""
    return from_blocks(
        *((gn.tensor(x) if k == 0 else x) for k, x in enumerate(encoded_rows(weight, config)))
    )


@pytest.mark.parametrize(
    ("config", "least"),
    [
        *(
            (EIGHT(n), least)
            for n, least in ((None, 41.2), (256, 43.1), (128, 43.7), (64, 44.4), (32, 45.4))
        ),
        *((FOUR(n), least) for n, least in ((256, 19.2), (128, 19.9), (64, 20.9), (32, 22.1))),
        *((NARROW(n), 31.4) for n in (None, 256, 32)),
    ],
)
def test_noise_is_far_below_the_signal(config, least):
    assert sqnr(gn.tensor(GAUSSIAN), again(GAUSSIAN, config)) > least


@pytest.mark.parametrize("config", [EIGHT(), EIGHT(32), NARROW(), NARROW(64)])
def test_the_largest_number_of_each_group_stays(config):
    found = again(GAUSSIAN, config).numpy().reshape(64, -1, config.group_size or 4096)
    given = GAUSSIAN.reshape(found.shape)
    place = np.abs(given).argmax(2)[..., None]

    np.testing.assert_allclose(
        np.take_along_axis(found, place, 2), np.take_along_axis(given, place, 2), rtol=2e-7
    )


@pytest.mark.parametrize("config", [EIGHT(), FOUR(32), NARROW()])
def test_small_whole_numbers_zeros_and_nothing_stay_as_they_are(config):
    most = 15 if isinstance(config, FOUR) else 8
    whole = np.arange(64, dtype=np.float32).reshape(1, 64) % (most + 1)
    whole[0, 5] = (
        127.0 if isinstance(config, EIGHT) else 448.0 if isinstance(config, NARROW) else 15
    )

    np.testing.assert_array_equal(again(whole, config).numpy(), whole)
    np.testing.assert_array_equal(again(0 * whole, config).numpy(), 0 * whole)
    assert again(np.zeros((0, 64), np.float32), config).shape == (0, 64)
    assert again(np.zeros((3, 0), np.float32), config).shape == (3, 0)


def test_float8_is_rounded_as_the_dtype_is():
    row = np.linspace(-448, 448, 256, dtype=np.float32)[None]
    expected = row.astype(gn.float8_e4m3fn.numpy).astype(np.float32)

    np.testing.assert_array_equal(again(row, NARROW()).numpy(), expected)


@pytest.mark.parametrize(
    ("weight", "config", "words"),
    [
        (np.ones((2, 48)), EIGHT(), "rows of 48 numbers are no whole groups of 32"),
        (np.ones((2, 64)), FOUR(128), "rows of 64 numbers are no whole groups of 128"),
        (np.full((2, 64), np.inf), EIGHT(), "it has infinities or NaN"),
        (np.full((2, 64), np.nan), FOUR(64), "it has infinities or NaN"),
        (np.full((2, 64), 1e6), FOUR(64), r"float16 holds no number as large as 1e\+06"),
    ],
)
def test_what_does_not_fit_is_refused(weight, config, words):
    with pytest.raises(ArgumentError, match=words):
        encoded_rows(weight.astype(np.float32), config)


def test_a_tiny_or_huge_row_keeps_its_size():
    rows = GAUSSIAN[:2, :64] * np.array([[1e-37], [1e37]], np.float32)

    found = again(rows, EIGHT()).numpy().astype(np.float64)

    assert (
        np.linalg.norm(found - rows, axis=1)
        < 0.02 * np.linalg.norm(rows.astype(np.float64), axis=1)
    ).all()
