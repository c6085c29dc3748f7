"""Graphs as they are: a kernel for each node, on a backend that computes nodes."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.compiler import target
from gnomon.compiler.build import compile_graph
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.registry import OPS
from gnomon.program.interpreted import node_by_node
from gnomon.runtime.backend import HOST, REFERENCE
from gnomon.runtime.buffer import DeviceBuffer
from tests.ops.samples import SAMPLES
from tests.ops.test_every_op import Called

FAMILIES = {OPS[name].__module__: name for name in sorted(SAMPLES, reverse=True) if name in OPS}
"""A module of operations -> the first of them."""


def run(graph: Graph, arrays: list[np.ndarray], backend=REFERENCE) -> list[np.ndarray]:
    """The outputs of a graph on a backend."""
    made = compile_graph(graph, target.context(backend.name))
    given = [DeviceBuffer.of(np.ascontiguousarray(x), backend.memory) for x in arrays]
    pairs = zip(made.run(given), graph.outputs, strict=True)
    assert not [b for b, x in pairs if b.memory is not backend.memory]
    return [b.array(x) for b, x in zip(made.run(given), graph.outputs, strict=True)]


def test_each_node_is_a_kernel_whose_text_is_its_graph():
    arena = Arena()
    x = arena.input((2, 3), float32)
    y = OPS["softmax"](x * x, 1)

    block = node_by_node(Graph((x,), (y,)))

    assert [k.name for k in block.kernels()] == ["map", "softmax"]
    assert [len(k.code.text.inputs) for k in block.kernels()] == [2, 1]


def test_a_result_that_comes_twice_and_an_input_that_is_one():
    arena = Arena()
    x = arena.input((3,), float32)
    y = x + 1.0

    found = run(Graph((x,), (y, x, y)), [np.arange(3, dtype=np.float32)])

    assert [a.tolist() for a in found] == [[1, 2, 3], [0, 1, 2], [1, 2, 3]]


@pytest.mark.parametrize("name", sorted(FAMILIES.values()))
def test_an_operation_of_each_family_is_what_machine_code_says(name, rng):
    called = Called(name, SAMPLES[name][0])
    slopes = called.slopes(rng)[1] if called.sample.gradient else []
    graph = Graph(list(called.feeds), [*called.results, *(x for x in slopes if x is not None)])
    arrays = list(called.feeds.values())

    for a, b in zip(run(graph, arrays), run(graph, arrays, HOST), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
