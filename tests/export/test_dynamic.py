"""Sizes that may differ, as dims or as names of axes."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.export.captured import DynamicSize
from gnomon.export.dynamic import Dim, axes_of, names_of, sizes_of

pytestmark = pytest.mark.unit

ARGS = (gn.ones(2, 3), [gn.ones(2), gn.ones(5)])


def function(x, ys, z=None):
    """Takes a tensor, some tensors, and one more."""


def test_dims_by_argument():
    batch = Dim("batch")
    shapes = {"x": {0: batch, 1: Dim.STATIC}, "ys": [(batch,), {0: "n"}], "z": None}
    found = sizes_of(function, ARGS, {"z": gn.ones(1)}, shapes)
    assert found == [DynamicSize("batch", ((0, 0), (1, 0))), DynamicSize("n", ((2, 0),))]
    assert sizes_of(function, ARGS, {}, None) == []
    assert sizes_of(function, ARGS, {}, ((None, "m"), None)) == [DynamicSize("m", ((0, 1),))]


def test_sizes_without_a_name_that_are_equal_are_one():
    shapes = {"x": {0: Dim.AUTO}, "ys": ({0: Dim.DYNAMIC}, {0: Dim.AUTO})}
    found = sizes_of(function, ARGS, {}, shapes)
    assert found == [DynamicSize("s2", ((0, 0), (1, 0))), DynamicSize("s5", ((2, 0),))]


def test_axes_by_name_of_an_input():
    axes = {"a": {0: "batch", -1: "m"}, "b": [0], "result": {0: "batch"}}
    found = axes_of(function, ARGS, {}, axes, ["a", "b"])
    assert found == [
        DynamicSize("batch", ((0, 0),)),
        DynamicSize("m", ((0, 1),)),
        DynamicSize("b_dynamic_axes_0", ((1, 0),)),
    ]
    assert axes_of(function, ARGS, {}, None, []) == []


def test_what_does_not_fit_is_refused():
    for shapes, told in (
        ({"w": {0: "n"}}, "dynamic_shapes names 'w', which is no argument: there are x, ys"),
        ({"x": {2: "n"}}, "dynamic axis 2 of a tensor of shape"),
        ({"x": {0: "n", 1: "n"}}, "the size n is one for all of its axes: the example has 2, 3"),
    ):
        with pytest.raises(ArgumentError, match=told):
            sizes_of(function, ARGS, {}, shapes)
    with pytest.raises(ArgumentError, match="dynamic axis 3 of x"):
        axes_of(function, ARGS, {}, {"x": {3: "n"}}, [])


def test_dims():
    assert repr(Dim("n")) == "Dim('n')"
    assert Dim("n").__name__ == "n"
    with pytest.raises(ArgumentError, match="Dim: a name is an identifier: got '3n'"):
        Dim("3n")
    with pytest.raises(ArgumentError, match="Dim: max is above min: got min=4, max=2 for n"):
        Dim("n", min=4, max=2)


def test_names_of_arguments():
    assert names_of(function, ARGS) == ["x", "ys"]
    assert names_of(lambda *inputs: 0, ARGS) == ["inputs_0", "inputs_1"]
