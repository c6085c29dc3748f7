"""Python's operators on nodes: weak scalars, promotion, broadcasting, errors that name shapes."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import bfloat16, float32, float64, int32
from gnomon.errors import ShapeError
from gnomon.ir.node import Arena
from gnomon.ir.operators import cast, constant, elementwise
from tests.graphs import value

pytestmark = pytest.mark.unit


def test_operators_compute_what_python_would(rng):
    a, b = rng.standard_normal((2, 3)), rng.standard_normal(3) + 4

    assert np.array_equal(value(lambda x, y: x + y, a, b), a + b)
    assert np.array_equal(value(lambda x, y: x - y, a, b), a - b)
    assert np.array_equal(value(lambda x, y: x * y, a, b), a * b)
    assert np.array_equal(value(lambda x, y: x / y, a, b), a / b)
    assert np.array_equal(value(lambda x: -x, a), -a)
    assert np.array_equal(value(lambda x: 2 - x, a), 2 - a)
    assert np.array_equal(value(lambda x: 2 / x, b), 2 / b)


def test_a_scalar_does_not_widen_a_tensor():
    arena = Arena()

    assert (arena.input((2,), bfloat16) * 2.5).dtype is bfloat16
    assert (arena.input((2,), int32) + 1).dtype is int32
    assert (arena.input((2,), int32) * 0.5).dtype is float32


def test_a_constant_is_what_its_dtype_can_hold():
    arena = Arena()

    assert constant(arena, 0.1, float32).params["value"] == float(np.float32(0.1))
    assert constant(arena, 0.1, float64).params["value"] == 0.1
    assert constant(arena, 3, float32).params["value"] == 3.0


def test_operands_are_promoted_together():
    arena = Arena()

    y = arena.input((2, 1), int32) + arena.input((3,), float64)

    assert (y.shape, y.dtype) == ((2, 3), float64)


def test_shapes_that_do_not_broadcast_are_named():
    arena = Arena()

    with pytest.raises(ShapeError, match=r"mul: .*\(2, 3\) and \(5,\)"):
        arena.input((2, 3), float32) * arena.input((5,), float32)


def test_casting_to_the_same_dtype_is_nothing():
    x = Arena().input((2,), float32)

    assert cast(x, float32) is x
    assert elementwise("add", x, x) is x + x
