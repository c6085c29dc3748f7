"""Plans whose sizes are known when they run, at sizes."""

from __future__ import annotations

import pytest

from gnomon.ir.sizes import ShapeEnv, SymInt, late
from gnomon.program.bound import LazySteps, bound, sizes_in
from gnomon.runtime.program import ArenaSlot, Call, ConstantSlot, Needs

pytestmark = pytest.mark.unit


def test_numbers_stand_in_place_of_sizes_at_any_depth():
    sizes = ShapeEnv()
    n = sizes.symbol(13)
    plan = (Needs(arena=n * 4, alone=late(int, n)), (Call("k", (ArenaSlot(n + 1),)), "text", 3))
    found: dict[SymInt, None] = {}
    sizes_in(plan, found)
    values = dict(zip(found, sizes.function([*found])((20,)), strict=True))

    expected = (Needs(arena=80, alone=20), (Call("k", (ArenaSlot(21),)), "text", 3))
    assert bound(plan, values.__getitem__) == expected
    assert len(found) == 3


def test_steps_are_made_when_somebody_looks():
    sizes = ShapeEnv()
    n = sizes.symbol(13)
    asked = []

    def value_of(size: SymInt) -> int:
        asked.append(size)
        return 7

    steps = LazySteps((Call("k", (ConstantSlot(n),)), Call("k", (ConstantSlot(2),))), value_of)

    assert len(steps) == 2
    assert not asked
    assert steps[0] == Call("k", (ConstantSlot(7),))
    assert [*steps][1] == Call("k", (ConstantSlot(2),))
    assert asked == [n]
