"""Numbers of a program that are taken for plain ones and are none."""

from __future__ import annotations

from typing import Any

import pytest

from gnomon.ir.sizes import ShapeEnv
from gnomon.ir.sym_float import OF_FLOATS, FloatBits, real
from gnomon.ir.sym_number import SymNumber, Unsized

pytestmark = pytest.mark.unit


def numbers() -> tuple[ShapeEnv, Any, Any]:
    """An integer and a float of one program."""
    env = ShapeEnv()
    return env, env.symbol(13), real(env.symbol(FloatBits.of(0.0), OF_FLOATS))


def test_a_number_is_taken_for_a_plain_one_whose_class_it_keeps():
    env, n, x = numbers()

    assert isinstance(n, int)
    assert isinstance(x, float)
    assert issubclass(type(n), SymNumber)
    assert not env.guards
    for each, kind in ((n, "int"), (x, "float")):
        with pytest.raises(TypeError, match=f"a symbolic {kind} keeps its class"):
            each.__class__ = str


def test_a_text_or_a_truth_is_that_of_the_number_at_hand_and_serves_no_other():
    for read in (str, "{:>3}".format, float, int, bool):
        for k in (0, 1):
            env, *both = numbers()
            plain = (13, 0.0)[k]

            assert read(both[k]) == read(plain)
            # that a size is more than nothing is so for all
            assert len(env.guards) == (0 if read is bool and k == 0 else 1)


def test_nobody_reckons_with_a_float():
    _, n, x = numbers()
    for compute in (
        lambda: x + 1,
        lambda: 1 - x,
        lambda: -x,
        lambda: n * x,
        lambda: x < 1,
        lambda: x**2,
        lambda: x / n,
    ):
        with pytest.raises(Unsized):
            compute()
