"""Positions of elements that are each repeated their own number of times."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.tensor.repeats import places

pytestmark = pytest.mark.unit


def test_places():
    assert places(np.array([2, 0, 1]), 3).tolist() == [0, 0, 2]
    assert places(gn.tensor([2, 0, 1]), 3).tolist() == [0, 0, 2]
    assert places(gn.tensor(2), 3).tolist() == [0, 0, 1, 1, 2, 2]
    assert places(gn.tensor([], dtype=gn.int64), 0).tolist() == []


@pytest.mark.parametrize("times", [[1, 2], [-1, 0, 1], [0.5, 1.0, 2.0]])
def test_times_that_fit_not(times):
    with pytest.raises(ArgumentError, match="repeats are"):
        places(gn.tensor(times), 3)


def test_compiled_functions_take_one_way():
    def repeated(x: gn.Tensor) -> gn.Tensor:
        return gn.repeat_interleave(x, (x > 0).long() * 2 + 1, dim=0)

    compiled = gn.compile(repeated)
    for k in range(8):
        x = gn.tensor(np.random.default_rng(k).standard_normal(9).astype(np.float32))
        assert compiled(x).tolist() == repeated(x).tolist()
    assert compiled.captures == 2
