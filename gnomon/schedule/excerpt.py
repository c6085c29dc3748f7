"""What a fusion is part of, as a program of its own: so that it can be run, and is known again.

Equal parts of a program, such as its layers, are one excerpt and need one measurement. Which form
is taken changes no bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, replace
from typing import Any

from gnomon.ir.node import Arena, Graph, Node
from gnomon.schedule.epilogue import LAID, Candidate, Fusion, Verdict

__all__ = ["Excerpt", "Only", "Verdicts"]

SLOWER = "it was measured and is no faster"


class Excerpt:
    """The kernels that a fusion changes, with inputs in place of all that they read."""

    def __init__(self, candidate: Candidate, fusion: Fusion) -> None:
        self.placed, self.count = candidate.placed, len(fusion.nodes)
        home = self.placed.home
        self.clusters = {home[x] for x in (fusion.maker, *fusion.nodes)}
        self.known: dict[Node, Node] = {}
        self.arena = Arena()
        self.inputs: list[Node] = []
        members = [x for cluster in self.clusters for x in cluster.members]
        made = [x for x in members if self._leaves(x)]
        made.sort(key=lambda x: x.serial)
        self.graph = Graph(self.inputs, [self._copied(x) for x in made])
        self.key = f"{self.graph.key} {self.count}"

    def _leaves(self, x: Node) -> bool:
        """Whether a value is wanted outside."""
        readers = self.placed.readers.get(x, ())
        return x in self.placed.required or any(
            self.placed.home[y] not in self.clusters for y in readers
        )

    def _copied(self, root: Node) -> Node:
        """A node here."""
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
        """Whether a node is computed here; one in no kernel is, by whoever reads it."""
        home = self.placed.home.get(x)
        return x.op != "input" and (home is None or home in self.clusters)

    def _image(self, x: Node) -> Node:
        """A node, or an input in its place."""
        if self._is_inside(x):
            return self.arena.again(x, tuple(self.known[y] for y in x.inputs))
        self.inputs.append(self.arena.input(x.shape, x.dtype))
        return self.inputs[-1]


Told = tuple[Any, ...] | None
"""A verdict's fields, or none."""


class Verdicts:
    """What was measured of fusions, by the keys of their excerpts; None is left to bytes."""

    def __init__(self, told: Iterable[tuple[str, Told]] = ()) -> None:
        self.known = {key: None if found is None else Verdict(*found) for key, found in told}

    def told(self) -> tuple[tuple[str, Told], ...]:
        """All that is known, as plain data."""
        found = self.known.items()
        return tuple((key, None if x is None else astuple(x)) for key, x in found)

    def __call__(self, candidate: Candidate, fusion: Fusion) -> Fusion:
        """The decision, as it follows from the measurement if there is one."""
        hopeless = fusion.refused == LAID or fusion.together > fusion.apart
        if hopeless or (fusion.refused and not candidate.can_be_written(fusion.nodes)):
            return fusion
        verdict = self.find(Excerpt(candidate, fusion))
        if verdict is None:
            return fusion
        refused = "" if verdict.pays else SLOWER
        return replace(fusion, refused=refused, measured=verdict, modelled=fusion.refused)

    def find(self, excerpt: Excerpt) -> Verdict | None:
        """What is known of an excerpt."""
        return self.known.get(excerpt.key)

    def settle(self, graph: Graph) -> bool:
        """Whether more is known now than when the last partition of the graph was made."""
        return False


class Only(Verdicts):
    """Products take along so many nodes, or none, at any cost: either form of an excerpt."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def __call__(self, candidate: Candidate, fusion: Fusion) -> Fusion:
        """Done if it is of this size."""
        return replace(fusion, refused="" if len(fusion.nodes) == self.count else SLOWER)
