"""Each operation as machine code gives the bits that the oracle gives."""

from __future__ import annotations

import pytest

from gnomon.codegen.algebra import BINARY, INT_BINARY, UNARY
from tests.codegen.vectors import SCALARS, assembled, differing, exact, operands, run

SHIFTS = ("shift_left", "shift_right", "shift_right_zero")

ONE = {
    **{name: (lambda a, x, name=name: a.unary(name, x)) for name in UNARY},
    **{
        name: (lambda a, x, name=name: a.from_bits(getattr(a, name)(a.bits(x), 5)))
        for name in SHIFTS
    },
    "at_least": lambda a, x: a.at_least(x, 0.25),
    "at_most": lambda a, x: a.at_most(x, 0.25),
    "is_nan": lambda a, x: a.select(a.is_nan(x), a.const(1.0), a.const(2.0)),
    "is_negative": lambda a, x: a.select(a.is_negative(x), a.const(1.0), a.const(2.0)),
    "polynomial": lambda a, x: a.polynomial(x, (0.1, -0.2, 0.3)),
}
TWO = {
    **{name: (lambda a, x, y, name=name: a.binary(name, x, y)) for name in BINARY},
    **{
        f"int_{name}": (
            lambda a, x, y, name=name: a.from_bits(a.int_binary(name, a.bits(x), a.bits(y)))
        )
        for name in INT_BINARY
        if name not in SHIFTS
    },
    **{
        name: (lambda a, x, y, name=name: a.select(a.compare(name, x, y), x, y))
        for name in ("less", "less_equal", "equal")
    },
    "int_less": lambda a, x, y: a.select(a.int_compare("less", a.bits(x), a.bits(y)), x, y),
    "int_equal": lambda a, x, y: a.select(a.int_compare("equal", a.bits(x), a.bits(y)), x, y),
    "both": lambda a, x, y: a.select(a.both(a.less(x, y), a.equal(x, x)), x, a.const(7.0)),
    "either": lambda a, x, y: a.select(a.either(a.less(x, y), a.equal(x, y)), x, a.const(7.0)),
    "fma": lambda a, x, y: a.fma(x, y, a.neg(a.mul(x, y))),
    "fma_of_sums": lambda a, x, y: a.fma(x, a.add(x, y), y),
}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ONE)
def test_an_operation_on_one_value_gives_the_oracles_bits(name, scalar, rng):
    values = operands(rng, scalar, 1)

    made = run(ONE[name], scalar, *values)

    assert not differing(made, exact(ONE[name], scalar, *values)).size


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", TWO)
def test_an_operation_on_two_values_gives_the_oracles_bits(name, scalar, rng):
    values = operands(rng, scalar, 2)

    made = run(TWO[name], scalar, *values)

    assert not differing(made, exact(TWO[name], scalar, *values)).size


def test_doubles_within_floats_give_the_oracles_bits(rng):
    def twice(a, x):
        return a.narrow(a.wide.fma(a.widen(x), a.wide.const(1 / 3), a.wide.const(1e-30)))

    (values,) = operands(rng, "float", 1)

    assert not differing(run(twice, "float", values), exact(twice, "float", values)).size


def test_a_bound_is_one_instruction_on_x86():
    text = assembled(lambda a, x: a.at_most(a.at_least(x, -2.0), 3.0), "float", 1, "znver4")

    assert "vmaxps" in text
    assert "vminps" in text
    assert "vcmp" not in text
