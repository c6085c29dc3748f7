"""A compiled function's program over a mesh as text.

What is sent for which line, when each unit's parameters are gathered, read and freed, the modelled
time, and the products that several ranks compute alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from gnomon.capture.jit import Compiled
from gnomon.codegen.calls import is_claimed
from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.ir.node import Graph, Node
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.control_primitives import executed
from gnomon.ops.placements import REPLICATED, VARYING
from gnomon.passes.choose import Plan, product_flops
from gnomon.passes.divide import divide
from gnomon.passes.inline import inline
from gnomon.passes.layout import MeshAxis
from gnomon.program.blocks import ControlCall
from gnomon.program.buffer_assignment import places_of
from gnomon.program.collectives import is_transfer
from gnomon.program.kernel import Kernel
from gnomon.program.races import Race
from gnomon.program.races import races as races_of
from gnomon.program.virtual_clock import Timeline, timeline
from gnomon.schedule.memory import nbytes

SMALL = 0.01
"""The share of a step's work from which on a repetition is worth a line."""


def explain(program: Compiled) -> str:
    """A page about one rank's part of every program of a compiled function.

    >>> import gnomon as gn
    >>> step = gn.compile(lambda x: x.exp().sum())
    >>> _ = step(gn.ones(4))
    >>> explain(step)
    ''
    """
    return "\n".join(line for graph in graphs_of(program) for line in of_graph(graph))


def races(program: Compiled) -> list[Race]:
    """The races of every program of a compiled function: bytes that are touched out of order.

    Nobody writes what a transfer sends, or touches what it brings, while it is under way; threads
    meet between a write and who reads it; memory is given away after its last reader.

    >>> import gnomon as gn
    >>> step = gn.compile(lambda x: x.exp().sum())
    >>> _ = step(gn.ones(4))
    >>> races(step)
    []
    """
    return [race for graph in graphs_of(program) for race in races_of(kernels_of(graph, context()))]


def graphs_of(program: Compiled) -> list[Graph]:
    """The graphs of a compiled function's programs."""
    return [each.graph for each in program.captured()]


def of_graph(graph: Graph) -> Iterator[str]:
    """The units and transfers of a program over a mesh, then computations that ranks repeat."""
    block, (divided, repeated) = kernels_of(graph, context()), of_one_rank(graph)
    yield from map(str, units_of(block.parts))
    yield from sent(divided)
    if any(map(is_transfer, block.parts)):
        yield on_clock(timeline(block.parts))
    yield from map(str, block.bounds)
    yield from repeated


class UnitUse(NamedTuple):
    """A unit's use in a pass: bytes, the start of its gather, first and last reader."""

    unit: int
    reader: str
    nbytes: int
    begun: int
    first: int
    last: int

    def __str__(self) -> str:
        return (
            f"unit {self.unit}, {self.reader}: {self.nbytes:,} bytes gathered from call "
            f"{self.begun} on, read by calls {self.first} to {self.last}, then freed"
        )


def units_of(parts: Sequence[Kernel | ControlCall]) -> list[UnitUse]:
    """The units whose parameters a program gathers, in the order in which the gathers start."""
    begun: dict[Node, int] = {}
    read: dict[Node, list[int]] = {}
    for number, part in enumerate(parts):
        for x, _ in places_of(part):
            if x.op == "gather_ranks" and "unit" in x.params:
                begun.setdefault(x, number)
                if not is_transfer(part):
                    read.setdefault(x, []).append(number)
    return [
        UnitUse(x.params["unit"].number, x.params["phase"], nbytes(x), at, read[x][0], read[x][-1])
        for x, at in begun.items()
    ]


def repetitions(graph: Graph) -> list[str]:
    """A line for each larger product that all ranks of a mesh axis repeat."""
    return of_one_rank(graph)[1]


def of_one_rank(graph: Graph) -> tuple[Graph, list[str]]:
    """One rank's program, and a line for each product that it repeats."""
    found: list[str] = []

    def hear(across: MeshAxis, divided: Graph, plan: Plan) -> None:
        whole = sum(map(product_flops, divided))
        for node in divided:
            share = product_flops(node) / whole if whole else 0.0
            if share >= SMALL and is_repeated(node, plan):
                found.append(
                    f"every rank along {across.name} computes {node!r}, {share:.1%} of the "
                    f"products{first_line(node)}"
                )

    return divide(inline(graph, is_claimed), hear), found


def sent(divided: Graph) -> Iterator[str]:
    """A line for each group of consecutive collectives: axis, bytes, source lines."""
    collectives = [x for x, times in executed(divided) if x.op in COLLECTIVES for _ in range(times)]
    for _, group in groupby(collectives, lambda node: (node.op, node.params["mesh"])):
        yield described(list(group))


def is_repeated(node: Node, plan: Plan) -> bool:
    """Whether all ranks of an axis compute a node from the same values, at least in part."""
    alike = [plan[x].given == REPLICATED for x in node.inputs]
    return plan[node].given == REPLICATED or (plan[node].given == VARYING and any(alike))


def on_clock(run: Timeline) -> str:
    """The simulated time of a run, and its share of waiting."""
    whole, stalls, moved = run.makespan, run.sum("stall"), run.sum("transfer")
    return (
        f"modelled: {1e3 * whole:.3f} ms, {1e3 * stalls:.3f} of it waiting for "
        f"{1e3 * moved:.3f} ms of transfers"
    )


def described(nodes: Sequence[Node]) -> str:
    """Collectives of one kind along one mesh axis as a line."""
    size = round(sum(map(bytes_sent, nodes)))
    places, count = dict.fromkeys(map(first_line, nodes)), len(nodes)
    what = f"{count} value{'s' if count > 1 else ''}, {size:,} bytes from each rank"
    return f"{nodes[0].op} along {nodes[0].params['mesh']}: {what}{''.join(places)}"


def first_line(node: Node) -> str:
    """The first source line of a node."""
    return f"  [{node.sites[0]}]" if node.sites else ""


def bytes_sent(node: Node) -> float:
    """The bytes that one rank sends for a collective."""
    x, ranks = node.inputs[0], node.params["ranks"]
    size, others = x.size * x.dtype.itemsize, (ranks - 1) / ranks
    sends = {"all_reduce": 2 * others, "all_gather": ranks - 1, "permute_ranks": 1}
    return size * sends.get(node.op, others)
