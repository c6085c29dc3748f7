"""A function that is captured again says what was new about the call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gnomon as gn
from gnomon import nn

SCALE = 2.0


def only_reason(f) -> str:
    """The one reason that a function gives."""
    (told,) = f.why_recompiled()
    assert "test_recompile_reasons.py:" in told
    return told.partition(": ")[2].partition("   [")[0]


CALLS: dict[str, tuple[Callable[[], tuple], Callable[[], tuple]]] = {
    "tensor 0: shape is (4,), was (3,)": (lambda: (gn.ones(3),), lambda: (gn.ones(4),)),
    "tensor 0: dtype is gnomon.float64, was gnomon.float32": (
        lambda: (gn.ones(3),),
        lambda: (gn.ones(3, dtype=gn.float64),),
    ),
    "tensor 0: requires_grad is True, was False; "
    "tensor 0: being a leaf that wants gradients is True, was False": (
        lambda: (gn.ones(3),),
        lambda: (gn.ones(3, requires_grad=True),),
    ),
    "argument[0][1] is 5, was 2": (lambda: (gn.ones(3), 2), lambda: (gn.ones(3), 5)),
    "argument[0][1]: a list of 1, was a list of 2": (
        lambda: (gn.ones(3), [1, 2]),
        lambda: (gn.ones(3), [1]),
    ),
    "argument[0][1] is tensor 1, was None; tensor 1: a new one": (
        lambda: (gn.ones(3), None),
        lambda: (gn.ones(3), gn.ones(3)),
    ),
}
"""Reason -> two calls; tensors are made by the test, not while another one's memory is in place."""


@pytest.mark.parametrize("reason", CALLS)
def test_other_arguments_are_told_apart(reason: str):
    f = gn.compile(lambda x, y=None: x * 2)
    for arguments in CALLS[reason]:
        f(*arguments())

    assert only_reason(f) == reason


def test_the_nearest_program_is_the_one_compared_with():
    f = gn.compile(lambda x, k: x * len(k))
    f(gn.ones(3), "a")
    f(gn.ones(4), "b")
    f(gn.ones(4), "c")

    assert f.why_recompiled()[1].startswith("<lambda>, capture 3: argument[0][1] is 'c', was 'b'  ")


def test_recording_gradients_is_a_difference():
    f = gn.compile(lambda x: x * 2)
    f(gn.ones(3))
    with gn.no_grad():
        f(gn.ones(3))

    assert only_reason(f) == "gradients are not recorded now"


def test_globals_and_closures_are_named(monkeypatch):
    offset = 1.0

    def f(x):
        return x * SCALE + offset

    made = gn.compile(f)
    made(gn.ones(3))
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    made(gn.ones(3))
    offset = 7.0
    made(gn.ones(3))

    first, second = made.why_recompiled()
    assert "global SCALE is 3.0, was 2.0" in first
    assert "closure variable offset is 7.0, was 1.0" in second


def test_modules_and_their_modes_are_named():
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    f = gn.compile(lambda x: model(x))
    f(gn.ones(2, 3))
    model.eval()
    f(gn.ones(2, 3))

    assert only_reason(f) == "module Sequential: training is False, was True"


def test_what_a_capture_took_for_granted_is_named():
    model = nn.Linear(3, 3)
    optimizer = gn.optim.AdamW(model.parameters())

    @gn.compile
    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    step(gn.ones(2, 3))
    step(gn.ones(2, 3))
    captures = step.captures
    optimizer.param_groups[0]["weight_decay"] = 0.0
    step(gn.ones(2, 3))

    assert step.captures > captures
    assert "AdamW: what it took for granted is" in step.why_recompiled()[-1]


def test_a_function_that_fits_has_no_reasons():
    f = gn.compile(lambda x: x + 1)
    f(gn.ones(3))
    f(gn.ones(3))

    assert f.why_recompiled() == []
