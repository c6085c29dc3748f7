"""Turn a global program into one rank's program, for one mesh axis at a time.

    choose   forward: how each node is divided (choose.py)
    sink     backward: what is only ever read in parts is computed in parts
    emit     nodes on parts, and collectives where placements change

Several mesh axes are several runs, outermost first: the rows of one rank are cut again by the next.
The layout of each input is given; no code here depends on parameters or models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gnomon.errors import LayoutError
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.provenance import inherit, scope
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.layouts import ALONE, Unit
from gnomon.ops.placements import REPLICATED, VARYING, Partial, Placement, Split
from gnomon.passes.alike import compared, counts_as_alike
from gnomon.passes.choose import Plan, choose, options
from gnomon.passes.inline import inline
from gnomon.passes.layout import MeshAxis, can_be_split, is_whole, local_shape
from gnomon.passes.legalize import legalize
from gnomon.passes.localize import Locals
from gnomon.passes.regions import is_closed, region_part
from gnomon.passes.shares import is_share, scaled_share
from gnomon.passes.strategies import CARRIERS, Strategy
from gnomon.passes.varying import check_varying
from gnomon.passes.widen import widen
from gnomon.settings import current


@dataclass(frozen=True)
class Sharded:
    """One rank's program; its last input is the rank's number along the mesh axis."""

    graph: Graph
    outputs: tuple[Placement, ...]
    plan: Plan
    """The strategy of each node of the program that was divided."""


def open_up(graph: Graph) -> Graph:
    """The graph as `shard` takes it: primitives whose sums can be cut, and whole regions."""
    opens = any(x.op in CONTROL or (x.op == "region" and not is_closed(x)) for x in graph)
    return widen(legalize(inline(graph, is_closed) if opens else graph))


def shard(
    graph: Graph,
    across: MeshAxis,
    inputs: Sequence[Placement],
    outputs: Sequence[Placement | None],
) -> Sharded:
    """One rank's program, given the placements of inputs and those wanted of outputs.

    A None in `outputs` leaves an output as it is, except that a pending sum is reduced.
    """
    check_placements(graph, across, inputs, outputs)
    plan = choose(graph, across, dict(zip(graph.inputs, inputs, strict=True)))
    ends = [output_placement(x, want, plan) for x, want in zip(graph.outputs, outputs, strict=True)]
    sink(graph, across, plan, ends)
    check_varying(plan, across)
    return Sharded(emit(graph, across, plan, ends), tuple(ends), plan)


def check_placements(
    graph: Graph,
    across: MeshAxis,
    inputs: Sequence[Placement],
    outputs: Sequence[Placement | None],
) -> None:
    """Refuse placements that would give parts of unequal sizes."""
    given = (*zip(graph.inputs, inputs, strict=True), *zip(graph.outputs, outputs, strict=True))
    for x, placement in given:
        if placement is not None and not can_be_split(x.shape, placement, across.ranks):
            raise LayoutError(
                f"shard: {x.called} {x.shape} cannot be {placement}: {across.ranks} ranks of mesh "
                f"axis {across.name!r} do not divide that axis. Split another, or none."
            )


def output_placement(x: Node, want: Placement | None, plan: Plan) -> Placement:
    """The placement of an output: the wanted one, or its own, with pending sums reduced."""
    if want is not None:
        return want
    have = plan[x].given
    return REPLICATED if isinstance(have, Partial) else have


# sink


def sink(graph: Graph, across: MeshAxis, plan: Plan, ends: Sequence[Placement]) -> None:
    """Split nodes whose readers all want the same split, if that takes no message."""
    wants: dict[Node, Placement | None] = {}
    """Value -> the placement that all of its readers want; None where they differ."""

    def ask(x: Node, want: Placement) -> None:
        known = wants.setdefault(x, want)
        if known is not want and known != want:
            wants[x] = None

    for x, end in zip(graph.outputs, ends, strict=True):
        ask(x, end)
    for node in reversed(graph.nodes):
        want = wants[node]
        if isinstance(want, Split) and node.op != "input" and is_whole(plan[node].given):
            plan[node] = in_parts(node, want, plan, across) or plan[node]
        for x, want in zip(node.inputs, plan[node].wanted, strict=True):
            ask(x, want)


def in_parts(node: Node, want: Split, plan: Plan, across: MeshAxis) -> Strategy | None:
    """A strategy of a node that gives this split and moves no input; None if there is none."""
    for strategy in options(node, across):
        moves = zip(node.inputs, strategy.wanted, strict=True)
        if strategy.given == want and all(
            is_whole(plan[x].given) or plan[x].given == w for x, w in moves
        ):
            return strategy
    return None


# emit


def emit(graph: Graph, across: MeshAxis, plan: Plan, ends: Sequence[Placement]) -> Graph:
    """Build one rank's graph by the strategies of a plan."""
    made = Emission(graph, across, plan)
    outputs = [made.fetch(x, end) for x, end in zip(graph.outputs, ends, strict=True)]
    return Graph([*made.inputs, made.local.rank], outputs)


