"""A stretch of a program: a graph and what computes it, kernels, choices and loops.

A branch of a choice and an iteration of a loop are blocks inside the block of the program. Where
values lie and how blocks become one table is in gnomon/program/buffer_assignment.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import elementwise
from gnomon.ir.provenance import inherit
from gnomon.ops.control_primitives import graphs_of
from gnomon.passes.calls import leaves_like, shared
from gnomon.program.kernel import Kernel
from gnomon.program.reductions import BoundedRun
from gnomon.schedule.clustering import operand_bases
from gnomon.schedule.fusion import Fusion
from gnomon.schedule.notes import Notes

__all__ = ["ControlCall", "ProgramBlock", "control", "separate_outputs"]

Build = Callable[[Graph], "ProgramBlock"]
"""A graph through the passes, as a block whose outputs are buffers of their own."""


@dataclass(frozen=True, eq=False)
class ProgramBlock:
    """A graph after all passes, and its kernels and control calls in running order."""

    graph: Graph
    parts: tuple[Kernel | ControlCall, ...]
    notes: Notes | None = None
    """The decisions about nodes that could share a kernel."""
    panels: tuple[Node, ...] = ()
    """The panels that products keep of inputs from one run to the next."""
    bounds: tuple[BoundedRun, ...] = ()
    """Runs with so many reductions under way, of which the order was chosen; none: not compared."""

    def decisions(self) -> Iterator[Fusion]:
        """The fusion decisions, of inner blocks too."""
        if self.notes:
            yield from self.notes.decisions()
        for part in self.parts:
            if isinstance(part, ControlCall):
                for block in part.blocks.values():
                    yield from block.decisions()

    def kernels(self, times: int = 1) -> Iterator[Kernel]:
        """Every kernel, in the order of the program's table, and how often it runs if known."""
        for part in self.parts:
            if isinstance(part, ControlCall):
                yield from part.kernels(times)
            else:
                yield part if times == 1 else replace(part, times=times)


@dataclass(frozen=True, eq=False)
class ControlCall:
    """A conditional or a loop, as one call among the kernels."""

    name: str
    nodes: tuple[Node, ...]
    """The results that somebody reads."""
    results: tuple[Node, ...]
    blocks: dict[str, ProgramBlock]
    """By name, in the order of the program's table."""
    checks: int = 0
    chunks: tuple[Kernel, ...] = ()

    @property
    def node(self) -> Node:
        """One of the results."""
        return self.nodes[0]

    @property
    def operands(self) -> tuple[Node, ...]:
        """The operands: buffers behind views that show all of their elements in order."""
        return operand_bases(self.node)

    @property
    def outputs(self) -> int:
        """The number of buffers that are written."""
        return len(self.results)

    @property
    def buffers(self) -> tuple[Node, ...]:
        """The buffers that are written and read, results first."""
        return (*self.results, *self.operands)

    def kernels(self, times: int = 1) -> Iterator[Kernel]:
        """Every kernel of its blocks, and how often it runs if known."""
        for name, block in self.blocks.items():
            iterations = self.node.params.get("length", 1) if name == "body" else 1
            yield from block.kernels(times * iterations)

    @property
    def folded(self) -> tuple[Node, ...]:
        """The results of a loop that fold those of two iterations."""
        return self.results[: len(self.node.params.get("folds", ()))]

    @property
    def left(self) -> list[int]:
        """The carried values that are read after the loop."""
        count = self.node.params["carried"]
        return sorted(k for k in (x.params["index"] for x in self.nodes) if k < count)


def control(members: Sequence[Node], build: Build) -> ControlCall:
    """The call for these results of a conditional or a loop."""
    node = members[0]
    p = shared(node.params)
    graphs = graphs_of(p)
    count = len(next(reversed(graphs.values())).outputs)
    results = tuple(node.arena.node(node.op, node.inputs, **p, index=k) for k in range(count))
    blocks = {name: build(graphs[name]) for name in ORDER[node.op]}
    made = ControlCall(node.op, tuple(members), results, blocks)
    if node.op != "cond":
        state = node.inputs[: p["carried"]]
        with inherit(node.sites):
            given, last = copies(state), leaving(made)
        return replace(made, blocks={"enter": build(given), **blocks, "leave": build(last)})
    return made


ORDER = {
    "cond": ("then", "other"),
    "while": ("test", "body"),
    "scan_over": ("body",),
    "fold_over": ("body",),
}
"""Primitive -> its graphs, in the order in which their kernels stand in the table."""


def leaving(call: ControlCall) -> Graph:
    """The graph after the last iteration: copies of carried values, and folds of results."""
    state, folded = [call.node.inputs[k] for k in call.left], call.folded
    leaves = leaves_like(Arena(), [*state, *folded, *folded])
    older, newer = leaves[len(state) :][: len(folded)], leaves[len(state) + len(folded) :]
    folds = zip(call.node.params.get("folds", ()), older, newer, strict=True)
    return Graph(leaves, [*leaves[: len(state)], *(elementwise(f, a, b) for f, a, b in folds)])


def copies(nodes: Sequence[Node]) -> Graph:
    """A graph whose outputs are its inputs, with the shapes and dtypes of nodes."""
    leaves = leaves_like(Arena(), nodes)
    return Graph(leaves, leaves)


def separate_outputs(graph: Graph) -> Graph:
    """A graph with copies where outputs are equal or inputs, so that each can have memory."""
    taken, outputs = set(graph.inputs), []
    for x in graph.outputs:
        with inherit(x.sites):
            outputs.append(x.arena.unique("barrier", x) if x in taken else x)
        taken.add(outputs[-1])
    return Graph(graph.inputs, outputs)
