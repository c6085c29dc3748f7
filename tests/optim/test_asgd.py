"""ASGD beside its formulas."""

from __future__ import annotations

import numpy as np

from gnomon import optim
from tests.optim.walks import parameters, slope, values, walk


def test_rates_fall_and_places_are_averaged():
    params = parameters()
    x = values(params)[0].copy()
    optimizer = optim.ASGD(params, lr=0.1, lambd=0.01, alpha=0.5, t0=2)
    walk(optimizer, params, range(5))

    mean, rate, share = x, 0.1, 1.0
    for step in range(5):
        x = x * (1 - 0.01 * rate) - rate * slope(step, 0)
        mean = mean + (x - mean) * share
        rate = 0.1 / np.sqrt(1 + 0.01 * 0.1 * (step + 1))
        share = 1 / max(1, step + 1 - 2)
    np.testing.assert_allclose(values(params)[0], x, rtol=1e-6)
    np.testing.assert_allclose(optimizer.state[params[0]]["ax"].numpy(), mean, rtol=1e-6)
