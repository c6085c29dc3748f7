"""Positions in order: stable, NaN largest, every dtype and layout."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int64,
    uint8,
    uint64,
)
from gnomon.ir.node import Arena, Graph
from gnomon.ops.lookup_primitives import sort_positions
from tests.compiled import run, threads
from tests.oracle.graphs import exact

KINDS = (float32, float64, float16, bfloat16, int8, int64, uint8, uint64, bool_)


def positions(x: np.ndarray, dtype: DType, axis: int, descending: bool) -> np.ndarray:
    """The compiled result, checked against the oracle's."""
    leaf = Arena().input(x.shape, dtype)
    graph = Graph([leaf], [sort_positions(leaf, axis, descending)])
    arrays = [x.astype(dtype.numpy)]
    (found,), (expected,) = run(graph, arrays), exact(graph, arrays)
    assert np.array_equal(found, expected)
    return found


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", KINDS)
def test_every_dtype_is_sorted_stably(dtype: DType, descending: bool, rng: np.random.Generator):
    x = rng.integers(0, 9, (3, 50))

    order = positions(x, dtype, 1, descending)

    if dtype is not bool_:
        along = np.take_along_axis(-x if descending else x, order, 1)
        assert (np.diff(along, axis=1) >= 0).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_any_axis_and_any_number_of_threads(axis: int, rng: np.random.Generator):
    x = rng.normal(size=(5, 33, 7))
    for count in (1, 2, 3):
        with threads(count):
            positions(x, float32, axis, descending=False)


def test_nan_is_largest_and_zeros_are_equal():
    x = np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, -np.nan, 1e-45])

    assert positions(x, float32, 0, descending=False).tolist() == [4, 1, 2, 6, 3, 0, 5]
    assert positions(x, float32, 0, descending=True).tolist() == [0, 5, 3, 6, 1, 2, 4]


def test_the_extremes_of_integers_keep_their_places():
    x = np.array([np.iinfo(np.int64).max, 0, np.iinfo(np.int64).min])

    assert positions(x, int64, 0, descending=False).tolist() == [2, 1, 0]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
def test_lengths_around_powers_of_two(n: int, rng: np.random.Generator):
    positions(rng.normal(size=(2, n)), float32, 1, descending=False)
