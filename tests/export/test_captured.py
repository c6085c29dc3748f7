"""Graphs of functions: arguments, state, results, and what is refused."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, TraceError
from gnomon.export.captured import DynamicSize, captured_graph, resized, samples

pytestmark = pytest.mark.unit


def test_arguments_state_and_results():
    layer = gn.nn.Linear(2, 3)
    found = captured_graph(layer, (gn.ones(1, 2),), {})
    assert [(x.name, x.sizes) for x in found.arguments] == [("input", (1, 2))]
    assert [x.name for x in found.state] == ["weight", "bias"]
    assert found.state[0].tensor.tolist() == layer.weight.tolist()
    assert [x.shape for x in found.results] == [(1, 3)]
    assert found.env is None


def test_results_in_the_order_of_their_tree():
    x = gn.arange(4.0)
    found = captured_graph(lambda x: {"b": x.sort(0), "a": x.sum(), "x": x}, (x,), {})
    assert [(r.shape, r.dtype) for r in found.results] == [
        ((4,), gn.float32),
        ((4,), gn.int64),
        ((), gn.float32),
        ((4,), gn.float32),
    ]


def test_views_of_one_memory_are_results_of_their_own():
    found = captured_graph(lambda x: (x[:2], x.T, x), (gn.ones(3, 2),), {})
    assert [x.shape for x in found.results] == [(2, 2), (2, 3), (3, 2)]


def test_nothing_is_left_behind():
    layer = gn.nn.BatchNorm1d(2).eval()
    before = layer.state_dict()["running_mean"].tolist()
    captured_graph(layer, (gn.ones(3, 2),), {}, [DynamicSize("n", ((0, 0),))])
    assert layer.state_dict()["running_mean"].tolist() == before
    assert all(x.grad is None for x in layer.parameters())


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x: gn.rand(2) + x, "draws random numbers"),
        (lambda x: x.add_(1), "writes to a tensor"),
        (lambda x: 3, "computes nothing of tensors"),
    ],
)
def test_what_is_more_than_results_is_refused(function, told):
    with pytest.raises(TraceError, match=f"export: <lambda> {told}"):
        captured_graph(function, (gn.ones(2),), {})


def test_values_that_python_reads_are_refused():
    with pytest.raises(TraceError):
        captured_graph(lambda x: x * 2 if x.sum() > 0 else x, (gn.ones(2),), {})


def test_samples_are_unlike_all_other_sizes():
    given = [gn.ones(3, 4), gn.ones(4, 1)]
    sizes = [DynamicSize("n", ((0, 0),)), DynamicSize("m", ((1, 1),))]
    found = [[tuple(x.shape) for x in sample] for sample in samples(given, sizes, 1)]
    assert found == [[(3, 4), (4, 2)], [(5, 4), (4, 6)]]
    below = [[tuple(x.shape) for x in y] for y in samples([gn.ones(9)], sizes[:1], -1)]
    assert below == [[(8,)], [(7,)]]
    with pytest.raises(ArgumentError, match="no smaller size n than 2"):
        samples([gn.ones(2)], sizes[:1], -1)


def test_elements_come_again_in_larger_samples():
    assert resized(gn.tensor([1, 2]), (5,)).tolist() == [1, 2, 1, 2, 1]
    assert resized(gn.zeros(0, 2), (0, 3)).shape == (0, 3)


def test_sizes_are_symbols_by_name():
    found = captured_graph(
        lambda x, y: x @ y, (gn.ones(3, 4), gn.ones(4, 5)), {}, [DynamicSize("n", ((0, 0),))]
    )
    assert found.symbols == ("n",)
    assert [x.sizes for x in found.arguments] == [("n", 4), (4, 5)]
