"""Nested dicts have a path for every value."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.distributed.checkpoint.nested import Stateful, places, states
from gnomon.errors import CheckpointError

pytestmark = pytest.mark.unit


def test_values_are_replaced_in_their_places():
    tree = {"a": {"b": 1, "c": [{"d": 2}, 3]}, "e": {}, "f": (1, 2)}
    found = places(tree)

    assert [*found] == ["a.b", "a.c.0.d", "a.c.1", "e", "f"]
    found["a.c.0.d"].holder["d"] = 5
    assert tree["a"]["c"][0]["d"] == found["a.c.0.d"].value == 5


def test_two_values_of_one_path_are_refused():
    with pytest.raises(CheckpointError, match=r"two values are called a\.b\. Rename"):
        places({"a": {"b": 1}, "a.b": 2})


def test_states_are_asked_for_once():
    layer = gn.nn.Linear(2, 1)

    assert isinstance(gn.optim.SGD(layer.parameters(), lr=0.1), Stateful)
    assert [*states({"layer": layer, "n": 1})["layer"]] == ["weight", "bias"]
