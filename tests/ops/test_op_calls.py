"""Keys of calls, and calls that are built like an earlier one of their kind."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.dtypes import dtype_of, float32
from gnomon.errors import CompileError
from gnomon.ir import memo
from gnomon.ir.node import Arena, Graph
from gnomon.ops import every  # noqa: F401 - fills the registry
from gnomon.ops.op_calls import plain_call, repeated
from gnomon.ops.registry import OPS
from gnomon.testing import witness
from tests.ops.samples import SAMPLES, Sample

CALLS = [(op.__name__, x) for op in dict.fromkeys(OPS.values()) for x in SAMPLES[op.__name__]]


def node(*shape: int):
    return Arena().input(shape, float32)


def test_a_key_tells_types_signs_places_and_shapes_apart():
    calls = [((node(2), value), {}) for value in (1, True, 1.0, 0.0, -0.0, "1", None, (1,), "axis")]
    calls += [((node(2),), {}), ((node(3),), {}), ((node(2), node(2)), {})]
    calls += [(([node(2), node(2)],), {}), (([node(2)], node(2)), {}), (([[node(2)]], node(2)), {})]
    calls += [((node(2), (True,)), {}), ((node(2), ()), {}), ((node(2), ((), 1)), {})]
    calls += [((node(2),), {"axis": value}) for value in (1, True, 1.0, (1,))]
    calls += [((node(2),), {"dim": 1}), ((1, node(2)), {})]
    keys = [plain_call(*call)[0] for call in calls]

    assert None not in keys
    assert len(set(keys)) == len(calls)
    assert plain_call((node(2), 1), {})[0] == plain_call((node(2), 1), {})[0]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((node(2), np.float32(1)), {}),
        ((node(2), [1, {}]), {}),
        ((node(2),), {"weight": node(2)}),
        ((node(2),), {"axis": slice(1)}),
    ],
)
def test_a_call_with_other_arguments_has_no_key(args, kwargs):
    assert plain_call(args, kwargs)[0] is None


def graph_in(arena: Arena, name: str, sample: Sample) -> Graph:
    """The graph of a call on fresh leaves of an arena."""
    leaves = []

    def given(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            leaves.append(arena.input(value.shape, dtype_of(value.dtype)))
            return leaves[-1]
        return type(value)(map(given, value)) if isinstance(value, list | tuple) else value

    args = [given(x) for x in sample.args]
    made = OPS[name](*args, **{word: given(x) for word, x in sample.kwargs.items()})
    return Graph(leaves, made if isinstance(made, tuple) else (made,))


@pytest.mark.parametrize(
    ("name", "sample"), CALLS, ids=[f"{name}-{k}" for k, (name, _) in enumerate(CALLS)]
)
def test_a_call_like_an_earlier_one_gives_the_graph_of_the_first(name, sample):
    first = graph_in(Arena(), name, sample)

    for _ in range(2):
        assert graph_in(Arena(shared=True), name, sample).key == first.key


def test_a_node_that_is_built_like_another_has_its_own_line_and_value():
    x, y = gn.tensor([1.0, 2.0]), gn.tensor([3.0, 5.0])
    first = x * y + 1
    again = y * y + 1

    assert first._storage.node.sites != again._storage.node.sites
    assert witness(again) == witness(gn.tensor([10.0, 26.0]))
    assert (x * 0.0).tolist() == [0, 0]
    assert str((x * -0.0).tolist()) == "[-0.0, -0.0]"
    assert (x // 2).dtype is (x // 2.0).dtype is gn.float32
    assert (gn.arange(2) * 2).dtype is gn.int64
    assert (gn.arange(2) * 2.0).dtype is gn.float32
    assert (gn.ones(2) + gn.ones(2)).tolist() == [2, 2]


OPERATORS = "add sub mul truediv floordiv mod pow lt le gt ge eq ne and_ or_ xor lshift rshift"
NUMBERS = (2, 0, 0.5, -0.0, True)


def results_of(name: str, x: gn.Tensor, number: float) -> list[str]:
    """The results of an operator with a number on either side, or the errors."""
    made = []
    for pair in ((x, number), (number, x), (x, x)):
        try:
            found = getattr(operator, name)(*pair)
            made.append(f"{found.dtype} {found.tolist()}")
        except (TypeError, ValueError, CompileError) as error:
            made.append(type(error).__name__)
    return made


@pytest.mark.parametrize("name", OPERATORS.split())
def test_an_operator_gives_what_it_gave_before_any_other_call(name):
    kinds = [(3.0, gn.float32), (3, gn.int64), (True, gn.bool)]
    for (value, dtype), number in itertools.product(kinds, NUMBERS):
        memo.clear()
        fresh = results_of(name, gn.tensor(value, dtype=dtype), number)
        memo.clear()
        for before in (gn.full((), 7, dtype=dtype), gn.ones((), dtype=dtype)):
            results_of(name, before, number)  # constants, whose values are in the graph
            results_of(name, before * before, number)
        assert results_of(name, gn.tensor(value, dtype=dtype), number) == fresh
        constant = gn.full((), value, dtype=dtype)
        assert results_of(name, constant, number) == fresh


def test_what_a_function_made_is_repeated_for_operands_of_the_same_kinds():
    asked = []

    def squares(x, y):
        asked.append((x.shape, y.shape))
        return [x * x + 0.5, None, y]

    for arena, times in ((Arena(shared=True), 2), (Arena(), 4)):
        asked.clear()
        x, y, z = (arena.input(shape, float32) for shape in ((2, 3), (2, 3), (4, 3)))
        for given in ((x, y), (y, x), (x, x), (x, z)):
            made = repeated((squares,), given, squares)
            assert list(made) == [given[0] * given[0] + 0.5, None, given[1]]
        assert len(asked) == times
