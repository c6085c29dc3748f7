"""The oracle's folds, against the definition of canonical order spelled out by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from gnomon.dtypes import bool_, float32, float64, int64
from tests.codegen.kernels.exact import by_definition
from tests.oracle.folds import (
    beginning,
    chain,
    flushed,
    fold,
    fold_present,
    lanes,
    sum_of_products,
    tree,
)

pytestmark = pytest.mark.unit

BIG = np.float32(1e8)
ONE = np.float32(1)
START = beginning("add", float32)


def test_a_chain_ascends():
    assert chain("add", [BIG, ONE, -BIG], START) == 0
    assert chain("add", [BIG, -BIG, ONE], START) == 1


def test_a_tree_pairs_neighbours():
    assert tree("add", [BIG, ONE, -BIG, ONE]) == 0
    assert tree("add", [BIG, -BIG, ONE, ONE]) == 2


def test_element_i_belongs_to_lane_i_mod_64():
    parts = np.zeros(130, np.float32)
    parts[[1, 65, 129]] = BIG, -BIG, ONE

    assert lanes("add", list(parts), START) == 1


def test_lanes_are_halved():
    parts = np.zeros(64, np.float32)
    parts[[0, 32, 16]] = BIG, -BIG, ONE
    assert lanes("add", list(parts), START) == 1

    parts = np.zeros(64, np.float32)
    parts[[0, 1, 32]] = BIG, -BIG, ONE
    assert lanes("add", list(parts), START) == 0


def test_a_fold_cuts_equal_leaves():
    x = np.array([BIG, ONE, -BIG, ONE], np.float32)

    assert fold("add", x, float32, 1, in_lanes=False) == 1
    assert fold("add", x, float32, 2, in_lanes=False) == 0


def test_the_last_letter_is_innermost():
    x = np.array([[BIG, ONE], [-BIG, ONE]], np.float32)

    there = np.ones((2, 2), bool)

    assert fold_present("add", x, there, float32, (1, 1)) == 0
    assert fold_present("add", x.T, there, float32, (1, 1)) == 2


def test_a_sum_of_negative_zeros_stays_negative():
    assert np.signbit(fold("add", np.full(3, -0.0, np.float32), float32, 1, in_lanes=True))


@pytest.mark.parametrize(
    ("monoid", "dtype", "expected"),
    [("max", int64, -(2**63)), ("min", bool_, True), ("mul", float64, 1), ("or", bool_, False)],
)
def test_the_beginning_changes_nothing(monoid: str, dtype, expected):
    assert beginning(monoid, dtype) == expected


@pytest.mark.parametrize("leaves", [(1,), (4,), (1, 2), (2, 4), (1, 1, 2)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_have_the_bits_of_the_definition(
    leaves: tuple[int, ...], kind: type, rng: np.random.Generator
):
    sizes = [(3 * n, n) for n in leaves]
    steps = int(np.prod([n for n, _ in sizes]))
    a, b = (rng.normal(size=(n, steps)).astype(kind) for n in (2, 5))
    shape = [n for n, _ in sizes]

    found = sum_of_products(
        a.T.reshape(*shape, 2, 1), b.T.reshape(*shape, 1, 5), [n for _, n in sizes]
    )

    assert found.tobytes() == by_definition(a, b, sizes).tobytes()


def test_a_product_is_fused():
    x = np.float32(1 + 2.0**-23)
    exact = float(Fraction(float(x)) ** 2 - 1)

    found = sum_of_products(np.array([-1, x], np.float32), np.array([1, x], np.float32), (1,))

    assert float(found) == np.float32(exact)


def bfloats(rng: np.random.Generator, size: int) -> np.ndarray:
    """Random values of bfloat16, as float32."""
    return (rng.normal(size=size).astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)


@pytest.mark.parametrize("size", [1, 2, 7, 8])
def test_pairs_are_added_odd_first_each_rounded_once(size: int, rng: np.random.Generator):
    a, b = bfloats(rng, size), bfloats(rng, size)
    total = np.float32(0)
    for k in sorted(range(size), key=lambda k: (k // 2, -k)):
        exact = Fraction(float(a[k])) * Fraction(float(b[k])) + Fraction(float(total))
        total = np.float32(float(exact))

    assert sum_of_products(a, b, (1,), paired=True) == total


@pytest.mark.parametrize(
    ("a", "b", "total", "expected"),
    [
        (2.0**-127, 2.0**20, 0.0, 0.0),  # a denormal factor is zero
        (-(2.0**-63), 2.0**-64, 0.0, -0.0),  # a denormal result too, with its sign
        (1.0, 2.0**-126, -(2.0**-127), 2.0**-126),  # and a denormal sum
        (1.0, 2.0**-125, -(2.0**-126), 2.0**-126),
        (-(2.0**-80), 2.0**-72, 2.0**-126, 2.0**-126),  # rounds up to a normal number
        (-(2.0**-80), 2.0**-70, 2.0**-126, 0.0),  # does not
        (-0.0, 1.0, -0.0, -0.0),
    ],
)
def test_denormals_are_zeros_with_their_signs(a, b, total, expected):
    found = flushed(*np.float32([a, b, total])[:, None])

    assert found.tobytes() == np.float32([expected]).tobytes()


def test_a_product_over_no_letter_is_a_product():
    assert sum_of_products(np.float32([3]), np.float32([-0.0]), ()).tobytes() == (
        np.float32([-0.0]).tobytes()
    )
