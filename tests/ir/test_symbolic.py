"""Index arithmetic as theorems: each simplification is evaluated against Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import pytest

from gnomon.dtypes import int64
from gnomon.ir.node import Arena, Node
from gnomon.ir.operators import constant
from gnomon.ir.sizes import ShapeEnv
from gnomon.ir.symbolic import (
    bounds,
    divide,
    flatten,
    has_division,
    loop_range,
    modulo,
    number,
    plus,
    split,
    times,
    unflatten,
)
from tests import drawn as st
from tests.drawn import given

pytestmark = pytest.mark.unit

sizes = st.integers(1, 12)
factors = st.integers(-6, 6)
divisors = st.integers(1, 12)


def evaluated(index: Node, at: dict[Node, int]) -> int:
    """The integer that an index is, when ranges have these values."""
    if index.op == "range":
        return at[index]
    if index.op == "affine":
        terms, offset = split(index)
        return offset + sum(k * evaluated(atom, at) for atom, k in terms.items())
    a, b = (evaluated(x, at) for x in index.inputs)
    return a // b if index.params["f"] == "floor_divide" else a % b


@st.composite
def indices(draw: Callable) -> tuple[Node, dict[Node, int], int]:
    """An index made by a few operations, values of its ranges, and the integer it should be."""
    arena = Arena()
    ranges = [loop_range(arena, draw(sizes), name) for name in "ijk"]
    at = {r: draw(st.integers(0, r.params["size"] - 1)) for r in ranges}
    made = [(r, at[r]) for r in ranges]
    for _ in range(draw(st.integers(1, 6))):
        (x, v), k = draw(st.sampled_from(made)), draw(divisors)
        match draw(st.sampled_from(("plus", "shift", "times", "divide", "modulo"))):
            case "plus":
                y, w = draw(st.sampled_from(made))
                made.append((plus(x, y), v + w))
            case "shift":
                made.append((plus(x, k - 6), v + k - 6))
            case "times":
                made.append((times(x, k - 6), v * (k - 6)))
            case "divide":
                made.append((divide(x, k), v // k))
            case _:
                made.append((modulo(x, k), v % k))
    index, value = made[-1]
    return index, at, value


@given(indices())
def test_simplified_arithmetic_has_the_value_of_the_plain_one(made: tuple):
    index, at, value = made

    assert evaluated(index, at) == value


@given(indices())
def test_bounds_hold(made: tuple):
    index, _, value = made
    low, high = bounds(index)

    assert low <= value <= high


@given(indices())
def test_a_quotient_and_its_remainder_give_the_number_back(made: tuple):
    index, at, value = made

    back = plus(times(divide(index, 5), 5), modulo(index, 5))

    assert evaluated(back, at) == value


@given(st.lists(sizes, min_size=1, max_size=4), st.randoms())
def test_flatten_and_unflatten_are_inverse(shape: list[int], random):
    arena = Arena()
    index = [loop_range(arena, n, f"i{k}") for k, n in enumerate(shape)]
    at = {r: random.randrange(r.params["size"]) for r in index}

    place = flatten(arena, index, shape)
    back = unflatten(place, shape)

    assert [evaluated(i, at) for i in back] == [at[r] for r in index]
    assert not has_division([place])


@given(st.lists(st.integers(2, 12), min_size=1, max_size=3))
def test_unflattening_what_was_flattened_leaves_no_division(shape: list[int]):
    arena = Arena()
    index = tuple(loop_range(arena, n, f"i{k}") for k, n in enumerate(shape))

    assert unflatten(flatten(arena, index, shape), shape) == index


@given(st.integers(1, 3), st.integers(2, 9), st.integers(2, 9), st.randoms())
def test_so_does_it_where_sizes_are_read_at_run_time(rank: int, n: int, m: int, random):
    env, arena = ShapeEnv(), Arena()
    a, b = env.symbol(n), env.symbol(m)
    wide = (a, b, a + 3, a + b, 2 * a + b + 1, 5, a * b + a, a * b + 2)
    shape = [random.choice(wide) for _ in range(rank)]
    rows, inner = loop_range(arena, prod(shape[:-1]), "rows"), loop_range(arena, shape[-1], "i")

    at = unflatten(plus(times(rows, shape[-1]), inner), shape)

    assert at[-1] is inner
    padded = [*shape[:-1], shape[-1] + b + 2]
    terms, _ = split(flatten(arena, (*at[:-1], plus(at[-1], 2)), padded))
    assert {**terms} == {rows: padded[-1], inner: 1} or rank == 1


def test_terms_that_cancel_are_gone():
    arena = Arena()
    i = loop_range(arena, 5, "i")

    assert plus(times(i, 3), times(i, -3)) is number(arena, 0)


def test_a_position_from_memory_is_bounded_once_it_is_clamped():
    arena = Arena()
    found = arena.node("load", (number(arena, 0),), buffer=0, dtype=int64, fill=None)
    low = arena.node("map", (found, constant(arena, 0, int64)), f="maximum")
    inside = arena.node("map", (low, constant(arena, 6, int64)), f="minimum")

    assert bounds(inside) == (0, 6)
    assert not has_division([modulo(inside, 7)])
