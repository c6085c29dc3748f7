"""One program over a mesh: divided for every mesh axis, cut where ranks meet, run by each rank.

All ranks run the same programs, compiled once per process; the rank's numbers are inputs. Which
layouts to ask for is the caller's: a plan of parameters is a table elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic_ns

import numpy as np

from gnomon.distributed.mesh import Mesh, placement
from gnomon.executable import build
from gnomon.ir.node import Graph, Node
from gnomon.ir.show import log
from gnomon.passes.accumulate import accumulate
from gnomon.passes.choose import product_flops
from gnomon.passes.layout import NETWORK, REPLICATED, Across, Layout, Placement
from gnomon.passes.localize import mesh_axis_of
from gnomon.passes.segments import Meeting, Segment, Step, cut, last_reads
from gnomon.passes.shard import open_up, shard
from gnomon.runtime import events
from gnomon.runtime.buffer import Buffer
from gnomon.runtime.comm.base import Arrays, Communicator
from gnomon.settings import current

Run = Callable[[Graph, Arrays], Arrays]
"""Runs a closed graph on arrays."""


def compiled(graph: Graph, inputs: Arrays) -> Arrays:
    """Run a graph by machine code."""
    buffers = build(graph).run([Buffer.of(np.ascontiguousarray(x)) for x in inputs])
    return [
        made.numpy(x.dtype.numpy, x.shape) for made, x in zip(buffers, graph.outputs, strict=True)
    ]


@dataclass(frozen=True)
class Division:
    """How a program is divided: the mesh, how inputs and outputs lie, the rows of microbatches.

    An output's layout of None leaves it as it comes, a pending sum excepted.
    """

    mesh: Mesh
    inputs: tuple[Layout, ...]
    outputs: tuple[Layout | None, ...]
    rows: tuple[int | None, ...] = ()
    microbatches: int = 1


class RankProgram:
    """What every rank of a mesh runs; immutable."""

    def __init__(self, graph: Graph, division: Division, run: Run = compiled) -> None:
        self.mesh, self.division, self.run_graph = division.mesh, division, run
        self.given = len(graph.inputs)
        self.repeated: list[tuple[str, Node]] = []
        """Products that every rank along a mesh axis computes."""
        self.outputs, local = divided(open_up(graph), division, self.repeated)
        if division.microbatches > 1:
            numbers = [None] * (len(local.inputs) - self.given)
            local = accumulate(local, [*division.rows, *numbers], division.microbatches)
        self.graph = local
        self.steps: list[Step] = cut(local)

    def run(self, comm: Communicator, inputs: Sequence[np.ndarray]) -> Arrays:
        """One rank's outputs from its parts of the inputs."""
        assert len(inputs) == self.given, f"needs {self.given} inputs, got {len(inputs)}"
        return run_steps(self.graph, self.steps, comm, inputs, self.run_graph)

    @property
    def flops(self) -> float:
        """What one rank multiplies and adds in products."""
        return sum(map(product_flops, self.graph))

    def traffic(self) -> Counter[tuple[str, str]]:
        """Bytes that one rank sends, by collective and mesh axis."""
        sent: Counter[tuple[str, str]] = Counter()
        for step in self.steps:
            if isinstance(step, Meeting):
                sent[step.op, step.mesh] += round(sum(map(bytes_sent, step.gives)))
        return sent


def run_steps(
    graph: Graph, steps: Sequence[Step], comm: Communicator, inputs: Sequence[np.ndarray], run: Run
) -> Arrays:
    """One rank's way through a program; its numbers along mesh axes are the last inputs."""
    values = dict(zip(graph.inputs, inputs, strict=False))
    for x in graph.inputs[len(inputs) :]:
        values[x] = np.asarray(comm.place(mesh_axis_of(x)), np.int64)
    kept = set(graph.outputs)
    for step, dying in zip(steps, last_reads(steps), strict=True):
        if isinstance(step, Segment):
            made = run(step.graph, [values[x] for x in step.takes])
        else:
            made = meet(comm, step, [values[x] for x in step.takes])
        values.update(zip(step.gives, made, strict=True))
        for x in dying - kept:
            del values[x]
    return [values[x] for x in graph.outputs]


