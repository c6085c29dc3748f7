"""The tree of errors is the one that its file draws, and each is also Python's own kind."""

from __future__ import annotations

import builtins
import re

import pytest

import gnomon as gn
from gnomon import errors

pytestmark = pytest.mark.unit


def test_the_drawn_tree_is_the_tree():
    drawn = dict(re.findall(r"── (\w+) .*\(([\w, ]+)\)", errors.__doc__))

    assert sorted([*drawn, "GnomonError"]) == errors.__all__
    for name, also in drawn.items():
        assert issubclass(getattr(errors, name), errors.GnomonError)
        for kind in also.split(", "):
            base = getattr(errors, kind, None) or getattr(builtins, kind)
            assert issubclass(getattr(errors, name), base)


@pytest.mark.parametrize("kind", [errors.ShapeError, errors.ArgumentError])
def test_scripts_catch_what_pytorch_raises_of_wrong_sizes_and_arguments(kind):
    for caught in (ValueError, RuntimeError):
        with pytest.raises(caught):
            raise kind("matmul: inner sizes differ")


def test_one_class_catches_everything_that_gnomon_raises():
    with pytest.raises(errors.GnomonError, match="inner sizes differ"):
        raise errors.ShapeError("matmul: inner sizes differ")


def test_an_axis_that_is_not_there_is_an_index_error():
    for caught in (IndexError, RuntimeError, errors.ArgumentError):
        with pytest.raises(caught, match="flip: no axis 2 in a tensor of 2 axes"):
            gn.ones(2, 3).flip(0, 2)


def test_turning_needs_as_many_axes_as_it_says():
    with pytest.raises(errors.ShapeError, match="flipud: needs at least 1"):
        gn.flipud(gn.tensor(1))
    with pytest.raises(errors.ShapeError, match="fliplr: needs at least 2"):
        gn.fliplr(gn.ones(3))
