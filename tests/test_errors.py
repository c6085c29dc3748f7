"""The tree of errors is the one that its file draws, and each is also Python's own kind."""

from __future__ import annotations

import builtins
import re

import pytest

from gnomon import errors

pytestmark = pytest.mark.unit


def test_the_drawn_tree_is_the_tree():
    drawn = dict(re.findall(r"── (\w+) .*\(([\w, ]+)\)", errors.__doc__))

    assert sorted([*drawn, "GnomonError"]) == errors.__all__
    for name, also in drawn.items():
        assert issubclass(getattr(errors, name), errors.GnomonError)
        for kind in also.split(", "):
            assert issubclass(getattr(errors, name), getattr(builtins, kind))


@pytest.mark.parametrize("kind", [errors.ShapeError, errors.ArgumentError])
def test_scripts_catch_what_pytorch_raises_of_wrong_sizes_and_arguments(kind):
    for caught in (ValueError, RuntimeError):
        with pytest.raises(caught):
            raise kind("matmul: inner sizes differ")


def test_one_class_catches_everything_that_gnomon_raises():
    with pytest.raises(errors.GnomonError, match="inner sizes differ"):
        raise errors.ShapeError("matmul: inner sizes differ")
