"""Send a unit's parameters together: one gather for all, and one scatter for their gradients.

A unit is a set of parameters that a plan gathers at once, such as those of a layer. The backward
pass gathers them again, so that between the two passes only parts are stored. In a message, each
rank's elements are a row with a stretch for each member.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.provenance import inherit, scope
from gnomon.ops.collectives import all_gather, reduce_scatter
from gnomon.ops.joining import cat
from gnomon.ops.layouts import ALONE
from gnomon.ops.primitives import reshape
from gnomon.ops.view_primitives import slice_
from gnomon.passes.lower_collectives import one_each, side_by_side
from gnomon.passes.strategies import CARRIERS

__all__ = ["coalesce"]

MessageKey = tuple[object, ...]
"""The key of a message, equal for all of its members."""
MOVES = {"all_gather": 1, "reduce_scatter": 2}
"""Operations that move parameters and gradients, each with its bit."""


def coalesce(graph: Graph) -> Graph:
    """The graph with a message for each unit's parameters in each pass, and for its gradients."""
    groups = groups_of(graph)
    return Coalescing(graph, groups).run() if groups else graph


def groups_of(graph: Graph) -> dict[MessageKey, list[Node]]:
    """The collectives of units, grouped by the message in which they are sent together."""
    found: dict[MessageKey, list[Node]] = defaultdict(list)
    behind: dict[Node, int] = {}
    """Node -> bits: depends on a gathered parameter, on a scattered gradient."""
    for node in graph:
        waits = 0
        for x in node.inputs:
            waits |= behind.get(x, 0)
        if node.op in MOVES and node.params.get("unit", ALONE) > ALONE:
            # members of two messages must not wait for each other
            if not waits & (MOVES["reduce_scatter"] | MOVES[node.op]):
                rest = sorted((k, v) for k, v in node.params.items() if k not in ("axis", "rows"))
                found[(node.op, node.dtype, *rest)].append(node)
            waits |= MOVES[node.op]
        if waits:
            behind[node] = waits
    return found


class Coalescing:
    """Rebuilder of a graph with one message per unit; images are by node and by pass."""

    def __init__(self, graph: Graph, groups: dict[MessageKey, list[Node]]) -> None:
        self.graph, self.arena = graph, Arena()
        self.group = {node: members for members in groups.values() for node in members}
        self.images: dict[tuple[Node, str], Node] = {}
        self.whole: set[Node] = set()
        """Gathered parameters and views of them, which are computed once per pass."""
        for node in graph:
            views = node.op in CARRIERS and node.inputs[0] in self.whole
            if views or (node in self.group and node.op == "all_gather"):
                self.whole.add(node)

    def run(self) -> Graph:
        """The rebuilt graph."""
        inputs: list[Node] = []
        for leaf in self.graph.inputs:
            with inherit(leaf.sites):
                inputs.append(self.arena.input(leaf.shape, leaf.dtype, leaf.params["name"]))
            self.images[leaf, ""] = inputs[-1]
        outputs = [(x, "forward" if x in self.whole else "") for x in self.graph.outputs]
        before = scope.sites
        try:
            for node, phase in self.order(outputs):
                if node in self.group:
                    self.join(node, phase)
                    continue
                read = [self.images[key] for key in self.needs(node, phase)]
                scope.sites = node.sites
                self.images[node, phase] = self.arena.with_inputs(node, tuple(read))
        finally:
            scope.sites = before
        return Graph(inputs, [self.images[key] for key in outputs])

    def needs(self, node: Node, phase: str) -> list[tuple[Node, str]]:
        """The inputs of a node, each with the pass whose image of it the node reads."""
        whole = self.whole
        return [(x, self.reading(node, phase) if x in whole else "") for x in node.inputs]

    def reading(self, reader: Node, phase: str) -> str:
        """The pass, "forward" or "backward", for which a reader gathers a whole parameter."""
        if reader in self.whole:
            return phase
        late = reader.sites and reader.sites[0].phase == "backward"
        return "backward" if late else "forward"

    def order(self, roots: Iterable[tuple[Node, str]]) -> Iterator[tuple[Node, str]]:
        """The nodes that the roots need, inputs before readers, each with the pass it serves."""
        stack = [(key, False) for key in reversed(list(roots))]
        while stack:
            key, opened = stack.pop()
            if key in self.images:
                continue
            if opened:
                yield key
                continue
            node, phase = key
            stack.append((key, True))
            members = self.group.get(node, (node,))
            needs = [need for each in members for need in self.needs(each, phase)]
            stack += [(need, False) for need in reversed(needs) if need not in self.images]

    def join(self, node: Node, phase: str) -> None:
        """Emit one message for the members of a group; each one's image is a part of the result."""
        members = self.group[node]
        operands = [self.images[key] for x in members for key in self.needs(x, phase)[:1]]
        with inherit(tuple(dict.fromkeys(site for x in members for site in x.sites))):
            build = gather_unit if node.op == "all_gather" else scatter_unit
            for member, made in zip(members, build(members, operands, phase), strict=True):
                self.images[member, phase] = made


def gather_unit(members: Sequence[Node], parts: Sequence[Node], phase: str) -> list[Node]:
    """The whole parameters of a unit, by one all-gather of this rank's parts of all of them."""
    p = members[0].params
    row = cat([reshape(x, (x.size,)) for x in parts], 0) if len(parts) > 1 else flattened(parts[0])
    made = all_gather(row, 0, p["mesh"], p["ranks"], unit=p["unit"], phase=phase)
    rows = reshape(made, (p["ranks"], row.size))
    shapes = [(p["ranks"], *x.shape) for x in parts]
    stretches = zip(members, split_columns(rows, shapes), strict=True)
    return [side_by_side(x, member.params["axis"]) for member, x in stretches]


def scatter_unit(members: Sequence[Node], sums: Sequence[Node], phase: str) -> list[Node]:
    """The parts that a rank gets of a unit's summed gradients, by one reduce-scatter of all."""
    p = members[0].params
    ranks = p["ranks"]
    each = [one_each(x, m.params["axis"], ranks) for m, x in zip(members, sums, strict=True)]
    rows = [reshape(x, (ranks, x.size // ranks)) for x in each]
    together = cat(rows, 1) if len(rows) > 1 else rows[0]
    keywords = {name: p[name] for name in ("monoid", "ordered", "unit")}
    if over := max(m.params.get("rows", 0) for m in members):
        keywords["rows"] = over
    made = reduce_scatter(together, 0, p["mesh"], ranks, **keywords)
    return split_columns(made, [(1, *m.shape) for m in members])


def flattened(x: Node) -> Node:
    """A tensor reshaped to one axis."""
    return reshape(x, (x.size,))


def split_columns(rows: Node, shapes: Sequence[tuple[int, ...]]) -> list[Node]:
    """A matrix cut along its columns into one part for each shape, and each part reshaped to it."""
    found: list[Node] = []
    at = 0
    for shape in shapes:
        size = prod(shape[1:])
        part = slice_(rows, ((0, rows.shape[0], 1), (at, at + size, 1)))
        found.append(reshape(part, shape if shape[0] > 1 else shape[1:]))
        at += size
    return found
