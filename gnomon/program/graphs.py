"""Graphs as plain data and back: rows of operations, places, parameters and user lines.

A graph inside a node is a row before the one that needs it, and stands there once. What is read
back is built by the primitives' own inference, so that no row makes what no program could.
"""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import DType, dtype_of
from gnomon.errors import TraceError
from gnomon.ir.node import PRIMITIVES, Arena, Graph, Node, Sites
from gnomon.ir.provenance import Site, inherit
from gnomon.ops.op_calls import Leaf, OpCall

__all__ = ["GraphReader", "GraphWriter"]

PLAIN = (type(None), bool, int, float, str)


class GraphWriter:
    """Encoder of graphs as numbered rows, with the source lines that they name."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.sites: dict[Site, int] = {}
        self._numbers: dict[int, tuple[int, Graph]] = {}

    def number(self, graph: Graph) -> int:
        """The number of a graph, which is encoded on first use."""
        if id(graph) not in self._numbers:
            row = self._row(graph)
            self._numbers[id(graph)] = len(self.rows), graph
            self.rows.append(row)
        return self._numbers[id(graph)][0]

    def _row(self, graph: Graph) -> list[Any]:
        """A graph's row: leaves, other nodes in order, outputs."""
        leaves = [[list(x.shape), x.dtype.name, self._lines(x.sites)] for x in graph.inputs]
        places = {x: k for k, x in enumerate(graph.inputs)}
        nodes = []
        for node in graph.nodes:
            if node not in places:
                places[node] = len(places)
                nodes.append(self._node(node, places))
        return [leaves, nodes, [places[x] for x in graph.outputs]]

    def _node(self, node: Node, places: dict[Node, int]) -> list[Any]:
        """A node's row: operands by position, and parameters."""
        params = {name: self._value(x, node) for name, x in node.params.items() if name != "serial"}
        params |= {"serial": node.serial} if "serial" in node.params else {}
        return [node.op, [places[x] for x in node.inputs], params, self._lines(node.sites)]

    def _lines(self, sites: Sites) -> list[int]:
        """The numbers of source lines."""
        return [self.sites.setdefault(site, len(self.sites)) for site in sites]

    def _value(self, x: Any, node: Node) -> Any:
        """An encoded parameter."""
        kind = type(x)
        if kind in PLAIN:
            return x
        if kind is tuple:
            return ["", *[self._value(part, node) for part in x]]
        if kind is Graph:
            return ["Graph", self.number(x)]
        if kind is DType:
            return ["DType", x.name]
        if kind is Leaf:
            return ["Leaf", x.number]
        if kind is OpCall:
            return ["OpCall", self._value(x.args, node), self._value(x.kwargs, node)]
        raise TraceError(
            f"precompile: {node.params.get('name', node.op)} has a {kind.__name__}, which no file "
            f"can hold. Compute it of tensors and numbers.   [{', '.join(map(str, node.sites))}]"
        )


class GraphReader:
    """Decoder of graphs; invalid rows raise various exceptions of Python."""

    def __init__(self, rows: list[Any], sites: list[Any]) -> None:
        self.sites = [Site(*map(str, x[:1]), int(x[1]), *map(str, x[2:])) for x in sites]
        self.graphs: list[Graph] = []
        for row in rows:
            self.graphs.append(self._graph(*row))

    def _graph(self, leaves: list[Any], rows: list[Any], outputs: list[int]) -> Graph:
        """A decoded graph, in an arena of its own."""
        arena, nodes = Arena(), []
        for shape, dtype, lines in leaves:
            with inherit(self._lines(lines)):
                nodes.append(arena.input(tuple(map(natural, shape)), dtype_of(dtype)))
        inputs = tuple(nodes)
        for op, places, params, lines in rows:
            if op not in PRIMITIVES or op == "input":
                raise ValueError(f"no operation {op!r}")
            read = tuple([nodes[natural(k)] for k in places])
            with inherit(self._lines(lines)):
                values = {name: self._value(x) for name, x in params.items()}
                nodes.append(arena.node(op, read, **values))
            if any(type(n) is not int for n in nodes[-1].shape):
                raise ValueError(f"{op} has no sizes")
        return Graph(inputs, [nodes[natural(k)] for k in outputs])

    def _lines(self, numbers: list[int]) -> Sites:
        """The source lines of numbers."""
        return tuple([self.sites[natural(k)] for k in numbers])

    def _value(self, x: Any) -> Any:
        """A decoded parameter."""
        if not isinstance(x, list):
            return x
        kind, *parts = x
        if kind == "Graph":
            return self.graphs[natural(parts[0])]
        if kind == "DType":
            return dtype_of(parts[0])
        found = tuple([self._value(part) for part in parts])
        return {"": tuple, "Leaf": Leaf._make, "OpCall": lambda x: OpCall(*x)}[kind](found)


def natural(x: object) -> int:
    """A non-negative integer from a file; raises for anything else."""
    if type(x) is not int or not 0 <= x < 1 << 58:
        raise ValueError(f"{x!r} is no place")
    return x
