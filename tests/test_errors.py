"""The tree of errors is the one that its file draws, and each is also Python's own kind."""

from __future__ import annotations

import builtins
import re

import pytest

from gnomon import errors

pytestmark = pytest.mark.unit


def test_the_drawn_tree_is_the_tree():
    drawn = dict(re.findall(r"── (\w+) .*\((\w+)\)", errors.__doc__))

    assert sorted([*drawn, "GnomonError"]) == errors.__all__
    for name, also in drawn.items():
        assert issubclass(getattr(errors, name), errors.GnomonError)
        assert issubclass(getattr(errors, name), getattr(builtins, also))


def test_one_class_catches_everything_that_gnomon_raises():
    with pytest.raises(errors.GnomonError, match="inner sizes differ"):
        raise errors.ShapeError("matmul: inner sizes differ")
