"""Plans whose sizes are known when they run, at sizes."""

from __future__ import annotations

import pytest

from gnomon.ir.sizes import ShapeEnv, SymInt
from gnomon.program.bound import LazySteps
from gnomon.runtime.program import Call, ConstantSlot

pytestmark = pytest.mark.unit


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
