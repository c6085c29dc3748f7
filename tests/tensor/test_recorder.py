"""The recorder of a thread that captures nothing, beside a capture's."""

from __future__ import annotations

import inspect

import pytest

import gnomon as gn
from gnomon.capture.subgraph import Inner
from gnomon.capture.tracing import Capture
from gnomon.errors import CollectiveError
from gnomon.tensor.state import NOTHING, Recorder, is_capturing, is_eager, state


def test_a_thread_that_captures_nothing_has_a_recorder_that_keeps_nothing():
    x = gn.ones(2, requires_grad=True)
    count, stepped = gn.default_generator.count, list[int]()

    assert state.recorder is NOTHING
    assert not is_capturing()
    assert is_eager()
    assert NOTHING.claim(x._storage) is x._storage.node
    assert NOTHING.is_made(x)
    assert NOTHING.stand_in(x) is None
    assert NOTHING.read_grad(x) is None
    assert NOTHING.asked(lambda: 3) == 3
    NOTHING.at_end([], lambda: stepped.append(5))
    assert stepped == [5]
    assert NOTHING.draw(gn.default_generator)[1].item() == count
    assert gn.default_generator.count == count + 1
    assert not NOTHING.hides_values


def test_it_leaves_writes_to_who_asks():
    x, y = gn.ones(2), gn.zeros(2)

    assert not NOTHING.assign(x._storage, y._storage.node)
    assert not NOTHING.takes(x, y)
    assert not NOTHING.write_grad(x, y)
    with pytest.raises(CollectiveError, match="no sum of int8"):
        NOTHING.violates("all_reduce: no sum of int8.")
    with pytest.raises(AssertionError, match="in order"):
        NOTHING.assert_that(2 < 1, "in order")


def test_a_capture_is_one_while_its_function_runs():
    seen = []

    @gn.compile
    def noted(x):
        seen.append((is_capturing(), is_eager(), isinstance(state.recorder, Capture)))
        with state.recorder.outside():
            seen.append((is_capturing(), is_eager(), state.recorder is NOTHING))
        return x + 1

    noted(gn.ones(2))

    assert seen == [(True, False, True), (False, True, True)]
    assert state.recorder is NOTHING


def test_a_capture_answers_all_that_is_told():
    told = {name for name, _ in inspect.getmembers(Recorder, inspect.isfunction)}
    own = {name for name in told if getattr(Capture, name) is not getattr(Recorder, name)}

    assert told - own == {"assert_that"}  # a branch's capture does


def test_no_list_of_a_captures_has_the_name_of_a_method():
    kept = vars(Inner("cond", False)).keys() - {"hides_values"}

    assert not [name for name in kept if hasattr(Inner, name)]
