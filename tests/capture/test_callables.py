"""Code is followed through methods, partial calls, decorators and files that it loads."""

import functools
import operator
import sys
import types

import pytest

import gnomon as gn


class Box:
    """Holds a value."""

    scale = 1.5

    def at(self):
        return self.scale


def in_turn(function):
    """A decorator of a user's."""

    @functools.wraps(function)
    def run(*given):
        return function(*given)

    return run


BOX, GET, CALL = Box(), operator.attrgetter("scale"), operator.methodcaller("at")
WAYS = {
    "a partial call": functools.partial(lambda box, x: x * box.scale, BOX),
    "a getter": lambda x: x * GET(BOX),
    "a caller": lambda x: x * CALL(BOX),
    "a decorator": in_turn(lambda x: x * BOX.scale),
    "a decorator of ours": gn.no_grad()(lambda x: x * BOX.scale),
    "a default": lambda x, box=BOX: x * box.scale,
    "a method given on": lambda x: x * next(map(BOX.at.__func__, [BOX])),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_value_is_found_behind(way, monkeypatch):
    compiled, x = gn.compile(WAYS[way]), gn.ones(1)
    assert compiled(x).item() == 1.5
    monkeypatch.setattr(BOX, "scale", 2.5, raising=False)
    assert compiled(x).item() == 2.5
    monkeypatch.undo()
    monkeypatch.setattr(Box, "scale", 3.5)
    assert compiled(x).item() == 3.5


def test_a_file_that_is_loaded_inside_is_followed(monkeypatch):
    monkeypatch.setitem(sys.modules, "box_of_a_test", types.SimpleNamespace(scale=1.5))

    @gn.compile
    def scaled(x):
        import box_of_a_test

        return x * box_of_a_test.scale

    assert scaled(gn.ones(1)).item() == 1.5
    monkeypatch.setattr(sys.modules["box_of_a_test"], "scale", 2.5)
    assert scaled(gn.ones(1)).item() == 2.5
