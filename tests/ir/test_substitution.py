"""Data with other numbers in it: containers of all kinds, what stays, which symbols there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import pytest

from gnomon.ir.sizes import ShapeEnv, late
from gnomon.ir.substitution import of_symbols, substituted, symbols_in
from gnomon.ir.sym_float import ratio
from gnomon.ops.op_calls import OpCall
from gnomon.runtime.program import ArenaSlot, Call, Needs

pytestmark = pytest.mark.unit


class Named(NamedTuple):
    """A tuple with names."""

    size: Any
    rest: Any = ()


class Own(tuple):
    """A tuple with a class of its own."""


@dataclass(frozen=True)
class Described:
    """A dataclass."""

    size: Any
    rest: Any = None


class Stored(msgspec.Struct, frozen=True):
    """A Struct."""

    size: Any
    rest: Any = None


KINDS: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda x: (1, (x, "a")),
    "own tuple": lambda x: Own((x, 2)),
    "named tuple": Named,
    "list": lambda x: [1, [x]],
    "dictionary": lambda x: {"a": x, 3: True},
    "dataclass": lambda x: Described(2, Described(x)),
    "Struct": lambda x: Stored(x, Stored(2)),
    "call": lambda x: OpCall((x,), (("axis", x),)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_stand_in_place_of_symbols_at_any_depth(kind: str):
    n, make = ShapeEnv().symbol(13), KINDS[kind]
    given = make(n)
    made = substituted(given, of_symbols(lambda size: size.value + 1))

    assert made == make(14)
    assert type(made) is type(make(14))
    assert symbols_in(given) == [n]
    assert symbols_in(made) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_change_is_the_same_object(kind: str):
    given = KINDS[kind](7)

    assert substituted(given, of_symbols(float)) is given


def test_a_rule_goes_before_what_is_inside():
    found = substituted((Described(1), 1), {Described: lambda x: x, int: str})

    assert found == (Described(1), "1")


def test_numbers_are_met_in_order_and_truths_are_none():
    numbers = iter(range(10, 20))

    found = substituted((1, True, [2, Named(3, {"a": 4})]), {int: lambda _: next(numbers)})

    assert found == (10, True, [11, Named(12, {"a": 13})])


def test_plans():
    sizes = ShapeEnv()
    n = sizes.symbol(13)
    plan = (Needs(arena=n * 4, alone=late(int, n)), (Call("k", (ArenaSlot(n + 1),)), "text", 3))
    found = symbols_in(plan)
    values = dict(zip(found, sizes.function(found)((20,)), strict=True))

    expected = (Needs(arena=80, alone=20), (Call("k", (ArenaSlot(21),)), "text", 3))
    assert substituted(plan, of_symbols(values.__getitem__)) == expected
    assert len(found) == 3


def test_floats_of_sizes():
    half = ratio(ShapeEnv().symbol(13), 2)

    assert symbols_in([half, half]) == [half]
    assert substituted((half, 0.5), of_symbols(lambda x: x.value)) == (6.5, 0.5)