class Emission:
    """Builder of a graph's nodes on parts: each by its strategy, moved as its readers want."""

    def __init__(self, graph: Graph, across: MeshAxis, plan: Plan) -> None:
        arena = Arena()
        self.plan, self.local = plan, Locals(arena, across)
        self.images: dict[Node, Node] = {}
        self.moved: dict[tuple[Node, Placement], Node] = {}
        self.alike: dict[int, Node] = {}
        """Identity of a strategy -> the first node built by it, which equal nodes repeat."""
        self.units: dict[Node, Unit] = {}
        """Value -> the only unit whose parameters it depends on, besides constants."""
        self.compares = current().verify
        self.compared: set[Node] = set()
        self.inputs: list[Node] = []
        before = scope.sites
        try:
            for node in graph.inputs:
                scope.sites = node.sites
                shape = local_shape(node.shape, plan[node].given, across.ranks)
                self.images[node] = arena.input(shape, node.dtype, node.params["name"])
                self.inputs.append(self.images[node])
            for node in graph.nodes:
                if node.op != "input":
                    self.images[node] = self.build(node, plan[node])
        finally:
            scope.sites = before

    def build(self, node: Node, strategy: Strategy) -> Node:
        """Build a node from the parts of its inputs, in the placements that it wants."""
        unit = unit_behind(node, self.units)
        if unit is not ALONE:
            self.units[node] = unit
        if self.compares and counts_as_alike(node, self.plan, self.local.across):
            self.compare(node)
        parts: list[Node] = []
        for x, want in zip(node.inputs, strategy.wanted, strict=True):
            unmoved = want is self.plan[x].given or is_share(node)
            parts.append(self.images[x] if unmoved else self.fetch(x, want, node))
        scope.sites = node.sites
        whole = is_whole(strategy.given) and strategy.rule == "letter"
        like = node if whole else self.alike.get(id(strategy))
        if like is not None:
            return self.local.arena.with_inputs(like, tuple(parts))
        return self.build_first(node, strategy, tuple(parts))

    def compare(self, node: Node) -> None:
        """Emit a check, one per value, that inputs counted as replicated are equal on all ranks."""
        for x in node.inputs:
            if self.plan[x].given == VARYING and x not in self.compared:
                with inherit(node.sites):
                    self.images[x] = compared(x, self.images[x], node, self.local.across)
                self.compared.add(x)

    def build_first(self, node: Node, strategy: Strategy, parts: tuple[Node, ...]) -> Node:
        """Build a node whose strategy was not met before."""
        make = partial(region_part, local=self.local) if node.op == "region" else self.local.build
        made = make(node, strategy, parts)
        if is_share(node) and strategy.rule == "boundary":
            return scaled_share(node, made, self.plan, self.local.across)
        if made.op == node.op and made.inputs == parts and "serial" not in node.params:
            self.alike[id(strategy)] = made
        return made

    def fetch(self, x: Node, want: Placement, reader: Node | None = None) -> Node:
        """A value in the placement that a reader wants, moved between ranks if necessary."""
        have = self.plan[x].given
        if want is have or want == have or (is_whole(want) and is_whole(have)):
            return self.images[x]
        found = self.moved.get((x, want))
        if found is None:
            unit = unit_of(x, reader, self.units)
            # what is given to a program has no line: its reader has
            with inherit(computed(x).sites or (reader.sites if reader is not None else ())):
                found = self.local.move(self.images[x], have, want, unit, self.plan[x].rows)
            self.moved[x, want] = found
        return found


ANY = Unit(-2)
"""The unit of values that depend on no input."""


def unit_behind(node: Node, units: Mapping[Node, Unit]) -> Unit:
    """The only unit whose parameters a value depends on; ALONE if several, ANY if none."""
    if node.op == "from_local":
        return node.params["unit"]
    found = ANY
    for x in node.inputs:
        unit = units.get(x, ALONE)
        if unit is ALONE or (found is not ANY and unit not in (found, ANY)):
            return ALONE
        found = unit if found is ANY else found
    return found


def unit_of(x: Node, reader: Node | None, units: Mapping[Node, Unit]) -> Unit:
    """The unit of the gradients, or of the parameters, that a move serves."""
    if reader is not None and reader.op == "to_local":
        return reader.params["unit"]
    return max(units.get(x, ALONE), ALONE)


def computed(x: Node) -> Node:
    """The node whose result a value shows by views, for the lines of its transfer."""
    while x.op in CARRIERS:
        (x,) = x.inputs
    return x
