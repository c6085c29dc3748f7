"""Every vector function: the oracle's bits, no calls, no surprises.

Special values are beside this file, one file a family; precision is in tests/test_accuracy.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from gnomon.codegen.math import FUNCTIONS
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
ULPS = 4
"""What no function errs by more than (tests/test_accuracy.py)."""
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


def last_place(values: np.ndarray, scalar: str) -> np.ndarray:
    """The distance between neighbours at these sizes, in double or more."""
    machine = np.finfo(DTYPES[scalar])
    _, exponents = np.frexp(values)
    return np.exp2(np.maximum(exponents - 1, machine.minexp) - float(machine.nmant))


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_machine_code_gives_the_oracles_bits(name, scalar, rng):
    function, values = FUNCTIONS[name], operands(rng, scalar, arity(name))

    made = run(function, scalar, *values)

    wrong = differing(made, exact(function, scalar, *values))
    assert not wrong.size, [tuple(x[k] for x in values) for k in wrong[:5]]


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", INCREASING)
def test_an_increasing_function_falls_by_rounding_alone(name, scalar, rng):
    x = np.sort(sample(rng, scalar, 20_000))
    x = x[np.isfinite(in_numpy(name, x))]

    made = run(FUNCTIONS[name], scalar, x)

    fall = np.maximum.accumulate(made) - made
    allowed = 2 * ULPS * last_place(made, scalar)
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
