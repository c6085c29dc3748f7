"""How a closed graph becomes something that runs on buffers."""

from __future__ import annotations

import numpy as np

from gnomon.ir.node import Graph
from gnomon.ops.interpret import interpret_graph
from gnomon.runtime.buffer import Buffer


class Interpreted:
    """A graph run by numpy."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def run(self, inputs: list[Buffer]) -> list[Buffer]:
        """The outputs' values."""
        arrays = [
            buffer.numpy(x.dtype.numpy, x.shape)
            for buffer, x in zip(inputs, self.graph.inputs, strict=True)
        ]
        return [Buffer.of(np.array(y, order="C")) for y in interpret_graph(self.graph, arrays)]


def build(graph: Graph) -> Interpreted:
    """The program of a graph."""
    return Interpreted(graph)
