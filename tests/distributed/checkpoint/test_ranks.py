"""Which rank writes which part of a tensor that several hold."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.checkpoint.ranks import Held, Ranks, divided_tensors, held
from gnomon.errors import CheckpointError

pytestmark = pytest.mark.unit


def test_parts_of_several_holders_are_shared_out():
    x = gn.arange(8.0).reshape(4, 2)
    top, low = (Held((4, 2), "float32", (k, 0), (2, 2)) for k in (0, 2))
    every = [{"x": top}, {"x": top}, {"x": low}, {"x": low}]
    writers = [
        (rank, part.offsets)
        for rank, own in enumerate([x[:2], x[:2], x[2:], x[2:]])
        for part in divided_tensors({"x": own}, every, rank)["x"].parts
    ]

    assert writers == [(0, (0, 0)), (3, (2, 0))]
    assert divided_tensors({}, every, 0)["x"].dtype == np.float32


def test_a_tensor_of_which_a_part_is_nowhere_is_refused():
    top = Held((4, 2), "float32", (0, 0), (2, 2))

    with pytest.raises(CheckpointError, match="or don't hold all of it"):
        divided_tensors({}, [{"x": top}], 0)


def test_a_rank_alone_holds_everything():
    assert held("x", gn.ones(2, 3)) == Held((2, 3), "float32", (0, 0), (2, 3))
    assert Ranks().tell(5) == [5]
