"""Adafactor beside its formulas, and the shapes of its state."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import optim
from gnomon.errors import ArgumentError
from tests.optim.walks import parameters, slope, values, walk


def test_rows_and_columns_stand_for_all_squares():
    params = parameters()
    x = values(params)[0].copy()
    optimizer = optim.Adafactor(params, lr=0.5, weight_decay=0.1)
    walk(optimizer, params, range(4))

    rows, columns = np.zeros((3, 1)), np.zeros((1, 4))
    for step in range(4):
        g, count = slope(step, 0), step + 1
        length = max(1e-3, np.sqrt((x * x).mean())) * min(0.5, count**-0.5)
        x = x * (1 - 0.5 * 0.1)
        rows += ((g * g).mean(1, keepdims=True) - rows) * count**-0.8
        columns += ((g * g).mean(0, keepdims=True) - columns) * count**-0.8
        change = g / np.sqrt(rows * columns / rows.mean())
        x = x - length / max(1.0, np.sqrt((change * change).mean())) * change
    np.testing.assert_allclose(values(params)[0], x, rtol=1e-9)


def test_state_is_small():
    params = parameters()
    optimizer = optim.Adafactor(params)
    walk(optimizer, params, range(1))
    shapes = [{k: tuple(v.shape) for k, v in optimizer.state[p].items()} for p in params]
    assert shapes[0] == {"step": (), "row_var": (3, 1), "col_var": (1, 4)}
    assert shapes[1] == {"step": (), "variance": (5,)}


def test_a_threshold_below_one_is_refused():
    with pytest.raises(ArgumentError, match="threshold d"):
        optim.Adafactor([gn.ones(1, requires_grad=True)], d=0.5)
