"""A value with the history of another: what a write that gradients do not see leaves behind."""

from __future__ import annotations

import numpy as np

from gnomon.dtypes import float32
from gnomon.ir.node import Arena
from gnomon.ops.histories import has_other_history, rewritten
from gnomon.ops.interpret import interpret
from gnomon.passes.grad import pull_back


def test_the_value_is_the_new_one_and_the_gradient_goes_to_the_old_one():
    arena = Arena()
    x, new, g = (arena.input((3,), float32) for _ in range(3))
    y = rewritten(x * x, new * 2)
    of_x, of_new = pull_back({y: g}, [x, new])
    given = [np.array(v, np.float32) for v in ([1, 2, 3], [4, 5, 6], [1, 1, 2])]

    value, gradient = interpret([y, of_x], dict(zip((x, new, g), given, strict=True)))
    assert has_other_history(y)
    assert not has_other_history(y * 2)
    assert value.tolist() == [8, 10, 12]
    assert gradient.tolist() == [2, 4, 12]
    assert of_new is None
