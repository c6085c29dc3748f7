"""The order of rows makes neighbours of what rotates together, and scalings go both ways."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import ArgumentError
from gnomon.gguf.rotation import (
    LLAMA3,
    in_halves,
    in_pairs,
    llama3_factors,
    rotation_keys,
    rotation_of,
)

pytestmark = pytest.mark.unit


def turned_pairs(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Neighbours turned: what llama.cpp does to a head of this family."""
    first, second = x[0::2], x[1::2]
    made = np.empty_like(x)
    made[0::2] = first * np.cos(angles) - second * np.sin(angles)
    made[1::2] = first * np.sin(angles) + second * np.cos(angles)
    return made


def turned_halves(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """An element turned with the one half a head away: what Hugging Face's models do."""
    first, second = np.split(x, 2)
    turned = first * np.cos(angles) - second * np.sin(angles)
    return np.concatenate((turned, first * np.sin(angles) + second * np.cos(angles)))


def test_scores_are_the_same_in_either_order(rng):
    q, k = rng.normal(size=(2, 3 * 8, 5))
    x, y, angles = rng.normal(size=5), rng.normal(size=5), rng.normal(size=4)

    halves = [np.split(w @ z, 3) for w, z in ((q, x), (k, y))]
    pairs = [np.split(in_pairs(w, 3) @ z, 3) for w, z in ((q, x), (k, y))]

    for head in range(3):
        expected = turned_halves(halves[0][head], angles) @ turned_halves(
            halves[1][head], 2 * angles
        )
        found = turned_pairs(pairs[0][head], angles) @ turned_pairs(pairs[1][head], 2 * angles)
        assert np.isclose(found, expected)


def test_rows_and_biases_come_back(rng):
    for shape in ((24, 5), (24,)):
        rows = rng.normal(size=shape)
        assert np.array_equal(in_halves(in_pairs(rows, 3), 3), rows)
        assert not np.array_equal(in_pairs(rows, 3), rows)


ROTATIONS = (
    {"rope_theta": 5e5, "rope_type": "default"},
    {"rope_theta": 1e4, "rope_type": "linear", "factor": 8.0},
    {
        **{"rope_theta": 1e6, "rope_type": "yarn", "factor": 4.0},
        "original_max_position_embeddings": 32768,
    },
    {"rope_theta": 5e5, "rope_type": "llama3", "factor": 32.0, **LLAMA3},
)


@pytest.mark.parametrize("rotation", ROTATIONS, ids=lambda x: x["rope_type"])
def test_ways_to_scale_come_back(rotation):
    keys = {
        key: x if isinstance(x, str) else x.item() for key, x in rotation_keys(rotation).items()
    }
    factors = llama3_factors(rotation, 64) if rotation["rope_type"] == "llama3" else None

    assert rotation_of(keys, factors, 64) == rotation


def test_factors_of_llama_3_are_one_for_fast_turns_and_whole_for_slow_ones():
    factors = llama3_factors(ROTATIONS[3], 64)

    assert factors[0] == 1
    assert factors[-1] == 32
    assert (np.diff(factors) >= 0).all()
    assert ((factors > 1) & (factors < 32)).any()


def test_what_has_no_place_is_refused():
    plain = {"freq_base": 1e4}
    wrong = [
        (plain | {"scaling.type": "longrope"}, None, "rope.scaling.type has no place"),
        (plain | {"scaling.attn_factor": 2.0}, None, "rope.scaling.attn_factor has no place"),
        ({"freq_base": "x"}, None, "rope.freq_base is 'x'"),
        ({"freq_base": -1.0}, None, "rope.freq_base is -1.0"),
        (plain, np.ones(31, np.float32), r"has shape \(31,\) for heads of 64"),
        (plain, np.linspace(1, 8, 32), "are not the factors of Llama 3"),
        (plain, np.full(32, np.nan), "are not the factors of Llama 3"),
    ]
    for said, factors, reason in wrong:
        with pytest.raises(ArgumentError, match=reason):
            rotation_of(said, factors, 64)
    for rotation in ({"rope_type": "longrope"}, {"rope_type": "yarn", "beta_fast": 1}):
        with pytest.raises(ArgumentError, match="rope_parameters are"):
            rotation_keys(rotation)
