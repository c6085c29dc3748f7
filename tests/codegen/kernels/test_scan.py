"""Running folds: one ascending chain, in every layout and dtype, whatever the threads."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import DType, bfloat16, bool_, float16, float32, float64, int8, int64, uint32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.scan_primitives import scan
from tests.compiled import run, threads
from tests.oracle.graphs import exact
from tests.strategies import same_bits


def scanned(monoid: str, axis: int, x: np.ndarray, dtype: DType) -> tuple[Graph, list[np.ndarray]]:
    """A graph of one scan and what it reads."""
    leaf = Arena().input(x.shape, dtype)
    return Graph([leaf], [scan(monoid, leaf, axis)]), [x.astype(dtype.numpy)]


@pytest.mark.parametrize("dtype", [float32, float64, bfloat16, float16, int8, int64, uint32])
@pytest.mark.parametrize("monoid", ["add", "mul", "max", "min", "argmax", "argmin"])
def test_every_monoid_and_dtype_has_the_bits_of_the_oracle(
    monoid: str, dtype: DType, rng: np.random.Generator
):
    graph, arrays = scanned(monoid, 1, rng.integers(1, 9, (3, 20, 5)) / 2, dtype)

    (found,), (expected,) = run(graph, arrays), exact(graph, arrays)

    assert same_bits(found, expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_any_axis_and_any_number_of_threads(axis: int, rng: np.random.Generator):
    graph, arrays = scanned("add", axis, rng.normal(size=(7, 33, 20)), float32)

    for count in (1, 2, 3):
        with threads(count):
            assert same_bits(run(graph, arrays)[0], exact(graph, arrays)[0])


@pytest.mark.parametrize("monoid", ["argmax", "argmin"])
def test_the_latest_nan_is_best_for_good(monoid: str):
    graph, arrays = scanned(monoid, 0, np.array([2, np.nan, 9, -9, np.nan]), float32)

    assert run(graph, arrays)[0].tolist() == [0, 1, 1, 1, 4]


def test_of_equals_the_latest_is_best():
    graph, arrays = scanned("argmax", 0, np.array([3, 1, 3, 2, 3]), float32)

    assert run(graph, arrays)[0].tolist() == [0, 0, 2, 2, 4]


def test_truth_values_fold_with_or():
    leaf = Arena().input((4,), bool_)
    graph = Graph([leaf], [scan("or", leaf, 0)])

    assert run(graph, [np.array([False, True, False, False])])[0].tolist() == [False, *[True] * 3]


def test_nothing_to_scan_gives_nothing():
    graph, arrays = scanned("add", 0, np.zeros((0, 3)), float32)

    assert run(graph, arrays)[0].shape == (0, 3)
