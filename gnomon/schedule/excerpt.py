"""Excerpt: the kernels that a fusion changes, as a program of its own that can be measured.

Equal parts of a program, such as its layers, are one excerpt and need one measurement. Both forms
give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, replace
from typing import Any

from gnomon.forking import cached_property
from gnomon.ir.node import Arena, Graph, Node
from gnomon.schedule.cluster import Cluster
from gnomon.schedule.fusion import Act, Fusion, FusionVerdict
from gnomon.schedule.placed import Placed

__all__ = ["Excerpt", "Verdicts"]

SLOWER = "it was measured and is no faster"


class Excerpt:
    """The kernels that a fusion changes, with inputs in place of everything they read."""

    def __init__(self, placed: Placed, fusion: Fusion, act: Act) -> None:
        self.placed, self.fusion, self.act = placed, fusion, act
        home = placed.home
        self.clusters = dict.fromkeys(home[x] for x in (fusion.maker, *fusion.nodes))
        self.known: dict[Node, Node] = {}
        self.arena = Arena()
        self.inputs: list[Node] = []
        made = [x for cluster in self.clusters for x in cluster.members if self._leaves(x)]
        made.sort(key=lambda x: x.serial)
        self.graph = Graph(self.inputs, [self._copied(x) for x in made])
        self.members = [x for c in self.clusters for x in c.members if x in self.known]
        self.nodes = tuple(x for x in fusion.nodes if x in self.known)
        self.whole = fusion.maker in self.known and len(self.nodes) > 0
        """Whether both the fusion's maker and its nodes are still read."""
        self.key = self._key() if self.whole else ""

    def _key(self) -> str:
        """A key of the excerpt: its graph, the division into kernels, and the fusion."""
        numbers = {x: k for k, x in enumerate(self.graph.nodes)}
        places = {x: numbers.get(y) for x, y in self.known.items()}
        read = [[places[y] for y in self.placed.read_by(x)] for x in self.members]
        own = [[places[x] for x in c.members if x in places] for c in self.clusters]
        done = self.fusion.kind, places[self.fusion.maker], [places[x] for x in self.nodes]
        return f"{self.graph.key} {own} {read} {done}"

    @cached_property
    def forms(self) -> tuple[Placed, Placed]:
        """The partitions with the nodes apart and together, made when first read."""
        plain, acted = self._form(done=False), self._form(done=True)
        # what was joined before is what may be cut
        return (acted, plain) if self.fusion.kind == "join" else (plain, acted)

    def _form(self, done: bool) -> Placed:
        """The partition of the excerpt, before the fusion or after it."""
        known, made, found = self.known, Placed(self.graph), self.placed
        twins: dict[Cluster, Cluster] = {}
        home: dict[Node, Cluster] = {}
        for cluster in self.clusters:
            members = {known[x]: row for x, row in cluster.members.items() if x in known}
            before = {known[x] for x in cluster.before}
            twins[cluster] = replace(cluster, members=members, before=before)
            home.update(dict.fromkeys(members, twins[cluster]))
        for twin in twins.values():
            twin.needs = {twins[x] for x in twin.needs if x in twins}
        made.clusters = list(twins.values())
        made.rematerialized = {known[x] for x in found.rematerialized if x in known}
        made.home = {x: home[x] for x in self.graph.nodes if x in home}
        for x in self.members:
            if x in found.bases:
                made.bases[known[x]] = [known[y] for y in found.bases[x]]
                made.required.update(y for y in made.bases[known[x]] if y.op != "input")
            else:
                made.reads[known[x]] = [r._replace(node=known[r.node]) for r in found.reads[x]]
        if done:
            self.act(made, known[self.fusion.maker], tuple(known[x] for x in self.nodes))
        made.forget_unread()
        return made

    def _leaves(self, x: Node) -> bool:
        """Whether a value is read outside of the excerpt."""
        home, readers = self.placed.home, self.placed.readers.get(x, ())
        return x in self.placed.results or any(home[y] not in self.clusters for y in readers)

    def _copied(self, root: Node) -> Node:
        """The copy of a node and everything it depends on, in the excerpt's arena."""
        stack = [root]
        while stack:
            x = stack[-1]
            missing = [y for y in x.inputs if y not in self.known] if self._is_inside(x) else []
            if missing:
                stack += missing
                continue
            stack.pop()
            if x not in self.known:
                self.known[x] = self._image(x)
        return self.known[root]

    def _is_inside(self, x: Node) -> bool:
        """Whether a node is computed inside: in a cluster here, or inlined into readers."""
        home = self.placed.home.get(x)
        return x.op != "input" and (home in self.clusters or not self.placed.is_stored(x))

    def _image(self, x: Node) -> Node:
        """The copy of a node, or an input in place of one that is computed outside."""
        if self._is_inside(x):
            return self.arena.with_inputs(x, tuple(self.known[y] for y in x.inputs))
        self.inputs.append(self.arena.input(x.shape, x.dtype))
        return self.inputs[-1]


VerdictFields = tuple[Any, ...] | None
"""The fields of a verdict, or None."""


class Verdicts:
    """Measured verdicts on fusions by excerpt; None leaves a fusion to its bytes."""

    def __init__(self, rows: Iterable[tuple[str, VerdictFields]] = ()) -> None:
        self.known = {key: None if found is None else FusionVerdict(*found) for key, found in rows}

    def rows(self) -> tuple[tuple[str, VerdictFields], ...]:
        """The measurements known so far, as plain data."""
        found = self.known.items()
        return tuple((key, None if x is None else astuple(x)) for key, x in found)

    def __call__(self, placed: Placed, fusion: Fusion, act: Act) -> Fusion:
        """The decision about a fusion: by a measurement if there is one, else as given."""
        excerpt = Excerpt(placed, fusion, act)
        verdict = self.find(excerpt) if excerpt.whole else None
        if verdict is None:
            return fusion
        refused = "" if verdict.pays(fusion.kind) else SLOWER
        return replace(fusion, refused=refused, measured=verdict, modelled=fusion.refused)

    def find(self, excerpt: Excerpt) -> FusionVerdict | None:
        """The verdict on an excerpt, or None."""
        return self.known.get(excerpt.key)

    def settle(self, graph: Graph) -> bool:
        """Measure the undecided fusions of a graph; returns whether decisions may change: never."""
        return False
