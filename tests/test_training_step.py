"""An MLP and a transformer block, forward and backward: near float64, and to the bit.

The bound is stated per tensor, in parts of its largest element; 2^-23 is one ulp of float32.
"""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from gnomon.codegen.machine import AVX2, AVX512, NEON, Machine
from gnomon.compiler import target
from gnomon.dtypes import float64
from gnomon.ir.node import Graph
from gnomon.ops.interpret import interpret_graph
from gnomon.passes.inline import inline
from gnomon.settings import OPTIMISATIONS
from tests.blocks import Shapes, block, block_shapes, inputs_of, mlp, mlp_shapes, step
from tests.claimed import CLAIMED
from tests.compiled import execute, program, run, threads
from tests.oracle.graphs import exact
from tests.strategies import same_bits

BOUND = 16 * 2.0**-23
CASES = {
    "mlp": (mlp, mlp_shapes(48, 130, 96)),
    "block": (block(heads=3), block_shapes(2, 33, 48, 70)),
    "block of leaves": (block(heads=4), block_shapes(2, 256, 256, 256)),
}
SMALL = {
    "mlp": (mlp, mlp_shapes(12, 33, 20)),
    "mlp of leaves": (mlp, mlp_shapes(12, 256, 512)),
    "block": (block(heads=3), block_shapes(2, 9, 12, 20)),
}


def made(case: tuple) -> tuple[Graph, list[np.ndarray], Shapes]:
    """A case's graph and inputs."""
    f, shapes = case
    return step(f, shapes), inputs_of(shapes), shapes


@pytest.mark.parametrize("name", CASES)
def test_float32_stays_within_its_bound_of_float64(name: str):
    f, shapes = CASES[name]
    arrays = inputs_of(shapes)

    found = run(step(f, shapes), arrays)

    double = inline(step(f, shapes, float64), lambda region: False)
    expected = interpret_graph(double, [x.astype(np.float64) for x in arrays])
    for label, a, b in zip(("loss", *shapes), found, expected, strict=True):
        error = np.abs(a - b).max() / np.abs(b).max()
        assert error <= BOUND, f"gradient of {label}: {error:.1e}"


@pytest.mark.parametrize("without", ["", *OPTIMISATIONS, ",".join(OPTIMISATIONS)])
@pytest.mark.parametrize("name", SMALL)
def test_the_bits_are_those_of_the_oracle(name: str, without: str):
    graph, arrays, shapes = made(SMALL[name])

    found = run(graph, arrays, without=without)

    expected = exact(graph, arrays, None if "claim" in without else CLAIMED)
    for label, a, b in zip(("loss", *shapes), found, expected, strict=True):
        assert same_bits(a, b), f"gradient of {label}"


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda x: x.name)
@pytest.mark.parametrize("name", SMALL)
def test_the_tiles_of_any_processor_give_these_bits(name: str, machine: Machine):
    graph, arrays, _ = made(SMALL[name])

    with patch.object(target, "machine_of", lambda _: machine):
        found = run(graph, arrays)

    assert all(map(same_bits, found, exact(graph, arrays, CLAIMED)))


@pytest.mark.parametrize("without", ["", "claim"])
@pytest.mark.parametrize("name", CASES)
def test_the_bits_do_not_depend_on_threads(name: str, without: str):
    graph, arrays, _ = made(CASES[name])
    executable, found = program(graph, without=without), []

    for count in (1, 2, 3):
        with threads(count):
            found.append(execute(executable, graph, arrays))

    for other in found[1:]:
        assert all(map(same_bits, found[0], other))


@pytest.mark.parametrize("name", CASES)
def test_two_runs_give_the_same_bits(name: str):
    graph, arrays, _ = made(CASES[name])
    executable = program(graph)

    first, second = (execute(executable, graph, arrays) for _ in range(2))

    assert all(map(same_bits, first, second))
