"""Exact integers, constant exponents, and what dtypes become."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from gnomon.dtypes import bool_, float32, float64, int64
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.ir.node import Arena, topological
from gnomon.ops import every  # noqa: F401 - fills the registry
from gnomon.ops.registry import OPS
from tests.graphs import built, value

pytestmark = pytest.mark.unit

POWERS = (
    *((3, 34, 16677181699666569), (3, 39, 4052555153018976267), (3, 40, -6289078614652622815)),
    *((-3, 39, -4052555153018976267), (7, 22, 3909821048582988049)),
    *((2, 63, -9223372036854775808), (2, 64, 0), (0, 0, 1)),
)


def scalar_functions(root) -> list[str]:
    """The rows of the scalar table that a graph uses, regions not opened."""
    return [x.params["f"] for x in topological([root]) if x.op == "map"]


@pytest.mark.parametrize(("base", "exponent", "power"), POWERS)
def test_powers_of_integers_are_exact_and_wrap(base, exponent, power):
    bases = np.array([base], np.int64)

    by_constant = value(lambda x: OPS["pow"](x, exponent), bases)
    by_tensor = value(OPS["pow"], bases, np.array([exponent], np.int64))

    assert by_constant.dtype == by_tensor.dtype == np.int64
    assert by_constant[0] == by_tensor[0] == power


@pytest.mark.parametrize(("base", "power"), [(1, 1), (-1, -1), (2, 0), (0, 0), (-5, 0)])
def test_a_negative_exponent_in_a_tensor_gives_what_is_left_of_the_inverse(base, power):
    made = value(OPS["pow"], np.array([base]), np.array([-3]))

    assert made[0] == power


def test_a_negative_exponent_that_is_a_number_is_refused_for_integers():
    with pytest.raises(ArgumentError, match=r"pow: integers have no power -1. Use x.astype"):
        built(lambda x: OPS["pow"](x, -1), np.arange(3))


@pytest.mark.parametrize(("exponent", "products"), [(1, 0), (2, 1), (3, 2), (4, 2), (7, 4), (8, 3)])
def test_a_small_power_is_a_chain_of_products(exponent, products):
    root, _ = built(lambda x: OPS["pow"](x, exponent), np.ones(2))

    assert scalar_functions(root) == ["mul"] * products


@pytest.mark.parametrize(
    ("name", "x", "y", "kind"),
    [
        ("add", np.int32(1), 2, np.int32),
        ("add", np.int32(1), 2.5, np.float32),
        ("add", np.uint8(1), np.int8(1), np.int16),
        ("multiply", np.bool_(True), 3, np.int64),
        ("multiply", np.float64(2), 2.5, np.float64),
        ("divide", np.int64(1), np.int64(2), np.float32),
        ("divide", np.int64(1), np.float64(2), np.float64),
        ("maximum", ml_dtypes.bfloat16(1), np.float16(1), np.float32),
        ("atan2", np.int8(1), np.int8(1), np.float32),
        ("less", np.int8(1), 2.5, np.bool_),
    ],
)
def test_operands_are_promoted_and_numbers_are_weak(name, x, y, kind):
    arrays = [np.asarray(v) for v in (x, y) if isinstance(v, np.generic)]
    rest = [] if len(arrays) == 2 else [y]

    assert value(lambda *xs: OPS[name](*xs, *rest), *arrays).dtype == kind


@pytest.mark.parametrize("name", ["exp", "sin", "sqrt", "tanh", "sigmoid", "logaddexp"])
def test_functions_of_floats_take_integers_as_float32(name):
    arrays = [np.arange(3)] * (2 if name == "logaddexp" else 1)

    assert value(OPS[name], *arrays).dtype == np.float32


def test_rounding_leaves_integers_alone():
    root, (x,) = built(OPS["floor"], np.arange(3))

    assert root is x


def test_truth_values_add_as_or_and_multiply_as_and():
    a, b = np.array([True, True, False]), np.array([True, False, False])

    assert value(OPS["add"], a, b).tolist() == [True, True, False]
    assert value(OPS["multiply"], a, b).tolist() == [True, False, False]


def test_truth_values_are_not_subtracted_or_negated():
    for name, count in (("subtract", 2), ("negative", 1)):
        with pytest.raises(DtypeError, match=f"{name}: .*Use logical"):
            built(OPS[name], *[np.array([True])] * count)


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(ShapeError, match=r"add: .*\(2, 3\) and \(2,\)"):
        built(OPS["add"], np.ones((2, 3)), np.ones(2))


def test_pytorchs_words_mean_the_standards():
    arena = Arena()
    x, y = arena.input((2, 3), float32), arena.input((2, 3), float32)

    assert OPS["sum"](x, dim=1, keepdim=True) is OPS["sum"](x, axis=1, keepdims=True)
    assert OPS["add"](input=x, other=y) is OPS["add"](x, y)
    assert OPS["pow"](x, exponent=2) is OPS["square"](x)


def test_an_unknown_word_is_answered_with_those_that_are_known():
    with pytest.raises(ArgumentError, match=r"sum: no argument 'axes'. It takes x, axis"):
        built(lambda x: OPS["sum"](x, axes=1), np.ones(2))


def test_special_numbers_keep_their_meaning():
    odd = np.array([np.nan, np.inf, -np.inf, -0.0])

    assert np.isnan(value(OPS["relu"], odd)[0])
    assert np.isnan(value(lambda x: OPS["clip"](x, -1.0, 1.0), odd)[0])
    assert np.isnan(value(lambda x: OPS["max"](x), odd))
    assert value(OPS["logaddexp"], odd[2:3], odd[2:3])[0] == -np.inf
    assert value(lambda x: OPS["sign"](x), odd[3:])[0] == 0


def test_a_result_has_the_dtype_that_the_question_implies():
    arena = Arena()
    x = arena.input((3,), float64)

    assert OPS["isnan"](x).dtype is bool_
    assert OPS["argmax"](x).dtype is int64
    assert OPS["count_nonzero"](x).dtype is int64
    assert OPS["any"](x).dtype is bool_
