"""export: sizes that may differ, and modules that are no graph of functions."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DtypeError, TraceError
from gnomon.export import Dim, export


class Called(gn.nn.Module):
    """A module whose forward is a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def test_numbers_follow_the_sizes_that_may_differ():
    def function(x):
        b, t, c = x.shape
        mask = gn.ones(t, t).tril().view(1, t, t)
        halves = x.view(b * t, 2, c // 2).sum(1).reshape(b, t, c // 2)
        return (halves @ halves.mT * mask)[:, : t - 1], gn.arange(t + 2)

    example = gn.ones(2, 3, 4)
    shapes = ({0: Dim("b"), 1: Dim("t", max=20)},)
    made = export(Called(function), (example,), dynamic_shapes=shapes).module()

    for b, t in ((2, 3), (1, 9), (7, 2)):
        x = gn.linspace(0, 1, b * t * 4).reshape(b, t, 4)
        for ours, theirs in zip(made(x), function(x), strict=True):
            assert ours.tolist() == theirs.tolist()


def test_sizes_below_the_example_are_tried_where_more_is_too_much():
    table = gn.nn.Embedding(8, 2)

    class Positions(gn.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = table

        def forward(self, x):
            return x + self.table.weight[: x.shape[0]]

    made = export(Positions(), (gn.ones(8, 2),), dynamic_shapes=({0: Dim("t")},)).module()

    assert made(gn.ones(3, 2)).shape == (3, 2)


def test_random_numbers_are_drawn_in_each_call():
    made = export(Called(lambda x: gn.nn.functional.dropout(x, 0.5)), (gn.ones(64),)).module()
    first, second = made(gn.ones(64)), made(gn.ones(64))

    assert first.tolist() != second.tolist()


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: x * x.shape[0] ** 0.5, r"gives mul .* when n is another size"),
        (lambda x: x * 2 if x.shape[0] % 2 else x, "calls other functions"),
        (lambda x: x + gn.from_numpy(__import__("numpy").ones(x.shape[0])), "of sizes alone"),
    ],
)
def test_what_is_not_one_graph_for_all_sizes_is_refused(function, error):
    with pytest.raises(TraceError, match=error):
        export(Called(function), (gn.ones(5),), dynamic_shapes=({0: Dim("n")},))


def test_what_is_computed_past_functions_of_tensors_is_refused():
    def function(x):
        with gn.overrides.DisableTorchFunctionSubclass():
            return gn.zeros(3) + x

    with pytest.raises(TraceError, match="no call of a function of tensors"):
        export(Called(function), (gn.ones(3),))


def test_what_is_no_module_or_no_tuple_is_refused():
    with pytest.raises(ArgumentError, match=r"instance of nn\.Module"):
        export(lambda x: x, (gn.ones(3),))
    with pytest.raises(DtypeError, match="args to be a tuple"):
        export(Called(gn.relu), gn.ones(3))
    with pytest.raises(ArgumentError, match="too few sizes to try"):
        export(Called(gn.relu), (gn.ones(3),), dynamic_shapes=({0: Dim("n", min=2, max=4)},))
