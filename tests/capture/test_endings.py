"""What is left of a capture that ends in an error: never a placeholder, never half a write."""

from __future__ import annotations

import gc
import sys
import warnings
import weakref

import pytest

import gnomon as gn
from gnomon.capture.ambient import CaptureRun
from gnomon.errors import IndexOutOfBounds, TraceError
from gnomon.settings import Block
from gnomon.tensor.state import is_capturing
from tests.capture.endings import KEEPERS, ending


def outcome(run, x: gn.Tensor) -> tuple[str, str]:
    """The class and the first words of what a call raises."""
    try:
        run(x)
    except BaseException as error:
        return type(error).__name__, str(error)[:60]
    return "", ""


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", KEEPERS)
def test_an_error_of_the_function_leaves_what_it_did(name: str, grad: bool):
    told = []
    for around in (lambda f: f, gn.compile):
        keep, seen = KEEPERS[name]()
        run = around(ending(keep, "raise"))
        for k in (1, 2):
            x = gn.tensor([1.0 + k, 3.0], requires_grad=grad)
            told.append((outcome(run, x), seen(), x.tolist()))

    assert told[:2] == told[2:]
    assert told[0][0] == ("KeyError", "'by itself'")


@pytest.mark.share(3)
@pytest.mark.parametrize("way", ["branch", "generator", "interrupt", "late"])
@pytest.mark.parametrize("name", KEEPERS)
def test_a_refused_capture_leaves_things_as_they_were(name: str, way: str):
    errors = {"interrupt": "KeyboardInterrupt", "late": "IndexOutOfBounds"}
    keep, seen = KEEPERS[name]()
    before, run = seen(), gn.compile(ending(keep, way), breaks="error")

    for k in (1, 2):
        x = gn.tensor([1.0 + k, 3.0])
        assert outcome(run, x)[0] == errors.get(way, "TraceError")
        gc.collect()
        assert (seen(), x.tolist()) == (before, [1.0 + k, 3.0])


def test_what_somebody_has_hold_of_gets_its_value():
    held = []

    def step(x):
        hold = held.append
        hold(x * 2 + 1)
        return x if x.sum() > 0 else -x

    with pytest.raises(TraceError):
        gn.compile(step, breaks="error")(gn.ones(2))

    assert [t.tolist() for t in held] in ([], [[3.0, 3.0]])


def test_nobody_is_warned_of_what_is_not_kept():
    def step(x):
        print(x.shape)
        raise ValueError("by itself")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="by itself"):
            gn.compile(step)(gn.ones(2))


def test_a_function_that_raised_is_captured_when_it_does_not():
    fails = [True]

    @gn.compile
    def step(x):
        if fails[0]:
            raise ValueError("not yet")
        return x * 2

    with pytest.raises(ValueError, match="not yet"):
        step(gn.ones(2))
    fails[0] = False

    assert step(gn.ones(2)).tolist() == [2.0, 2.0]
    assert step(gn.ones(2)).tolist() == [2.0, 2.0]
    assert step.captures == 1


def test_what_is_computed_before_an_error_waits_until_somebody_looks():
    held = []

    def step(x, at):
        held.append(x[at])
        raise ValueError("by itself")

    with pytest.raises(ValueError, match="by itself"):
        gn.compile(step)(gn.ones(2), gn.tensor([99]))

    with pytest.raises(IndexOutOfBounds):
        held[0].tolist()


@pytest.mark.parametrize("way", ["raise", "branch", "generator", "interrupt", "late"])
def test_no_cycle_keeps_the_arguments_of_a_capture_that_failed(way: str):
    run, x = gn.compile(ending(lambda _: None, way)), gn.tensor([2.0, 3.0])
    outcome(run, gn.tensor([2.0, 3.0]))  # what is made once, and lasts
    gone, collects = weakref.ref(x), gc.isenabled()
    gc.disable()
    try:
        outcome(run, x)
        del x
        assert gone() is None
    finally:
        if collects:
            gc.enable()


def test_a_first_run_that_fails_is_told_once():
    kept = []

    def look(x, places):
        kept.append(x[places])
        return kept[-1] * 2

    with pytest.raises(IndexError, match="a position is outside its axis") as told:
        gn.compile(look)(gn.ones(3), gn.tensor([7]))
    pending = gn.ones(2) + 1
    weight = gn.ones(2, requires_grad=True)
    weight.sum().backward()
    gn.optim.SGD([weight], 0.5).step()  # computes all that waits
    assert told.value.__traceback__ is not None  # what it holds waits
    assert (pending.tolist(), weight.tolist()) == ([2.0, 2.0], [0.5, 0.5])


def test_ctrl_c_as_a_capture_is_left_leaves_none_under_way():
    def interrupt(frame, event, called):
        is_exit = event == "call" and frame.f_code is Block.__exit__.__code__
        if is_exit and isinstance(frame.f_locals["self"], CaptureRun):
            sys.setprofile(None)
            raise KeyboardInterrupt

    x = gn.arange(3.0)
    doubled = gn.compile(lambda x: x * 2)
    sys.setprofile(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            doubled(x)
    finally:
        sys.setprofile(None)

    assert not is_capturing()
    assert doubled(x).tolist() == [0.0, 2.0, 4.0]
