"""Scalar functions in ONNX give what ours give, of each dtype that has them."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.dtypes import bool_, float32, int64
from gnomon.errors import TraceError
from gnomon.onnx.scalars import FORMULAS, LOGIC, PLAIN, computed, map_rule, wide_of
from gnomon.onnx.writer import OnnxWriter
from gnomon.ops.scalars import SCALARS
from tests.onnx.running import agree, exported, operators

pytestmark = pytest.mark.unit

NONE = "bitcast digamma lgamma mul_high nextafter shift_left shift_right threefry"
"""Rows without a counterpart in ONNX."""

PLAINLY = (
    *("abs", "sign", "sqrt", "floor", "ceil", "trunc", "exp", "log", "sigmoid", "tanh", "erf"),
    *("erfc", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh"),
    *("atanh", "exp2", "expm1", "log2", "log10", "log1p", "rsqrt", "isnan", "isinf", "isfinite"),
    *("signbit", "round", "neg"),
)
FUNCTIONS = {
    **{name: getattr(gn, name) for name in PLAINLY},
    "gelu": gn.nn.functional.gelu,
    "gelu_tanh": lambda x: gn.nn.functional.gelu(x, approximate="tanh"),
    "mish": gn.nn.functional.mish,
    "silu": gn.nn.functional.silu,
}
OF_TWO = (
    *("add", "sub", "mul", "div", "minimum", "maximum", "pow", "floor_divide", "remainder", "fmod"),
    *("copysign", "atan2", "eq", "ne", "lt", "le", "gt", "ge"),
)


def test_every_row_has_a_rule_or_is_listed():
    rules = {*PLAIN, *LOGIC, *FORMULAS, "cast"}
    assert {*SCALARS} - rules == {*NONE.split()}


VALUES = np.array([-2.5, -1.5, -0.75, -1e-6, -0.0, 0.0, 1e-6, 0.5, 0.75, 1.5, 3.0, 40.0])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_of_one_value(name):
    x = gn.from_numpy(VALUES.astype(np.float32))
    agree(gn.onnx.export(FUNCTIONS[name], (x,))(x), FUNCTIONS[name](x), 2e-5)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_of_a_double_by_the_reference_of_onnx(name):
    """Runtimes have few functions of doubles."""
    x = gn.from_numpy(VALUES)
    with np.errstate(all="ignore"):
        found = gn.onnx.export(FUNCTIONS[name], (x,)).call_reference(x)
    agree(found, FUNCTIONS[name](x), 1e-6)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("dtype", [gn.bfloat16, gn.float16])
def test_functions_of_a_half(name, dtype):
    def function(x):
        return FUNCTIONS[name](x.to(dtype)).float()

    x = gn.from_numpy(VALUES.astype(np.float32))
    agree(gn.onnx.export(function, (x,))(x), function(x), 1e-2)


@pytest.mark.parametrize("name", OF_TWO)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint8", "int64"])
def test_functions_of_two_values(name, dtype):
    a, b = np.meshgrid([-7, -3, -1, 0, 1, 2, 7], [-3, -1, 2, 5])
    if dtype == "uint8":
        a, b = abs(a), abs(b)
    given = [gn.from_numpy(x.astype(dtype)) for x in (a, b)]
    if name == "pow":
        given[1] = given[1].abs()
    exported(getattr(gn, name), *given)


def test_truth_values():
    a, b = gn.tensor([True, True, False, False]), gn.tensor([True, False, True, False])
    exported(lambda a, b: (a & b, a | b, a ^ b, ~a, a == b, a != b, gn.where(a, b, ~b)), a, b)


def test_bits_of_integers():
    a, b = gn.tensor([12, -7, 0]), gn.tensor([10, 3, -1])
    exported(lambda a, b: (a & b, a | b, a ^ b, ~a), a, b)


def test_logarithms_near_one_and_exponentials_near_zero():
    x = gn.tensor([1e-7, -1e-7, 3e-5, 0.3, -0.4, 100.0], dtype=gn.float64)
    exported(lambda x: (gn.log1p(x), gn.expm1(x)), x)


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_what_onnx_has_not_is_refused_with_its_line(name):
    with pytest.raises(TraceError, match=f"onnx: {name} has no counterpart in ONNX.*test_scalars"):
        gn.onnx.export(getattr(gn, name), (gn.ones(2),))


def test_dtypes_in_which_functions_are_computed():
    assert wide_of(gn.bfloat16, "add") is float32
    assert wide_of(gn.uint8, "add") is int64
    assert wide_of(bool_, "and") is bool_


def test_a_cast_to_its_own_dtype_is_none():
    made = exported(lambda x: x.float() * 2, gn.ones(2))
    assert operators(made) == ["Mul", "Identity"]


def test_a_function_of_no_rule_is_refused():
    writer = OnnxWriter({"map": map_rule}, {})
    with pytest.raises(TraceError, match="onnx: threefry has no counterpart"):
        computed(writer, "threefry", float32, ["a", "b", "c"])
