"""RMSprop beside its formula."""

from __future__ import annotations

import numpy as np

from gnomon import optim
from tests.optim.walks import parameters, slope, values, walk


def test_steps_follow_the_formula():
    params = parameters()
    x = values(params)[0]
    square, mean, velocity = np.zeros((3, 3, 4))

    walk(optim.RMSprop(params, 0.1, alpha=0.9, momentum=0.5, centered=True), params, range(3))

    for step in range(3):
        g = slope(step, 0)
        square = 0.9 * square + 0.1 * g * g
        mean = 0.9 * mean + 0.1 * g
        velocity = 0.5 * velocity + g / (np.sqrt(square - mean**2) + 1e-8)
        x = x - 0.1 * velocity
    np.testing.assert_allclose(values(params)[0], x, rtol=1e-10)
