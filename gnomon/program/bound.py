"""Plans and blocks whose sizes are known only when they run, at sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gnomon.ir.node import Arena, Graph, Node, topological
from gnomon.ir.provenance import inherit
from gnomon.ir.sizes import SymInt
from gnomon.ir.substitution import Rules, of_symbols, substituted
from gnomon.program.blocks import ProgramBlock
from gnomon.runtime.program import Step

__all__ = ["BoundBlock", "LazySteps"]

ValueOf = Callable[[SymInt], int]


class LazySteps(Sequence[Step]):
    """The steps of a plan at sizes, computed when they are first read."""

    def __init__(self, steps: tuple[Step, ...], value_of: ValueOf) -> None:
        self._steps, self._value_of, self._made = steps, value_of, False

    def _all(self) -> tuple[Step, ...]:
        if not self._made:
            self._steps, self._made = substituted(self._steps, of_symbols(self._value_of)), True
        return self._steps

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, k: Any) -> Any:
        return self._all()[k]

    def __iter__(self) -> Iterator[Step]:
        return iter(self._all())


class BoundBlock:
    """Writer of a block at given sizes from one with symbolic sizes."""

    def __init__(self, value_of: ValueOf) -> None:
        self._arena = Arena()
        self._known: dict[Node, Node] = {}
        symbols = of_symbols(value_of)
        self._rules: Rules = {**symbols, Node: self.node}
        self._inside: Rules = {**symbols, Graph: lambda x: BoundBlock(value_of).graph(x)}

    def block(self, block: ProgramBlock) -> ProgramBlock:
        """A program block with only kernels, with sizes bound to numbers."""
        parts = substituted(tuple(block.kernels()), self._rules)
        graph, panels = self.graph(block.graph), substituted(block.panels, self._rules)
        return replace(block, graph=graph, parts=parts, panels=panels)

    def graph(self, graph: Graph) -> Graph:
        """A graph with sizes bound to numbers."""
        return Graph(list(map(self.node, graph.inputs)), list(map(self.node, graph.outputs)))

    def node(self, node: Node) -> Node:
        """A node with sizes bound to numbers, and its history."""
        for x in topological([node], self._known):
            with inherit(x.sites):
                inputs = tuple([self._known[y] for y in x.inputs])
                params = substituted(x.params, self._inside)
                self._known[x] = self._arena.node(x.op, inputs, **params)
        return self._known[node]
