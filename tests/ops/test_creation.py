"""Tensors from numbers: values, dtypes, and the ends of ranges."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32, float64, int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Arena
from gnomon.ops.creation import arange, eye, full, linspace, ones, zeros
from gnomon.ops.interpret import interpret

pytestmark = pytest.mark.unit


def made(node) -> np.ndarray:
    """The value of a node without inputs."""
    return interpret([node], {})[0]


@pytest.mark.parametrize(
    "bounds", [(5,), (2, 9), (9, 1, -3), (0.0, 1.0, 0.25), (3, 3), (1, 2, 0.3), (0, 5, 7)]
)
def test_a_range_is_numpys(bounds):
    exact = all(isinstance(v, int) for v in bounds)

    node = arange(Arena(), *bounds)

    assert node.dtype is (int64 if exact else float32)
    np.testing.assert_allclose(made(node), np.arange(*bounds), rtol=1e-6)


def test_a_range_without_a_step_is_refused():
    with pytest.raises(ArgumentError, match="arange: the step must not be 0"):
        arange(Arena(), 0, 3, 0)


@pytest.mark.parametrize(("count", "endpoint"), [(7, True), (6, False), (1, True), (0, True)])
def test_equal_distances_are_numpys(count, endpoint):
    node = linspace(Arena(), -1.0, 2.0, count, float64, endpoint=endpoint)

    np.testing.assert_allclose(made(node), np.linspace(-1, 2, count, endpoint), atol=1e-15)


def test_equal_distances_end_exactly_where_they_should():
    value = made(linspace(Arena(), 0.1, 0.7, 11, float64))

    assert value[0] == 0.1
    assert value[-1] == 0.7


@pytest.mark.parametrize(("rows", "columns", "k"), [(3, None, 0), (2, 4, 1), (4, 2, -1)])
def test_a_diagonal_of_ones_is_numpys(rows, columns, k):
    assert (made(eye(Arena(), rows, columns, k=k)) == np.eye(rows, columns, k)).all()


def test_one_number_everywhere_keeps_its_kind():
    arena = Arena()

    kinds = [full(arena, (2,), v).dtype.name for v in (True, 7, 0.5)]

    assert kinds == ["bool", "int64", "float32"]
    assert made(full(arena, (2, 3), 7)).tolist() == [[7, 7, 7]] * 2
    assert made(zeros(arena, ())).shape == ()
    assert made(ones(arena, (0, 2))).shape == (0, 2)


def test_negative_sizes_are_refused():
    with pytest.raises(ShapeError, match=r"full: sizes are not negative: got \(2, -1\)"):
        zeros(Arena(), (2, -1))