def divided(
    graph: Graph, division: Division, repeated: list[tuple[str, Node]]
) -> tuple[list[dict[str, Placement]], Graph]:
    """One rank's graph, whose last inputs are its numbers, and how each output lies."""
    layouts: list[dict[str, Placement]] = [{} for _ in graph.outputs]
    given = len(graph.inputs)
    for name, count in division.mesh.axes:
        if count == 1:
            continue
        across = Across(name, count, NETWORK, current().numerics != "fast")
        numbers = [REPLICATED] * (len(graph.inputs) - given)
        inputs = [*(placement(layout, name) for layout in division.inputs), *numbers]
        wants = [None if x is None else placement(x, name) for x in division.outputs]
        found = shard(graph, across, inputs, wants)
        repeated.extend(
            (name, node)
            for node in graph
            if product_flops(node) and found.plan[node].given == REPLICATED
        )
        graph = found.graph
        for layout, lying in zip(layouts, found.outputs, strict=True):
            layout[name] = lying
    return layouts, graph


def meet(comm: Communicator, meeting: Meeting, xs: Arrays) -> Arrays:
    """Do a meeting's collectives, those alike in one message."""
    found: dict[int, np.ndarray] = {}
    groups: dict[tuple, list[int]] = {}
    for k, node in enumerate(meeting.gives):
        p = node.params
        groups.setdefault((p.get("monoid"), p.get("ordered"), p.get("shift")), []).append(k)
    for places in groups.values():
        nodes = [meeting.gives[k] for k in places]
        start = monotonic_ns()
        made = together(comm, meeting, nodes, [np.ascontiguousarray(xs[k]) for k in places])
        if events.heard():
            tell(meeting, nodes, start, comm.group(meeting.mesh))
        log(1, lambda nodes=nodes: met_text(meeting, nodes))
        found.update(zip(places, made, strict=True))
    return [np.ascontiguousarray(found[k]) for k in range(len(xs))]


def met_text(meeting: Meeting, nodes: Sequence[Node]) -> str:
    """A message between ranks as a line of the debug dial."""
    return f"{meeting.op} along {meeting.mesh}: {round(sum(map(bytes_sent, nodes)))} bytes"


def tell(meeting: Meeting, nodes: Sequence[Node], start: int, group: str) -> None:
    """Tell whoever listens of a message between the ranks of a group."""
    events.announce(
        "comm",
        name=f"{meeting.op} along {meeting.mesh}",
        start=start,
        end=monotonic_ns(),
        nbytes=round(sum(map(bytes_sent, nodes))),
        sites=tuple(site._replace(phase="comm") for x in nodes for site in x.sites),
        args={"group": group},
    )


def together(comm: Communicator, meeting: Meeting, nodes: Sequence[Node], xs: Arrays) -> Arrays:
    """Collectives with the same settings, as one."""
    p, mesh = nodes[0].params, meeting.mesh
    axes = [node.params.get("axis", 0) for node in nodes]
    match meeting.op:
        case "all_reduce":
            return comm.all_reduce(mesh, xs, p["monoid"], ordered=p["ordered"])
        case "reduce_scatter":
            return comm.reduce_scatter(mesh, xs, axes, p["monoid"], ordered=p["ordered"])
        case "all_gather":
            return comm.all_gather(mesh, xs, axes)
        case "all_to_all":
            return comm.all_to_all(mesh, xs, axes, [node.params["joined"] for node in nodes])
        case "permute_ranks":
            return comm.permute_ranks(mesh, xs, p["shift"])
    raise AssertionError(f"no such collective: {meeting.op}")


def bytes_sent(node: Node) -> float:
    """What one rank puts on the wire for a collective."""
    (x,), ranks = node.inputs, node.params["ranks"]
    size, others = x.size * x.dtype.itemsize, (ranks - 1) / ranks
    turns = {"all_reduce": 2 * others, "all_gather": ranks - 1, "permute_ranks": 1}
    return size * turns.get(node.op, others)
