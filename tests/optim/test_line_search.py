"""The search along a line, on functions of one number."""

from __future__ import annotations

import math

import pytest

import gnomon as gn
from gnomon.optim.line_search import Point, cubic_minimum, strong_wolfe

NOTHING = gn.zeros(1)


def test_a_cubic_is_known_by_two_points_and_slopes():
    def point(x: float) -> Point:
        return Point(x, x**3 - 3 * x, NOTHING, 3 * x * x - 3)

    assert cubic_minimum(point(0.0), point(1.5)) == pytest.approx(1.0)
    assert cubic_minimum(point(1.5), point(0.0)) == pytest.approx(1.0)
    assert cubic_minimum(point(0.0), point(1.5), (1.2, 1.4)) == 1.2


@pytest.mark.parametrize("first", [0.01, 1.0, 30.0])
def test_the_point_found_is_lower_and_flatter(first: float):
    def probe(size: float) -> Point:
        return Point(size, math.cosh(size - 2.0), NOTHING, math.sinh(size - 2.0))

    start = probe(0.0)
    found = strong_wolfe(probe, start, first, 1.0, 25)
    assert found.loss <= start.loss + 1e-4 * found.size * start.along
    assert abs(found.along) <= -0.9 * start.along
