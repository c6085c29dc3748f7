"""Every vector function: the oracle's bits, the stated precision, no calls, no surprises.

Special values are beside this file, one file a family. References are numpy in double for floats
and mpmath for doubles.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from gnomon.codegen.math import BOUNDS, FUNCTIONS
from tests.codegen.vectors import (
    DTYPES,
    SCALARS,
    assembled,
    differing,
    exact,
    operands,
    run,
    sample,
)

TWO_VALUES = {"atan2", "floor_divide", "fmod", "nextafter", "pow", "remainder"}
CIRCULAR = {"cos", "sin", "tan"}
# a call in assembly, of the GNU or the LLVM flavour
CALL = re.compile(r"^\s+(call|bl|jmp\s+[a-z_])", re.MULTILINE)

NUMPY: dict[str, Callable] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    "pow": np.power,
    "round": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: np.where(x < 0, np.exp(-abs(x)), 1) / (1 + np.exp(-abs(x))),
}
MPMATH: dict[str, Callable] = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "pow": mpmath.power,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
}
# increasing wherever they are defined
INCREASING = ["asin", "asinh", "atan", "atanh", "erf", "exp", "exp2", "expm1"]
INCREASING += ["log", "log10", "log1p", "log2", "sigmoid", "sinh", "tanh"]

EVEN_AT_ZERO = ["cos", "cosh", "erfc", "exp", "exp2", "log", "log10", "log2", "sigmoid"]


def arity(name: str) -> int:
    """How many values a function takes."""
    return 2 if name in TWO_VALUES else 1


def in_numpy(name: str, *values: np.ndarray) -> np.ndarray:
    """The function by numpy in the values' own type."""
    with np.errstate(all="ignore"):
        return (NUMPY.get(name) or getattr(np, name))(*values)


def in_mpmath(name: str, *values: float) -> mpmath.mpf:
    """The function to 40 digits."""
    with mpmath.workdps(40):
        return (MPMATH.get(name) or getattr(mpmath, name))(*map(mpmath.mpf, values))


def last_place(values: np.ndarray, scalar: str) -> np.ndarray:
    """The distance between neighbours at these sizes, in double or more."""
    machine = np.finfo(DTYPES[scalar])
    _, exponents = np.frexp(values)
    return np.exp2(np.maximum(exponents - 1, machine.minexp) - float(machine.nmant))


def dense(rng: np.random.Generator, name: str, scalar: str, size: int) -> list[np.ndarray]:
    """Numbers where a function is hard, as well as anywhere."""
    spread = rng.uniform(-40, 40, size)
    parts = [sample(rng, scalar, size), rng.uniform(-1, 1, size), 1 + spread / 300, spread * 20]
    parts += [np.exp2(spread * 3) * rng.choice([-1, 1], size), np.arange(-9, 10)]
    if scalar == "float":  # every so many of all floats there are
        parts.append(np.arange(0, 2**32, 16_381, np.uint64).astype(np.uint32).view(np.float32))
    with np.errstate(invalid="ignore"):
        x = np.concatenate([part.astype(DTYPES[scalar]) for part in parts])
    if name in CIRCULAR:
        x = x[~(abs(x) > 2.0**45)]
    if arity(name) == 1:
        return [x]
    y = rng.permutation(x)
    with np.errstate(all="ignore"):
        # powers that use the whole range of results
        full = (rng.uniform(-740, 700, x.size) / np.log(abs(x))).astype(x.dtype)
    return [np.concatenate([x, x]), np.concatenate([y, full])]


def test_every_function_has_a_bound_or_is_exact():
    whole = {"ceil", "floor", "round", "trunc"}

    assert {*FUNCTIONS} - {*BOUNDS} == whole | {"floor_divide", "fmod", "nextafter", "remainder"}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_machine_code_gives_the_oracles_bits(name, scalar, rng):
    function, values = FUNCTIONS[name], operands(rng, scalar, arity(name))

    made = run(function, scalar, *values)

    wrong = differing(made, exact(function, scalar, *values))
    assert not wrong.size, [tuple(x[k] for x in values) for k in wrong[:5]]


@pytest.mark.parametrize("name", BOUNDS)
def test_floats_are_as_precise_as_stated(name, rng):
    values = dense(rng, name, "float", 20_000)
    with np.errstate(all="ignore"):
        wanted = in_numpy(name, *(x.astype(np.float64) for x in values))

    made = run(FUNCTIONS[name], "float", *values)

    with np.errstate(all="ignore"):
        whole, plain = np.isfinite(wanted.astype(np.float32)), wanted.astype(np.float32)
    error = np.abs(made[whole] - wanted[whole]) / last_place(wanted[whole], "float")
    assert error.max() <= BOUNDS[name][0], [x[whole][error.argmax()] for x in values]
    assert not differing(made[~whole], plain[~whole]).size


@pytest.mark.parametrize("name", BOUNDS)
def test_doubles_are_as_precise_as_stated(name, rng):
    values = dense(rng, name, "double", 40)
    plain = in_numpy(name, *values)

    made = run(FUNCTIONS[name], "double", *values)

    ordinary = np.all([np.isfinite(x) & (x != 0) for x in (*values, plain, made)], axis=0)
    assert not differing(made[~ordinary], plain[~ordinary]).size
    places = last_place(plain, "double")
    for k in np.flatnonzero(ordinary):
        given = [float(x[k]) for x in values]
        error = abs(mpmath.mpf(float(made[k])) - in_mpmath(name, *given)) / float(places[k])
        assert error <= BOUNDS[name][1], (given, made[k])


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", INCREASING)
def test_an_increasing_function_falls_by_rounding_alone(name, scalar, rng):
    x = np.sort(sample(rng, scalar, 20_000))
    x = x[np.isfinite(in_numpy(name, x))]

    made = run(FUNCTIONS[name], scalar, x)

    fall = np.maximum.accumulate(made) - made
    allowed = 2 * BOUNDS[name][SCALARS.index(scalar)] * last_place(made, scalar)
    finite = np.isfinite(made)
    assert (fall <= allowed)[finite].all()


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", EVEN_AT_ZERO)
def test_a_function_that_is_not_odd_takes_both_zeros_alike(name, scalar):
    positive, negative = run(FUNCTIONS[name], scalar, np.array([0.0, -0.0], DTYPES[scalar]))

    assert positive == negative


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize(("name", "low"), [("tanh", -1), ("erf", -1), ("sigmoid", 0), ("sin", -1)])
def test_a_bounded_function_stays_within_its_bounds(name, low, scalar, rng):
    x = sample(rng, scalar, 50_000)
    x = x[abs(x) < 1e6]

    made = run(FUNCTIONS[name], scalar, x)

    assert (made >= low).all()
    assert (made <= 1).all()


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_wide_machines_use_wide_registers_and_call_nothing(name, scalar):
    text = assembled(FUNCTIONS[name], scalar, arity(name), "znver4")

    assert "%zmm" in text
    assert not CALL.search(text)


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_machines_of_256_bits_call_nothing(name, scalar):
    text = assembled(FUNCTIONS[name], scalar, arity(name), "znver3")

    assert "%ymm" in text
    assert not CALL.search(text)
