"""The interpreter: run a graph with numpy, node by node, as the definition of results.

It agrees with compiled code up to rounding; the oracle of exact bits is tests/oracle/graphs.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gnomon.ir.node import PRIMITIVES, Graph, Node, topological
from gnomon.ops.control_primitives import CONTROL, control_values


def interpret(roots: Sequence[Node], feeds: Mapping[Node, np.ndarray]) -> list[np.ndarray]:
    """The values of the roots, given those of inputs."""
    values: dict[Node, np.ndarray] = dict(feeds)
    for node in topological(roots):
        if node not in values:
            values[node] = evaluate(node, [values[x] for x in node.inputs])
    return [values[root] for root in roots]


def interpret_graph(graph: Graph, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a closed graph, given its inputs."""
    return interpret(graph.outputs, dict(zip(graph.inputs, inputs, strict=True)))


def evaluate(node: Node, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """The value of one node, given those of its operands."""
    index: int = node.params.get("index", 0)
    if node.op == "region":
        return interpret_graph(node.params["body"], inputs)[index]
    if node.op in CONTROL:
        value = control_values(node, inputs, interpret_graph)[index]
    else:
        value = np.asarray(PRIMITIVES[node.op].value(node, *inputs))
    assert value.shape == node.shape, f"{node!r}: the interpreter gave shape {value.shape}"
    assert value.dtype == node.dtype.numpy, f"{node!r}: the interpreter gave dtype {value.dtype}"
    return value
