"""What readers compute again: cheap values of operands that they load in any case."""

from __future__ import annotations

import pytest

from gnomon.ir.node import Node
from gnomon.ops.primitives import contract, reduce, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.schedule.glance import Reading
from gnomon.schedule.rematerialization import expanded
from tests.schedule.kernels_of import leaf, partition

pytestmark = pytest.mark.unit


def gated(last: str = "multiply") -> tuple[Node, Node, Node, Node]:
    """A gate, what it lets through, its costly part, and a gradient that needs both later."""
    x = leaf(30, 30)
    u, w = (x.arena.input((30, 30), x.dtype) for _ in range(2))
    gate = exp(x)
    through = (x * gate) * 1.0 if last == "multiply" else exp(x * gate)
    back = contract("ab,bc->ac", through * u, w)
    return gate, through, back, back * through * gate * x


def test_a_cheap_value_of_what_is_read_anyway_is_not_stored():
    _, through, back, gradient = gated()

    stored = partition(gradient).stored

    assert back in stored
    assert through not in stored


def test_a_costly_value_is_computed_again_by_one_that_loads_what_it_is_made_of():
    gate, through, _, gradient = gated()

    assert {gate, through}.isdisjoint(partition(gradient).stored)


def test_a_costly_value_is_stored_when_its_readers_would_load_more_for_it():
    _, through, _, gradient = gated("exp")

    assert through in partition(gradient).stored


def test_exponentials_of_a_row_are_computed_again_from_its_maximum():
    scores = leaf(30, 40)
    other = scores.arena.input((30, 40), scores.dtype)
    shares = exp(scores - unsqueeze(reduce("max", scores, (1,)), 1))
    total = unsqueeze(reduce("add", shares, (1,)), 1)
    later = contract("ab,cb->ac", total * other, other)
    gradient = shares * reduce("add", later, (0, 1))

    assert shares not in partition(gradient).stored
    assert total.inputs[0] in partition(gradient, total).stored


def test_a_result_is_stored_whoever_could_compute_it():
    _, through, _, gradient = gated()

    assert through in partition(gradient, through).stored


def test_a_value_is_stored_when_its_reader_would_load_as_much_for_it():
    x = leaf(30, 30)
    u, w = (x.arena.input((30, 30), x.dtype) for _ in range(2))
    through = x * exp(x)
    gradient = contract("ab,bc->ac", through * u, w) * through

    assert through in partition(gradient).stored


def test_readings_are_replaced_by_those_behind_them():
    x = leaf(3)
    y, z = x * 2.0, x * 3.0
    first, second, third = (Reading(n, same=True, row=False) for n in (x, y, z))

    assert expanded([first, second], y, [third, first]) == [first, third]
