"""Floats that a program reads when it runs: exact to the last bit, and never decided upon."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

from gnomon.ir.sizes import ShapeEnv
from gnomon.ir.sym_float import (
    OF_FLOATS,
    FloatBits,
    SymFloat,
    as_float,
    computed,
    from_the_right,
    gives_float,
    real,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("x", [0.1, -3.0, 0.0, -0.0, 1e-310, float("inf"), 16777217.0])
def test_a_float_is_read_by_its_bits(x: float):
    env = ShapeEnv()
    bits = env.symbol(FloatBits.of(x), OF_FLOATS)
    made = real(bits)
    words = env.function([made.word(8), made.word(4), made])((FloatBits.of(x),))

    assert type(made) is SymFloat
    assert isinstance(made, float)
    assert words[0] == np.float64(x).view(np.int64)
    assert words[1] == np.float32(x).view(np.int32)
    assert words[2].hex() == x.hex()
    assert not env.guards


@pytest.mark.parametrize("read", [float, str, "{}".format, np.float32, lambda x: math.isfinite(x)])
def test_whoever_needs_the_float_has_a_program_of_its_own(read: Any):
    env = ShapeEnv()
    read(real(env.symbol(FloatBits.of(0.1), OF_FLOATS)))

    assert env.test()((FloatBits.of(0.1),))
    assert not env.test()((FloatBits.of(0.2),))


def test_floats_of_other_bits_are_other_floats_and_cannot_be_reckoned_with():
    env = ShapeEnv()
    one, other = (real(env.symbol(FloatBits.of(0.1), OF_FLOATS)) for _ in range(2))

    assert one == real(one.bits)
    assert one != other
    assert one != 0.1
    with pytest.raises(TypeError):
        one + 1
    with pytest.raises(TypeError, match="keeps its class"):
        one.__class__ = str


def test_floats_are_computed_of_sizes_as_python_does():
    env = ShapeEnv()
    n, m = env.symbol(12), env.symbol(5)
    third = computed(operator.truediv, n, 3)
    made = [third, computed(operator.mul, third, 0.1), computed(operator.truediv, third, m)]
    made.append(computed(from_the_right(operator.sub), third, 1.5))
    found = env.function(made)((7, 11))

    assert [x.hex() for x in found] == [
        x.hex() for x in (7 / 3, 7 / 3 * 0.1, 7 / 3 / 11, 1.5 - 7 / 3)
    ]


def test_which_operators_give_floats_that_are_never_errors():
    env = ShapeEnv()
    n = env.symbol(12)
    third = computed(operator.truediv, n, 3)

    assert gives_float(operator.truediv, n, 3)
    assert gives_float(operator.add, n, 0.5)
    assert gives_float(operator.pow, n, 0.5)
    assert not gives_float(operator.add, n, 2)
    assert not gives_float(operator.truediv, n, 0)
    assert not gives_float(operator.truediv, n, third)
    assert not gives_float(operator.pow, n - 20, 0.5)
    assert not gives_float(operator.pow, n, 2)
    assert not gives_float(operator.neg, n)
    assert not gives_float(operator.mod, n, 0.5)


def test_a_float_is_rounded_once():
    env = ShapeEnv()
    third = computed(operator.truediv, env.symbol(12), 3)
    single, double = as_float(third, 32), as_float(third, 64)

    assert double is third
    assert env.function([single])((7,))[0] == float(np.float32(7 / 3))
