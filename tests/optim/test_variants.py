"""Adam's relatives beside their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon import optim
from gnomon.errors import ArgumentError
from tests.optim.walks import parameters, slope, values, walk

STEPS = range(4)


def walked(kind: str, **options: float) -> tuple[np.ndarray, np.ndarray]:
    """A parameter before and after a few steps."""
    params = parameters()
    before = values(params)[0].copy()
    walk(getattr(optim, kind)(params, **options), params, STEPS)
    return before, values(params)[0]


def means(step: int, mean: np.ndarray, square: np.ndarray) -> tuple[np.ndarray, ...]:
    """The running means after one more gradient, and the gradient."""
    g = slope(step, 0)
    return 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g, g


def test_nadam_looks_ahead():
    x, found = walked("NAdam", lr=0.1, momentum_decay=0.01)
    mean = square = np.zeros((3, 4))
    product = 1.0
    for step in STEPS:
        t = step + 1
        mean, square, g = means(step, mean, square)
        now, following = (0.9 * (1 - 0.5 * 0.96 ** (k * 0.01)) for k in (t, t + 1))
        product *= now
        spread = np.sqrt(square / (1 - 0.999**t)) + 1e-8
        x = x - 0.1 * (1 - now) / (1 - product) * g / spread
        x = x - 0.1 * following / (1 - product * following) * mean / spread
    np.testing.assert_allclose(found, x, rtol=1e-6)


def test_radam_begins_as_plain_momentum():
    x, found = walked("RAdam", lr=0.1)
    mean = square = np.zeros((3, 4))
    for step in STEPS:
        mean, square, _ = means(step, mean, square)
        x = x - 0.1 * mean / (1 - 0.9 ** (step + 1))
    np.testing.assert_allclose(found, x, rtol=1e-9)


def test_adamax_divides_by_the_largest_of_late():
    x, found = walked("Adamax", lr=0.1)
    mean = largest = np.zeros((3, 4))
    for step in STEPS:
        mean, _, g = means(step, mean, mean)
        largest = np.maximum(0.999 * largest, np.abs(g) + 1e-8)
        x = x - 0.1 / (1 - 0.9 ** (step + 1)) * mean / largest
    np.testing.assert_allclose(found, x, rtol=1e-9)


def test_adadelta_steps_as_long_as_before():
    x, found = walked("Adadelta")
    square = moved = np.zeros((3, 4))
    for step in STEPS:
        g = slope(step, 0)
        square = 0.9 * square + 0.1 * g * g
        change = np.sqrt(moved + 1e-6) / np.sqrt(square + 1e-6) * g
        moved = 0.9 * moved + 0.1 * change**2
        x = x - change
    np.testing.assert_allclose(found, x, rtol=1e-9)


def test_numbers_out_of_range_are_refused():
    with pytest.raises(ArgumentError, match="betas"):
        optim.RAdam(parameters(), betas=(1.0, 0.9))
