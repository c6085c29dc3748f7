"""Steps of met rows: the bits of a dense gradient and of the optimizer's formula."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32, int64
from gnomon.ir.node import Arena, Graph
from gnomon.nn.table_batched import ForwardCall, RowOptimizer, TableBatchedEmbeddingBags, TableSpec
from gnomon.ops.lookup_primitives import scatter
from gnomon.ops.primitives import expand, reshape
from tests.compiled import threads
from tests.oracle.graphs import exact

RATE, SMALL = np.float32(0.05), np.float32(1e-8)


def dense_gradient(slopes: np.ndarray, index: np.ndarray, rows: int) -> np.ndarray:
    """The slopes of bags added up by row, by the bit oracle."""
    arena = Arena()
    g, places = arena.input(slopes.shape, float32), arena.input(index.shape, int64)
    bags, width = slopes.shape
    spread = expand(reshape(g, (bags, 1, width)), (*index.shape, width))
    total = scatter("add", "btd,bt->vd", spread, places, rows)
    return exact(Graph([g, places], [total]), [slopes, index])[0]


def lane_mean(squares: np.ndarray) -> np.ndarray:
    """The mean along a row in 64 lanes, folded by halving."""
    width = squares.shape[1]
    full = np.full((len(squares), -(-width // 64) * 64), -0.0, np.float32)
    full[:, :width] = squares
    lanes = np.full((len(squares), 64), -0.0, np.float32)
    for k in range(0, full.shape[1], 64):
        lanes = lanes + full[:, k : k + 64]
    for half in (32, 16, 8, 4, 2, 1):
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0] / np.float32(width)


def stepped(rule: str, table: np.ndarray, g: np.ndarray) -> np.ndarray:
    """A first step of all rows, by numpy."""
    if rule == "sgd":
        return table - RATE * g
    if rule == "adagrad":
        return table - RATE * (g / (np.sqrt(g * g) + SMALL))
    return table - (RATE / (np.sqrt(lane_mean(g * g)) + SMALL))[:, None] * g


SIZES = [(5, 3, 11), (64, 4, 300), (32, 6, 9), (16, 256, 5)]


@pytest.mark.parametrize("rule", ["sgd", "adagrad", "rowwise_adagrad"])
@pytest.mark.parametrize(("bags", "size", "rows"), SIZES)
def test_a_step_has_the_bits_of_a_dense_one(rule, bags, size, rows, rng):
    width = 20
    table = rng.standard_normal((rows, width)).astype(np.float32)
    slopes = rng.standard_normal((bags, width)).astype(np.float32)
    index = rng.integers(0, rows, (bags, size))
    met = np.isin(np.arange(rows), index)[:, None]
    wanted = np.where(met, stepped(rule, table, dense_gradient(slopes, index, rows)), table)

    for count in (1, 2, 3):
        module = TableBatchedEmbeddingBags(
            [TableSpec(rows, width)], optimizer=RowOptimizer(rule, float(RATE), float(SMALL))
        )
        module.set_weight(0, table)
        with threads(count):
            module._run("step", ForwardCall(index[None], None, ()), slopes)
        np.testing.assert_array_equal(module.weight(0).numpy(), wanted)


def test_hot_rows_and_wide_tables_are_sorted_alike(rng):
    rows, bags, size = 1 << 23, 32, 8
    index = np.where(rng.random((bags, size)) < 0.5, 7, rng.integers(0, rows, (bags, size)))
    module = TableBatchedEmbeddingBags([TableSpec(rows, 1)], optimizer=RowOptimizer("sgd", 1.0))

    module._run("step", ForwardCall(index[None], None, ()), np.ones((bags, 1), np.float32))

    wanted = -np.bincount(index.ravel(), minlength=rows)
    np.testing.assert_array_equal(module.weight(0).numpy()[:, 0], wanted)
