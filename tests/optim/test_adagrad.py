"""Adagrad beside its formula."""

from __future__ import annotations

import numpy as np

from gnomon import optim
from tests.optim.walks import parameters, slope, values, walk


def test_steps_follow_the_formula():
    params = parameters()
    x, total = values(params)[0], np.full((3, 4), 0.2)

    walk(optim.Adagrad(params, 0.1, lr_decay=0.1, initial_accumulator_value=0.2), params, range(3))

    for step in range(3):
        g = slope(step, 0)
        total = total + g * g
        x = x - 0.1 / (1 + 0.1 * step) * g / (np.sqrt(total) + 1e-10)
    np.testing.assert_allclose(values(params)[0], x, rtol=1e-12)


def test_sums_exist_before_the_first_step():
    params = parameters()

    state = optim.Adagrad(params, 0.1).state_dict()["state"]

    assert [sorted(entry) for entry in state.values()] == [["step", "sum"]] * 3
