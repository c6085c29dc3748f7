"""What a division does, as text: how inputs lie, what is sent for which line, what is repeated."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.distributed.program import RankProgram, bytes_sent
from gnomon.ir.node import Node
from gnomon.passes.layout import Layout
from gnomon.passes.segments import Meeting


def explain(program: RankProgram) -> str:
    """A page about one rank's program."""
    return "\n".join(lines(program))


def lines(program: RankProgram) -> Iterator[str]:
    """Mesh and inputs, then the meetings of ranks in order, then products that all ranks repeat."""
    axes = " x ".join(f"{name} {count}" for name, count in program.mesh.axes) or "one rank"
    yield f"mesh: {axes}; {program.flops:,.0f} flops in products per rank"
    for x, layout in zip(program.graph.inputs, program.division.inputs, strict=False):
        yield f"  {x.params['name']}: {x.dtype.name}{list(x.shape)} {described(layout)}"
    for step in program.steps:
        if isinstance(step, Meeting):
            yield met(step)
    for name, node in program.repeated:
        yield f"every rank along {name} computes {node!r}{at(node)}"


def described(layout: Layout) -> str:
    """A layout in words."""
    return ", ".join(f"{name} {lying}" for name, lying in layout.items()) or "replicated"


def met(meeting: Meeting) -> str:
    """One message: what, along which axis, how much, for which lines."""
    size = round(sum(map(bytes_sent, meeting.gives)))
    places = dict.fromkeys(at(node) for node in meeting.gives)
    count = len(meeting.gives)
    what = f"{count} value{'s' if count > 1 else ''}, {size:,} bytes from each rank"
    return f"{meeting.op} along {meeting.mesh}: {what}{''.join(places)}"


def at(node: Node) -> str:
    """The first user line behind a node."""
    return f"  [{node.sites[0]}]" if node.sites else ""
