"""Running folds: numpy's values, positions of the latest winner."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import int64
from gnomon.ops.scan_primitives import scan
from tests.graphs import check_gradient, value

pytestmark = pytest.mark.unit


def test_a_scan_runs_along_its_axis(rng):
    x = rng.standard_normal((2, 5))

    np.testing.assert_allclose(value(lambda n: scan("add", n, 1), x), np.cumsum(x, 1), rtol=1e-14)
    assert np.array_equal(value(lambda n: scan("max", n, 0), x), np.maximum.accumulate(x, axis=0))
    check_gradient(lambda n: scan("add", n, 1), x)


def test_running_positions_are_of_the_latest_winner():
    x = np.array([1.0, 3.0, 2.0, 3.0, np.nan, 9.0])

    positions = value(lambda n: scan("argmax", n, 0), x)

    assert positions.tolist() == [0, 1, 1, 3, 4, 4]
    assert positions.dtype == int64.numpy
