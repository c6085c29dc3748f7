"""What has been placed says who reads it and what is stored, and forgets what nobody reads."""

from __future__ import annotations

import pytest

from gnomon.ir.node import Node
from gnomon.ops.primitives import contract
from gnomon.ops.scalars import exp
from gnomon.schedule.glance import Reading
from gnomon.schedule.placed import Placed
from tests.schedule.kernels_of import leaf, partition

pytestmark = pytest.mark.unit


def placed() -> tuple[Placed, Node, Node, Node]:
    """A factor, its product, and a function of that."""
    x = leaf(30, 40)
    factor = exp(x)
    made = contract("ab,cb->ac", factor, x)
    last = exp(made)
    return partition(last), factor, made, last


def test_readers_are_found_of_whatever_is_read():
    found, factor, made, last = placed()

    assert found.readers[factor] == [made]
    assert found.readers[made] == [last]
    assert next(iter(found.read_by(made))) is factor


def test_what_another_kernel_reads_or_the_program_wants_is_stored():
    found, factor, made, last = placed()

    assert list(found.stored) == [factor, made, last]
    assert all(map(found.is_stored, (factor, made, last)))
    assert [next(iter(c.members)) for c in found.ordered()] == [factor, made, last]


def test_what_nobody_reads_any_more_leaves_its_kernel():
    found, factor, made, last = placed()
    found.reads[last] = [Reading(found.graph.inputs[0], same=True, row=False)]
    found.results = found.required = {last}

    found.forget_unread()

    assert factor in found.home, "opaque calls stay, and what they read"
    assert found.readers.get(made) is None
