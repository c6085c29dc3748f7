"""Turn a program of one microbatch into loops over all of them.

Values that do not depend on the microbatch are computed once, outside. A sum over microbatches is a
perfect tree of loops: two iterations around two iterations, so that one partial sum is stored per
level, and the program does not grow with their number. Where microbatches need a result of all of
them, a loop ends and a later one begins: every value is computed in the last possible loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from gnomon.dtypes import int64
from gnomon.ir.node import Arena, Graph, Node, Shape
from gnomon.ir.provenance import inherit
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.control_primitives import call
from gnomon.ops.placements import Placement, Split
from gnomon.ops.primitives import reshape
from gnomon.passes.layout import MeshAxis
from gnomon.passes.lower_collectives import one_each, side_by_side

SCATTERED = frozenset({"reduce_scatter", "all_to_all"})
"""Collectives that give each microbatch a part of its own."""
FOLDED = frozenset({"all_reduce", "reduce_scatter"})
"""Collectives that fold values of all microbatches."""
FOLDS = {"add": "add", "max": "maximum", "min": "minimum", "and": "and", "or": "or"}
"""Monoid -> the scalar function that folds two values."""


def loops(
    microbatch: Graph, given: Sequence[Node], placements: Sequence[Placement], across: MeshAxis
) -> list[Node]:
    """The outputs of all microbatches, as nodes in the arena of the given values."""
    return Loops(microbatch, given, placements, across).outputs()


class Loops:
    """Rebuilder of a microbatch's program as loops over all microbatches.

    alike: images of values that all microbatches share; stacked: of values of each microbatch,
    along a new first axis.
    """

    def __init__(
        self,
        microbatch: Graph,
        given: Sequence[Node],
        placements: Sequence[Placement],
        across: MeshAxis,
    ) -> None:
        self.graph, self.mesh, self.count = microbatch, across.name, across.ranks
        self.arena = given[0].arena
        *leaves, number = microbatch.inputs
        self.alike: dict[Node, Node] = {}
        self.stacked = {number: self.arena.node("iota", (), size=self.count, dtype=int64)}
        for leaf, x, placement in zip(leaves, given, placements, strict=True):
            if isinstance(placement, Split):
                self.stacked[leaf] = one_each(x, placement.axis, self.count)
            else:
                self.alike[leaf] = x
        self.own = self.own_values()
        self.loop_of = self.places()

    def is_meeting(self, node: Node) -> bool:
        """Whether a node is a collective over microbatches, which separates two loops."""
        return node.op in COLLECTIVES and node.params["mesh"] == self.mesh

    def own_values(self) -> set[Node]:
        """The nodes that differ from microbatch to microbatch."""
        own = set(self.stacked)
        for node in self.graph.nodes:
            scattered = node.op in SCATTERED
            if scattered if self.is_meeting(node) else any(x in own for x in node.inputs):
                own.add(node)
        return own

    def places(self) -> dict[Node, int]:
        """The number of the loop in which each node is computed; the last loop has number 0."""
        found: dict[Node, int] = {}
        needed: dict[Node, int] = defaultdict(int)
        for node in reversed(self.graph.nodes):
            here = needed[node] + self.is_meeting(node)
            if self.is_meeting(node) or (node in self.own and node not in self.stacked):
                found[node] = here
            for x in node.inputs:
                needed[x] = max(needed[x], here)
        return found

    def outputs(self) -> list[Node]:
        """Rebuild all nodes, loop by loop; returns the images of the outputs."""
        for number in range(max(self.loop_of.values(), default=0), 0, -1):
            self.share()
            self.loop(number)
        self.share()
        return [self.alike[x] for x in self.graph.outputs]

    def share(self) -> None:
        """Rebuild the nodes that are alike in all microbatches and whose inputs are rebuilt."""
        for node in self.graph.nodes:
            known = node in self.alike or node in self.own or self.is_meeting(node)
            if not known and all(x in self.alike for x in node.inputs):
                with inherit(node.sites):
                    inputs = tuple(self.alike[x] for x in node.inputs)
                    self.alike[node] = self.arena.node(node.op, inputs, **node.params)

    def loop(self, number: int) -> None:
        """Emit one loop over all microbatches, and the collectives at its end."""
        members = [x for x in self.graph.nodes if self.loop_of.get(x) == number]
        own = [x for x in members if not self.is_meeting(x)]
        meetings = [x for x in members if self.is_meeting(x)]
        folded = [x for x in meetings if x.op in FOLDED]
        joined = [x for x in meetings if x.op not in FOLDED]
        kept = self.kept(own, number) | dict.fromkeys(
            x.inputs[0] for x in joined if x.inputs[0] not in self.stacked
        )
        parts = [x.inputs[0] for x in folded]
        if parts or kept:
            with inherit(tuple(dict.fromkeys(site for x in meetings for site in x.sites))):
                made = self.iterations(own, [*parts, *kept], [x.params["monoid"] for x in folded])
            self.stacked.update(zip(kept, made[len(folded) :], strict=True))
            for node, total in zip(folded, made, strict=False):
                self.meet(node, total)
        for node in joined:
            self.meet(node, self.stacked[node.inputs[0]])

    def kept(self, own: Sequence[Node], number: int) -> dict[Node, None]:
        """The nodes of a loop that later loops read, in order, as keys."""
        later = (x for x in self.graph.nodes if self.loop_of.get(x, number) < number)
        read = {x for node in later for x in node.inputs}
        return dict.fromkeys(x for x in own if x in read)

    def iterations(
        self, own: Sequence[Node], parts: Sequence[Node], monoids: Sequence[str]
    ) -> list[Node]:
        """The loop over all microbatches: results with a monoid are folded, others stacked."""
        inside = set(own)
        reads = dict.fromkeys(x for node in own for x in node.inputs)
        reads |= dict.fromkeys(parts)
        slices = [x for x in reads if x in self.stacked and x not in inside]
        rest = [x for x in reads if x in self.alike]
        arena = Arena()
        known = {x: arena.input(x.shape, x.dtype) for x in (*slices, *rest)}
        leaves = list(known.values())
        for node in own:
            with inherit(node.sites):
                inputs = tuple(known[x] for x in node.inputs)
                known[node] = arena.node(node.op, inputs, **node.params)
        body = Graph(leaves, [known[x] for x in parts])
        given = [*(self.stacked[x] for x in slices), *(self.alike[x] for x in rest)]
        return TreeOfLoops(body, len(slices), tuple(monoids)).of(self.count, given)

    def meet(self, node: Node, made: Node) -> None:
        """Record a collective's result, from what its loop folded or stacked of the operand."""
        p = node.params
        with inherit(node.sites):
            if node.op == "all_reduce":
                self.alike[node] = made
            elif node.op == "all_gather":
                self.alike[node] = side_by_side(made, p["axis"])
            else:
                whole = made if node.op in FOLDED else side_by_side(made, p["joined"])
                self.stacked[node] = one_each(whole, p["axis"], self.count)


