"""Residuals: keep values of conditionals and loops that the backward pass would recompute.

Calls over the same values become one, with the results of all. A forward value that a gradient
would recompute is stored by the forward call: a loop stacks it, a branch returns it as a result
(zeros in the other branch). Cheap functions of stored values are recomputed, as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from gnomon.ir.between import nearest
from gnomon.ir.node import Arena, Graph, Node, copy_into, topological
from gnomon.ir.provenance import inherit
from gnomon.ops.control_primitives import CONTROL, graphs_of
from gnomon.ops.index_primitives import is_index
from gnomon.ops.scalars import SCALARS
from gnomon.passes.calls import leaves_like, results_by_call, shared, zeros

CHEAP = 12
"""The most cheap scalar functions for which a value is recomputed, not kept."""
NUMBERS = frozenset({"const", "iota"})
GRAPHS = {"cond": ("then", "other"), "while": (), "scan_over": ("body",), "fold_over": ()}
"""Primitive -> those of its graphs whose values can be kept."""
CLOSED = frozenset({"while", "fold_over"})
"""Calls whose results are fixed: they keep nothing for others."""


class Draft:
    """A call whose results may grow: its graphs share an arena and its leaves for `inputs`."""

    def __init__(self, node: Node) -> None:
        self.op, p = node.op, shared(node.params)
        graphs = graphs_of(p)
        self.condition = node.inputs[:1] if node.op == "cond" else ()
        self.inputs: list[Node | Result] = list(node.inputs[len(self.condition) :])
        self.params = {name: value for name, value in p.items() if name not in graphs}
        self.arena, self.fixed = Arena(), p.get("carried", 0)
        with inherit(node.sites):
            self.leaves = leaves_like(self.arena, next(iter(graphs.values())).inputs)
        if self.op == "fold_over":
            graphs = {name: residuals(graph) for name, graph in graphs.items()}
        kept = None if self.op in CLOSED else self.fixed
        self.graphs = {name: self._images(graph)[:kept] for name, graph in graphs.items()}

    def _images(self, graph: Graph) -> list[Node]:
        """Copies of a graph's outputs in the draft's arena."""
        known = dict(zip(graph.inputs, self.leaves, strict=True))
        return copy_into(self.arena, graph.outputs, known)

    def merge(self, node: Node) -> list[int]:
        """Add the results of an equal call; returns the number of each among these."""
        if self.op in CLOSED:
            return list(range(len(node.params["body"].outputs)))
        columns = [self._images(graph) for graph in graphs_of(node.params).values()]
        rows = list(zip(*columns, strict=True))
        return [k if k < self.fixed else self.place(row) for k, row in enumerate(rows)]

    def place(self, row: tuple[Node, ...]) -> int:
        """The number of a result, one node per graph, which is added if it is new."""
        rows = list(zip(*self.graphs.values(), strict=True))
        if row in rows[self.fixed :]:
            return rows.index(row, self.fixed)
        for outputs, x in zip(self.graphs.values(), row, strict=True):
            outputs.append(x)
        return len(rows)

    def slices(self) -> range:
        """The numbers of inputs that are read slice by slice."""
        return range(self.fixed, self.fixed + self.params.get("sliced", 0))

    def read(self, result: Result, like: Node) -> Node:
        """Add an input, the result of an earlier call, and return its leaf."""
        end = len(self.leaves)
        if self.op == "scan_over":
            end = self.slices().stop
            self.params["sliced"] += 1
        with inherit(like.sites):
            leaf = self.arena.input(like.shape, like.dtype)
        self.inputs.insert(end, result)
        self.leaves.insert(end, leaf)
        return leaf


Result = tuple[Draft, int]
"""A draft, and the number of one of its results."""
Home = dict[Node, Result]
"""Result of a call -> the draft and the number of the result there."""
Counterparts = dict[Node, Node]
"""A node of one call's graph -> the node of another's with the same value."""


def residuals(graph: Graph) -> Graph:
    """The graph without values that one call recomputes and another one can keep."""
    calls = results_by_call(graph.nodes)
    if not calls:
        return graph
    with inherit(()):
        home = merged(calls)
        drafts = list(dict.fromkeys(draft for draft, _ in home.values()))
        for k, reader in enumerate(drafts):
            for giver in drafts[:k]:
                if related(giver, reader, home):
                    share(giver, reader, home)
    return replace_calls(graph, home)


def merged(calls: Mapping[Node, Sequence[Node]]) -> Home:
    """The results of calls in drafts, where calls that can be one share a draft."""
    drafts: dict[tuple[Any, ...], Draft] = {}
    home: Home = {}
    for node, results in calls.items():
        key = merge_key(node)
        if key not in drafts:
            drafts[key] = Draft(node)
        places = drafts[key].merge(node)
        for x in results:
            index: int = x.params["index"]
            home[x] = drafts[key], places[index]
    return home


def merge_key(node: Node) -> tuple[Any, ...]:
    """A key that is equal for calls that can be merged: same operation, inputs and recurrence."""
    p = shared(node.params)
    if node.op == "cond":
        return (node.op, node.inputs)
    if node.op == "scan_over":
        body = p.pop("body")
        p["core"] = Graph(body.inputs, body.outputs[: p["carried"]]).key
    return (node.op, node.inputs, *[p[name] for name in sorted(p)])


# what one call keeps for another


def related(giver: Draft, reader: Draft, home: Home) -> bool:
    """Whether one call can keep values for another: branches of one choice, or loops over rows."""
    if giver.op != reader.op:
        return False
    if giver.op != "scan_over":
        return giver.op == "cond" and giver.condition == reader.condition
    rows = (result_of(reader.inputs[k], home) for k in reader.slices())
    return giver.params["length"] == reader.params["length"] and any(
        result is not None and result[0] is giver and result[1] >= giver.fixed for result in rows
    )


def result_of(x: Node | Result, home: Home) -> Result | None:
    """The draft and place of the result that an input is; None if no call of `home` gives it."""
    return home.get(x) if isinstance(x, Node) else x


def equal_leaves(giver: Draft, reader: Draft, name: str, home: Home) -> Counterparts:
    """The reader's leaves that equal a node of the giver's graph, and that node."""
    found: Counterparts = {}
    for k, (x, leaf) in enumerate(zip(reader.inputs, reader.leaves, strict=True)):
        result, sliced = result_of(x, home), k in reader.slices()
        if reader.op == "scan_over" and k < reader.fixed:
            continue
        if result is not None and result[0] is giver and sliced == (giver.op == "scan_over"):
            if result[1] >= giver.fixed:
                found[leaf] = giver.graphs[name][result[1]]
            continue
        for j, other in enumerate(giver.inputs):
            if other is x and j >= giver.fixed and (j in giver.slices()) == sliced:
                found[leaf] = giver.leaves[j]
    return found


def share(giver: Draft, reader: Draft, home: Home) -> None:
    """Make the giver return what the reader would recompute, and the reader read it."""
    names = GRAPHS[reader.op]
    found = [
        nodes_of_both(giver, reader, name, equal_leaves(giver, reader, name, home))
        for name in names
    ]
    known: list[Counterparts] = [{leaf: leaf for leaf in reader.leaves} for _ in names]
    for row in align_rows(found):
        with inherit(like_of(row).sites):
            theirs = tuple(
                zeros(like_of(row), giver.arena) if mine is None else pairs[mine]
                for mine, pairs in zip(row, found, strict=True)
            )
        leaf = reader.read((giver, giver.place(theirs)), like_of(row))
        for mine, images in zip(row, known, strict=True):
            images.update({leaf: leaf} if mine is None else {leaf: leaf, mine: leaf})
    for name, images in zip(names, known, strict=True):
        reader.graphs[name] = copy_into(reader.arena, reader.graphs[name], images)


def align_rows(found: Sequence[Counterparts]) -> list[tuple[Node | None, ...]]:
    """Rows of one node from each graph, of equal shape and dtype; None where a graph has fewer."""
    kinds = dict.fromkeys((x.shape, x.dtype) for pairs in found for x in pairs)
    rows: list[tuple[Node | None, ...]] = []
    for kind in kinds:
        columns = [[x for x in pairs if (x.shape, x.dtype) == kind] for pairs in found]
        rows.extend(zip_longest(*columns))
    return rows


def like_of(row: Sequence[Node | None]) -> Node:
    """The first node of a row that is not None."""
    return next(x for x in row if x is not None)


def nodes_of_both(giver: Draft, reader: Draft, name: str, same: Counterparts) -> Counterparts:
    """The reader's nodes that the giver computes too and that are worth keeping, with its nodes.

    Only nodes that other nodes of the reader, or its results, read are returned.
    """
    theirs, costs = set(topological(giver.graphs[name])), dict.fromkeys(same, 0)
    worth: set[Node] = set()
    same = dict(same)
    for node in topological(reader.graphs[name]):
        if node in same or node.op == "input" or any(x not in same for x in node.inputs):
            continue
        image = giver.arena.node(node.op, tuple(same[x] for x in node.inputs), **node.params)
        if node.op not in NUMBERS and image not in theirs:
            continue
        same[node], costs[node] = image, cost(node, costs)
        if costs[node] > CHEAP:
            worth.add(node)
            costs[node] = 0
    return {x: same[x] for x in nearest(reader.graphs[name], worth)}


def cost(node: Node, costs: Mapping[Node, int]) -> int:
    """The number of scalar functions per element since the nearest kept values."""
    if is_index(node) or node.op in NUMBERS:
        return sum(costs[x] for x in node.inputs)
    if node.op != "map" or SCALARS[node.params["f"]].costly:
        return CHEAP + 1
    return 1 + sum(costs[x] for x in node.inputs)


# the graph again


def replace_calls(graph: Graph, home: Home) -> Graph:
    """The graph with its calls replaced by the drafts."""
    arena = Arena()
    known: dict[Node, Node] = {}
    params: dict[Draft, dict[str, Any]] = {}
    for draft, _ in home.values():
        graphs = {name: Graph(draft.leaves, outputs) for name, outputs in draft.graphs.items()}
        params[draft] = {**draft.params, **graphs}

    def result(draft: Draft, place: int) -> Node:
        inputs = [known[x] if isinstance(x, Node) else result(*x) for x in draft.inputs]
        given = (*(known[x] for x in draft.condition), *inputs)
        return arena.node(draft.op, given, **params[draft], index=place)

    for node in topological([*graph.inputs, *graph.outputs]):
        with inherit(node.sites):
            if node.op == "input":
                known[node] = arena.input(node.shape, node.dtype, node.params["name"])
            elif node.op in CONTROL:
                known[node] = result(*home[node])
            else:
                inputs = tuple(known[x] for x in node.inputs)
                known[node] = arena.with_inputs(node, inputs)
    return Graph([known[x] for x in graph.inputs], [known[x] for x in graph.outputs])
