"""Calls that PyTorch refuses: without arguments, or with more values than places."""

from __future__ import annotations

import pytest

import gnomon as gn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize(
    "f",
    [
        lambda xp, x: x.flip(),
        lambda xp, x: x.flip(None),
        lambda xp, x: x.clamp(),
        lambda xp, x: x.clamp(None, None),
        lambda xp, x: x.clip(min=None),
        lambda xp, x: x.clamp_(),
        lambda xp, x: xp.clamp(x),
    ],
)
def test_calls_without_arguments_are_refused(f):
    for xp in (torch, gn):
        with pytest.raises((TypeError, RuntimeError)):
            f(xp, xp.ones(2, 3))


def test_calls_with_arguments_are_answered():
    for xp in (torch, gn):
        x = xp.tensor([[0.0, 1.0, 2.0]])
        assert x.flip(()).tolist() == [[0, 1, 2]]
        assert x.flip(1).tolist() == x.flip(dims=(0, 1)).tolist() == [[2, 1, 0]]
        assert x.clamp(max=1).tolist() == xp.clamp(x, None, 1).tolist() == [[0, 1, 1]]
        assert xp.clamp(input=x, max=1).tolist() == [[0, 1, 1]]


@pytest.mark.parametrize("marks", [(2, 3), (2,)])
@pytest.mark.parametrize(
    "shape", [(0,), (1,), (2,), (3,), (2, 3), (1, 3), (0, 3), (3, 3), (0, 1), (1, 1)]
)
def test_values_for_a_mask_that_holds_nowhere_have_its_size(marks, shape):
    told = []
    for xp in (torch, gn):
        x, mask = xp.zeros(2, 3), xp.zeros(marks, dtype=xp.bool)
        try:
            x[mask] = xp.ones(shape)
            told.append(x.tolist())
        except (IndexError, RuntimeError):
            told.append("refused")
    assert told[0] == told[1]


@pytest.mark.parametrize("shape", [(3,), (1, 3), (1, 1, 3), (1,), (2,), (3, 1), (2, 3)])
def test_values_are_given_in_order_to_the_places_of_a_mask(shape):
    told = []
    for xp in (torch, gn):
        x, mask = xp.zeros(2, 3), xp.tensor([[False, True, False], [True, True, False]])
        try:
            x[mask] = xp.ones(shape).cumsum(-1)
            told.append(x.tolist())
        except (IndexError, RuntimeError):
            told.append("refused")
    assert told[0] == told[1]