@dataclass(frozen=True)
class TreeOfLoops:
    """A body whose iterations run as nested loops of two iterations each."""

    body: Graph
    """The body: its inputs are slices, then those that all iterations share."""
    sliced: int
    monoids: tuple[str, ...]
    """The monoids that fold the first results; the other results are stacked."""

    def of(self, count: int, given: Sequence[Node]) -> list[Node]:
        """The results of `count` iterations, a power of two, as nested loops of two each."""
        body, halves = self.body, [2]
        while prod(halves) < count:
            arena = Arena()
            leaves = [arena.input(shape, x.dtype) for x, shape in self.kinds(halves)]
            body = Graph(leaves, self.pair(body, leaves))
            halves.append(2)
        shapes = [shape for _, shape in self.kinds(halves)]
        results = self.pair(body, [reshape(x, n) for x, n in zip(given, shapes, strict=True)])
        folds = len(self.monoids)
        rows = (reshape(x, (count, *x.shape[len(halves) :])) for x in results[folds:])
        return [*results[:folds], *rows]

    def kinds(self, halves: Sequence[int]) -> Iterator[tuple[Node, Shape]]:
        """Each input of the body, and its shape inside of the given number of nested loops."""
        for k, x in enumerate(self.body.inputs):
            yield x, (*halves, *x.shape) if k < self.sliced else x.shape

    def pair(self, body: Graph, given: Sequence[Node]) -> list[Node]:
        """A loop of two iterations of a body, whose results are folded or stacked."""
        about = {"carried": 0, "sliced": self.sliced, "length": 2, "reverse": False}
        folds = tuple(FOLDS[monoid] for monoid in self.monoids)
        return call("fold_over", given, body=body, folds=folds, **about)
