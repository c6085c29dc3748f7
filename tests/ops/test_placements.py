"""Equal placements are one object, by PyTorch's names too."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from gnomon.errors import LayoutError
from gnomon.ops.placements import (
    REPLICATED,
    VARYING,
    Partial,
    Placement,
    Replicated,
    Split,
    Varying,
    placement_of,
)

pytestmark = pytest.mark.unit

ALL = (REPLICATED, VARYING, Split(0), Split(3), Partial(), Partial("max"))


@pytest.mark.parametrize("placement", ALL, ids=str)
def test_copies_are_the_placement_itself(placement: Placement):
    assert copy.deepcopy(placement) is placement
    assert copy.copy(placement) is placement
    assert pickle.loads(pickle.dumps(placement)) is placement


def test_equal_placements_are_one_and_others_differ():
    assert Split(1) is Split(dim=1) is Split(np.int64(1))
    assert type(Split(np.int64(1)).axis) is int
    assert Partial("sum") is Partial() is Partial("add") is Partial(reduce_op="sum")
    assert (Replicated(), Varying()) == (REPLICATED, VARYING)
    assert len({*ALL}) == len(ALL)
    with pytest.raises(TypeError):
        Split(0.5)  # type: ignore[arg-type]


def test_a_placement_never_changes():
    with pytest.raises(AttributeError, match="a placement never changes"):
        Split(0).axis = 1


def test_only_a_placement_is_one():
    assert placement_of(VARYING) is VARYING
    for other in (0, None, "data", Split):
        with pytest.raises(LayoutError, match="expected Shard, Replicate or Partial"):
            placement_of(other)
