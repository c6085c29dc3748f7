"""Sums of bags: every width, weights, positions of −1, whatever the threads."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.nn.table_batched import ForwardCall, RowOptimizer, TableBatchedEmbeddingBags, TableSpec
from tests.compiled import threads


def chain(rows: np.ndarray) -> np.ndarray:
    """The sum over axis 1, element after element."""
    total = np.full((rows.shape[0], rows.shape[2]), -0.0, np.float32)
    for k in range(rows.shape[1]):
        total = total + rows[:, k]
    return total + np.float32(0)


@pytest.mark.parametrize("width", [1, 5, 16, 64, 70, 130])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_bag_is_one_chain(width: int, weighted: bool, rng: np.random.Generator):
    table = rng.standard_normal((9, width)).astype(np.float32)
    index = rng.integers(-1, 9, (1, 7, 3))
    weights = rng.random(index.shape).astype(np.float32) if weighted else None
    rows = np.where(index[0, ..., None] >= 0, table[np.maximum(index[0], 0)], np.float32(-0.0))
    rows = rows * weights[0, ..., None] if weighted else rows
    module = TableBatchedEmbeddingBags([TableSpec(9, width)], optimizer=RowOptimizer("sgd"))
    module.set_weight(0, table)

    for count in (1, 3):
        made = np.empty((7, width), np.float32)
        with threads(count):
            module._run("bags", ForwardCall(index, weights, ()), made)
        np.testing.assert_array_equal(made, chain(rows))
