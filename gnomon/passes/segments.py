"""A rank's program cut where ranks meet: closed graphs, and the collectives between them.

A node stands in the segment after as many meetings as the longest way to it has. Collectives that
are ready together travel together. What runs a segment, and how ranks meet, is not here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.provenance import inherit
from gnomon.ops.collectives import COLLECTIVES

CHEAP = frozenset({"const", "iota", "permute", "reshape", "expand", "slice", "detach"})
"""What every segment makes for itself from what it is given: numbers and views."""


@dataclass(frozen=True)
class Segment:
    """A graph that one rank runs by itself; values are named by their nodes in the program."""

    graph: Graph
    takes: tuple[Node, ...]
    gives: tuple[Node, ...]


@dataclass(frozen=True)
class Meeting:
    """Collectives of one kind along one mesh axis, that travel in one message."""

    op: str
    mesh: str
    gives: tuple[Node, ...]

    @property
    def takes(self) -> tuple[Node, ...]:
        """What each collective reads."""
        return tuple(node.inputs[0] for node in self.gives)


Step = Segment | Meeting


def cut(graph: Graph) -> list[Step]:
    """The steps of a program, in order."""
    level = levels(graph)
    needed = crossing(graph, level)
    steps: list[Step] = []
    for k in range(max(level.values(), default=0) + 1):
        gives = [x for x in needed if level[x] == k and is_computed(x)]
        if gives:
            steps.append(segment(gives, level, k))
        steps.extend(meetings([x for x in graph if level[x] == k and x.op in COLLECTIVES]))
    return steps


def last_reads(steps: Sequence[Step]) -> list[set[Node]]:
    """For each step what no later one reads."""
    seen: set[Node] = set()
    found: list[set[Node]] = []
    for step in reversed(steps):
        found.append(set(step.takes) - seen)
        seen |= found[-1]
    return found[::-1]


def levels(graph: Graph) -> dict[Node, int]:
    """How many meetings come before each node; a collective stands before its own."""
    level: dict[Node, int] = {}
    for node in graph:
        level[node] = max((level[x] + (x.op in COLLECTIVES) for x in node.inputs), default=0)
    return level


def crossing(graph: Graph, level: dict[Node, int]) -> dict[Node, None]:
    """What is read outside the segment that computes it, in program order."""
    found: dict[Node, None] = {}
    for node in graph:
        if node.op in COLLECTIVES:
            found[node.inputs[0]] = None
        elif node.op not in CHEAP:
            found.update((x, None) for x in below(node) if level[x] != level[node])
    found.update(dict.fromkeys(graph.outputs))
    for x in [x for x in found if x.op in CHEAP]:
        found.update((y, None) for y in below(x) if level[y] != level[x])
    return found


def below(node: Node) -> list[Node]:
    """What a node reads, through what every segment makes for itself."""
    found: list[Node] = []
    stack = list(reversed(node.inputs))
    while stack:
        x = stack.pop()
        if x.op in CHEAP:
            stack.extend(reversed(x.inputs))
        else:
            found.append(x)
    return found


def is_computed(node: Node) -> bool:
    """Whether a segment makes this value, rather than a caller or a meeting."""
    return node.op != "input" and node.op not in COLLECTIVES


def segment(gives: Sequence[Node], level: dict[Node, int], k: int) -> Segment:
    """The graph that computes these values from inputs and from what came before."""
    takes: dict[Node, None] = {}
    stack = list(reversed(gives))
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if comes_from_outside(node, level, k):
            takes[node] = None
        else:
            stack.extend(reversed(node.inputs))
    return Segment(apart(takes, gives), tuple(takes), tuple(gives))


def apart(takes: Iterable[Node], gives: Sequence[Node]) -> Graph:
    """A graph of its own between these values, each node with its lines."""
    arena = Arena()
    known: dict[Node, Node] = {}
    for x in takes:
        with inherit(x.sites):
            known[x] = arena.input(x.shape, x.dtype, x.params.get("name", ""))
    leaves = list(known.values())
    for node in between(gives, known):
        with inherit(node.sites):
            inputs = tuple(known[x] for x in node.inputs)
            known[node] = arena.node(node.op, inputs, **node.params)
    return Graph(leaves, [known[x] for x in gives])


def between(gives: Sequence[Node], known: Container[Node]) -> list[Node]:
    """What lies between known values and these, inputs first."""
    order: dict[Node, None] = {}
    stack = [(node, False) for node in reversed(gives)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order[node] = None
        elif node not in order and node not in known:
            stack.append((node, True))
            stack.extend((x, False) for x in reversed(node.inputs))
    return list(order)


def comes_from_outside(node: Node, level: dict[Node, int], k: int) -> bool:
    """Whether segment k is given this value."""
    return not is_computed(node) or (level[node] < k and node.op not in CHEAP)


def meetings(nodes: Sequence[Node]) -> list[Meeting]:
    """Collectives that are ready together, by kind and mesh axis, in program order."""
    groups: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in nodes:
        groups[node.op, node.params["mesh"]].append(node)
    return [Meeting(op, mesh, tuple(found)) for (op, mesh), found in groups.items()]
