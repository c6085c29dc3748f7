"""What steps of rows leave, by definition: the bits that their kernels give."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import dtype_of
from gnomon.ir.node import Arena, Graph
from gnomon.nn.table_batched import ForwardCall, RowOptimizer, TableBatchedEmbeddingBags, TableSpec
from gnomon.ops.table_rows import STATE_WIDTH, row_steps, table_bags
from tests.oracle.graphs import exact

ROWS, WIDTH, BAGS, SIZE = 11, 20, 6, 3


def module_of(rule: str, decay: float, table: np.ndarray) -> TableBatchedEmbeddingBags:
    """A table of these rows."""
    optimizer = RowOptimizer(rule, 0.05, 1e-3, decay)
    module = TableBatchedEmbeddingBags([TableSpec(ROWS, WIDTH)], optimizer=optimizer)
    module.set_weight(0, table)
    return module


def given(rng: np.random.Generator, weighted: bool) -> tuple[np.ndarray, ...]:
    """A table, slopes, positions of which some are none, weights."""
    arrays = [rng.standard_normal(shape) for shape in ((ROWS, WIDTH), (BAGS, WIDTH))]
    weights = rng.random((BAGS, SIZE)) if weighted else None
    table, slope, shares = (None if x is None else x.astype(np.float32) for x in (*arrays, weights))
    return table, slope, rng.integers(-1, ROWS - 2, (BAGS, SIZE)), shares


@pytest.mark.parametrize("weighted", [False, True])
def test_bags_are_their_definition(weighted, rng):
    table, _, index, weights = given(rng, weighted)
    arrays = [table, index] + ([weights] if weighted else [])
    arena = Arena()
    leaves = [arena.input(x.shape, dtype_of(x.dtype)) for x in arrays]
    wanted = exact(
        Graph(leaves, [table_bags(*leaves[:2], leaves[2] if weighted else None)]), arrays
    )

    found = np.empty((BAGS, WIDTH), np.float32)
    call = ForwardCall(index[None], None if weights is None else weights[None], ())
    module_of("sgd", 0.0, table)._run("bags", call, found)

    np.testing.assert_array_equal(found, wanted[0])


@pytest.mark.parametrize("rule", sorted(STATE_WIDTH))
@pytest.mark.parametrize(("weighted", "decay"), [(False, 0.0), (True, 0.25)])
def test_steps_are_their_definition(rule, weighted, decay, rng):
    table, slope, index, weights = given(rng, weighted)
    module = module_of(rule, decay, table)
    kept = [] if STATE_WIDTH[rule] is None else [module.optimizer_state(0).numpy()]
    numbers = np.array([0.05, 1e-3, decay], np.float32)
    arrays = [table, *kept, slope, index, numbers, *([weights] if weighted else [])]
    arena = Arena()
    leaves = [arena.input(x.shape, dtype_of(x.dtype)) for x in arrays]
    tables, rest = leaves[: 1 + len(kept)], leaves[1 + len(kept) :]
    made = row_steps(
        tuple(tables), *rest[:3], rest[3] if weighted else None, rule=rule, decays=decay != 0
    )
    wanted = exact(Graph(leaves, made), arrays)

    call = ForwardCall(index[None], None if weights is None else weights[None], ())
    module._run("step", call, slope)

    np.testing.assert_array_equal(module.weight(0).numpy(), wanted[0])
    assert (wanted[0] != table).any()
    assert (wanted[0][ROWS - 2 :] == table[ROWS - 2 :]).all()
    if kept:
        np.testing.assert_array_equal(module.optimizer_state(0).numpy(), wanted[1])
