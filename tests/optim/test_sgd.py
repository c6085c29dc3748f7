"""SGD: plain steps, velocity, decay."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon import optim
from gnomon.errors import ArgumentError
from tests.optim.walks import parameters, slope, values, walk


def test_a_plain_step_goes_against_the_gradient():
    params = parameters()
    before = values(params)

    walk(optim.SGD(params, lr=0.1), params, range(1))

    for place, (old, new) in enumerate(zip(before, values(params), strict=True)):
        np.testing.assert_allclose(new, old - 0.1 * slope(0, place), rtol=1e-14)


def test_velocity_takes_the_first_gradient_whole_and_later_ones_dampened():
    params = parameters()
    x, v = values(params)[0], None

    walk(optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.5), params, range(3))

    for step in range(3):
        g = slope(step, 0)
        v = g if v is None else 0.9 * v + 0.5 * g
        x = x - 0.1 * v
    np.testing.assert_allclose(values(params)[0], x, rtol=1e-13)


def test_the_count_behind_dampening_is_non_persistent_buffers_set_and_a_loaded_walk_goes_on():
    params, others = parameters(), parameters()
    optimizer = optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.5)
    walk(optimizer, params, range(2))
    for other, p in zip(others, params, strict=True):
        other.data.copy_(p.detach())

    saved = optimizer.state_dict()
    resumed = optim.SGD(others, lr=0.1, momentum=0.9, dampening=0.5)
    resumed.load_state_dict(saved)
    walk(optimizer, params, range(2, 4))
    walk(resumed, others, range(2, 4))

    assert [sorted(entry) for entry in saved["state"].values()] == [["momentum_buffer"]] * 3
    for one, two in zip(values(params), values(others), strict=True):
        np.testing.assert_array_equal(one, two)


def test_nesterov_needs_a_momentum():
    with pytest.raises(ArgumentError, match="Nesterov momentum requires"):
        optim.SGD(parameters(), lr=0.1, nesterov=True)
