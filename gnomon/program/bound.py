"""Plans and blocks whose sizes are known only when they run, at sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import msgspec

from gnomon.ir.node import Arena, Graph, Node, topological
from gnomon.ir.provenance import inherit
from gnomon.ir.sizes import SymInt, is_symbolic
from gnomon.program.blocks import ProgramBlock
from gnomon.program.kernel import Kernel
from gnomon.runtime.program import Step

__all__ = ["BoundBlock", "LazySteps", "bound", "sizes_in"]

ValueOf = Callable[[SymInt], int]


def bound(x: Any, value_of: ValueOf) -> Any:
    """Data with numbers in place of sizes."""
    if is_symbolic(x):
        return value_of(x)
    if isinstance(x, tuple):
        parts = [bound(part, value_of) for part in x]
        return x._make(parts) if hasattr(x, "_make") else tuple(parts)
    if isinstance(x, msgspec.Struct):
        return type(x)(*[bound(part, value_of) for part in msgspec.structs.astuple(x)])
    if is_dataclass(x) and not isinstance(x, type):
        parts = {f.name: getattr(x, f.name) for f in fields(x)}
        return replace(x, **{name: bound(part, value_of) for name, part in parts.items()})
    return x


def sizes_in(x: Any, found: dict[SymInt, None]) -> None:
    """Note every size in data, each once."""
    if is_symbolic(x):
        found[x] = None
    elif isinstance(x, tuple):
        for part in x:
            sizes_in(part, found)
    elif isinstance(x, msgspec.Struct):
        sizes_in(msgspec.structs.astuple(x), found)
    elif is_dataclass(x) and not isinstance(x, type):
        sizes_in(tuple(getattr(x, f.name) for f in fields(x)), found)


class LazySteps(Sequence[Step]):
    """The steps of a plan at sizes, which are made when somebody looks at them."""

    def __init__(self, steps: tuple[Step, ...], value_of: ValueOf) -> None:
        self._steps, self._value_of, self._made = steps, value_of, False

    def _all(self) -> tuple[Step, ...]:
        if not self._made:
            self._steps, self._made = bound(self._steps, self._value_of), True
        return self._steps

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, k: Any) -> Any:
        return self._all()[k]

    def __iter__(self) -> Iterator[Step]:
        return iter(self._all())


class BoundBlock:
    """Makes a block at sizes of one whose sizes are known only when it runs."""

    def __init__(self, value_of: ValueOf) -> None:
        self._value_of = value_of
        self._arena = Arena()
        self._known: dict[Node, Node] = {}

    def block(self, block: ProgramBlock) -> ProgramBlock:
        """The block, whose parts are kernels."""
        parts = tuple([self.kernel(k) for k in block.kernels()])
        graph, panels = self.graph(block.graph), tuple(map(self.node, block.panels))
        return replace(block, graph=graph, parts=parts, panels=panels)

    def kernel(self, kernel: Kernel) -> Kernel:
        """A kernel."""
        return replace(
            bound(replace(kernel, buffers=(), nodes=(), homes=(), after=()), self._value_of),
            buffers=tuple(map(self.node, kernel.buffers)),
            nodes=tuple(map(self.node, kernel.nodes)),
            homes=tuple((self.node(x), bound(at, self._value_of)) for x, at in kernel.homes),
            after=tuple(map(self.node, kernel.after)),
            members=tuple(map(self.kernel, kernel.members)),
        )

    def graph(self, graph: Graph) -> Graph:
        """A graph."""
        return Graph(list(map(self.node, graph.inputs)), list(map(self.node, graph.outputs)))

    def node(self, node: Node) -> Node:
        """A node, and all behind it."""
        for x in topological([node], self._known):
            with inherit(x.sites):
                params = {name: self._param(part) for name, part in x.params.items()}
                inputs = tuple([self._known[y] for y in x.inputs])
                self._known[x] = self._arena.node(x.op, inputs, **params)
        return self._known[node]

    def _param(self, x: Any) -> Any:
        if isinstance(x, Graph):
            return BoundBlock(self._value_of).graph(x)
        if hasattr(x, "kwargs"):
            return type(x)(self._param(x.args), self._param(x.kwargs))
        if isinstance(x, tuple):
            parts = [self._param(part) for part in x]
            return x._make(parts) if hasattr(x, "_make") else tuple(parts)
        return bound(x, self._value_of)
