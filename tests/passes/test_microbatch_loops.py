"""Loops over microbatches: no larger for more of them, as many as there are phases, and kernels."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.control_primitives import executed
from gnomon.ops.primitives import reduce
from gnomon.passes.accumulate import accumulate
from tests.compiled import program
from tests.distributed.rank_programs import compiled
from tests.gradients import gradients
from tests.graphs import seed_of

pytestmark = pytest.mark.unit


def two_phases() -> Graph:
    """Rows less their mean, squared and summed, and the mean's own gradient through all."""
    arena = Arena()
    x, w = arena.input((32, 3), float32, "x"), arena.input((3,), float32, "w")
    y = x * w
    away = y - reduce("add", y, (0,)) / 32.0
    loss = reduce("add", away * away * away, (0, 1))
    return Graph([x, w], [loss, *gradients(loss, seed_of(loss), [w])])


@pytest.mark.parametrize("microbatches", [2, 4, 8])
def test_what_all_microbatches_give_is_there_before_a_later_loop(microbatches):
    graph = two_phases()
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-3, 4, x.shape).astype(np.float32) for x in graph.inputs]

    looped = accumulate(graph, [0, None], microbatches)

    assert len({x.params["body"] for x in looped if x.op == "fold_over"}) > 1
    for got, expected in zip(compiled(looped, arrays), compiled(graph, arrays), strict=True):
        assert got.tobytes() == expected.tobytes()


def test_a_program_grows_by_one_loop_when_microbatches_double():
    graph = two_phases()
    sizes = [sum(1 for _ in executed(accumulate(graph, [0, None], n))) for n in (4, 8, 16)]

    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] < 60


def test_kernels_and_codes_do_not_grow_with_microbatches():
    graph = two_phases()
    built = [program(accumulate(graph, [0, None], n)) for n in (4, 8)]

    kernels, codes = zip(
        *((len(p.kernels), len({k.code.symbol for k in p.kernels})) for p in built), strict=True
    )

    assert codes[1] <= codes[0]
    assert kernels[1] - kernels[0] <= 4


def test_values_of_a_later_loop_are_not_computed_in_an_earlier_one():
    graph = two_phases()

    looped = accumulate(graph, [0, None], 2)

    products = [times for x, times in executed(looped) if x.op == "map" and x.params["f"] == "mul"]
    assert sum(products) == 2 * len([x for x in graph if x.params.get("f") == "mul"])
