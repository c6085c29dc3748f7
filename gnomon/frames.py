"""A stretch of a program: a graph and what computes it, kernels and calls with frames of their own.

A branch of a choice and a turn of a loop are frames inside the frame of the program. Where values
lie and how frames become one table is in gnomon/placing.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.provenance import inherit
from gnomon.listing import Kernel
from gnomon.ops.control_primitives import graphs_of
from gnomon.passes.calls import leaves_like, shared
from gnomon.schedule.fusion import Fusion
from gnomon.schedule.notes import Notes
from gnomon.schedule.partition import operand_bases

__all__ = ["Control", "Frame", "control", "separated"]

Build = Callable[[Graph], "Frame"]
"""A graph through the passes, as a frame whose outputs are buffers of their own."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A graph after all passes, and its parts in the order in which they run."""

    graph: Graph
    parts: tuple[Kernel | Control, ...]
    notes: Notes | None = None
    """What was decided about nodes that could share a kernel."""
    panels: tuple[Node, ...] = ()
    """What products keep of inputs from one run to the next."""

    def decisions(self) -> Iterator[Fusion]:
        """Every such decision, of inner frames too."""
        if self.notes:
            yield from self.notes.decisions()
        for part in self.parts:
            if isinstance(part, Control):
                for frame in part.frames.values():
                    yield from frame.decisions()

    def kernels(self, times: int = 1) -> Iterator[Kernel]:
        """Every kernel, in the order of the program's table, and how often it runs if known."""
        for part in self.parts:
            if isinstance(part, Kernel):
                yield part if times == 1 else replace(part, times=times)
                continue
            for name, frame in part.frames.items():
                turns = part.node.params.get("length", 1) if name == "body" else 1
                yield from frame.kernels(times * turns)


@dataclass(frozen=True, eq=False)
class Control:
    """A choice or a loop, which stands among kernels like one of them."""

    name: str
    nodes: tuple[Node, ...]
    """The results that somebody reads."""
    results: tuple[Node, ...]
    frames: dict[str, Frame]
    """By name, in the order of the program's table."""
    checks: int = 0
    turns: tuple[Kernel, ...] = ()

    @property
    def node(self) -> Node:
        """One of the results."""
        return self.nodes[0]

    @property
    def operands(self) -> tuple[Node, ...]:
        """What is read: below views that show all of it as it lies."""
        return operand_bases(self.node)

    @property
    def outputs(self) -> int:
        """How many of the buffers are written."""
        return len(self.results)

    @property
    def buffers(self) -> tuple[Node, ...]:
        """What is written and read, results first."""
        return (*self.results, *self.operands)

    @property
    def left(self) -> list[int]:
        """The carried values that are read when a loop is over."""
        count = self.node.params["carried"]
        return sorted(k for k in (x.params["index"] for x in self.nodes) if k < count)


def control(members: Sequence[Node], build: Build) -> Control:
    """A call of which these results are read."""
    node = members[0]
    p = shared(node.params)
    graphs = graphs_of(p)
    count = len(next(reversed(graphs.values())).outputs)
    results = tuple(node.arena.node(node.op, node.inputs, **p, index=k) for k in range(count))
    frames = {name: build(graphs[name]) for name in ORDER[node.op]}
    made = Control(node.op, tuple(members), results, frames)
    if node.op != "cond":
        state = node.inputs[: p["carried"]]
        with inherit(node.sites):
            given, last = copies(state), copies([state[k] for k in made.left])
        return replace(made, frames={"enter": build(given), **frames, "leave": build(last)})
    return made


ORDER = {"cond": ("then", "other"), "while": ("test", "body"), "scan_over": ("body",)}
"""Primitive -> its graphs, in the order in which their kernels stand in the table."""


def copies(nodes: Sequence[Node]) -> Graph:
    """A graph that gives its inputs."""
    leaves = leaves_like(Arena(), nodes)
    return Graph(leaves, leaves)


def separated(graph: Graph) -> Graph:
    """The graph whose outputs are all different, and none an input: each can have its own place."""
    taken, outputs = set(graph.inputs), []
    for x in graph.outputs:
        with inherit(x.sites):
            outputs.append(x.arena.unique("barrier", x) if x in taken else x)
        taken.add(outputs[-1])
    return Graph(graph.inputs, outputs)
