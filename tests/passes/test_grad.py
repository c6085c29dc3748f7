"""Gradients: through shared nodes, regions, casts and lookups; nothing that nobody asked for."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import bool_, float16, float32, float64, int32
from gnomon.ir.node import PRIMITIVES, Arena, topological
from gnomon.ir.operators import cast
from gnomon.ops.primitives import contract, reduce
from gnomon.ops.registry import OPS, op
from gnomon.ops.scalars import SCALARS, exp
from gnomon.ops.view_primitives import slice_
from gnomon.passes.grad import by_rule
from tests.gradients import gradients
from tests.graphs import check_gradient, seed_of, value

pytestmark = pytest.mark.unit


@pytest.fixture
def declare():
    """Declares operations that are forgotten after the test."""
    before = set(OPS)
    yield op
    for name in set(OPS) - before:
        del OPS[name]


def test_a_node_used_twice_collects_both_parts(rng):
    check_gradient(lambda x: x * exp(x) + x, rng.standard_normal((2, 3)))


def test_a_broadcast_operand_gets_the_sum(rng):
    a, b, c = rng.standard_normal((2, 3)), rng.standard_normal(3), rng.standard_normal(())

    check_gradient(lambda x, y, z: (x * y - z) / (y * y + 1.0), a, b, c)


def test_parts_of_one_tensor_collect_into_it(rng):
    halves = [((0, 2, 1), (0, 3, 1)), ((1, 3, 1), (0, 3, 1))]

    check_gradient(
        lambda x: slice_(x, halves[0]) * exp(slice_(x, halves[1])), rng.standard_normal((3, 3))
    )


@pytest.mark.parametrize("step", [1, 2, 3])
def test_many_stretches_of_one_tensor_are_joined_and_those_that_meet_are_added(rng, step):
    def iterations(x, y):
        h = y
        for k in range(0, 7, step):
            h = h * slice_(x, ((k, min(k + 2, 8), 1), (0, 3, 1))) + h * 0.5
        return h * reduce("add", x, (0,))

    x, y = rng.standard_normal((8, 3)) / 4, rng.standard_normal((2, 3)) / 4
    check_gradient(iterations, x, y)


def test_a_loop_over_slices_adds_no_tensors_of_the_whole_size():
    x = Arena().input((64, 3), float32)
    total = reduce(
        "add", sum((slice_(x, ((k, k + 1, 1), (0, 3, 1))) for k in range(64)), x), (0, 1)
    )
    (found,) = gradients(total, seed_of(total), [x])

    whole = [n for n in topological([found]) if n.op == "map" and n.shape == x.shape]
    assert len(whole) <= 2


def test_a_regions_gradient_is_a_region_of_its_name(declare):
    @declare
    def soft(x):
        """exp over its sum."""
        e = exp(x)
        return e / reduce("add", e, (0,))

    x = Arena().input((5,), float64)
    y = soft(x)

    (g,) = gradients(y, x * 1.0, [x])

    assert [n.params["name"] for n in topological([g]) if n.op == "region"] == ["soft.grad"]


def test_a_region_is_differentiated_through_its_body(declare, rng):
    @declare
    def normed(x, w):
        """x over its sum of squares, weighted."""
        return x / reduce("add", x * x, (0,)) * w, x * w

    def both(x, w):
        first, second = normed(x, w)
        return first * second

    check_gradient(both, rng.standard_normal(5), rng.standard_normal(5))
    check_gradient(lambda x, w: normed(x, w)[1], rng.standard_normal(5), rng.standard_normal(5))


def test_regions_inside_regions_are_differentiated_too(declare, rng):
    @declare
    def square_(x):
        """x times x."""
        return x * x

    @declare
    def quartic(x):
        """x to the fourth."""
        return square_(square_(x))

    check_gradient(quartic, rng.standard_normal(4))


def test_an_operations_own_rule_is_used_where_it_has_one(declare):
    @declare(gradient=lambda g, y, x: g * 7.0)
    def pretended(x):
        """x, with a slope of seven."""
        return x * 1.0

    x = Arena().input((2,), float64)
    found = value(lambda n: gradients(pretended(n), n * 0.0 + 1.0, [n])[0], np.array([1.0, 2.0]))

    assert found.tolist() == [7.0, 7.0]
    assert x.dtype is float64


def test_a_gradient_of_a_gradient_is_a_gradient(rng):
    x = rng.uniform(0.5, 1.5, 4)

    def slope(n):
        (first,) = gradients(n * n * n, n * 0.0 + 1.0, [n])
        return first

    np.testing.assert_allclose(value(slope, x), 3 * x * x)
    check_gradient(slope, x)


def test_what_nobody_asked_for_is_not_built():
    arena = Arena()
    x, frozen = arena.input((2, 3), float32), arena.input((3, 5), float32)
    y = contract("mk,kn->mn", x, frozen)

    (g,) = gradients(y, arena.input((2, 5), float32), [x])

    products = [n for n in topological([g]) if n.op == "contract"]
    assert [n.params["spec"] for n in products] == ["mn,kn->mk"]


def test_nothing_flows_through_detach_integers_or_unrelated_nodes():
    arena = Arena()
    x, other = arena.input((3,), float32), arena.input((3,), float32)
    cut = arena.node("detach", (x,))

    assert gradients(cut * 2.0, other, [x]) == [None]
    assert gradients(other * 2.0, other, [x]) == [None]


def test_the_gradient_of_a_cast_has_the_dtype_of_what_was_cast():
    arena = Arena()
    x = arena.input((3,), float32)
    y = cast(x, float64) * 2.0

    (g,) = gradients(y, arena.input((3,), float64), [x])

    assert g.dtype is float32


def test_gradients_carry_the_lines_of_what_they_differentiate():
    arena = Arena()
    x, seed = arena.input((3,), float32), arena.input((3,), float32)
    y = exp(x)

    (g,) = gradients(y, seed, [x])

    assert g.sites[0].line == y.sites[0].line


def test_results_of_one_region_are_pulled_back_together(declare, rng):
    @declare
    def both(x):
        """A product and a square."""
        return x * exp(x), x * x

    x = Arena().input((3,), float64)
    first, second = both(x)

    (g,) = gradients(first * second, x * 1.0, [x])

    assert [n.params["name"] for n in topological([g]) if n.op == "region"].count("both.grad") == 1
    check_gradient(lambda x: both(x)[0] * both(x)[1], rng.standard_normal(3))


@pytest.mark.parametrize("f", sorted(SCALARS))
def test_what_a_rule_made_is_made_again_of_other_values(f):
    scalar, arena = SCALARS[f], Arena(shared=True)
    dtype = bool_ if f in ("and", "or", "xor", "not") else float32
    params = {"dtype": int32} if f in ("cast", "bitcast") else {}
    for shape in ((2, 3), (2, 3), (3, 2)):  # the first one is taken for what was not met before
        inputs = [arena.input(shape, dtype) for _ in range(scalar.arity)]
        inputs[: scalar.others] = [arena.input(shape, bool_) for _ in range(scalar.others)]
        node = arena.node("map", tuple(inputs), f=f, **params)
        needed = tuple(x.dtype is float32 for x in inputs)
        g = arena.input(node.shape, float32)
        rules = by_rule, PRIMITIVES["map"].gradient
        made, known = (list(rule(node, g, needed)) for rule in rules)  # nodes of one line
        assert made == known


def test_what_a_rule_made_of_one_value_twice_is_not_taken_for_two():
    arena = Arena(shared=True)
    x, y, g = (arena.input((5, 2), float32) for _ in range(3))
    for left, right in ((x, x), (x, y), (y, y), (y, x)):
        node = left * right
        for _ in range(2):
            first, second = by_rule(node, g, (True, True))
            assert (first, second) == (g * right, g * left)


def test_a_product_whose_gradient_was_widened_has_its_own_rule():
    arena = Arena(shared=True)
    a, b = arena.input((4, 8), float16), arena.input((8, 5), float16)
    y = contract("ab,bc->ac", a, b, float32)
    for g in (arena.input((4, 5), float32), cast(arena.input((4, 5), float16), float32)):
        for _ in range(2):
            made = by_rule(y, g, (True, True))
            assert list(made) == list(PRIMITIVES["contract"].gradient(y, g, (True, True)))
