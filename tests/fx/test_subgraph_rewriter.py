"""Patterns are replaced where they stand, and nowhere else."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import fx, nn
from gnomon.errors import TraceError


def test_patterns_that_follow_each_other_are_all_replaced():
    traced = fx.symbolic_trace(lambda x, w: gn.relu(gn.relu(x + w) + w))
    pattern, replacement = (lambda a, b: gn.relu(a + b)), (lambda a, b: gn.sigmoid(a * b))

    found = fx.replace_pattern(traced, pattern, replacement)

    assert len(found) == 2
    x, w = gn.ones(2), gn.full((2,), 2.0)
    assert traced(x, w).tolist() == gn.sigmoid(gn.sigmoid(x * w) * w).tolist()
    traced.graph.lint()


def test_a_pattern_whose_insides_are_read_stays():
    def both(x: gn.Tensor) -> tuple:
        y = x + 1
        return gn.relu(y), y

    traced = fx.symbolic_trace(both)

    assert fx.replace_pattern(traced, lambda x: gn.relu(x + 1), lambda x: x) == []
    assert traced(gn.ones(1))[0].tolist() == [2.0]


def test_constants_and_names_of_arguments_must_agree():
    traced = fx.symbolic_trace(lambda x: gn.sum(x + 1, dim=0) + gn.sum(x + 2, dim=1))

    assert len(fx.replace_pattern(traced, lambda x: gn.sum(x, dim=1), lambda x: x[:, 0])) == 1
    assert traced(gn.zeros(2, 2)).tolist() == [4.0, 4.0]


def test_an_argument_that_comes_twice_is_one_value():
    traced = fx.symbolic_trace(lambda x, y: (x + x, x + y))

    assert len(fx.replace_pattern(traced, lambda x: x + x, lambda x: x * 2)) == 1
    assert [node.name for node in traced.graph.nodes] == ["x", "y", "mul", "add_1", "output"]


def test_what_a_replacement_reads_comes_with_it():
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(gn.full((1,), 4.0))

        def forward(self, x: gn.Tensor) -> gn.Tensor:
            return x * self.scale

    traced = fx.symbolic_trace(lambda x: gn.relu(x))

    fx.replace_pattern(traced, lambda x: gn.relu(x), fx.symbolic_trace(Scaled()))
    assert traced(gn.ones(1)).tolist() == [4.0]
    assert [*traced.state_dict()] == ["scale"]


def test_a_pattern_of_two_results_is_refused():
    traced = fx.symbolic_trace(lambda x: gn.relu(x))

    with pytest.raises(
        TraceError, match="replace_pattern: expected a pattern of one result: got 2"
    ):
        fx.replace_pattern(traced, lambda x: (x + 1, x + 2), lambda x: x)
