"""The transfers of a program, in order: all ranks of a group must have them alike.

Where a program is about to run in a group for the first time, its ranks compare digests; ranks that
would move different things hear so, with both lines, where they would otherwise wait for ever.
Where a transfer starts is in collectives.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

import msgspec

from gnomon.errors import CollectiveError
from gnomon.ir.node import Graph, Node
from gnomon.program.collectives import FIRST, LISTED, WAIT
from gnomon.program.kernel import Kernel
from gnomon.program.saved import Move, SavedProgram
from gnomon.runtime.cache import digest
from gnomon.runtime.comm.base import MESSAGES, Link

if TYPE_CHECKING:
    from gnomon.ir.provenance import Site
    from gnomon.program.blocks import ProgramBlock
    from gnomon.program.executable import Executable

__all__ = ["agree", "exchange_of", "line_at", "line_of", "moves_of", "traced"]


def moves_of(block: ProgramBlock) -> tuple[Move, ...]:
    """The transfers of a program, in the order in which they start."""
    found = []
    for k in block.kernels():
        if k.mesh and not k.name.endswith(WAIT):
            kind, nbytes, number, shift = k.numbers[:LISTED]
            found.append(Move(k.name, k.mesh, kind, k.buffers[1].dtype.name, nbytes, shift, number))
    return tuple(found)


def line_of(kernels: Sequence[Kernel], number: int) -> str:
    """The source line of a transfer, as the end of a message."""
    found = (k.sites for k in kernels if k.mesh and k.numbers[FIRST] == number)
    sites = next(found, ())
    return f", asked by {sites[0]}" if sites else ""


def traced(plan: SavedProgram, source: Graph, kernels: Sequence[Kernel]) -> SavedProgram:
    """A plan whose transfers have the paths of nodes of its source that have their lines.

    So a program from the disk names lines without the passes.
    """
    if not plan.moves:
        return plan
    lines = {k.numbers[FIRST]: line(k.sites[0]) for k in kernels if k.mesh and k.sites}
    ways = ways_to(source)
    moves = [replace(x, asked=ways.get(lines.get(x.number, NOWHERE), ())) for x in plan.moves]
    return replace(plan, moves=tuple(moves))


CodeLine = tuple[str, int, str]
"""A file, a line of it, and a function."""
NOWHERE: CodeLine = ("", 0, "")


def line(site: Site) -> CodeLine:
    """A source location's line, without the operation, which rewrites may have changed."""
    return site.file, site.line, site.function


def ways_to(graph: Graph) -> dict[CodeLine, tuple[int, ...]]:
    """Map each source line to the path of the last node whose first location it is."""
    found: dict[CodeLine, tuple[int, ...]] = {}
    for place, node in enumerate(graph.nodes):
        for k, inner in enumerate(graphs_in(node)):
            found |= {at: (place, k, *way) for at, way in ways_to(inner).items()}
        if node.sites:
            found[line(node.sites[0])] = (place,)
    return found


def graphs_in(node: Node) -> list[Graph]:
    """The graphs among a node's parameters."""
    return [x for x in node.params.values() if isinstance(x, Graph)]


def line_at(graph: Graph, way: Sequence[int]) -> str:
    """The line of the node at the end of a path, as the end of a message."""
    if not way:
        return ""
    place, *rest = way
    node = graph.nodes[place]
    if rest:
        return line_at(graphs_in(node)[rest[0]], rest[1:])
    return f", asked by {node.sites[0]}" if node.sites else ""


def exchange_of(moves: Sequence[Move]) -> str:
    """A short text of the transfers that ranks must share; messages are each rank's own."""
    alike = [compared(x) for x in moves if x.kind != MESSAGES]
    return digest(repr(alike)) if alike else ""


def agree(group: Link, mesh: str, program: Executable) -> None:
    """Compare a program's transfers along a mesh axis with the other ranks' once."""
    moves = [x for x in program.moves if x.mesh == mesh and x.kind != MESSAGES]
    if not moves:
        return

    def about(precise: bool) -> str:
        first = program.collective(moves[0].number, precise)
        return f"the first run of {program.title}, which ranks compare: it begins with {first}"

    group.talk = about
    try:
        key = digest(repr(list(map(compared, moves))))
        others = [answer.decode() for answer in group.tell(key.encode())]
        if len(set(others)) > 1:
            refuse(group, program, moves, others)
    finally:
        group.talk = None
    group.agreed.add(program.exchange)


def compared(move: Move) -> list[object]:
    """The fields of a transfer that must be equal on all ranks."""
    return list(astuple(move)[:-2])


def refuse(group: Link, program: Executable, moves: list[Move], others: list[str]) -> None:
    """Raise an error with the first transfer that differs and the lines of both ranks."""
    mine = [(compared(x), program.collective(x.number, precise=True)) for x in moves]
    plans = [msgspec.json.decode(plan) for plan in group.tell(msgspec.json.encode(mine))]
    other = next(k for k, key in enumerate(others) if key != others[0])
    rows = list(zip_longest(plans[0], plans[other], fillvalue=(None, "nothing more")))
    at, pair = next((k, x) for k, x in enumerate(rows, 1) if x[0][0] != x[1][0])
    lines = [f"  rank {group.ranks[k]}: {row[1]}" for k, row in zip((0, other), pair, strict=True)]
    raise CollectiveError(
        f"ranks {group.ranks[0]} and {group.ranks[other]} run different programs along mesh axis "
        f"{group.name!r}, from transfer {at} on.\n" + "\n".join(lines) + "\n"
        "Let all ranks of an axis take the same way, with the same shapes."
    )
